"""Options of Kafka's consumer that a stream may set itself: an allow list with bounds.

Only operators set all other options (addresses, logins, classes, files). They may also shorten this list for a cluster
(`NamedCluster.stream_options`). An option that is not listed is refused when a stream is registered
(`registry/rules/kafka_rules`), so options that a later Kafka client introduces do no harm. A stream that was registered with an
option which is no longer listed runs without that option.
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
    """Return the expected value of a listed option; None if the given value is allowed.

    >>> unfit_value("fetch.min.bytes", "0")
    'a whole number from 1 to 16777216'
    """
    least, most = STREAM_OPTIONS[name]
    # Eleven digits are more than any bound has, and short enough to be parsed as a number.
    is_number = value.isascii() and value.isdigit() and len(value) <= 11
    if is_number and least <= int(value) <= most:
        return None
    return f"a whole number from {least} to {most}"
