"""Parquet data files: key-value tables in, key-value batches out (`parquet_reader`).

Physical types are the format's (`parquet_schema`, `int96`), encodings come from a sample
(`parquet_encoding`), row groups are bounded in rows and bytes so that reading in batches is
bounded too.

Source: table-format 12.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from lake.errors import StorageUnavailable
from lake.files.file_io import FileIO
from lake.files.int96 import declare_int96, holds_int96, to_int96_storage
from lake.files.parquet_bounds import ColumnBounds, column_bounds
from lake.files.parquet_encoding import choose_encodings
from lake.files.parquet_limits import refuse_what_no_file_holds
from lake.files.parquet_reader import (
    DataFileReader,
    ReadCounters,
    RowGroupFilter,
    key_value_schema,
    null_columns,
)
from lake.files.parquet_schema import data_file_schema
from lake.format.schema import TableSchema
from lake.format.system_columns import KEY_PREFIX

__all__ = [
    "DataFileReader",
    "DataFileWritten",
    "ReadCounters",
    "RowGroupFilter",
    "key_value_schema",
    "null_columns",
    "write_data_file",
]

ROW_GROUP_ROWS = 32_768
"""Rows of a row group; a reader holds one compressed row group per run in memory.

Measured from 16 384 to 262 144 rows: writing and reading whole files takes the same time from here
up, files of narrow rows grow by 6 % (by 12 % at 16 384), and a lookup, which decodes one row group,
takes a fifth of the time at 131 072."""

ROW_GROUP_BYTES = 64 * 1024 * 1024
"""In memory, before encoding; bounds row groups of wide rows."""

_ROW_GROUP_ROWS_MIN = 1_024
"""However wide the rows: smaller groups only add footers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFileWritten:
    """What is known of a data file only after it was written.

    Attributes:
        file_size: Exact bytes; readers open the file with it.
        bounds: Statistics of the columns for which Parquet's order is the format's.
    """

    file_size: int
    bounds: Mapping[str, ColumnBounds]


def write_data_file(
    file_io: FileIO,
    path: str,
    table: pa.Table,
    schema: TableSchema,
    *,
    row_group_rows: int = ROW_GROUP_ROWS,
    drop_null_columns: bool = False,
    compression: str | None = None,
) -> DataFileWritten:
    """Write one data file, durably.

    Args:
        file_io: Where to.
        path: A new, uniquely named file.
        table: A key-value table with all table columns, sorted by key, each key once.
        schema: Of the table; says names, ids, nullability and the options.
        row_group_rows: Upper bound of the rows of a row group.
        drop_null_columns: Leave nullable columns out that hold only nulls. Readers of the format
            put null for a column that a file lacks, from release 1.3 on.
        compression: Codec; None takes the table's.

    Returns:
        Size and statistics of the file.

    Raises:
        SchemaMismatch: Null in a NOT NULL column, or a DECIMAL too large for its storage.
        StorageUnavailable: Storage refused; nothing stays behind.
    """
    dropped = _null_columns(table, schema) if drop_null_columns else frozenset()
    logical = _physical_table(table, data_file_schema(schema, without=dropped))
    int96 = {column.name for column in logical.schema if holds_int96(column.type)}
    physical = _with_int96_storage(logical, int96)
    rows = _row_group_rows(physical, row_group_rows)
    codec = compression or schema.table_options.file_compression
    with _write_errors(path), file_io.open_output(path) as sink:
        if int96:
            # The footer has to be changed before it is written, hence the detour over memory,
            # bounded by the target file size.
            buffered = pa.BufferOutputStream()
            metadata = _write_parquet(buffered, physical, schema, rows, codec)
            body, footer = declare_int96(buffered.getvalue(), int96)
            sink.write(body)
            sink.write(footer)
        else:
            metadata = _write_parquet(sink, physical, schema, rows, codec)
        file_size = sink.tell()
    ordered = [column for column in logical.schema if column.name not in int96]
    return DataFileWritten(file_size=file_size, bounds=column_bounds(metadata, ordered))


def _null_columns(table: pa.Table, schema: TableSchema) -> frozenset[str]:
    return frozenset(
        column.name
        for column in schema.fields
        if column.type.nullable and table.column(column.name).null_count == table.num_rows
    )


def _physical_table(table: pa.Table, target: pa.Schema) -> pa.Table:
    """Return the columns of the file in its order and under its types; copies nothing but casts."""
    present = set(table.column_names)
    arrays = []
    for column in target:
        name = column.name
        if name not in present:
            name = name.removeprefix(KEY_PREFIX)
        arrays.append(table.column(name))
    physical = pa.Table.from_arrays(arrays, names=target.names)
    refuse_what_no_file_holds(physical, target)
    return (
        physical if physical.schema.equals(target, check_metadata=True) else physical.cast(target)
    )


def _with_int96_storage(table: pa.Table, int96: Collection[str]) -> pa.Table:
    if not int96:
        return table
    columns: list[pa.ChunkedArray | pa.Array] = table.columns
    fields = list(table.schema)
    for index, field in enumerate(fields):
        if field.name in int96:
            columns[index] = to_int96_storage(columns[index])
            fields[index] = field.with_type(columns[index].type)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, table.schema.metadata))


def _row_group_rows(table: pa.Table, row_group_rows: int) -> int:
    row_bytes: int = max(1, int(table.nbytes) // max(1, table.num_rows))
    by_bytes = max(_ROW_GROUP_ROWS_MIN, ROW_GROUP_BYTES // row_bytes)
    return min(row_group_rows, by_bytes)


def _write_parquet(
    sink: pa.NativeFile, table: pa.Table, schema: TableSchema, row_group_rows: int, codec: str
) -> pq.FileMetaData:
    encodings = choose_encodings(table)
    collected: list[pq.FileMetaData] = []
    level = schema.table_options.zstd_level if codec == "zstd" else None
    with pq.ParquetWriter(
        sink,
        table.schema,
        version="2.6",
        compression=codec,
        compression_level=level,
        use_dictionary=encodings.dictionary,
        column_encoding=encodings.explicit,
        write_statistics=True,
        # A flipped bit that still decompresses would be a wrong value; costs 2 % of writing and of
        # reading 20 columns of text.
        write_page_checksum=True,
        store_schema=False,
        store_decimal_as_integer=True,
        write_time_adjusted_to_utc=True,
        metadata_collector=collected,
    ) as writer:
        writer.write_table(table, row_group_size=row_group_rows)
    return collected[0]


@contextmanager
def _write_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"cannot write data file {path}: {error}"
        raise StorageUnavailable(message) from error
