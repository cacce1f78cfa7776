"""Pruning rules: what metadata proves about conditions on partitions, buckets, files and row groups.

A rule drops a partition, bucket, file or row group only if none of its rows can match, so an unknown bound (null) or
a bound of NaN drops nothing. FLOAT and DOUBLE are special. Other writers may leave NaN out when they compute bounds,
although it is greater than all other values, and they may write -0.0 for 0.0 or the reverse:

- bounds are compared as IEEE 754 does, where the zeros are equal and comparisons with NaN are false;
- an upper bound proves nothing about `>` and `>=`: a NaN may be above it;
- equal bounds do not prove that all values are equal, so `!=` drops nothing;
- `<` drops only where the lower bound is greater: an equal one may be the other zero.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.files.parquet.bounds import ColumnBounds
from braid.lake.format.binary_row import decode_rows
from braid.lake.format.bucket import bucket_hashes
from braid.lake.format.data_types import DataField
from braid.lake.format.schema import TableSchema
from braid.lake.format.statistics import SimpleStats
from braid.lake.read.predicate import BoundCondition, Operator, matching_rows

_KEY_COMBINATIONS_MAX = 1_000
"""More combinations of values than this would select about every bucket anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Statistics of one column in several files or row groups, one entry for each.

    Attributes:
        minima: Lower bounds; null where unknown or without values.
        maxima: Upper bounds; null where unknown or without values.
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
    """Return for each of `count` files or row groups whether a row in it may fulfil `where`.

    Args:
        bounds: Bounds by column; conditions on columns without bounds prove nothing.
        where: The conjunction.
        count: Entries in each of the bounds.
    """
    kept = np.ones(count, dtype=bool)
    for condition in where:
        if condition.never_holds:
            kept[:] = False
        elif condition.column in bounds:
            assert len(bounds[condition.column].null_counts) == count, "an entry for each file"
            kept &= ~_cannot_match(bounds[condition.column], condition)
    return kept


def file_bounds(
    statistics: Sequence[SimpleStats],
    row_counts: Sequence[int],
    fields: Sequence[DataField],
    *,
    only: Collection[str] | None = None,
) -> dict[str, Bounds]:
    """Return the bounds of several files by column, decoded from their statistics.

    Args:
        statistics: One entry per file, each over all of `fields`.
        row_counts: Rows of each file.
        fields: The columns covered, in order.
        only: Names of the columns to decode; None means all.
    """
    assert len(statistics) == len(row_counts), "one entry per file"
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
    """Return the hashes of the bucket keys that matching rows can have; None when they are unknown.

    They are known when `=` or `in` fixes the values of each column of the bucket key, none of them is NaN, and
    there are at most 1,000 combinations.
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
        # All conditions have to hold, so any one of them suffices: the most selective.
        fewest = min(fixing, key=len)
        if pa.types.is_floating(fewest.type) and pc.any(pc.is_nan(fewest)).as_py():
            # NaN has many bit patterns, and other writers may have hashed another one.
            return None
        values.append(fewest)
    if np.prod([len(candidates) for candidates in values], dtype=np.int64) > _KEY_COMBINATIONS_MAX:
        return None
    # All combinations of the columns' values, as rows of the bucket key.
    picks = list(product(*(range(len(candidates)) for candidates in values)))
    arrays = [
        candidates.take(pa.array([pick[index] for pick in picks], pa.int64()))
        for index, candidates in enumerate(values)
    ]
    return bucket_hashes(arrays, [schema.field(name) for name in schema.bucket_keys])


def hash_in_bucket(hashes: npt.NDArray[np.int32], bucket: int, total_buckets: int) -> bool:
    """Return whether one of the hashes is routed to the bucket; True for dynamic buckets."""
    if total_buckets < 1:
        return True
    # The absolute value needs 64 bits: that of the smallest int32 does not fit into 32.
    return bool(np.any(np.abs(hashes.astype(np.int64)) % total_buckets == bucket))


def _cannot_match(
    bounds: Bounds | ColumnBounds, condition: BoundCondition
) -> npt.NDArray[np.bool_]:
    # Counts of -1 (unknown) equal neither 0 nor the number of rows, so they drop nothing.
    if condition.op is Operator.IS_NULL:
        return np.equal(bounds.null_counts, 0)
    only_nulls: npt.NDArray[np.bool_] = np.equal(bounds.null_counts, bounds.row_counts)
    if condition.op is Operator.NOT_NULL:
        return only_nulls
    return np.logical_or(only_nulls, _outside(bounds, condition))


def _outside(bounds: Bounds | ColumnBounds, condition: BoundCondition) -> npt.NDArray[np.bool_]:
    """Return where the bounds prove that no value fulfils a comparison; see the rules above."""
    assert len(condition.values), "a condition that never holds is decided before"
    value = condition.values[0]
    is_float = pa.types.is_floating(value.type)
    match condition.op:
        case Operator.IN:
            return _no_value_inside(bounds, condition.values)
        case Operator.EQUAL:
            return _true(pc.greater(bounds.minima, value)) | _true(pc.less(bounds.maxima, value))
        case Operator.NOT_EQUAL:
            return _single_valued(bounds, value)
        case Operator.LESS if not is_float:
            return _true(pc.greater_equal(bounds.minima, value))
        case Operator.LESS | Operator.LESS_OR_EQUAL:
            return _true(pc.greater(bounds.minima, value))
        case Operator.GREATER | Operator.GREATER_OR_EQUAL if is_float:
            return np.zeros(len(bounds.row_counts), dtype=bool)
        case Operator.GREATER:
            return _true(pc.less_equal(bounds.maxima, value))
        case Operator.GREATER_OR_EQUAL:
            return _true(pc.less(bounds.maxima, value))
        case _:
            return np.zeros(len(bounds.row_counts), dtype=bool)


def _no_value_inside(bounds: Bounds | ColumnBounds, values: pa.Array) -> npt.NDArray[np.bool_]:
    outside = np.ones(len(bounds.row_counts), dtype=bool)
    # Ends early once each file may have one of the values.
    for value in values:
        outside &= _true(pc.greater(bounds.minima, value)) | _true(pc.less(bounds.maxima, value))
        if not outside.any():
            break
    return outside


def _single_valued(bounds: Bounds | ColumnBounds, value: pa.Scalar) -> npt.NDArray[np.bool_]:
    # Not for floats: the bounds may leave out a NaN, which differs from every value.
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
