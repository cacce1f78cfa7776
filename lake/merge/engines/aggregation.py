"""The aggregation engine of the row machine, one record at a time.

Every column outside the key has a function. A +I or +U is aggregated into each of these columns. A -U or -D is
retracted from each of them that does not ignore retracts. With `aggregation.remove-record-on-delete` a -D removes the
row instead: the row then holds the -D's values, onto which later records are aggregated.

The result is -D when the last record removed the row, else +I: retracts alone make a visible row of
negated sums. Sequence number and key are those of the last record in merge order.

Source: merge-semantics 2.4.
"""

from braid.lake.format.system_columns import RowKind
from braid.lake.merge.engines.merge_function import MergedRow
from braid.lake.merge.engines.partial_update import copied_cells
from braid.lake.merge.function_definition import definition_of
from braid.lake.merge.records import Records
from braid.lake.merge.spec import MergeSpec


class Aggregation:
    """Merges records column by column, each with its function."""

    def __init__(self, records: Records, spec: MergeSpec) -> None:
        self._records = records
        self._spec = spec
        self._functions = {
            function.column: definition_of(function, records.types[function.column])
            for function in spec.functions
            if function.column in records.cells
        }
        self.reset()

    def reset(self) -> None:
        """Forget all records."""
        self._row: dict[str, object] = dict.fromkeys(self._records.cells)
        self._removed = False
        self._sequence_number = 0
        for function in self._functions.values():
            function.reset()

    def add(self, record: int) -> None:
        """Merge the next record.

        Raises:
            SchemaMismatch: Null for a NOT NULL column, or a value that a function cannot combine or
                retract.
        """
        kind = RowKind(self._records.kinds[record])
        self._sequence_number = self._records.sequence_numbers[record]
        self._removed = self._spec.remove_record_on_delete and kind is RowKind.DELETE
        if self._removed:
            # The copy does not reset the functions: a function with state of its own keeps that
            # state.
            self._row.update(copied_cells(self._records, record, self._spec))
            return
        for column, cells in self._records.cells.items():
            function = self._functions.get(column)
            if function is None:  # a key column
                self._row[column] = cells[record]
            elif kind.is_retract:
                self._row[column] = function.retract(self._row[column], cells[record])
            else:
                self._row[column] = function.aggregate(self._row[column], cells[record])

    def result(self) -> MergedRow:
        """Return the merged row."""
        return MergedRow(
            cells=tuple(self._row.values()),
            sequence_number=self._sequence_number,
            kind=RowKind.DELETE if self._removed else RowKind.INSERT,
        )
