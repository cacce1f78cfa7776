"""How values of one column combine when a group's order says which is the newer.

A *cell* is what a merged row holds in a column: the number of the record whose value it is, or
`NO_VALUE`. Functions choose among cells, so no value is copied before the answer is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

NO_VALUE = -1


class AggregateFunction(Protocol):
    """One column's function; stateless between calls except for its cells."""

    def aggregate(self, accumulated: int, record: int) -> int:
        """Return the cell after a record that is not older than the row."""
        ...

    def aggregate_older(self, accumulated: int, record: int) -> int:
        """Return the cell after a record that is older than the row."""
        ...

    def retract(self, accumulated: int, record: int) -> int:
        """Return the cell after a record is taken back, older or not."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LastNonNullValue:
    """`last_non_null_value`: null never overwrites; an older value fills an empty cell.

    Attributes:
        has_value: Per record, whether its value in this column is not null.
        ignore_retract: Retracts leave the cell alone.
    """

    has_value: Sequence[bool]
    ignore_retract: bool

    def aggregate(self, accumulated: int, record: int) -> int:
        """Return the record's value, or what was there when it has none."""
        return record if self.has_value[record] else accumulated

    def aggregate_older(self, accumulated: int, record: int) -> int:
        """Return what was there, or the record's value when nothing was."""
        if accumulated != NO_VALUE or not self.has_value[record]:
            return accumulated
        return record

    def retract(self, accumulated: int, record: int) -> int:
        """Return nothing when the record has a value, else what was there."""
        if self.ignore_retract or not self.has_value[record]:
            return accumulated
        return NO_VALUE
