"""Data files of any format: rows in (`parquet_writer`), key-value batches out (`data_file_reader`)."""

from lake.files.data_file_reader import (
    DataFileReader,
    ReadCounters,
    RowGroupFilter,
    columns_without_values,
    key_value_schema,
    null_columns,
)
from lake.files.parquet_writer import (
    ROW_GROUP_BYTES,
    ROW_GROUP_ROWS,
    DataFileWriter,
    DataFileWritten,
    row_group_rows,
)

__all__ = [
    "ROW_GROUP_BYTES",
    "ROW_GROUP_ROWS",
    "DataFileReader",
    "DataFileWriter",
    "DataFileWritten",
    "ReadCounters",
    "RowGroupFilter",
    "columns_without_values",
    "key_value_schema",
    "null_columns",
    "row_group_rows",
]
