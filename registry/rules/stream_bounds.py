"""Bounds of the numbers that a stream declares.

Pure. Checked when a stream is registered or changed, and not when its table changes: a bound that a later
version lowers does not stop registered streams.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from braid.schemas import FieldProblem, StreamSpec
from braid.schemas.contract import COLUMNS_MAX
from braid.schemas.field_problems import problem_at

BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "trigger_ms": (100, 3_600_000),  # below 100 ms a runner does little but start micro-batches
    "max_records_per_batch": (1, 10_000_000),
    "max_message_bytes": (1, 64 << 20),
    "columns_max": (1, COLUMNS_MAX),
}
"""The least and the greatest value, by field."""


def check_bounds(stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the numbers that are out of bounds."""
    for field, (least, most) in BOUNDS.items():
        value = getattr(stream, field)
        if not least <= value <= most:
            yield problem_at(
                field,
                value=value,
                message=f"expected {least} to {most}",
                hint="choose a number in between, or leave it out",
            )
