"""Data files, written row group by row group: key-value rows in, as they come.

Physical types are the format's (`parquet_schema`, `int96`), encodings come from a sample of the first
row group (`parquet_encoding`). What is in memory is one row group, however long the file grows.

Source: table-format 12.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from lake.errors import StorageUnavailable
from lake.files.file_io import FileIO
from lake.files.int96 import holds_int96, to_int96_storage
from lake.files.int96_file import Int96Output
from lake.files.parquet_bounds import ColumnBounds, column_bounds
from lake.files.parquet_encoding import choose_encodings
from lake.files.parquet_limits import refuse_what_no_file_holds
from lake.files.parquet_schema import data_file_schema
from lake.files.unless_finished import DiscardedUnlessFinished
from lake.format.schema import TableSchema
from lake.format.system_columns import KEY_PREFIX

ROW_GROUP_ROWS: Final = 32_768
"""Rows of a row group; a reader holds one compressed row group per run in memory.

Measured from 16 384 to 262 144 rows: writing and reading whole files takes the same time from here
up, files of narrow rows grow by 6 % (by 12 % at 16 384), and a lookup, which decodes one row group,
takes a fifth of the time at 131 072."""

ROW_GROUP_BYTES: Final = 64 * 1024 * 1024
"""In memory, before encoding; bounds row groups of wide rows."""


def row_group_rows(rows: int, size: int) -> int:
    """Return how many rows of an average size make a row group; at least 1.

    Args:
        rows: Of any number.
        size: Their bytes in memory.
    """
    return max(1, min(ROW_GROUP_ROWS, ROW_GROUP_BYTES * rows // max(1, size)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFileWritten:
    """What is known of a data file only after it was written.

    Attributes:
        file_size: Exact bytes; readers open the file with it.
        bounds: Statistics of the columns for which Parquet's order is the format's.
    """

    file_size: int
    bounds: Mapping[str, ColumnBounds]


class DataFileWriter(DiscardedUnlessFinished):
    """One data file on its way to storage; it is removed unless it is finished."""

    def __init__(
        self,
        file_io: FileIO,
        path: str,
        schema: TableSchema,
        *,
        without: Collection[str] = (),
        compression: str | None = None,
    ) -> None:
        """Remember what to write; nothing is opened before the first rows.

        Args:
            file_io: Where to.
            path: A new, uniquely named file.
            schema: Of the table; says names, ids, nullability and the options.
            without: Nullable columns to leave out, which will hold only nulls. Readers of the
                format put null for a column that a file lacks, from release 1.3 on.
            compression: Codec; None takes the table's.
        """
        self._file_io = file_io
        self._path = path
        self._codec = compression or schema.table_options.file_compression
        self._level = schema.table_options.zstd_level if self._codec == "zstd" else None
        self._logical = data_file_schema(schema, without=without)
        self._int96 = {column.name for column in self._logical if holds_int96(column.type)}
        self._opened = ExitStack()
        self._sink: pa.NativeFile | None = None
        self._int96_output: Int96Output | None = None
        self._parquet: pq.ParquetWriter | None = None
        self._footers: list[pq.FileMetaData] = []

    @property
    def size(self) -> int:
        """The bytes that storage has been given so far; a footer is to come."""
        return 0 if self._sink is None else int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        """Write one row group.

        Args:
            rows: A key-value table of at least one row with all table columns, sorted by key, with
                keys above all before.

        Raises:
            SchemaMismatch: Null in a NOT NULL column, or a DECIMAL too large for its storage.
            StorageUnavailable: Storage refused.
        """
        physical = _with_int96_storage(_physical_table(rows, self._logical), self._int96)
        with _write_errors(self._path):
            if self._parquet is None:
                self._parquet = self._open(physical)
            self._parquet.write_table(physical, row_group_size=physical.num_rows)

    def finish(self) -> DataFileWritten:
        """Make the file durable; at least one row group must be in it.

        Raises:
            StorageUnavailable: Storage refused; the file may or may not be there.
        """
        assert self._parquet is not None, "a data file has rows"
        with _write_errors(self._path):
            if self._int96_output is not None:
                self._int96_output.expect_footer()
            self._parquet.close()
            if self._int96_output is not None:
                self._int96_output.write_footer(self._int96)
            size = self.size
            self._opened.close()
        ordered = [column for column in self._logical if column.name not in self._int96]
        return DataFileWritten(file_size=size, bounds=column_bounds(self._footers[0], ordered))

    def discard(self, error: BaseException | None = None) -> None:
        """Remove the file unless it is finished."""
        if self._parquet is not None:
            self._parquet.is_open = False  # a broken file needs no footer
        reason = error or _Discarded(self._path)
        self._opened.__exit__(type(reason), reason, reason.__traceback__)

    def _open(self, first: pa.Table) -> pq.ParquetWriter:
        self._sink = self._opened.enter_context(self._file_io.open_output(self._path))
        where = self._sink
        if self._int96:
            self._int96_output = Int96Output(self._sink)
            where = pa.PythonFile(self._int96_output, mode="w")
        encodings = choose_encodings(first)
        return pq.ParquetWriter(
            where,
            first.schema,
            version="2.6",
            compression=self._codec,
            compression_level=self._level,
            use_dictionary=encodings.dictionary,
            column_encoding=encodings.explicit,
            write_statistics=True,
            # A flipped bit that still decompresses would be a wrong value; costs 2 % of writing and
            # of reading 20 columns of text.
            write_page_checksum=True,
            store_schema=False,
            store_decimal_as_integer=True,
            write_time_adjusted_to_utc=True,
            metadata_collector=self._footers,
        )


class _Discarded(Exception):
    """A file is given up on purpose."""


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


@contextmanager
def _write_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"cannot write data file {path}: {error}"
        raise StorageUnavailable(message) from error
