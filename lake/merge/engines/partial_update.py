"""The partial-update engine of the row machine, one record at a time.

State of one key: the row (all null at first), whether an add was seen, whether the row was seeded, whether the last
record removed it, and the sequence number. A record is an *add* (+I, +U) or a *retract* (-U, -D). It takes part in a
sequence group if the group's ordering columns are not all null in it. It is older than the row in a group if its
ordering columns are smaller than the row's.

A retract is merged in these steps:

- R1: if nothing was merged before, seed the row with all of the record's columns, even if R2 then ignores the record;
- R2: stop under `ignore-delete`;
- R3: take over the sequence number;
- R4: with sequence groups, retract from each group in which the record takes part. A column with a function retracts
  the value. If the record is not older than the row, the row takes over the ordering columns, the other columns
  without a function become null, and a -D may remove the row;
- R5: without groups but with `remove-record-on-delete`, a -D removes the row, which then holds the -D's values, and a
  -U does nothing;
- R6: otherwise the record is an error.

An add is merged in these steps:

- A1: take over the sequence number;
- A2: without groups, values that are not null overwrite the row's, and null in a NOT NULL column is an error;
- A3: with groups, a value that is not null overwrites a column without a group. A column of a group is merged only if
  the record takes part in the group. If the record is not older than the row, the column's function aggregates the
  value; without a function the value overwrites the row's, even if it is null. If the record is older, the function
  aggregates the value as a late one; without a function the value is ignored;
- A4: note that an add was seen.

The result is -D when the last record removed the row or no add was seen, else +I.

Source: merge-semantics 2.3, 3.4, 3.5.
"""

from braid.lake.errors import Problem, SchemaMismatch
from braid.lake.format.system_columns import RowKind
from braid.lake.merge.declared_options import SequenceGroup
from braid.lake.merge.engines.merge_function import MergedRow
from braid.lake.merge.function_definition import definition_of
from braid.lake.merge.records import Records
from braid.lake.merge.spec import MergeSpec


