"""Rows as a writer stores them: checked, with their kinds, and without what the table's options leave out."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from braid.lake.errors import SchemaMismatch
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import (
    SEQUENCE_NUMBER_FIELD,
    VALUE_KIND_FIELD,
    RowKind,
)
from braid.lake.merge.value_checks import ValueChecks
from braid.lake.write.rows.null_deletes import apply_null_deletes
from braid.lake.write.rows.row_check import conform
from braid.lake.write.rows.row_kinds import row_kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRows:
    """Rows that a writer stores, in the order of arrival, before they are numbered and folded.

    Attributes:
        rows: All columns of the table.
        kinds: int8, one per row.
        ignored: The number of rows that the table's options leave out.
    """

    rows: pa.Table
    kinds: pa.Array
    ignored: int


def stored_rows(
    batch: pa.RecordBatch | pa.Table,
    kinds: pa.Array | None,
    schema: TableSchema,
    checks: ValueChecks,
) -> StoredRows:
    """Return rows as a writer stores them.

    Args:
        batch: Table columns by name, in any order; missing ones become null.
        kinds: As for `TableWriter.write`.
        schema: The table's schema.
        checks: `ValueChecks` of the schema.

    Raises:
        SchemaMismatch: As `TableWriter.write`.
    """
    rows = conform(batch, schema)
    problems = list(checks.problems(rows))
    if problems:
        message = "the rows have values that cannot be merged"
        raise SchemaMismatch(message, problems=problems)
    kind_column = row_kinds(rows, kinds, schema)
    kept, kind_column = _without_ignored(rows, kind_column, schema)
    ignored = rows.num_rows - kept.num_rows
    kept, kind_column = apply_null_deletes(kept, kind_column, schema)
    return StoredRows(rows=kept, kinds=kind_column, ignored=ignored)


def key_value_table(rows: pa.Table, kinds: pa.Array, first_sequence_number: int) -> pa.Table:
    """Return rows with their kinds, numbered in their order."""
    assert len(kinds) == rows.num_rows, "each row has a kind"
    last = first_sequence_number + rows.num_rows
    numbers = pa.array(np.arange(first_sequence_number, last, dtype=np.int64))
    return pa.Table.from_arrays(
        [numbers, kinds, *rows.columns],
        schema=pa.schema([SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD, *rows.schema]),
    )


def _without_ignored(
    rows: pa.Table, kinds: pa.Array, schema: TableSchema
) -> tuple[pa.Table, pa.Array]:
    options = schema.table_options
    values = kinds.to_numpy()
    ignored = np.zeros(len(values), dtype=bool)
    if options.ignore_delete:
        ignored |= (values == RowKind.DELETE) | (values == RowKind.UPDATE_BEFORE)
    if options.ignore_update_before:
        ignored |= values == RowKind.UPDATE_BEFORE
    if not ignored.any():
        return rows, kinds
    kept = pa.array(~ignored)
    return rows.filter(kept), kinds.filter(kept)
