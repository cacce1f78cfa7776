"""The same merge for whole batches: sort once, then one vectorised reduction per column.

1. `segments`: rows by key and version, and where each key begins.
2. Each column gets a *pick*, the row that gives the value of each merged row. Columns without null
   and columns with the same nulls share one; all columns of a sequence group share one.
3. Segments that hold a retract under partial-update are answered by the row machine instead; no
   other segment ever is.
4. `Selection.copy_from` copies the picked values, column by column.

A segment of one row picks that row for every column: the engine is not asked (merge-semantics 1.6).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND, RowKind
from lake.merge.declared_options import SequenceGroup
from lake.merge.group_reduction import arrivals, group_order, last_non_null_rows, winning_rows
from lake.merge.order_words import one_array, validity
from lake.merge.partial_update import null_in_not_null_column
from lake.merge.records import records_of
from lake.merge.reductions import last_rows_where
from lake.merge.row_machine import merge_segments
from lake.merge.segments import Ints, Segments
from lake.merge.selection import NO_ROW, Pick, Selection
from lake.merge.spec import MergeSpec
from lake.options import MergeEngine

Kinds = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMerge:
    """The answer of the column machine.

    Attributes:
        selection: The merged rows in key order.
        row_machine_segments: Keys that the row machine answered.
        row_machine_rows: Records of those keys.
    """

    selection: Selection
    row_machine_segments: int = 0
    row_machine_rows: int = 0


def select_by_columns(table: pa.Table, spec: MergeSpec, segments: Segments) -> ColumnMerge:
    """Return the merged rows of a key-value table.

    Args:
        table: At least one row.
        spec: How its records merge.
        segments: Its rows in merge order, cut by key.

    Raises:
        SchemaMismatch: Null for a NOT NULL column, or a retract that the table does not allow.
    """
    match spec.engine:
        case MergeEngine.DEDUPLICATE:
            return ColumnMerge(selection=_deduplicate(table, spec, segments))
        case MergeEngine.PARTIAL_UPDATE:
            return _partial_update(table, spec, segments)
        case _:
            raise AssertionError(spec.engine, "merge_spec refuses all others")


def _deduplicate(table: pa.Table, spec: MergeSpec, segments: Segments) -> Selection:
    kinds = _kinds(table)
    rows = segments.last_rows
    if spec.ignore_delete and (kinds & 1).any():
        is_add = (kinds & 1) == 0
        rows = last_rows_where(segments, is_add)
        rows = rows[is_add[rows] | segments.is_single]
    pick = Pick(rows=rows)
    return Selection(
        picks=dict.fromkeys(_value_columns(table), pick),
        sequence_numbers=_numbers(table, SEQUENCE_NUMBER)[rows],
        kinds=kinds[rows],
    )


def _partial_update(table: pa.Table, spec: MergeSpec, segments: Segments) -> ColumnMerge:
    kinds = _kinds(table)
    last_rows = segments.last_rows
    retracting = _retracting_segments(segments, kinds)
    _check_not_null(table, spec, segments, retracting)
    selection = Selection(
        picks=_Picks(table, spec, segments).of_all_columns(),
        sequence_numbers=_numbers(table, SEQUENCE_NUMBER)[last_rows],
        kinds=np.where(segments.is_single, kinds[last_rows], np.int8(RowKind.INSERT)),
    )
    if not len(retracting):
        return ColumnMerge(selection=selection)
    return _with_rows_merged(table, spec, segments, retracting, selection)


def _retracting_segments(segments: Segments, kinds: Kinds) -> Ints:
    """Return the segments of several rows of which one is a retract, ascending."""
    is_retract = (kinds & 1) == 1
    if not is_retract.any():
        return np.empty(0, dtype=np.int64)
    places = np.flatnonzero(is_retract[segments.order])
    found = np.unique(segments.segment_of[places])
    return found[~segments.is_single[found]]


def _check_not_null(table: pa.Table, spec: MergeSpec, segments: Segments, retracting: Ints) -> None:
    """Raise for a null that the merge of adds without groups would meet; the rows check theirs."""
    if spec.groups:
        return
    for name in _value_columns(table):
        column = table.column(name)
        if name not in spec.not_null_columns or not column.null_count:
            continue
        places = np.flatnonzero(~validity(one_array(column))[segments.order])
        broken = segments.segment_of[places]
        broken = broken[~segments.is_single[broken]]
        if not np.isin(broken, retracting).all():
            raise null_in_not_null_column(name)


class _Picks:
    """The picks of one table under partial-update; remembers what columns can share."""

    def __init__(self, table: pa.Table, spec: MergeSpec, segments: Segments) -> None:
        self._table = table
        self._spec = spec
        self._segments = segments
        self._last = Pick(rows=segments.last_rows)
        self._by_nulls: dict[bytes, Pick] = {}

    def of_all_columns(self) -> dict[str, Pick]:
        """Return the pick of every table column, as if no record were a retract."""
        picks = dict.fromkeys(self._spec.key_columns, self._last)
        for group in self._spec.groups:
            if group.ordering[0] in self._table.column_names:
                picks.update(self._of_group(group))
        for name in _value_columns(self._table):
            if name not in picks:
                picks[name] = self._of_plain_column(name)
        return picks

    def _of_plain_column(self, name: str) -> Pick:
        column = self._table.column(name)
        if column.null_count in (0, len(column)):
            return self._last
        has_value = validity(one_array(column))
        nulls = np.packbits(has_value).tobytes()
        if nulls not in self._by_nulls:
            # Where no row has a value the last row is taken, and its null with it.
            self._by_nulls[nulls] = Pick(rows=last_rows_where(self._segments, has_value))
        return self._by_nulls[nulls]

    def _of_group(self, group: SequenceGroup) -> dict[str, Pick]:
        order = group_order([self._table.column(name) for name in group.ordering])
        winner = Pick(rows=winning_rows(self._segments, order))
        names = [
            name for name in group.ordering + group.protected if name in self._table.schema.names
        ]
        picks = dict.fromkeys(names, winner)
        functions = {function.column for function in self._spec.functions}.intersection(names)
        if functions:
            records = arrivals(self._segments, order)
            for name in functions:
                has_value = validity(one_array(self._table.column(name)))
                picks[name] = Pick(rows=last_non_null_rows(self._segments, records, has_value))
        return picks


def _with_rows_merged(
    table: pa.Table, spec: MergeSpec, segments: Segments, retracting: Ints, selection: Selection
) -> ColumnMerge:
    """Return the selection with the retracting segments answered by the row machine."""
    lengths = (segments.lasts - segments.starts + 1)[retracting]
    bounds = [0, *np.cumsum(lengths).tolist()]
    is_retracting = np.zeros(segments.count, dtype=np.bool_)
    is_retracting[retracting] = True
    rows = segments.order[is_retracting[segments.segment_of]]
    records = records_of(table.take(pa.array(rows)), spec)
    ranges = [range(start, stop) for start, stop in pairwise(bounds)]
    merged = [row for row in merge_segments(records, spec, ranges) if row is not None]
    assert len(merged) == len(retracting), "partial-update gives a row for every key"
    cells = np.array([row.cells for row in merged], dtype=np.int64)
    picked = np.where(cells == NO_ROW, NO_ROW, rows[cells])
    picks = {}
    for index, name in enumerate(records.has_value):
        column_rows = selection.picks[name].rows.copy()
        column_rows[retracting] = picked[:, index]
        picks[name] = Pick(rows=column_rows)
    sequence_numbers, kinds = selection.sequence_numbers.copy(), selection.kinds.copy()
    sequence_numbers[retracting] = [row.sequence_number for row in merged]
    kinds[retracting] = [row.kind for row in merged]
    return ColumnMerge(
        selection=Selection(picks=picks, sequence_numbers=sequence_numbers, kinds=kinds),
        row_machine_segments=len(retracting),
        row_machine_rows=len(rows),
    )


def _value_columns(table: pa.Table) -> Sequence[str]:
    return [name for name in table.column_names if name not in (SEQUENCE_NUMBER, VALUE_KIND)]


def _numbers(table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    numbers: npt.NDArray[np.int64] = one_array(table.column(name)).to_numpy()
    return numbers


def _kinds(table: pa.Table) -> Kinds:
    kinds: Kinds = one_array(table.column(VALUE_KIND)).to_numpy()
    return kinds