class PartialUpdate:
    """Merges records column by column, or group by group."""

    def __init__(self, records: Records, spec: MergeSpec) -> None:
        self._records = records
        self._spec = spec
        self._columns = tuple(records.cells)
        self._group_of = {
            name: group
            for group in spec.groups
            if all(ordering in records.cells for ordering in group.ordering)
            for name in group.protected + group.ordering
        }
        self._functions = {
            function.column: definition_of(function, records.types[function.column])
            for function in spec.functions
            if function.column in records.cells
        }
        self.reset()

    def reset(self) -> None:
        """Forget all records."""
        self._row: dict[str, object] = dict.fromkeys(self._columns)
        for function in self._functions.values():
            function.reset()
        self._saw_add = False
        self._seeded = False
        self._removed = False
        self._sequence_number = 0

    def add(self, record: int) -> None:
        """Merge the next record.

        Raises:
            SchemaMismatch: Null for a NOT NULL column, a retract that the table does not allow, or a value
                that a function cannot combine or retract.
        """
        self._removed = False
        if RowKind(self._records.kinds[record]).is_retract:
            self._retract(record)
            return
        self._sequence_number = self._records.sequence_numbers[record]
        if self._spec.groups:
            self._add_to_groups(record)
        else:
            self._overwrite_with_values(record)
        self._saw_add = True
        self._seeded = True

    def result(self) -> MergedRow:
        """Return the merged row."""
        removed = self._removed or not self._saw_add
        return MergedRow(
            cells=tuple(self._row.values()),
            sequence_number=self._sequence_number,
            kind=RowKind.DELETE if removed else RowKind.INSERT,
        )

    def _overwrite_with_values(self, record: int) -> None:
        for column in self._columns:
            cell = self._records.cells[column][record]
            if cell is not None:
                self._row[column] = cell
            elif column in self._spec.not_null_columns:
                raise null_in_not_null_column(column)

    def _add_to_groups(self, record: int) -> None:
        for column in self._columns:
            cell = self._records.cells[column][record]
            group = self._group_of.get(column)
            if group is None:
                if cell is not None:
                    self._row[column] = cell
            elif self._is_absent(group, record):
                continue
            elif self._is_older(group, record):
                if function := self._functions.get(column):
                    self._row[column] = function.aggregate_late(self._row[column], cell)
            elif column in group.ordering:
                # All ordering columns are set at once, at the first of them. From then on the row
                # has the record's order, so the record is not older for any column that follows,
                # and the group stays whole.
                self._take_order(group, record)
            elif function := self._functions.get(column):
                self._row[column] = function.aggregate(self._row[column], cell)
            else:
                self._row[column] = cell

    def _retract(self, record: int) -> None:
        if not self._seeded:
            self._copy(record)
            self._seeded = True
        if self._spec.ignore_delete:
            return
        self._sequence_number = self._records.sequence_numbers[record]
        if self._spec.groups:
            self._retract_from_groups(record)
        elif not self._spec.remove_record_on_delete:
            raise retract_not_allowed()
        elif self._records.kinds[record] == RowKind.DELETE:
            self._remove(record)

    def _retract_from_groups(self, record: int) -> None:
        for column in self._columns:
            group = self._group_of.get(column)
            if group is None or self._is_absent(group, record):
                continue
            function = self._functions.get(column)
            if function is not None:
                # A function retracts a value whether the record is older or not.
                cell = self._records.cells[column][record]
                self._row[column] = function.retract(self._row[column], cell)
            elif self._is_older(group, record):
                continue
            elif column not in group.ordering:
                self._row[column] = None
            elif self._removes(group, record):
                # The removal copies every column: it overwrites what this record did to earlier
                # columns, and later columns are not merged.
                self._remove(record)
                return
            else:
                self._take_order(group, record)

    def _take_order(self, group: SequenceGroup, record: int) -> None:
        for name in group.ordering:
            self._row[name] = self._records.cells[name][record]

    def _is_absent(self, group: SequenceGroup, record: int) -> bool:
        return all(self._records.cells[name][record] is None for name in group.ordering)

    def _is_older(self, group: SequenceGroup, record: int) -> bool:
        for name in group.ordering:
            values = self._records.order_values[name]
            # Ordering columns have no function, so their cells are records.
            cell = self._row[name]
            current = values[cell] if isinstance(cell, int) else ()
            if values[record] != current:
                return values[record] < current
        return False

    def _removes(self, group: SequenceGroup, record: int) -> bool:
        return self._records.kinds[
            record
        ] == RowKind.DELETE and not self._spec.removing_columns.isdisjoint(group.ordering)

    def _remove(self, record: int) -> None:
        self._copy(record)
        self._removed = True

    def _copy(self, record: int) -> None:
        self._row.update(copied_cells(self._records, record, self._spec))


def copied_cells(records: Records, record: int, spec: MergeSpec) -> dict[str, object]:
    """Return a record's cells by column.

    Raises:
        SchemaMismatch: Null for a NOT NULL column.
    """
    cells = {column: values[record] for column, values in records.cells.items()}
    for column, cell in cells.items():
        if cell is None and column in spec.not_null_columns:
            raise null_in_not_null_column(column)
    return cells


def null_in_not_null_column(column: str) -> SchemaMismatch:
    """Return the error for a record without a value where one is needed."""
    problem = Problem(
        field=column,
        value=None,
        message="the column is NOT NULL, but a record has no value for it",
        hint="make the column nullable, or write it with every record",
    )
    return SchemaMismatch("records do not fit the table", problems=[problem])


def retract_not_allowed() -> SchemaMismatch:
    """Return the error for a retract under partial-update without an option that allows it."""
    problem = Problem(
        field="row kind",
        value="-U or -D",
        message="partial-update does not define the effect of a retract",
        hint="set `ignore-delete`, or create the table with `partial-update.remove-record-on-delete`, or put "
        "the columns into sequence groups",
    )
    return SchemaMismatch("records do not fit the table", problems=[problem])
