"""The writer of Parquet data files.

Physical types are the format's (`schema`, `int96`); encodings come from a sample of the first row group
(`encoding`).

Source: table-format 12.
"""

from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from braid.lake.files.file_encoding import FileEncoding
from braid.lake.files.parquet.bounds import ColumnBounds, column_bounds
from braid.lake.files.parquet.encoding import choose_encodings
from braid.lake.files.parquet.int96 import holds_int96, to_int96_storage
from braid.lake.files.parquet.int96_file import Int96Output


class ParquetFormatWriter:
    """A Parquet file, each `write` a row group (see `FormatWriter`)."""

    def __init__(self, sink: pa.NativeFile, columns: pa.Schema, encoding: FileEncoding) -> None:
        """Prepare a file; nothing is written yet.

        Args:
            sink: Receives the bytes; its owner closes it.
            columns: Result of `data_file_schema`.
            encoding: Encoding of the file.
        """
        self._sink = sink
        self._columns = columns
        self._codec = "none" if encoding.codec == "uncompressed" else encoding.codec
        self._level = encoding.zstd_level if encoding.codec == "zstd" else None
        self._int96 = {column.name for column in columns if holds_int96(column.type)}
        self._int96_output: Int96Output | None = None
        self._parquet: pq.ParquetWriter | None = None
        self._footers: list[pq.FileMetaData] = []

    @property
    def size(self) -> int:
        """Bytes written to storage so far, without the footer."""
        return int(self._sink.tell())

    def write(self, columns: pa.Table) -> None:
        """Write one row group."""
        physical = _with_int96_storage(columns, self._int96)
        if self._parquet is None:
            self._parquet = self._open(physical)
        self._parquet.write_table(physical, row_group_size=physical.num_rows)

    def finish(self) -> Mapping[str, ColumnBounds]:
        """Write the footer; return the bounds of columns that Parquet orders as the table format does."""
        assert self._parquet is not None, "a data file has rows"
        if self._int96_output is not None:
            self._int96_output.expect_footer()
        self._parquet.close()
        if self._int96_output is not None:
            self._int96_output.write_footer(self._int96)
        ordered = [column for column in self._columns if column.name not in self._int96]
        return column_bounds(self._footers[0], ordered)

    def abandon(self) -> None:
        """Write no footer: the file will be removed."""
        if self._parquet is not None:
            # The destructor of an open writer closes it, which would write the footer.
            self._parquet.is_open = False

    def _open(self, first: pa.Table) -> pq.ParquetWriter:
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
            # Without a checksum, a flipped bit that still decompresses would be a wrong value. Measured: 2 % of
            # the time of writing, and of reading, 20 columns of text.
            write_page_checksum=True,
            store_schema=False,
            store_decimal_as_integer=True,
            write_time_adjusted_to_utc=True,
            metadata_collector=self._footers,
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
