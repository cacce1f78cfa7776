"""Merge order of the rows of a table, and where each key begins in it, for whole batches.

Rows are ordered by key, sequence fields, sequence number, retracts before adds, then row number.

Source: merge-semantics 1.5, 3.1.
"""

import numpy as np
import pyarrow as pa

from braid.lake.format.arrays import combined_array
from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND, is_retract
from braid.lake.merge.order.key_codes import Uints
from braid.lake.merge.order.key_order import key_codes
from braid.lake.merge.segments import Bools, Ints, Segments, run_starts
from braid.lake.merge.spec import MergeSpec

# Average length of sorted runs below which rows count as unsorted.
_RUN_ROWS_MIN = 32


def find_segments(table: pa.Table, spec: MergeSpec, codes: Uints) -> Segments:
    """Return the segments of a key-value table of at least one row.

    Args:
        table: Rows in any order; sorted runs one after another are the cheapest.
        spec: How its records merge.
        codes: One code per row that orders rows by key.
    """
    order = _sorted_order(codes)
    is_start = run_starts(codes[order])
    _order_versions(table, spec, order, is_start)
    return Segments(order=order, starts=np.flatnonzero(is_start))


def _sorted_order(codes: Uints) -> Ints:
    """Return the rows sorted by code, rows of equal codes in row order."""
    falls = int(np.count_nonzero(codes[1:] < codes[:-1]))
    if not falls:
        return np.arange(len(codes))
    bits = (len(codes) - 1).bit_length()
    if falls * _RUN_ROWS_MIN < len(codes) or int(codes.max()).bit_length() + bits > 64:
        # The stable sort of numpy for 64-bit numbers is a merge sort that detects runs: each row costs
        # one comparison per merge of runs.
        return np.argsort(codes, kind="stable")
    # No runs, as in a write buffer. With the row number in the lower bits all numbers differ, so
    # numpy's vectorised sort, which is not stable and ten times as fast, keeps the order of rows.
    packed = np.sort((codes << np.uint64(bits)) | np.arange(len(codes), dtype=np.uint64))
    return (packed & np.uint64((1 << bits) - 1)).astype(np.int64)


def _order_versions(table: pa.Table, spec: MergeSpec, order: Ints, is_start: Bools) -> None:
    """Put the rows of each key into merge order, in place.

    Concatenated runs, oldest first, are already in order, so rows are checked before they are sorted.
    """
    sequence_numbers = combined_array(table.column(SEQUENCE_NUMBER)).to_numpy()
    # Each comparison is between a row and the one before it; only pairs within a key count.
    inside = ~is_start[1:]
    numbers = sequence_numbers[order]
    # Equal numbers, from concurrent writers and from snapshot ordering, count as out of order here:
    # their kinds, which decide then, are compared only for the keys concerned.
    wrong = numbers[1:] <= numbers[:-1]
    ranks = None
    are_numbers_in_order = False
    if spec.sequence_fields:
        are_numbers_in_order = not (wrong & inside).any()
        fields = [table.column(name) for name in spec.sequence_fields]
        ranks = key_codes(fields, descending=spec.sequence_descending)[order]
        # The sequence number decides only where the sequence fields are equal.
        wrong &= ranks[1:] == ranks[:-1]
        wrong |= ranks[1:] < ranks[:-1]
    wrong &= inside
    if not wrong.any():
        return
    segment_of = np.cumsum(is_start) - 1
    affected = np.zeros(int(segment_of[-1]) + 1, dtype=np.bool_)
    affected[segment_of[1:][wrong]] = True
    positions = np.flatnonzero(affected[segment_of])
    if ranks is not None and are_numbers_in_order:
        # Numbers ascend within each key, so a stable sort by rank alone is enough.
        sorted_positions = positions[_order_within(segment_of[positions], ranks[positions])]
        order[positions] = order[sorted_positions]
        return
    kinds = combined_array(table.column(VALUE_KIND)).to_numpy()
    is_add = ~is_retract(kinds[order[positions]])
    # The last key of a lexsort is the most significant one; False, a retract, sorts before an add.
    keys = [is_add, numbers[positions], segment_of[positions]]
    if ranks is not None:
        keys.insert(2, ranks[positions])
    order[positions] = order[positions][np.lexsort(keys)]


def _order_within(segment_of: Ints, ranks: Uints) -> Ints:
    """Return positions by segment, then rank, then position.

    Args:
        segment_of: The segment of each position, ascending.
        ranks: The rank of each position.
    """
    bits = (len(ranks) - 1).bit_length()
    segment_bits = int(segment_of[-1]).bit_length()
    rank_bits = int(ranks.max()).bit_length()
    if segment_bits + rank_bits + bits > 64:
        # Ranks that pack bits of several columns have gaps; without them they may fit.
        ranks = _dense(ranks)
        rank_bits = int(ranks.max()).bit_length()
    if segment_bits + rank_bits + bits > 64:
        return np.lexsort([ranks, segment_of])
    # As in `_sorted_order`: numbers with their position in the lower bits sort ten times as fast.
    packed = (segment_of.astype(np.uint64) << np.uint64(rank_bits)) | ranks
    packed = np.sort((packed << np.uint64(bits)) | np.arange(len(ranks), dtype=np.uint64))
    return (packed & np.uint64((1 << bits) - 1)).astype(np.int64)


def _dense(numbers: Uints) -> Uints:
    """Return the smallest numbers with the same order: 0 for the smallest value, without gaps."""
    order = np.argsort(numbers)
    ascending = numbers[order]
    steps = np.zeros(len(numbers), dtype=np.uint64)
    np.not_equal(ascending[1:], ascending[:-1], out=steps[1:], casting="unsafe")
    dense = np.empty_like(steps)
    dense[order] = np.cumsum(steps)
    return dense
