"""Newest state of each key, of what the events of a connector say.

Events are ordered by the moment of their change, whatever the order in which they are sent. A value that an event does
not have is that of the newest older event which has it; a delete has no values, and after it nothing older counts. A
row whose key was changed begins anew: a value that was never sent under the new key is null.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from tests.support.change_capture.change_event import ChangeEvent
from tests.support.change_capture.database import Operation
from tests.support.change_capture.source_table import Value

NewestRow: TypeAlias = tuple[Value, ...] | None
"""The values of a row in the order of its columns; None: it is deleted."""


@dataclass(slots=True)
class _Newest:
    moment: tuple[int, int]
    operation: Operation
    values: list[Value]
    moments: list[tuple[int, int]] = field(default_factory=list)


class NewestRows:
    """The rows of one table."""

    def __init__(self) -> None:
        """Begin without rows."""
        self._rows: dict[int, _Newest] = {}

    def add(self, event: ChangeEvent) -> None:
        """Take in an event, which may have been taken in before."""
        change, moment = event.change, event.moment
        image = change.after or change.before
        assert image is not None, "an event has a row before or after"
        newest = self._rows.get(change.key)
        if newest is None:
            nothing: list[Value] = [None] * len(image)
            newest = _Newest((-1, -1), change.operation, nothing, [(-1, -1)] * len(image))
            self._rows[change.key] = newest
        if moment >= newest.moment:
            newest.moment, newest.operation = moment, change.operation
        for place in range(len(image)):
            if place not in change.unavailable and moment >= newest.moments[place]:
                newest.moments[place] = moment
                newest.values[place] = None if change.after is None else change.after[place]

    def rows(self) -> dict[int, NewestRow]:
        """Return the newest state of each key that some event names."""
        return {
            key: None if one.operation is Operation.DELETE else tuple(one.values)
            for key, one in self._rows.items()
        }
