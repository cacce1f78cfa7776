"""Bounds of columns per row group, and those that the statistics in a Parquet footer give.

Floats, INT96 timestamps and nested columns have none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnBounds:
    """One column's statistics, one entry per row group.

    Attributes:
        minima: Lower bounds in the column's Arrow type; null where unknown or without values.
        maxima: Upper bounds, in the same form.
        null_counts: Numbers of nulls; -1 where unknown.
        row_counts: Numbers of rows.
    """

    minima: pa.Array
    maxima: pa.Array
    null_counts: npt.NDArray[np.int64]
    row_counts: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        """Check that all attributes have the same row groups."""
        assert len(self.minima) == len(self.maxima), "a lower and an upper bound per row group"
        assert len(self.null_counts) == len(self.row_counts), "two counts per row group"
        assert len(self.minima) == len(self.row_counts), "bounds and counts per row group"

    @property
    def groups_without_bounds(self) -> npt.NDArray[np.int64]:
        """Numbers of the row groups that have values but no known bounds."""
        unknown = self.minima.is_null().to_numpy(zero_copy_only=False)
        return np.flatnonzero(unknown & (self.null_counts != self.row_counts))


def column_bounds(
    metadata: pq.FileMetaData, columns: Sequence[pa.Field]
) -> dict[str, ColumnBounds]:
    """Return the bounds of those columns for which Parquet's order is that of the table format.

    Floats (Parquet's statistics ignore NaN), INT96 timestamps and nested columns are left out.

    Args:
        metadata: A file's footer.
        columns: Top-level columns, with the Arrow types for the bounds.
    """
    if not metadata.num_row_groups:
        return {}
    first = metadata.row_group(0)
    # All row groups of a file have the same columns in the same order.
    index_of = {first.column(i).path_in_schema: i for i in range(first.num_columns)}
    return {
        field.name: _bounds(metadata, index_of[field.name], field.type)
        for field in columns
        if field.name in index_of and _is_ordered(field.type, first.column(index_of[field.name]))
    }


def _is_ordered(data_type: pa.DataType, chunk: pq.ColumnChunkMetaData) -> bool:
    if pa.types.is_nested(data_type) or pa.types.is_floating(data_type):
        return False
    return bool(chunk.physical_type != "INT96")


def _bounds(metadata: pq.FileMetaData, index: int, data_type: pa.DataType) -> ColumnBounds:
    minima: list[object] = []
    maxima: list[object] = []
    null_counts: list[int] = []
    row_counts: list[int] = []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        statistics = group.column(index).statistics
        has_bounds = statistics is not None and statistics.has_min_max
        minima.append(statistics.min_raw if has_bounds else None)
        maxima.append(statistics.max_raw if has_bounds else None)
        counted = statistics is not None and statistics.has_null_count
        null_counts.append(statistics.null_count if counted else -1)
        row_counts.append(group.num_rows)
    return ColumnBounds(
        minima=_from_raw(minima, data_type),
        maxima=_from_raw(maxima, data_type),
        null_counts=np.array(null_counts, dtype=np.int64),
        row_counts=np.array(row_counts, dtype=np.int64),
    )


def _from_raw(values: list[object], data_type: pa.DataType) -> pa.Array:
    """Return physical values (int, bool, bytes) in the column's type."""
    if pa.types.is_decimal(data_type):
        return _decimals(values, data_type)
    if pa.types.is_string(data_type):
        # UTF-8 is not checked: a bound that another writer has truncated inside a character is still a bound.
        return pa.array(values, pa.binary()).view(pa.string())
    if pa.types.is_temporal(data_type):
        width = pa.int64() if pa.types.is_timestamp(data_type) else pa.int32()
        return pa.array(values, width).cast(data_type)
    return pa.array(values, data_type)


def _decimals(values: list[object], data_type: pa.DataType) -> pa.Array:
    # Parquet stores short decimals as int32 or int64, others as big-endian bytes; Arrow wants
    # 16 bytes little-endian.
    unscaled = [
        int.from_bytes(value, "big", signed=True) if isinstance(value, bytes) else value
        for value in values
    ]
    data = b"".join(
        value.to_bytes(16, "little", signed=True) if isinstance(value, int) else bytes(16)
        for value in unscaled
    )
    assert len(data) == 16 * len(values), "16 bytes per value, null or not"
    validity = pa.array([value is not None for value in values]).buffers()[1]
    return pa.Array.from_buffers(data_type, len(values), [validity, pa.py_buffer(data)])
