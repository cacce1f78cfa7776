"""The protocol of a merge engine in the row machine, and the merged row that it returns.

Source: merge-semantics 2.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRow:
    """The merged row of one key.

    Attributes:
        cells: One cell per column, in the order of the records' columns; see `records`.
        sequence_number: Sequence number of the merged row.
        kind: Row kind of the merged row.
    """

    cells: tuple[object, ...]
    sequence_number: int
    kind: int


class MergeFunction(Protocol):
    """Folds the records of one key; `reset`, then `add` in merge order, then `result`."""

    def reset(self) -> None:
        """Forget all records."""
        ...

    def add(self, record: int) -> None:
        """Merge the next record.

        Raises:
            SchemaMismatch: The record cannot be merged.
        """
        ...

    def result(self) -> MergedRow | None:
        """Return the merged row, or None when every record was ignored."""
        ...
