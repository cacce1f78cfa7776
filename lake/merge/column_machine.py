"""The column machine: the merge of whole batches, column by column, from rows that are already in merge order.

The caller, `fold`, passes the order of the rows as `Segments` and copies the values of the returned `Selection`.

1. Under deduplicate and first-row at most one whole record of each key is picked; steps 2 and 3 do not apply.
2. Under partial-update and aggregation, keys without retracts and keys with retracts each have a `History`: the
   effect of their records. For some keys the effect of retracts depends on the merge itself (`retracts`); only
   those keys are merged by the row machine.
3. Each column becomes a *pick*: for each merged row, the record that holds its value. If an aggregate function
   computes new values, the column becomes an array of these values. The function's reduction computes them, or the
   definition, value by value, where the reduction cannot decide (`computed_column`).

A key's only record stays as it is, and the engine does not merge it (merge-semantics 1.6), unless the caller
passes `single_untouched=False`.

Source: merge-semantics 1.5, 1.6, 2.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.format.arrays import combined_array, validity
from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND, RowKind, is_retract
from braid.lake.merge.column_parts import ColumnParts
from braid.lake.merge.computed_column import ComputedColumn
from braid.lake.merge.declared_options import SequenceGroup
from braid.lake.merge.engines.aggregation_columns import aggregation_columns
from braid.lake.merge.engines.first_row import retract_of_first_row
from braid.lake.merge.engines.partial_update import null_in_not_null_column
from braid.lake.merge.engines.partial_update_columns import partial_update_columns
from braid.lake.merge.group_reduction import OrderingCodes, ordering_codes
from braid.lake.merge.key_histories import History
from braid.lake.merge.records import records_of
from braid.lake.merge.retracts import retracted_keys
from braid.lake.merge.row_machine import merge_segments, selection_of
from braid.lake.merge.row_reductions import first_rows_where, last_rows_where
from braid.lake.merge.segments import Bools, Ints, Segments
from braid.lake.merge.selection import NO_ROW, Merged, Pick, Selection
from braid.lake.merge.spec import MergeSpec
from braid.lake.options.table_options import MergeEngine

Kinds = npt.NDArray[np.int8]
Orders = Mapping[SequenceGroup, OrderingCodes]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMerge:
    """The result of the column machine.

    Attributes:
        selection: The merged rows in key order.
        row_machine_segments: Number of keys that the row machine merged.
        row_machine_rows: Number of records of those keys.
        looped_segments: Number of values that a function computed one record at a time; a key
            counts once for each such column.
    """

    selection: Selection
    row_machine_segments: int = 0
    row_machine_rows: int = 0
    looped_segments: int = 0


def select_by_columns(
    table: pa.Table, spec: MergeSpec, segments: Segments, *, single_untouched: bool = True
) -> ColumnMerge:
    """Return the merged rows of a key-value table.

    Args:
        table: At least one row.
        spec: How its records merge.
        segments: The table's rows in merge order, one segment per key.
        single_untouched: The single record of a key stays as it is, without the engine.

    Raises:
        SchemaMismatch: Records that cannot be merged.
    """
    untouched = segments.is_single if single_untouched else np.zeros(segments.count, dtype=np.bool_)
    match spec.engine:
        case MergeEngine.DEDUPLICATE:
            return ColumnMerge(selection=_deduplicate(table, spec, segments, untouched))
        case MergeEngine.FIRST_ROW:
            return ColumnMerge(selection=_first_row(table, spec, segments, untouched))
        case _:
            return _FoldedColumns(table, spec, segments, untouched).merge()


def _deduplicate(
    table: pa.Table, spec: MergeSpec, segments: Segments, untouched: Bools
) -> Selection:
    kinds = _kinds(table)
    rows = segments.last_rows
    if spec.ignore_delete and is_retract(kinds).any():
        is_add = ~is_retract(kinds)
        # Where a key has no add, `rows` holds its last row: a retract, which is dropped below unless
        # it is the only record of its key.
        rows = last_rows_where(segments, is_add)
        rows = rows[is_add[rows] | untouched]
    return _whole_rows(table, rows)


def _first_row(table: pa.Table, spec: MergeSpec, segments: Segments, untouched: Bools) -> Selection:
    retracts = is_retract(_kinds(table))
    rows = segments.order[segments.starts]
    if retracts.any():
        # Keys of which the engine sees a retract.
        touched = segments.any_of(retracts[segments.order]) & ~untouched
        if touched.any() and not spec.ignore_delete:
            raise retract_of_first_row()
        rows = first_rows_where(segments, ~retracts)
        rows = rows[~retracts[rows] | untouched]
    return _whole_rows(table, rows)


def _whole_rows(table: pa.Table, rows: Ints) -> Selection:
    # One pick for all columns, so that its index for Arrow is computed once.
    pick = Pick(rows=rows)
    return Selection(
        columns=dict.fromkeys(_value_columns(table), pick),
        sequence_numbers=_numbers(table)[rows],
        kinds=_kinds(table)[rows],
    )


class _FoldedColumns:
    """Partial-update or aggregation of one table."""

    def __init__(
        self, table: pa.Table, spec: MergeSpec, segments: Segments, untouched: Bools
    ) -> None:
        self._table = table
        self._values = table.select(_value_columns(table))
        self._spec = spec
        self._segments = segments
        self._untouched = untouched
        self._kinds = _kinds(table)
        self._numbers = _numbers(table)
        self._orders = _group_orders(table, spec)
        self._parts = {
            name: ColumnParts(count=segments.count) for name in self._values.column_names
        }
        self._looped = 0

    def merge(self) -> ColumnMerge:
        """Return the merged rows."""
        retracting = self._retracting_keys()
        # Correct for keys that have adds only: the sequence number of the last record, and kind +I.
        # The entries of keys with retracts are overwritten below, in place.
        last_rows = self._segments.last_rows
        numbers = self._numbers[last_rows]
        kinds = np.where(self._untouched, self._kinds[last_rows], np.int8(RowKind.INSERT))
        self._merge_adds(retracting)
        by_row = np.empty(0, dtype=np.int64)
        if len(retracting):
            retracted = retracted_keys(
                self._values,
                self._spec,
                self._segments,
                retracting,
                kinds=self._kinds,
                sequence_numbers=self._numbers,
                orders=self._orders,
            )
            numbers[retracted.keys] = retracted.sequence_numbers
            kinds[retracted.keys] = retracted.kinds
            if len(retracted.keys):
                found = self._columns_of(retracted.history)
                self._add(found, retracted.keys, retracted.last_history)
            by_row = retracted.row_machine
        rows_by_row = self._merge_row_by_row(by_row, numbers, kinds) if len(by_row) else 0
        columns = {
            name: parts.assembled(self._values.column(name)) for name, parts in self._parts.items()
        }
        return ColumnMerge(
            selection=Selection(columns=columns, sequence_numbers=numbers, kinds=kinds),
            row_machine_segments=len(by_row),
            row_machine_rows=rows_by_row,
            looped_segments=self._looped,
        )

    def _retracting_keys(self) -> Ints:
        """Return the keys that the engine merges and that have a retract, ascending."""
        retracts = is_retract(self._kinds)
        if not retracts.any():
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(
            self._segments.any_of(retracts[self._segments.order]) & ~self._untouched
        )

    def _merge_adds(self, retracting: Ints) -> None:
        """Merge the keys of which the engine sees no retract; untouched single records included."""
        if not len(retracting):
            self._check_not_null(self._segments, self._untouched)
            untouched = self._untouched if self._untouched.any() else None
            history = History(segments=self._segments, untouched=untouched)
            self._add(self._columns_of(history), None)
            return
        is_chosen = np.ones(self._segments.count, dtype=np.bool_)
        is_chosen[retracting] = False
        keys = np.flatnonzero(is_chosen)
        if not len(keys):
            return
        segments, untouched = self._segments.subset(keys), self._untouched[keys]
        self._check_not_null(segments, untouched)
        history = History(segments=segments, untouched=untouched if untouched.any() else None)
        self._add(self._columns_of(history), keys)

    def _columns_of(self, history: History) -> Iterator[tuple[str, ComputedColumn]]:
        if self._spec.engine is MergeEngine.AGGREGATION:
            return aggregation_columns(self._values, self._spec, history)
        return partial_update_columns(self._values, self._spec, history, self._orders)

    def _add(
        self,
        columns: Iterable[tuple[str, ComputedColumn]],
        keys: Ints | None,
        last_history: Ints | None = None,
    ) -> None:
        for name, found in columns:
            merged = (
                found.merged
                if last_history is None
                else _rows_of_merged(found.merged, last_history)
            )
            self._parts[name].add(merged, keys)
            self._looped += found.looped

    def _merge_row_by_row(self, keys: Ints, numbers: Ints, kinds: Kinds) -> int:
        """Merge keys by the row machine; return how many records they have."""
        part = self._segments.subset(keys)
        # Taken in merge order, so that the records of a key are a range of record numbers.
        records = records_of(self._table.take(pa.array(part.order)), self._spec)
        ranges = [range(*ends) for ends in pairwise([*part.starts.tolist(), len(part.order)])]
        merged = merge_segments(records, self._spec, ranges, single_untouched=False)
        rows = [row for row in merged if row is not None]
        assert len(rows) == len(keys), "partial-update and aggregation give a row for every key"
        selection = selection_of(rows, records, self._spec)
        for name, column in selection.columns.items():
            self._parts[name].add(_of_source(column, part.order), keys)
        numbers[keys] = selection.sequence_numbers
        kinds[keys] = selection.kinds
        return len(part.order)

    def _check_not_null(self, segments: Segments, untouched: Bools) -> None:
        """Raise for a null in a NOT NULL column, which partial-update without groups refuses."""
        # Under aggregation a function decides what null means, and with groups null is a value: in
        # both cases a NOT NULL column is checked when the merged row is written.
        if self._spec.engine is MergeEngine.AGGREGATION or self._spec.groups:
            return
        for name in self._values.column_names:
            column = self._values.column(name)
            if name not in self._spec.not_null_columns or not column.null_count:
                continue
            missing = ~validity(column)[segments.order]
            if (segments.any_of(missing) & ~untouched).any():
                raise null_in_not_null_column(name)


def _rows_of_merged(column: Merged, index: Ints) -> Merged:
    return Pick(rows=column.rows[index]) if isinstance(column, Pick) else column.take(index)


def _of_source(column: Merged, rows: Ints) -> Merged:
    """Return a column that was picked from the given rows of a table as picked from the whole table."""
    if not isinstance(column, Pick):
        return column
    return Pick(rows=np.where(column.rows == NO_ROW, NO_ROW, rows[column.rows]))


def _group_orders(table: pa.Table, spec: MergeSpec) -> Orders:
    """Return the order of each group whose ordering columns the table has.

    A projection may lack the ordering columns of a group; such a group concerns none of its
    columns.
    """
    names = set(table.column_names)
    return {
        group: ordering_codes([table.column(name) for name in group.ordering])
        for group in spec.groups
        if all(name in names for name in group.ordering)
    }


def _value_columns(table: pa.Table) -> Sequence[str]:
    return [name for name in table.column_names if name not in (SEQUENCE_NUMBER, VALUE_KIND)]


def _numbers(table: pa.Table) -> npt.NDArray[np.int64]:
    numbers: npt.NDArray[np.int64] = combined_array(table.column(SEQUENCE_NUMBER)).to_numpy()
    return numbers


def _kinds(table: pa.Table) -> Kinds:
    kinds: Kinds = combined_array(table.column(VALUE_KIND)).to_numpy()
    return kinds
