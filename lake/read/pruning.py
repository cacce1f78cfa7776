"""What metadata proves about conditions: which partitions, buckets, files need no look.

Every rule says *drop* only when no row can match, so an unknown bound (null) and NaN keep. Bounds of
FLOAT and DOUBLE that other writers made may pass over NaN, which is greater than all other values, and
take -0.0 for 0.0: they are compared as IEEE 754 does, and an upper one proves nothing about `>`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake.files.parquet.bounds import ColumnBounds
from lake.format.binary_row import decode_rows
from lake.format.bucket import bucket_hashes
from lake.format.data_types import DataField
from lake.format.schema import TableSchema
from lake.format.statistics import SimpleStats
from lake.read.predicate import BoundCondition, Operator, matching_rows

_KEY_COMBINATIONS_MAX = 1_000
"""More wanted bucket keys than this hit every bucket anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """One column's statistics of several files or row groups, one entry for each.

    Attributes:
        minima: Lower bounds; null where unknown or without values.
        maxima: Upper bounds likewise.
        null_counts: int64; -1 where unknown.
        row_counts: int64.
    """

    minima: pa.Array | pa.ChunkedArray
    maxima: pa.Array | pa.ChunkedArray
    null_counts: npt.NDArray[np.int64]
    row_counts: npt.NDArray[np.int64]


def may_match(
    bounds: Mapping[str, Bounds | ColumnBounds], where: Sequence[BoundCondition], count: int
) -> npt.NDArray[np.bool_]:
    """Return for each of `count` files or row groups whether a row of it can fulfil `where`.

    Args:
        bounds: By column; conditions on other columns prove nothing.
        where: The conjunction.
        count: Entries in each of the bounds.
    """
    kept = np.ones(count, dtype=bool)
    for condition in where:
        if condition.never_holds:
            kept[:] = False
        elif condition.column in bounds:
            kept &= ~_cannot_match(bounds[condition.column], condition)
    return kept


def file_bounds(
    statistics: Sequence[SimpleStats],
    row_counts: Sequence[int],
    fields: Sequence[DataField],
    *,
    only: Collection[str] | None = None,
) -> dict[str, Bounds]:
    """Return the bounds that the statistics of several files give, by column.

    Args:
        statistics: One per file, each over all of `fields`.
        row_counts: Rows of each file.
        fields: The columns covered, in order.
        only: Names of those that are asked for; None means all.
    """
    minima = decode_rows([stats.min_values for stats in statistics], fields, only=only)
    maxima = decode_rows([stats.max_values for stats in statistics], fields, only=only)
    rows = np.array(row_counts, dtype=np.int64)
    return {
        field.name: Bounds(
            minima=minima.column(field.name),
            maxima=maxima.column(field.name),
            null_counts=np.array([_null_count(stats, index) for stats in statistics], np.int64),
            row_counts=rows,
        )
        for index, field in enumerate(fields)
        if only is None or field.name in only
    }


def matching_partitions(
    partitions: Sequence[bytes], where: Sequence[BoundCondition], schema: TableSchema
) -> frozenset[bytes]:
    """Return the partitions whose values fulfil the conditions on partition columns."""
    conditions = [condition for condition in where if condition.column in schema.partition_keys]
    if not conditions or not partitions:
        return frozenset(partitions)
    mask = matching_rows(decode_rows(partitions, schema.partition_fields), conditions)
    assert mask is not None, "there is a condition"
    return frozenset(
        partition for partition, kept in zip(partitions, mask.to_pylist(), strict=True) if kept
    )


