"""Folds of numbers: one number per segment from the numbers at its positions.

Integer sums are differences of one running sum: the running sum wraps around, and the difference of two wrapped
numbers is exact whenever the sum fits. Floating sums and most products are computed step by step for all segments at
once: the first two values of every segment are combined, then the result is combined with the third value, and so on.
This order matters because of rounding. `product_reduction` itself computes products of DECIMALs and products with
divisors.
"""

from typing import Any

import numpy as np

from braid.lake.merge.functions.support.number_columns import Numbers
from braid.lake.merge.segments import Bools, Ints, Segments

# Fewer segments than this are finished one by one, each by one numpy call over its remaining values.
_SEGMENTS_AT_ONCE_MIN = 32


def sums(values: Numbers, segments: Segments) -> Numbers:
    """Return the sum of each segment in 64 bits, wrapped around.

    Args:
        values: Integers, one per position.
        segments: The segments.
    """
    wide = np.uint64 if values.dtype == np.uint64 else np.int64
    return _differences(np.cumsum(values, dtype=wide), segments)


def prefix_bounds(values: Numbers, segments: Segments) -> tuple[Ints, Ints]:
    """Return the smallest and the largest intermediate sum of each segment, its total included.

    Args:
        values: Integers, one per position, whose sum over all positions fits 64 bits.
        segments: The segments.
    """
    running = np.cumsum(values, dtype=np.int64)
    before = running[segments.starts] - values[segments.starts]
    smallest = np.minimum.reduceat(running, segments.starts) - before
    largest = np.maximum.reduceat(running, segments.starts) - before
    return smallest, largest


def in_order(ufunc: np.ufunc, values: Numbers, segments: Segments) -> Numbers:
    """Return the fold of each segment, from its first value to its last, in the type of the values.

    Args:
        ufunc: `np.add` or `np.multiply`.
        values: One per position.
        segments: The segments.
    """
    with np.errstate(all="ignore"):
        folded = values[segments.starts]
        longer, at = following(segments, 1)
        step = 1
        # One round per position costs more than it gains when few segments are left.
        while len(longer) >= max(_SEGMENTS_AT_ONCE_MIN, step):
            folded[longer] = ufunc(folded[longer], values[at])
            step += 1
            longer, at = following(segments, step, among=longer)
        for segment, position in zip(longer.tolist(), at.tolist(), strict=True):
            folded[segment] = _one(
                ufunc, folded[segment], values, position, segments.lasts[segment]
            )
    return folded


def following(segments: Segments, step: int, *, among: Ints | None = None) -> tuple[Ints, Ints]:
    """Return the segments that have a position `step` after their first, and those positions.

    Args:
        segments: The segments.
        step: Distance from the first position.
        among: Only these segments, ascending; None for all.
    """
    if among is None:
        positions = segments.starts + step
        longer = np.flatnonzero(positions <= segments.lasts)
        return longer, positions[longer]
    positions = segments.starts[among] + step
    has_position = positions <= segments.lasts[among]
    return among[has_position], positions[has_position]


def has_any(chosen: Bools, segments: Segments) -> Bools:
    """Return which segments have a chosen position.

    Args:
        chosen: One boolean per position.
        segments: The segments.
    """
    return _differences(np.cumsum(chosen, dtype=np.int64), segments) > 0


def greatest_length(segments: Segments) -> int:
    """Return the number of positions of the longest segment."""
    return int((segments.lasts - segments.starts).max()) + 1


def _differences(running: Numbers, segments: Segments) -> Numbers:
    """Return the growth of a running sum over each segment."""
    ends = running[segments.lasts]
    grown = ends.copy()
    grown[1:] -= ends[:-1]
    return grown


def _one(ufunc: np.ufunc, folded: Any, values: Numbers, first: int, last: int) -> Any:
    """Return the fold of a value and the values at some positions."""
    # Not `reduce`: it adds pairwise, and would round differently.
    rest = np.concatenate(([folded], values[first : last + 1])).astype(values.dtype, copy=False)
    return ufunc.accumulate(rest)[-1]
