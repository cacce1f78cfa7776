"""Row kinds, from an array beside the rows or from the column that `rowkind.field` names; without either, all are +I.

A value that is no row kind is refused. So is a retract in a first-row table, unless an option drops it.

Source: merge-semantics 1.3.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.errors import Problem, SchemaMismatch
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import RowKind, is_retract
from braid.lake.options.table_options import MergeEngine

_TEXTS = {kind.symbol: kind for kind in RowKind}
_KINDS = f"expected {', '.join(f'{int(kind)} ({kind.symbol})' for kind in RowKind)}"
_NO_FIT = "the rows' kinds do not fit the table"


def row_kinds(rows: pa.Table, kinds: pa.Array | None, schema: TableSchema) -> pa.Array:
    """Return the int8 row kind of every row.

    Args:
        rows: Under the table's Arrow schema.
        kinds: Integer row kinds, one per row. None: the kinds in the column that `rowkind.field`
            names, or all +I without such a column. Must be None in a table with such a column.
        schema: The table's schema.

    Raises:
        SchemaMismatch: A kind is unknown or null; there are not as many kinds as rows; `kinds` is
            given although the table has a column of kinds; or a kind is a retract that no merge of
            the table accepts.
    """
    name = schema.table_options.rowkind_field
    if name is None:
        found = _given_kinds(kinds, rows.num_rows)
    elif kinds is None:
        found = _kinds_in_column(rows.column(name), name)
    else:
        problem = Problem(
            field="kinds",
            value=None,
            message=f"the row kinds of this table are in its column `{name}` (`rowkind.field`)",
            hint="leave `kinds` out",
        )
        raise SchemaMismatch(_NO_FIT, problems=[problem])
    assert len(found) == rows.num_rows, "each row has a kind"
    _refuse_retracts(found, schema)
    return found


def _given_kinds(kinds: pa.Array | None, row_count: int) -> pa.Array:
    if kinds is None:
        return pa.array(np.zeros(row_count, dtype=np.int8))
    if isinstance(kinds, pa.ChunkedArray):
        kinds = kinds.combine_chunks()
    problem = None
    if not pa.types.is_integer(kinds.type):
        problem = _kinds_problem(
            str(kinds.type), "the Arrow type of row kinds is an integer type, such as int8"
        )
    elif len(kinds) != row_count:
        problem = _kinds_problem(
            str(len(kinds)), f"expected one row kind for each of {row_count} rows"
        )
    elif not (known := _is_kind(kinds)).all():
        row = int(np.argmin(known))
        value = str(kinds[row].as_py()) if kinds[row].is_valid else "null"
        problem = _kinds_problem(value, f"row {row}: this is not a row kind")
    if problem is not None:
        raise SchemaMismatch(_NO_FIT, problems=[problem])
    return kinds.cast(pa.int8())


def _kinds_problem(value: str, message: str) -> Problem:
    return Problem(field="kinds", value=value, message=message, hint=_KINDS)


def _is_kind(kinds: pa.Array) -> npt.NDArray[np.bool_]:
    # A null is replaced by a number that is no kind.
    values = kinds.fill_null(max(RowKind) + 1).to_numpy()
    known: npt.NDArray[np.bool_] = (values >= min(RowKind)) & (values <= max(RowKind))
    return known


def _refuse_retracts(kinds: pa.Array, schema: TableSchema) -> None:
    """Refuse retracts under first-row: once written, every read and compaction would fail on them."""
    options = schema.table_options
    if options.merge_engine is not MergeEngine.FIRST_ROW or options.ignore_delete:
        return
    values = kinds.to_numpy()
    refused = is_retract(values)
    if options.ignore_update_before:
        refused &= values != RowKind.UPDATE_BEFORE
    if refused.any():
        row = int(np.argmax(refused))
        problem = Problem(
            field="kinds" if options.rowkind_field is None else options.rowkind_field,
            value=RowKind(values[row]).symbol,
            message=f"row {row}: first-row keeps the first record of a key and accepts no retract",
            hint="leave -U and -D rows out, or create the table with `ignore-delete`, which drops "
            "them when they are written",
        )
        raise SchemaMismatch(_NO_FIT, problems=[problem])


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
