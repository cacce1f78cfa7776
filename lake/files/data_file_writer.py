"""Data files, written row group by row group: key-value rows in, as they come.

What is in memory is one row group, however long the file grows. What the bytes look like is the
business of an output for each format.

Source: table-format 12.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from lake.errors import StorageUnavailable
from lake.files.avro.writer import AvroFormatWriter
from lake.files.data_file_columns import data_file_columns
from lake.files.file_encoding import FileEncoding, FileFormat
from lake.files.file_limits import check_file_limits
from lake.files.format_writer import FormatWriter
from lake.files.orc.chars import holds_chars
from lake.files.orc.writer import OrcFormatWriter
from lake.files.parquet.bounds import ColumnBounds
from lake.files.parquet.schema import data_file_schema
from lake.files.parquet.writer import ParquetFormatWriter
from lake.files.staged_write import StagedWrite
from lake.files.storage.file_io import FileIO
from lake.format.schema import TableSchema
from lake.format.system_columns import KEY_PREFIX

PARQUET: Final = FileEncoding(format=FileFormat.PARQUET)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFileWritten:
    """What is known of a data file only after it was written.

    Attributes:
        file_size: Exact bytes; readers open the file with it.
        bounds: Statistics of the columns of which the file's format gathers any that are right.
    """

    file_size: int
    bounds: Mapping[str, ColumnBounds]


class DataFileWriter(StagedWrite):
    """One data file on its way to storage; it is removed unless it is finished."""

    def __init__(
        self,
        file_io: FileIO,
        path: str,
        schema: TableSchema,
        *,
        without: Collection[str] = (),
        encoding: FileEncoding = PARQUET,
    ) -> None:
        """Remember what to write; nothing is opened before the first rows.

        Args:
            file_io: Where to.
            path: A new, uniquely named file.
            schema: Of the table; says names, ids, nullability and the options.
            without: Nullable columns to leave out, which will hold only nulls. Readers of the
                format put null for a column that a file lacks, from release 1.3 on.
            encoding: Of the file.
        """
        self._file_io = file_io
        self._path = path
        self._schema = schema
        self._without = frozenset(without)
        self._encoding = encoding
        self._columns = data_file_schema(schema, without=without)
        fields = data_file_columns(schema, without=without)
        self._chars = [field for field in fields if holds_chars(field.type)]
        self._opened = ExitStack()
        self._sink: pa.NativeFile | None = None
        self._output: FormatWriter | None = None

    @property
    def size(self) -> int:
        """The bytes of what was written so far, about; a footer is to come."""
        return 0 if self._output is None else self._output.size

    def write(self, rows: pa.Table) -> None:
        """Write one row group.

        Args:
            rows: A key-value table of at least one row with all table columns, sorted by key, with
                keys above all before.

        Raises:
            SchemaMismatch: Null in a NOT NULL column, or a value that the format cannot hold.
            StorageUnavailable: Storage refused.
        """
        columns = self._columns_of(rows)
        with _write_errors(self._path):
            if self._output is None:
                self._output = self._open()
            self._output.write(columns)

    def finish(self) -> DataFileWritten:
        """Make the file durable; at least one row group must be in it.

        Raises:
            StorageUnavailable: Storage refused; the file may or may not be there.
        """
        assert self._output is not None, "a data file has rows"
        assert self._sink is not None, "an output has a sink"
        with _write_errors(self._path):
            bounds = self._output.finish()
            size = int(self._sink.tell())
            self._opened.close()
        return DataFileWritten(file_size=size, bounds=bounds)

    def discard(self, error: BaseException | None = None) -> None:
        """Remove the file; nothing happens when it is finished or not begun.

        Args:
            error: Why, if it is known.
        """
        if self._output is not None:
            self._output.abandon()
        reason = error or _Discarded(self._path)
        self._opened.__exit__(type(reason), reason, reason.__traceback__)

    def _open(self) -> FormatWriter:
        self._sink = self._opened.enter_context(self._file_io.open_output(self._path))
        match self._encoding.format:
            case FileFormat.PARQUET:
                return ParquetFormatWriter(self._sink, self._columns, self._encoding)
            case FileFormat.ORC:
                target = self._schema.table_options.target_file_size_bytes
                return OrcFormatWriter(
                    self._sink, self._columns, self._encoding, target_bytes=target
                )
            case FileFormat.AVRO:
                fields = data_file_columns(self._schema, without=self._without)
                return AvroFormatWriter(self._sink, fields, self._encoding, name=self._path)

    def _columns_of(self, rows: pa.Table) -> pa.Table:
        """Return the columns of the file in its order and under its types; copies nothing but casts."""
        present = set(rows.column_names)
        names = [
            name if name in present else name.removeprefix(KEY_PREFIX)
            for name in self._columns.names
        ]
        arrays = [rows.column(name) for name in names]
        columns = pa.Table.from_arrays(arrays, names=self._columns.names)
        check_file_limits(columns, self._columns, self._encoding.format, chars=self._chars)
        if columns.schema.equals(self._columns, check_metadata=True):
            return columns
        return columns.cast(self._columns)


class _Discarded(Exception):
    """A file is given up on purpose."""


@contextmanager
def _write_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"cannot write data file {path}: {error}"
        raise StorageUnavailable(message) from error
