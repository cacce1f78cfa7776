"""Bounds of the numbers that a stream declares, including the trigger's interval in both of its forms.

Pure. They are checked when a stream is registered or declared again, but not when its table changes. So if a later version
lowers a bound, registered streams are not affected. A budget of dead letters has no bounds, but needs at least one number.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from braid.schemas import FieldProblem, IntervalTrigger, StreamDefinition, StreamSpec
from braid.schemas.contract import COLUMNS_MAX, INT_MAX
from braid.schemas.field_problems import problem_at
from braid.schemas.stream import TRIGGER_MS

BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "max_records_per_batch": (1, 10_000_000),
    "max_bytes_per_batch": (64 << 10, INT_MAX),
    "max_message_bytes": (1, 64 << 20),
    "columns_max": (1, COLUMNS_MAX),
    "weight": (1, 100),
}
"""The least and the greatest value, by field."""

# Below 100 ms a runner does little but look for records; `continuous` is for streams that need that.
TRIGGER_MS_BOUNDS: Final = (100, 3_600_000)
"""The least and the greatest interval of a trigger, milliseconds."""


def check_bounds(stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the numbers that are out of bounds."""
    for field, (least, most) in BOUNDS.items():
        value = getattr(stream, field)
        if value is not None:
            yield from _check(value, (least, most), field)
    budget = stream.dead_letter_budget
    if budget is not None and budget.count is None and budget.rate is None:
        yield problem_at(
            "dead_letter_budget",
            message="the budget has neither `count` nor `rate`",
            hint='set one of them, such as `{"count": 1000}`, or leave `dead_letter_budget` out',
        )


def check_trigger(definition: StreamDefinition) -> Iterator[FieldProblem]:
    """Yield the problems of a requested trigger, which may be given as `trigger`, as `trigger_ms`, or as both alike."""
    trigger, trigger_ms = definition.trigger, definition.trigger_ms
    if trigger is None:
        yield from _check(trigger_ms, TRIGGER_MS_BOUNDS, "trigger_ms")
        return
    is_other = "trigger_ms" in definition.model_fields_set
    if isinstance(trigger, IntervalTrigger):
        yield from _check(trigger.milliseconds, TRIGGER_MS_BOUNDS, "trigger", "milliseconds")
        is_other &= trigger_ms != trigger.milliseconds
        message = f"`trigger` declares another interval, {trigger.milliseconds}"
    else:
        is_other &= trigger_ms != TRIGGER_MS
        message = f"it has no effect beside the trigger `{trigger.type}`"
    if is_other:
        yield problem_at("trigger_ms", value=trigger_ms, message=message, hint="leave it out")


def _check(value: int, bounds: tuple[int, int], *path: str) -> Iterator[FieldProblem]:
    least, most = bounds
    if not least <= value <= most:
        yield problem_at(
            *path,
            value=value,
            message=f"expected {least} to {most}",
            hint="choose a number in between, or leave it out",
        )
