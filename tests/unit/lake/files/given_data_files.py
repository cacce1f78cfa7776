"""Data files of one table, written whole, and files with INT96 columns."""

from collections.abc import Collection

import pyarrow as pa

from braid.lake.files.data_files import DataFileWriter, DataFileWritten, row_group_rows
from braid.lake.files.parquet.int96_file import Int96Output
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.schema import TableSchema


def write_data_file(
    file_io: FileIO,
    path: str,
    table: pa.Table,
    schema: TableSchema,
    *,
    rows_max: int | None = None,
    without: Collection[str] = (),
) -> DataFileWritten:
    """Write a key-value table as one data file, in row groups of a given size."""
    rows = rows_max or row_group_rows(table.num_rows, table.nbytes)
    with DataFileWriter(file_io, path, schema, without=without) as writer:
        for start in range(0, table.num_rows, rows):
            writer.write(table.slice(start, rows))
        return writer.finish()


def declared(file: pa.Buffer, columns: Collection[str]) -> pa.Buffer:
    """Return a Parquet file whose 12-byte columns are declared as INT96."""
    content = file.to_pybytes()
    magic = content[:4]
    sink = pa.BufferOutputStream()
    output = Int96Output(sink)
    output.write(magic)
    output.expect_footer()
    output.write(content[4:9])
    output.write(content[9:])
    output.write_footer(columns)
    return sink.getvalue()
