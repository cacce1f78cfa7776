"""Parquet data files: key-value tables in, key-value batches out.

Physical types are the format's (`parquet_schema`, `int96`), encodings come from a sample
(`parquet_encoding`), row groups are bounded in rows and bytes so that reading in batches is
bounded too.

Source: table-format 12.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from lake.errors import CorruptData, Problem, StorageUnavailable, UnsupportedFeature
from lake.files.file_io import FileIO
from lake.files.int96 import INT96_STORAGE, declare_int96, is_int96, to_int96_storage
from lake.files.parquet_bounds import ColumnBounds, column_bounds
from lake.files.parquet_encoding import choose_encodings
from lake.files.parquet_schema import data_file_schema
from lake.format.data_file import DataFileMeta
from lake.format.schema import TableSchema
from lake.format.system_columns import (
    KEY_PREFIX,
    SEQUENCE_NUMBER_FIELD,
    VALUE_KIND_FIELD,
)

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


@dataclass(slots=True, kw_only=True)
class ReadCounters:
    """What reading has cost so far; owned by the caller.

    Attributes:
        files: Files opened.
        row_groups: Row groups decoded, in part or whole.
        row_groups_skipped: Row groups that the row filter excluded.
        rows: Rows decoded.
        columns: Columns decoded, per file and name.
    """

    files: int = 0
    row_groups: int = 0
    row_groups_skipped: int = 0
    rows: int = 0
    columns: list[tuple[str, str]] = field(default_factory=list)


RowGroupFilter = Callable[[Mapping[str, ColumnBounds], int], npt.NDArray[np.bool_]]
"""From bounds per column (those that have any) and the number of row groups to one boolean per
row group: False skips it."""


def write_data_file(
    file_io: FileIO,
    path: str,
    table: pa.Table,
    schema: TableSchema,
    *,
    row_group_rows: int = ROW_GROUP_ROWS,
    drop_null_columns: bool = False,
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

    Returns:
        Size and statistics of the file.

    Raises:
        UnsupportedFeature: TIMESTAMP(7..9) inside a nested column.
        StorageUnavailable: Storage refused; nothing stays behind.
    """
    dropped = _null_columns(table, schema) if drop_null_columns else frozenset()
    logical = _physical_table(table, data_file_schema(schema, without=dropped))
    _refuse_nested_int96(logical.schema)
    int96 = [column.name for column in logical.schema if is_int96(column.type)]
    physical = _with_int96_storage(logical, int96)
    rows = _row_group_rows(physical, row_group_rows)
    with _write_errors(path), file_io.open_output(path) as sink:
        if int96:
            # The footer has to be changed before it is written, hence the detour over memory,
            # bounded by the target file size.
            buffered = pa.BufferOutputStream()
            metadata = _write_parquet(buffered, physical, schema, rows)
            body, footer = declare_int96(buffered.getvalue(), int96)
            sink.write(body)
            sink.write(footer)
        else:
            metadata = _write_parquet(sink, physical, schema, rows)
        file_size = sink.tell()
    ordered = [column for column in logical.schema if column.name not in int96]
    return DataFileWritten(file_size=file_size, bounds=column_bounds(metadata, ordered))


