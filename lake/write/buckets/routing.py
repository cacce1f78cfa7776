"""Routing of rows to their partitions and buckets, with as few copies as possible.

Copying the rows of a bucket together is the most expensive part of a write, so it is done once if possible:

1. If all rows are in one bucket, nothing is copied here; folding sorts the rows.
2. If no bucket has a key twice, one copy orders all rows by bucket and key. Buckets are slices of it, and
   folding has nothing to do.
3. Else the rows of each bucket are copied in arrival order, and folding copies the rows that remain after
   the merge.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.format.binary_row import EMPTY_ROW, encode_rows
from braid.lake.format.bucket import Int32Array, assign_buckets, bucket_hashes
from braid.lake.format.schema import TableSchema
from braid.lake.merge.order.key_order import key_codes
from braid.lake.write.buckets.dynamic_buckets import DynamicBuckets

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedRows:
    """The rows of one bucket.

    Attributes:
        partition: Serialised partition row.
        bucket: Bucket number.
        rows: The rows in arrival order; ordered by key if there are several buckets and none has a key
            twice.
        codes: One number per row, which orders the rows by key (`key_codes`).
    """

    partition: bytes
    bucket: int
    rows: pa.Table
    codes: npt.NDArray[np.uint64]

    def __post_init__(self) -> None:
        assert len(self.codes) == self.rows.num_rows, "each row has a code"


def route(
    table: pa.Table, schema: TableSchema, dynamic: DynamicBuckets | None = None
) -> Iterator[RoutedRows]:
    """Yield the rows of each bucket, ordered by partition and bucket.

    Args:
        table: Rows with the columns of the table, and perhaps others, which are routed along; one
            chunk per column is cheapest.
        schema: The table's schema.
        dynamic: Assigns the buckets of a table whose bucket count is not fixed.

    Raises:
        CorruptData, LimitExceeded: See `DynamicBuckets.assign`.
    """
    if not table.num_rows:
        return
    partitions, partition_rows = _partitions(table, schema)
    if dynamic is None:
        buckets = assign_buckets(table.select(schema.field_names), schema)
    else:
        buckets = _dynamic_buckets(table, schema, dynamic, partitions, partition_rows)
    # One number per (partition, bucket), which orders by both.
    groups = partitions * (int(buckets.max()) + 1) + buckets
    codes = key_codes([table.column(name) for name in schema.trimmed_primary_keys])

    def rows_of(member: int, rows: pa.Table, member_codes: npt.NDArray[np.uint64]) -> RoutedRows:
        return RoutedRows(
            partition=partition_rows[int(partitions[member])],
            bucket=int(buckets[member]),
            rows=rows,
            codes=member_codes,
        )

    # The ends are compared first, because they mostly differ where there are several buckets.
    if groups[0] == groups[-1] and bool(np.all(groups == groups[0])):
        yield rows_of(0, table, codes)
        return
    members = _members(groups)
    by_key = _ordered_by_key(members, codes)
    if by_key is None:
        for rows in members:
            yield rows_of(rows[0], table.take(pa.array(rows)), codes[rows])
        return
    ordered = table.take(pa.array(np.concatenate(by_key)))
    start = 0
    for rows in by_key:
        yield rows_of(rows[0], ordered.slice(start, len(rows)), codes[rows])
        start += len(rows)


def _dynamic_buckets(
    table: pa.Table,
    schema: TableSchema,
    dynamic: DynamicBuckets,
    partitions: Ints,
    partition_rows: Sequence[bytes],
) -> Int32Array:
    keys = [table.column(name) for name in schema.trimmed_primary_keys]
    hashes = bucket_hashes(keys, schema.key_fields)
    buckets = np.empty(table.num_rows, dtype=np.int32)
    for rows in _members(partitions):
        partition = partition_rows[int(partitions[rows[0]])]
        buckets[rows] = dynamic.assign(partition, hashes[rows])
    return buckets


def _members(groups: Ints) -> list[Ints]:
    """Return the row numbers of each group, in arrival order."""
    # Numpy uses radix sort for 16 bits, in linear time.
    narrow = groups.astype(np.int16) if groups.max() <= np.iinfo(np.int16).max else groups
    order = np.argsort(narrow, kind="stable")
    sorted_groups = narrow[order]
    bounds = np.flatnonzero(sorted_groups[1:] != sorted_groups[:-1]) + 1
    return np.split(order, bounds)


def _ordered_by_key(members: Sequence[Ints], codes: npt.NDArray[np.uint64]) -> list[Ints] | None:
    """Return the row numbers of each group by key; None if any group has a key twice.

    Stops at the first such group, so that rows with many repeated keys are not sorted in vain.
    """
    ordered: list[Ints] = []
    for rows in members:
        group_codes = codes[rows]
        order = np.argsort(group_codes, kind="stable")
        sorted_codes = group_codes[order]
        if not bool(np.all(sorted_codes[1:] != sorted_codes[:-1])):
            return None
        ordered.append(rows[order])
    return ordered


def _partitions(table: pa.Table, schema: TableSchema) -> tuple[Ints, list[bytes]]:
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
        # Dense after each column, so codes stay below rows x values and never overflow.
        codes = _dense(codes * len(encoded.dictionary) + values)
    _, first_rows = np.unique(codes, return_index=True)
    examples = [column.take(pa.array(first_rows)) for column in columns]
    return codes, encode_rows(examples, schema.partition_fields)


def _dense(codes: Ints) -> Ints:
    """Return the rank of each code among the distinct codes, from 0."""
    inverse: Ints = np.unique(codes, return_inverse=True)[1]
    return inverse.astype(np.int64)
