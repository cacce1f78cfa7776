"""Bucket function."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lake.format.data_types import DataField, DataType
from lake.format.schema import TableSchema


def bucket_hashes(
    arrays: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType | DataField]
) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Return the hash of every row."""
    raise NotImplementedError


def assign_buckets(
    table: pa.Table | pa.RecordBatch, schema: TableSchema
) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Return the bucket of every row."""
    raise NotImplementedError
