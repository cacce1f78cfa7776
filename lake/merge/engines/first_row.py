"""The first-row engine of the row machine: the first add of a key is its row.

A retract is an error; with `ignore-delete` it is skipped. For whole batches `_first_row` of `column_machine`
does the same, with the error of this module.

Source: merge-semantics 2.2.
"""

from braid.lake.errors import Problem, SchemaMismatch
from braid.lake.format.system_columns import RowKind
from braid.lake.merge.engines.merge_function import MergedRow
from braid.lake.merge.records import Records


class FirstRow:
    """Keeps the first add verbatim; a retract is an error unless deletes are ignored."""

    def __init__(self, records: Records, *, ignore_delete: bool) -> None:
        self._records = records
        self._ignore_delete = ignore_delete
        self._first: int | None = None

    def reset(self) -> None:
        """Forget all records."""
        self._first = None

    def add(self, record: int) -> None:
        """Keep the record if it is the first.

        Raises:
            SchemaMismatch: The record is a retract, and deletes are not ignored.
        """
        if RowKind(self._records.kinds[record]).is_retract:
            if self._ignore_delete:
                return
            raise retract_of_first_row()
        if self._first is None:
            self._first = record

    def result(self) -> MergedRow | None:
        """Return the first record, or None when all were ignored."""
        if self._first is None:
            return None
        records = self._records
        return MergedRow(
            cells=tuple(values[self._first] for values in records.cells.values()),
            sequence_number=records.sequence_numbers[self._first],
            kind=records.kinds[self._first],
        )


def retract_of_first_row() -> SchemaMismatch:
    """Return the error for a retract under first-row."""
    problem = Problem(
        field="row kind",
        value="-U or -D",
        message="first-row keeps the first record of a key and accepts no retract",
        hint="create the table with `ignore-delete`",
    )
    return SchemaMismatch("records do not fit the table", problems=[problem])
