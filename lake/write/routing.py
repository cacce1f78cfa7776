"""Which rows go to which partition and bucket."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lake.format.binary_row import EMPTY_ROW, encode_rows
from lake.format.bucket import assign_buckets
from lake.format.schema import TableSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketRows:
    """The rows of one bucket.

    Attributes:
        partition: Serialised partition row.
        bucket: Bucket number.
        rows: The rows, in the order they came.
    """

    partition: bytes
    bucket: int
    rows: pa.Table


def route(table: pa.Table, schema: TableSchema) -> Iterator[BucketRows]:
    """Yield the rows of each bucket, ordered by first appearance of the partition, then bucket.

    Args:
        table: Table columns, and others that go along; one chunk per column is cheapest.
        schema: Of the table; its bucket count is fixed.
    """
    if not table.num_rows:
        return
    buckets = assign_buckets(table.select(schema.field_names), schema)
    partitions, partition_rows = _partitions(table, schema)
    codes = partitions * schema.table_options.bucket + buckets
    if codes[0] == codes[-1] and bool(np.all(codes == codes[0])):
        partition = partition_rows[int(partitions[0])]
        yield BucketRows(partition=partition, bucket=int(buckets[0]), rows=table)
        return
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    for start, end in zip(starts, [*starts[1:], table.num_rows], strict=True):
        members = order[start:end]
        yield BucketRows(
            partition=partition_rows[int(partitions[members[0]])],
            bucket=int(buckets[members[0]]),
            rows=table.take(pa.array(members)),
        )


def _partitions(table: pa.Table, schema: TableSchema) -> tuple[npt.NDArray[np.int64], list[bytes]]:
    """Return a partition number per row, and the serialised row of each partition."""
    if not schema.partition_keys:
        return np.zeros(table.num_rows, dtype=np.int64), [EMPTY_ROW]
    columns = [table.column(name) for name in schema.partition_keys]
    codes = np.zeros(table.num_rows, dtype=np.int64)
    for column in columns:
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        values = np.asarray(encoded.indices)
        # Numbers stay below the row count because they are made dense after each column.
        codes = _dense(codes * len(encoded.dictionary) + values)
    _, first_rows = np.unique(codes, return_index=True)
    examples = [column.take(pa.array(first_rows)) for column in columns]
    return codes, encode_rows(examples, schema.partition_fields)


def _dense(codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return numbers 0, 1, 2… in the place of codes, equal for equal."""
    inverse: npt.NDArray[np.int64] = np.unique(codes, return_inverse=True)[1]
    return inverse.astype(np.int64)
