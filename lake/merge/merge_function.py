"""What the row machine asks of a merge engine."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRow:
    """What the records of one key have become.

    Attributes:
        cells: Per column the record whose value it is, or `NO_VALUE`; in the order of the records'
            columns.
        sequence_number: Of the merged row.
        kind: Row kind of the merged row.
    """

    cells: tuple[int, ...]
    sequence_number: int
    kind: int


class MergeFunction(Protocol):
    """Folds the records of one key; `reset`, then `add` in merge order, then `result`."""

    def reset(self) -> None:
        """Forget all records."""
        ...

    def add(self, record: int) -> None:
        """Merge the next record."""
        ...

    def result(self) -> MergedRow | None:
        """Return the merged row, or None when no record counted."""
        ...
