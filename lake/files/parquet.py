"""Parquet data files of the table format: physical types, statistics, batches in and out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from lake.files.file_io import FileIO
from lake.format.data_file import DataFileMeta
from lake.format.schema import TableSchema

ROW_GROUP_ROWS = 131_072
"""Rows of a row group; readers hold one compressed row group per run in memory."""

ColumnRange: TypeAlias = tuple[object, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFileWritten:
    """What is known of a data file only after it was written.

    Attributes:
        file_size: Exact bytes; readers open the file with it.
        ranges: Per column that Parquet keeps statistics for: (smallest, largest) value, both
            None when the column holds only nulls.
        null_counts: Nulls per column that Parquet keeps statistics for.
    """

    file_size: int
    ranges: Mapping[str, ColumnRange]
    null_counts: Mapping[str, int]


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
        schema: The table's schema; says names, ids, nullability and the options.
        row_group_rows: Upper bound of the rows of a row group.
        drop_null_columns: Leave value columns out that hold only nulls.

    Returns:
        Size and statistics of the file.
    """
    raise NotImplementedError


class DataFileReader:
    """Batches of one data file in the table's Arrow schema."""

    def __init__(
        self, file_io: FileIO, path: str, *, file_meta: DataFileMeta, schema: TableSchema
    ) -> None:
        raise NotImplementedError

    def batches(
        self,
        columns: Sequence[str],
        *,
        batch_rows: int = 65_536,
        row_filter: Callable[[Mapping[str, ColumnRange]], bool] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield key-value batches with the named columns.

        Args:
            columns: Table columns wanted, in this order, after the two system columns.
            batch_rows: Upper bound of the rows of a batch.
            row_filter: Called with the (smallest, largest) values of the columns of a row group
                that has them; False leaves the row group out.

        Yields:
            Batches: `_SEQUENCE_NUMBER`, `_VALUE_KIND`, then `columns`.
        """
        raise NotImplementedError
