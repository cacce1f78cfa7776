"""The partial-update engine of the column machine: each column from the records that give it a value.

The record that decides a sequence group is found by `winning_rows` of `group_reduction`, or by `_winners` where keys
have retracts. Columns with a function are computed by `computed_column`.

Columns without a group share one pick if none of them has a null, or if their nulls are in the same records. The
columns of a sequence group that have no function share one pick; with retracts the group's ordering columns have
another.

Source: merge-semantics 2.3, 3.4, 3.5.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from braid.lake.format.arrays import combined_array, validity
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.computed_column import ComputedColumn, computed_column, needs_late
from braid.lake.merge.declared_options import SequenceGroup
from braid.lake.merge.group_reduction import OrderingCodes, late_positions, takes_part, winning_rows
from braid.lake.merge.key_histories import History, KeySteps, steps_of
from braid.lake.merge.row_reductions import last_positions, last_rows_where
from braid.lake.merge.segments import Bools, Ints
from braid.lake.merge.selection import NO_ROW, Pick
from braid.lake.merge.spec import MergeSpec


def partial_update_columns(
    table: pa.Table,
    spec: MergeSpec,
    history: History,
    orders: Mapping[SequenceGroup, OrderingCodes],
) -> Iterator[tuple[str, ComputedColumn]]:
    """Yield every table column of the merged rows.

    Args:
        table: Key-value table.
        spec: How its records merge.
        history: The history of the keys.
        orders: The order of each group whose ordering columns the table has.

    Raises:
        SchemaMismatch: A function cannot combine a value, or cannot retract it.
    """
    present = set(table.column_names)
    all_functions = {function.column: function for function in spec.functions}
    grouped: set[str] = set()
    for group, order in orders.items():
        names = [name for name in group.ordering + group.protected if name in present]
        grouped.update(names)
        functions = {name: all_functions[name] for name in names if name in all_functions}
        yield from _group_columns(table, history, group, order, names, functions)
    plain = _PlainColumns(history)
    for name in table.column_names:
        if name in spec.key_columns:
            yield name, ComputedColumn(merged=plain.last)
        elif name not in grouped:
            yield name, ComputedColumn(merged=plain.pick(table.column(name)))


class _PlainColumns:
    """Columns without a group: the last value that is not null; caches picks that columns share."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.last = Pick(rows=history.segments.last_rows)
        self._by_nulls: dict[bytes, Pick] = {}

    def pick(self, column: pa.ChunkedArray) -> Pick:
        """Return the rows that hold the column's values."""
        # If all values are null, or all are present and every record gives its value, the last row
        # has the result: no search is needed.
        if column.null_count == len(column) or (column.null_count == 0 and self._all_give):
            return self.last
        has_value = validity(column)
        nulls = np.packbits(has_value).tobytes()
        if nulls not in self._by_nulls:
            self._by_nulls[nulls] = Pick(rows=self._last_givers(has_value))
        return self._by_nulls[nulls]

    @property
    def _all_give(self) -> bool:
        """Return whether every record that has a value gives it: all are adds, none seeds."""
        return self._history.is_retract is None and self._history.seeded is None

    def _last_givers(self, has_value: Bools) -> Ints:
        segments = self._history.segments
        if self._all_give:
            # Where no row has a value the last row is returned, whose null is the result.
            return last_rows_where(segments, has_value)
        gives = has_value[segments.order]
        if self._history.acts is not None:
            gives &= self._history.acts
        if self._history.is_retract is not None:
            gives &= ~self._history.is_retract
        # A seed is copied whole, its nulls included.
        gives[self._history.seed_positions] = True
        return _rows_at(self._history, _last(self._history, gives))


def _group_columns(
    table: pa.Table,
    history: History,
    group: SequenceGroup,
    order: OrderingCodes,
    names: Sequence[str],
    functions: Mapping[str, ColumnFunction],
) -> Iterator[tuple[str, ComputedColumn]]:
    segments = history.segments
    # Without retracts the winner is the maximum of the ordering codes. Otherwise, and where a function
    # distinguishes late values, it takes a running maximum to find the accepted records.
    only_adds = history.is_retract is None and history.seeded is None
    in_group = takes_part(segments, order) if functions or not only_adds else None
    is_late = None
    if in_group is not None and (
        not only_adds or any(needs_late(f, table.field(f.column).type) for f in functions.values())
    ):
        # A seed sets the row's ordering columns even when they are null, the smallest; an ignored
        # record sets none.
        compared = in_group.copy() if history.acts is None else in_group & history.acts
        compared[history.seed_positions] = True
        is_late = late_positions(segments, order, compared)
    if only_adds:
        ordering = protected = Pick(rows=winning_rows(segments, order, history.untouched))
    else:
        assert in_group is not None
        ordering, protected = _winners(history, in_group, is_late)
    # Columns with functions differ in their steps only by whether they ignore retracts.
    steps: dict[bool, KeySteps | None] = {}
    for name in names:
        if name in group.ordering:
            yield name, ComputedColumn(merged=ordering)
        elif name not in functions:
            yield name, ComputedColumn(merged=protected)
        else:
            ignoring = functions[name].ignore_retract
            if ignoring not in steps:
                steps[ignoring] = steps_of(
                    history,
                    # None, where all take part, lets `steps_of` skip the selection.
                    chosen=None if order.takes_part is None else in_group,
                    is_late=is_late,
                    without_retracts=ignoring,
                )
            column = combined_array(table.column(name))
            yield name, computed_column(functions[name], column, steps[ignoring], segments.count)


def _winners(history: History, in_group: Bools, is_late: Bools | None) -> tuple[Pick, Pick]:
    """Return picks of the ordering columns, and of the protected columns without a function.

    The last accepted record gives both, except that a retract makes the protected columns null. Without
    an accepted record a seed gives both.
    """
    accepted = in_group if history.acts is None else in_group & history.acts
    if is_late is not None:
        accepted = accepted & ~is_late
    positions = _last(history, accepted)
    # A position is NO_ROW (-1) where no record is accepted. As an array index, -1 addresses a
    # position of some other key, so results are masked there.
    nulls = np.zeros(history.segments.count, dtype=np.bool_)
    if history.is_retract is not None:
        nulls = (positions != NO_ROW) & history.is_retract[positions]
    if history.seeded is not None:
        positions = np.where(
            (positions == NO_ROW) & history.seeded, history.segments.starts, positions
        )
    rows = _rows_at(history, positions)
    return Pick(rows=rows), Pick(rows=np.where(nulls, NO_ROW, rows))


def _last(history: History, chosen: Bools) -> Ints:
    """Return the last chosen position per segment, `NO_ROW` for none."""
    none = np.full(history.segments.count, NO_ROW, dtype=np.int64)
    return last_positions(history.segments, np.flatnonzero(chosen), default=none)


def _rows_at(history: History, positions: Ints) -> Ints:
    """Return the rows at some positions, `NO_ROW` where there is none."""
    return np.where(positions == NO_ROW, NO_ROW, history.segments.order[positions])
