"""The entry point of merging: records in, one row per key out, or none for a key whose records are all ignored.

Retracts are merged like other records, and the row of a key may be a retract; `drop_retracts` removes such rows.
`Machine` chooses the execution.

Source: merge-semantics 1.4 to 1.7.
"""

from dataclasses import dataclass
from enum import Enum, auto

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.errors import SchemaMismatch
from braid.lake.format.arrays import combined_array
from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND, is_retract
from braid.lake.merge.column_machine import select_by_columns
from braid.lake.merge.failing_key import error_of_key, records_of_failing_key
from braid.lake.merge.order.key_order import key_codes
from braid.lake.merge.order.merge_order import find_segments
from braid.lake.merge.row_machine import select_by_rows
from braid.lake.merge.spec import MergeSpec, columns_needed


class Machine(Enum):
    """An execution of merging; both give the same rows."""

    COLUMN = auto()
    ROW = auto()


@dataclass(slots=True, kw_only=True)
class FoldCounters:
    """Counters of folding; mutable, owned by the caller.

    Attributes:
        rows_in: Records read.
        rows_out: Rows returned, retracts included.
        row_machine_segments: Keys that the column machine left to the row machine; 0 with `Machine.ROW`.
        row_machine_rows: Records of those keys.
        looped_segments: Values that an aggregate function computed one record at a time, because it
            has no vectorised form for them; a key counts once for each such column.
    """

    rows_in: int = 0
    rows_out: int = 0
    row_machine_segments: int = 0
    row_machine_rows: int = 0
    looped_segments: int = 0


def fold(
    table: pa.Table,
    spec: MergeSpec,
    *,
    machine: Machine = Machine.COLUMN,
    counters: FoldCounters | None = None,
    codes: npt.NDArray[np.uint64] | None = None,
    single_untouched: bool = True,
) -> pa.Table:
    """Return one row per key, sorted by key; none for a key whose records are all ignored.

    Args:
        table: Key-value table: `_SEQUENCE_NUMBER` int64, `_VALUE_KIND` int8, and table columns, at
            least those of `columns_needed`. Rows in any order; sorted runs one after another,
            oldest first, are the cheapest. Among records with equal key, sequence fields and sequence
            number, an add is newer than a retract; of two adds or two retracts, the later row in
            `table` is newer.
        spec: How the table's records merge.
        machine: `ROW` is slow and defines the result; `COLUMN` gives the same rows.
        counters: Incremented when given.
        codes: The rows' `key_codes`, when the caller has them.
        single_untouched: Whether a record that is the only one of its key stays as it is. If False, it
            goes through the engine too, as in compactions of first-row tables (merge-semantics 1.6).

    Returns:
        The same columns. Kind and sequence number of a row are the merge's result; retracts are
        kept.

    Raises:
        SchemaMismatch: Null for a NOT NULL column, a retract that the table does not allow, or a
            value that an aggregate function cannot combine. The message names the smallest key
            that fails.
    """
    counted = FoldCounters() if counters is None else counters
    counted.rows_in += table.num_rows
    folded = table
    if table.num_rows:
        try:
            folded = _fold_rows(table, spec, machine, counted, codes, single_untouched)
        except SchemaMismatch as error:
            raise _with_key(error, table, spec, machine, single_untouched) from error
    counted.rows_out += folded.num_rows
    return folded


def _with_combined_order(table: pa.Table, spec: MergeSpec) -> pa.Table:
    """Return the table with the columns that order its records in one piece, because several steps read them.

    The values stay in the pieces in which the runs were read. Each column is combined when its values are copied, and
    not all at once, which would take as much memory as the runs.
    """
    orders = {SEQUENCE_NUMBER, VALUE_KIND, *spec.key_columns, *spec.sequence_fields}
    orders.update(name for group in spec.groups for name in group.ordering)
    columns = [
        column.combine_chunks() if name in orders else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=table.schema)


def drop_retracts(table: pa.Table) -> pa.Table:
    """Return the key-value table without its rows of kind -U and -D, in the same order."""
    kinds = combined_array(table.column(VALUE_KIND)).to_numpy()
    is_add = ~is_retract(kinds)
    return table if is_add.all() else table.filter(pa.array(is_add))


def _with_key(
    error: SchemaMismatch,
    table: pa.Table,
    spec: MergeSpec,
    machine: Machine,
    single_untouched: bool,
) -> SchemaMismatch:
    """Return the error of the smallest failing key, as the row machine raises it."""
    codes = key_codes([table.column(name) for name in spec.key_columns])

    def merge(records: pa.Table, chosen: Machine = machine) -> None:
        if records.num_rows:
            _fold_rows(records, spec, chosen, FoldCounters(), None, single_untouched)

    records = records_of_failing_key(table, codes, merge)
    # The column machine checks column by column; the row machine fails at the first record that cannot
    # be merged, whatever the order of columns in its plan.
    try:
        merge(records, Machine.ROW)
    except SchemaMismatch as exact:
        error = exact
    return error_of_key(error, records, spec.key_columns)


def _fold_rows(
    table: pa.Table,
    spec: MergeSpec,
    machine: Machine,
    counters: FoldCounters,
    codes: npt.NDArray[np.uint64] | None,
    single_untouched: bool,
) -> pa.Table:
    names = table.column_names
    assert set(names).issuperset(columns_needed(spec, names)), (
        "a column that merging needs is missing"
    )
    if machine is Machine.ROW:
        selection = select_by_rows(table, spec, single_untouched=single_untouched)
        return selection.copy_from(table)
    if codes is None:
        codes = key_codes([table.column(name) for name in spec.key_columns])
    if single_untouched and bool((codes[1:] > codes[:-1]).all()):
        # Every key has a single record, and the rows are in key order.
        return table
    table = _with_combined_order(table, spec)
    segments = find_segments(table, spec, codes)
    merged = select_by_columns(table, spec, segments, single_untouched=single_untouched)
    counters.row_machine_segments += merged.row_machine_segments
    counters.row_machine_rows += merged.row_machine_rows
    counters.looped_segments += merged.looped_segments
    return merged.selection.copy_from(table)
