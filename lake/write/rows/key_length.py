"""Upper bound of the length of a row's key, in bytes: its texts and byte strings together, without partition columns.

The metadata of every file has its first and its last key, and readers and writers hold the metadata of many files in
memory. So the length of a key is bounded when it is written, by `braid.key.max-bytes`, 64 KiB by default. Existing
rows with longer keys are read and compacted as before.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.errors import Problem
from braid.lake.format.data_types import BYTES_ROOTS, TEXT_ROOTS, DataField
from braid.lake.format.schema import TableSchema
from braid.lake.options.table_options import KEY_BYTES_MAX

_UTF8_BYTES_MAX = 4
_SHOWN_MAX = 60


def long_key_problems(rows: pa.Table, schema: TableSchema) -> Iterator[Problem]:
    """Yield a problem of the first row whose key is too long, if there is one.

    Args:
        rows: All columns of the table, as `conform` returns them.
        schema: The table's schema.
    """
    limit = schema.table_options.key_bytes_max
    fields = [f for f in schema.key_fields if f.type.root in (*TEXT_ROOTS, *BYTES_ROOTS)]
    # Rows are not checked where the declared lengths exclude a long key, as CHAR and VARCHAR
    # usually do.
    if rows.num_rows == 0 or sum(map(_bytes_max, fields)) <= limit:
        return
    is_long = key_is_long([rows.column(field.name) for field in fields], limit)
    row = pc.index(is_long, True).as_py()
    if row < 0:
        return
    names = [field.name for field in fields]
    lengths = [pc.binary_length(rows.column(name)[row]).as_py() or 0 for name in names]
    longest = names[lengths.index(max(lengths))]
    yield Problem(
        field=longest,
        value=f"{str(rows.column(longest)[row].as_py())[:_SHOWN_MAX]}…",
        message=(
            f"row {row}: the texts and bytes of the key ({', '.join(names)}) have {sum(lengths)} bytes "
            f"together, the limit is {limit}"
        ),
        hint=f"shorten the key, for example to a digest, or raise the table's `{KEY_BYTES_MAX}`",
    )


def key_is_long(columns: Sequence[pa.ChunkedArray | pa.Array], limit: int) -> pa.ChunkedArray:
    """Return for each row whether the texts and bytes of its key together exceed a limit.

    Args:
        columns: The text and binary columns of the key, at least one; nulls count 0.
        limit: Bytes.
    """
    total = pc.fill_null(pc.binary_length(columns[0]), 0).cast(pa.int64())
    for column in columns[1:]:
        total = pc.add(total, pc.fill_null(pc.binary_length(column), 0).cast(pa.int64()))
    return pc.greater(total, limit)


def _bytes_max(field: DataField) -> int:
    length = field.type.length or 0
    return length * _UTF8_BYTES_MAX if field.type.root in TEXT_ROOTS else length