class DataFileReader:
    """Batches of one data file in the table's Arrow schema."""

    def __init__(
        self,
        file_io: FileIO,
        path: str,
        *,
        file_meta: DataFileMeta,
        schema: TableSchema,
        counters: ReadCounters | None = None,
    ) -> None:
        """Remember what to read; nothing is opened yet.

        Args:
            file_io: Where the file is.
            path: Of the file.
            file_meta: Its entry in the manifest.
            schema: The table's, under which the file was written.
            counters: Added to when given.
        """
        self._file_io = file_io
        self._path = path
        self._meta = file_meta
        self._schema = schema
        self._counters = counters if counters is not None else ReadCounters()

    def batches(
        self,
        columns: Sequence[str],
        *,
        batch_rows: int = 65_536,
        row_filter: RowGroupFilter | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield key-value batches with the named columns, in file order.

        Columns that hold only nulls according to the file's statistics, and nullable columns that
        the file lacks, are not decoded.

        Args:
            columns: Table columns wanted.
            batch_rows: Upper bound of the rows of a batch.
            row_filter: Leaves out row groups that cannot hold what is looked for.

        Yields:
            Batches: `_SEQUENCE_NUMBER`, `_VALUE_KIND`, then `columns` in their order.

        Raises:
            CorruptData: The file is absent, no Parquet, or not what its manifest entry says.
        """
        target = key_value_schema(self._schema, columns)
        with _read_errors(self._path), self._file_io.open_input(self._path) as source:
            file = pq.ParquetFile(source, pre_buffer=False)
            self._check(file)
            groups = self._row_groups(file, row_filter)
            stored = self._stored_columns(file, target)
            if not groups:
                return
            self._counters.columns += [(self._meta.file_name, name) for name in stored]
            for batch in file.iter_batches(batch_rows, row_groups=groups, columns=stored):
                self._counters.rows += batch.num_rows
                yield _to_target(batch, target)

    def _check(self, file: pq.ParquetFile) -> None:
        if file.metadata.num_rows != self._meta.row_count:
            message = (
                f"data file {self._path} has {file.metadata.num_rows} rows, "
                f"its manifest entry says {self._meta.row_count}"
            )
            raise CorruptData(message)

    def _row_groups(self, file: pq.ParquetFile, row_filter: RowGroupFilter | None) -> list[int]:
        count = file.metadata.num_row_groups
        kept = list(range(count))
        if row_filter is not None and count > 0:
            bounds = column_bounds(file.metadata, list(self._schema.arrow_schema))
            mask = row_filter(bounds, count)
            kept = [number for number in kept if mask[number]]
        self._counters.files += 1
        self._counters.row_groups += len(kept)
        self._counters.row_groups_skipped += count - len(kept)
        return kept

    def _stored_columns(self, file: pq.ParquetFile, target: pa.Schema) -> list[str]:
        present = set(file.schema_arrow.names)
        for wanted in target:
            if wanted.name not in present and not wanted.nullable:
                message = f"data file {self._path} lacks the column {wanted.name}"
                raise CorruptData(message)
        only_nulls = null_columns(self._meta, self._schema)
        return [name for name in target.names if name in present and name not in only_nulls]


def key_value_schema(schema: TableSchema, columns: Sequence[str]) -> pa.Schema:
    """Return the Arrow schema of key-value batches with the named table columns."""
    table_schema = schema.arrow_schema
    return pa.schema(
        [SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD, *(table_schema.field(name) for name in columns)]
    )


def null_columns(file_meta: DataFileMeta, schema: TableSchema) -> frozenset[str]:
    """Return the columns that hold only nulls according to a file's value statistics."""
    counts = file_meta.value_stats.null_counts
    names = file_meta.value_stats_cols
    if names is None:
        names = schema.field_names
    # No statistics are written as an empty row, whatever the columns.
    return frozenset(
        name for name, count in zip(names, counts, strict=False) if count == file_meta.row_count
    )


def _null_columns(table: pa.Table, schema: TableSchema) -> frozenset[str]:
    return frozenset(
        column.name
        for column in schema.fields
        if column.type.nullable and table.column(column.name).null_count == table.num_rows
    )


def _physical_table(table: pa.Table, target: pa.Schema) -> pa.Table:
    """Return the columns of the file in its order and under its types; copies nothing but casts."""
    arrays = []
    for column in target:
        name = column.name
        if name not in table.column_names:
            name = name.removeprefix(KEY_PREFIX)
        arrays.append(table.column(name))
    physical = pa.Table.from_arrays(arrays, names=target.names)
    return (
        physical if physical.schema.equals(target, check_metadata=True) else physical.cast(target)
    )


def _refuse_nested_int96(schema: pa.Schema) -> None:
    problems = [
        Problem(
            field=column.name,
            value=str(column.type),
            message="a timestamp of more than 6 digits inside a nested column cannot be written",
            hint="use TIMESTAMP(6) there",
        )
        for column in schema
        if pa.types.is_nested(column.type) and "timestamp[ns" in str(column.type)
    ]
    if problems:
        message = "nested timestamps of this precision are not in this version"
        raise UnsupportedFeature(message, problems=problems)


def _with_int96_storage(table: pa.Table, int96: Collection[str]) -> pa.Table:
    for name in int96:
        index = table.column_names.index(name)
        storage = to_int96_storage(table.column(index))
        table = table.set_column(index, table.schema.field(index).with_type(INT96_STORAGE), storage)
    return table


def _row_group_rows(table: pa.Table, row_group_rows: int) -> int:
    row_bytes: int = max(1, int(table.nbytes) // max(1, table.num_rows))
    by_bytes = max(_ROW_GROUP_ROWS_MIN, ROW_GROUP_BYTES // row_bytes)
    return min(row_group_rows, by_bytes)


def _write_parquet(
    sink: pa.NativeFile, table: pa.Table, schema: TableSchema, row_group_rows: int
) -> pq.FileMetaData:
    options = schema.table_options
    encodings = choose_encodings(table)
    collected: list[pq.FileMetaData] = []
    is_zstd = options.file_compression == "zstd"
    with pq.ParquetWriter(
        sink,
        table.schema,
        version="2.6",
        compression=options.file_compression,
        compression_level=options.zstd_level if is_zstd else None,
        use_dictionary=encodings.dictionary,
        column_encoding=encodings.explicit,
        write_statistics=True,
        store_schema=False,
        store_decimal_as_integer=True,
        write_time_adjusted_to_utc=True,
        metadata_collector=collected,
    ) as writer:
        writer.write_table(table, row_group_size=row_group_rows)
    return collected[0]


def _to_target(batch: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    stored = set(batch.schema.names)
    arrays = [
        _convert(batch.column(wanted.name), wanted.type)
        if wanted.name in stored
        else pa.nulls(batch.num_rows, wanted.type)
        for wanted in target
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def _convert(column: pa.Array, target: pa.DataType) -> pa.Array:
    if column.type.equals(target):
        return column
    if is_int96(column.type) and is_int96(target):
        return column.view(target)  # INT96 knows no zone; the instant is UTC either way
    return column.cast(target)


@contextmanager
def _write_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"cannot write data file {path}: {error}"
        raise StorageUnavailable(message) from error


@contextmanager
def _read_errors(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        message = (
            f"data file {path} is listed but absent\n"
            "hint: was its snapshot expired while it was read"
        )
        raise CorruptData(message) from error
    except pa.ArrowInvalid as error:
        message = f"data file {path} cannot be decoded: {error}"
        raise CorruptData(message) from error
    except OSError as error:
        message = f"cannot read data file {path}: {error}"
        raise StorageUnavailable(message) from error
