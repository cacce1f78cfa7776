"""The writer of one data file: key-value rows, row group by row group.

It buffers at most one row group, or one stripe of ORC. A `FormatWriter` encodes the rows.

Source: table-format 12.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from braid.lake.errors import StorageUnavailable
from braid.lake.files.avro.writer import AvroFormatWriter
from braid.lake.files.data_file_columns import data_file_columns
from braid.lake.files.declared_type import without_hidden_nulls
from braid.lake.files.file_encoding import FileEncoding, FileFormat
from braid.lake.files.file_limits import check_file_limits
from braid.lake.files.format_writer import FormatWriter
from braid.lake.files.orc.chars import holds_chars
from braid.lake.files.orc.writer import OrcFormatWriter
from braid.lake.files.parquet.bounds import ColumnBounds
from braid.lake.files.parquet.schema import data_file_schema
from braid.lake.files.parquet.writer import ParquetFormatWriter
from braid.lake.files.staged_write import StagedWrite
from braid.lake.files.storage.disk_hints import disk_hint
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import KEY_PREFIX

PARQUET: Final = FileEncoding(format=FileFormat.PARQUET)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFileWritten:
    """Facts about a data file that are known only after the file has been written.

    Attributes:
        file_size: Exact bytes; readers open the file with it.
        bounds: Statistics by column; columns whose statistics in the file cannot be used are absent.
    """

    file_size: int
    bounds: Mapping[str, ColumnBounds]


class DataFileWriter(StagedWrite):
    """The write of one data file; the file is removed unless it is finished."""

    def __init__(
        self,
        file_io: FileIO,
        path: str,
        schema: TableSchema,
        *,
        without: Collection[str] = (),
        encoding: FileEncoding = PARQUET,
    ) -> None:
        """Prepare a write; nothing is opened before the first rows.

        Args:
            file_io: Storage.
            path: Path of a new file with a unique name.
            schema: Schema of the table: names, ids, nullability and options.
            without: Nullable columns to leave out, because all their values are null. Readers of the
                format return null for a column that a file lacks, from release 1.3 on.
            encoding: Encoding of the file.
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
        self._writer: FormatWriter | None = None

    @property
    def size(self) -> int:
        """Approximate bytes written so far, without the footer."""
        return 0 if self._writer is None else self._writer.size

    def write(self, rows: pa.Table) -> None:
        """Write one row group.

        Args:
            rows: A key-value table of at least one row with all table columns, sorted by key, with
                keys above those of all earlier rows.

        Raises:
            SchemaMismatch: A NOT NULL column has a null, or the format cannot hold a value.
            StorageUnavailable: Storage refused.
        """
        assert rows.num_rows, "a row group has rows"
        # Checked and cast before the file is opened: a refusal leaves nothing on storage.
        columns = self._columns_of(rows)
        with _write_errors(self._path):
            if self._writer is None:
                self._writer = self._open()
            self._writer.write(columns)

    def finish(self) -> DataFileWritten:
        """Make the file durable.

        Requires:
            At least one row group was written.

        Raises:
            StorageUnavailable: Storage refused; the file may or may not exist.
        """
        assert self._writer is not None, "a data file has rows"
        assert self._sink is not None, "a writer has a sink"
        with _write_errors(self._path):
            bounds = self._writer.finish()
            size = int(self._sink.tell())
            # Leaving the sink's context without an error is what makes the file durable.
            self._opened.close()
        return DataFileWritten(file_size=size, bounds=bounds)

    def discard(self, error: BaseException | None = None) -> None:
        """Remove the file; does nothing when it is finished or not begun.

        Args:
            error: The cause, if it is known.
        """
        if self._writer is not None:
            # First: a format writer that is garbage collected would write its footer.
            self._writer.abandon()
        # Leaving the sink's context with an error is what removes the file.
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
        """Return the columns of the file, in its order and types; copies only columns that need a cast."""
        present = set(rows.column_names)
        names = [
            name if name in present else name.removeprefix(KEY_PREFIX)
            for name in self._columns.names
        ]
        arrays = [without_hidden_nulls(rows.column(name)) for name in names]
        columns = pa.Table.from_arrays(arrays, names=self._columns.names)
        check_file_limits(columns, self._columns, self._encoding.format, chars=self._chars)
        if columns.schema.equals(self._columns, check_metadata=True):
            return columns
        return columns.cast(self._columns)


class _Discarded(Exception):
    """The error with which the sink's context ends when a write is discarded without an error."""


@contextmanager
def _write_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"cannot write data file {path}: {error}{disk_hint(error)}"
        raise StorageUnavailable(message) from error
