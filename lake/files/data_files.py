"""Data files of any format: the classes and functions that the rest of the engine imports."""

from braid.lake.files.data_file_reader import DataFileReader
from braid.lake.files.data_file_writer import DataFileWriter, DataFileWritten
from braid.lake.files.file_encoding import FileEncoding, FileFormat
from braid.lake.files.null_columns import columns_without_values, null_columns
from braid.lake.files.read_counters import ReadCounters
from braid.lake.files.row_filters import RowFilter, RowGroupFilter
from braid.lake.files.row_groups import ROW_GROUP_BYTES, ROW_GROUP_ROWS, row_group_rows

__all__ = [
    "ROW_GROUP_BYTES",
    "ROW_GROUP_ROWS",
    "DataFileReader",
    "DataFileWriter",
    "DataFileWritten",
    "FileEncoding",
    "FileFormat",
    "ReadCounters",
    "RowFilter",
    "RowGroupFilter",
    "columns_without_values",
    "null_columns",
    "row_group_rows",
]