def wanted_bucket_hashes(
    where: Sequence[BoundCondition], schema: TableSchema
) -> npt.NDArray[np.int32] | None:
    """Return the hashes of the bucket keys that rows can have; None when they are not known.

    A bucket key is known when `=` or `in` names values for each of its columns.
    """
    values: list[pa.Array] = []
    for name in schema.bucket_keys:
        fixing = [
            condition.values
            for condition in where
            if condition.column == name and condition.op in (Operator.EQUAL, Operator.IN)
        ]
        if not fixing:
            return None
        fewest = min(fixing, key=len)
        if pa.types.is_floating(fewest.type) and pc.any(pc.is_nan(fewest)).as_py():
            # NaN is one value of many forms; other writers may have hashed another.
            return None
        values.append(fewest)
    if np.prod([len(candidates) for candidates in values], dtype=np.int64) > _KEY_COMBINATIONS_MAX:
        return None
    picks = list(product(*(range(len(candidates)) for candidates in values)))
    arrays = [
        candidates.take(pa.array([pick[index] for pick in picks], pa.int64()))
        for index, candidates in enumerate(values)
    ]
    return bucket_hashes(arrays, [schema.field(name) for name in schema.bucket_keys])


def hash_in_bucket(hashes: npt.NDArray[np.int32], bucket: int, total_buckets: int) -> bool:
    """Return whether one of the hashes belongs to the bucket; True for dynamic buckets."""
    if total_buckets < 1:
        return True
    # |h| in 64 bits: the smallest int32 has no positive counterpart of its own width.
    return bool(np.any(np.abs(hashes.astype(np.int64)) % total_buckets == bucket))


def _cannot_match(
    bounds: Bounds | ColumnBounds, condition: BoundCondition
) -> npt.NDArray[np.bool_]:
    if condition.op is Operator.IS_NULL:
        return np.equal(bounds.null_counts, 0)
    only_nulls: npt.NDArray[np.bool_] = np.equal(bounds.null_counts, bounds.row_counts)
    if condition.op is Operator.NOT_NULL:
        return only_nulls
    return np.logical_or(only_nulls, _outside(bounds, condition))


def _outside(bounds: Bounds | ColumnBounds, condition: BoundCondition) -> npt.NDArray[np.bool_]:
    low, high = condition.values[0], condition.values[0]
    is_float = pa.types.is_floating(low.type)
    match condition.op:
        case Operator.IN:
            return _no_value_inside(bounds, condition.values)
        case Operator.EQUAL:
            return _true(pc.greater(bounds.minima, high)) | _true(pc.less(bounds.maxima, low))
        case Operator.NOT_EQUAL:
            return _single_valued(bounds, low)
        case Operator.LESS if not is_float:
            return _true(pc.greater_equal(bounds.minima, high))
        case Operator.LESS | Operator.LESS_OR_EQUAL:
            return _true(pc.greater(bounds.minima, high))
        case Operator.GREATER | Operator.GREATER_OR_EQUAL if is_float:
            return np.zeros(len(bounds.row_counts), dtype=bool)
        case Operator.GREATER:
            return _true(pc.less_equal(bounds.maxima, low))
        case Operator.GREATER_OR_EQUAL:
            return _true(pc.less(bounds.maxima, low))
        case _:
            return np.zeros(len(bounds.row_counts), dtype=bool)


def _no_value_inside(bounds: Bounds | ColumnBounds, values: pa.Array) -> npt.NDArray[np.bool_]:
    outside = np.ones(len(bounds.row_counts), dtype=bool)
    for value in values:
        outside &= _true(pc.greater(bounds.minima, value)) | _true(pc.less(bounds.maxima, value))
        if not outside.any():
            break
    return outside


def _single_valued(bounds: Bounds | ColumnBounds, value: pa.Scalar) -> npt.NDArray[np.bool_]:
    # Not for floats: bounds may have passed over a NaN, which differs from every value.
    if pa.types.is_floating(bounds.minima.type):
        return np.zeros(len(bounds.row_counts), dtype=bool)
    return _true(pc.equal(bounds.minima, value)) & _true(pc.equal(bounds.maxima, value))


def _true(comparison: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    filled = pc.fill_null(comparison, False)
    return np.asarray(filled, dtype=bool)


def _null_count(stats: SimpleStats, index: int) -> int:
    if index >= len(stats.null_counts):
        return -1
    count = stats.null_counts[index]
    return -1 if count is None else count
