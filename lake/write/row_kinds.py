"""The kind of each row: given beside the rows, or in the column that `rowkind.field` names.

Source: merge-semantics 1.3.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake.errors import Problem, SchemaMismatch
from lake.format.schema import TableSchema
from lake.format.system_columns import RowKind

_TEXTS = {kind.symbol: kind for kind in RowKind}


def row_kinds(rows: pa.Table, kinds: pa.Array | None, schema: TableSchema) -> pa.Array:
    """Return the int8 row kind of every row.

    Args:
        rows: Under the table's Arrow schema.
        kinds: Integer row kinds, one per row; None means all +I. With `rowkind.field` the column
            says, and what is given here is checked but not used.
        schema: Of the table.

    Raises:
        SchemaMismatch: A kind is unknown or null, or their number is not that of the rows.
    """
    given = _given_kinds(kinds, rows.num_rows)
    name = schema.table_options.rowkind_field
    return given if name is None else _kinds_in_column(rows.column(name), name)


def _given_kinds(kinds: pa.Array | None, row_count: int) -> pa.Array:
    if kinds is None:
        return pa.array(np.zeros(row_count, dtype=np.int8))
    if isinstance(kinds, pa.ChunkedArray):
        kinds = kinds.combine_chunks()
    problem = None
    if not pa.types.is_integer(kinds.type):
        problem = f"row kinds have the Arrow type {kinds.type}, expected int8"
    elif len(kinds) != row_count:
        problem = f"{len(kinds)} row kinds for {row_count} rows"
    elif kinds.null_count or not _all_kinds(kinds):
        problem = "a row kind is none of 0 (+I), 1 (-U), 2 (+U), 3 (-D)"
    if problem is not None:
        raise SchemaMismatch(problem)
    return kinds.cast(pa.int8())


def _all_kinds(kinds: pa.Array) -> bool:
    values = kinds.to_numpy()
    return bool(np.all((values >= min(RowKind)) & (values <= max(RowKind))))


def _kinds_in_column(column: pa.ChunkedArray, name: str) -> pa.Array:
    positions = pc.index_in(column.combine_chunks(), pa.array(list(_TEXTS)))
    if positions.null_count:
        row = pc.index(positions.is_null(), True).as_py()
        problem = Problem(
            field=name,
            value=str(column[row].as_py()) if column[row].is_valid else "null",
            message=f"row {row}: the column holds the row kind, expected {', '.join(_TEXTS)}",
        )
        message = f"{positions.null_count} of {len(positions)} rows have no row kind"
        raise SchemaMismatch(message, problems=[problem])
    return pa.array(list(_TEXTS.values()), pa.int8()).take(positions)
