"""Options of Kafka's consumer that a stream may set itself, by name and within bounds.

Everything else (addresses, logins, classes, files) is the operators' to say: a name that is not
listed here is refused, so that an option which a later client brings is harmless as well.
"""

from collections.abc import Mapping
from typing import Final

STREAM_OPTIONS: Final[Mapping[str, tuple[int, int]]] = {
    "default.api.timeout.ms": (5_000, 600_000),
    "fetch.max.bytes": (1 << 20, 256 << 20),
    "fetch.max.wait.ms": (1, 10_000),
    "fetch.min.bytes": (1, 16 << 20),
    "max.partition.fetch.bytes": (64 << 10, 64 << 20),
    "max.poll.records": (100, 100_000),
    "receive.buffer.bytes": (32 << 10, 16 << 20),
    "request.timeout.ms": (5_000, 600_000),
}
"""The smallest and the largest value by name."""


def unfit_value(name: str, value: str) -> str | None:
    """Return what is expected of the value of an option in the list, or None where it fits.

    >>> unfit_value("fetch.min.bytes", "0")
    'a whole number from 1 to 16777216'
    """
    least, most = STREAM_OPTIONS[name]
    # Eleven digits are more than any bound, and short enough to be read as a number.
    is_number = value.isascii() and value.isdigit() and len(value) <= 11
    if is_number and least <= int(value) <= most:
        return None
    return f"a whole number from {least} to {most}"
