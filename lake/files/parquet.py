"""Parquet data files: rows in (`parquet_writer`), key-value batches out (`parquet_reader`)."""

from lake.files.parquet_reader import (
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
