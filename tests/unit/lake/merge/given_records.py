"""Key-value tables written as rows of text: `+I 1 a _` is a record, `_` is null."""

from collections.abc import Sequence

import pyarrow as pa

from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND, RowKind


def given_records(
    header: str, *rows: str, types: dict[str, pa.DataType] | None = None, first_sequence: int = 0
) -> pa.Table:
    """Return records of the columns of the header, numbered in their order; int32 by default."""
    names = header.split()
    cells = [row.split() for row in rows]
    arrays = {
        SEQUENCE_NUMBER: pa.array(range(first_sequence, first_sequence + len(rows)), pa.int64()),
        VALUE_KIND: pa.array([int(RowKind.from_symbol(row[0])) for row in cells], pa.int8()),
    }
    for index, name in enumerate(names, start=1):
        kind = (types or {}).get(name, pa.int32())
        texts = pa.array([None if row[index] == "_" else row[index] for row in cells], pa.string())
        arrays[name] = texts.cast(kind)
    return pa.table(arrays)


def written(table: pa.Table) -> list[str]:
    """Return the rows as `given_records` takes them."""
    kinds = [RowKind(kind).symbol for kind in table.column(VALUE_KIND).to_pylist()]
    names = [name for name in table.column_names if name not in (SEQUENCE_NUMBER, VALUE_KIND)]
    columns: Sequence[Sequence[object]] = [table.column(name).to_pylist() for name in names]
    rows = zip(kinds, *columns, strict=True)
    return [" ".join("_" if value is None else str(value) for value in row) for row in rows]
