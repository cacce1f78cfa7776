"""The deduplicate engine of the row machine: the last record of a key is its row.

That record may be a retract; with `ignore-delete` retracts are skipped. For whole batches `_deduplicate` of
`column_machine` does the same.

Source: merge-semantics 2.1.
"""

from braid.lake.format.system_columns import RowKind
from braid.lake.merge.engines.merge_function import MergedRow
from braid.lake.merge.records import Records


class Deduplicate:
    """Keeps the last record verbatim, retracts included unless deletes are ignored."""

    def __init__(self, records: Records, *, ignore_delete: bool) -> None:
        self._records = records
        self._ignore_delete = ignore_delete
        self._last: int | None = None

    def reset(self) -> None:
        """Forget all records."""
        self._last = None

    def add(self, record: int) -> None:
        """Replace the row by the record, unless it is a retract that is ignored."""
        if self._ignore_delete and RowKind(self._records.kinds[record]).is_retract:
            return
        self._last = record

    def result(self) -> MergedRow | None:
        """Return the last record, or None when all were ignored."""
        if self._last is None:
            return None
        records = self._records
        return MergedRow(
            cells=tuple(values[self._last] for values in records.cells.values()),
            sequence_number=records.sequence_numbers[self._last],
            kind=records.kinds[self._last],
        )
