"""Reductions for functions without one of their own: they decide only keys with at most one value, or without a value.

`SINGLE_VALUES` decides keys with at most one value, `NULLS_ONLY` keys without a value; the definition computes the
other keys. If many streams each fill their own columns, most keys have at most one value in a column.

Source: merge-semantics 4 ("null-skip").
"""

import numpy as np
import pyarrow as pa

from braid.lake.merge.aggregate_function import Reduced, Reduction
from braid.lake.merge.functions.support.arrival_order import value_counts
from braid.lake.merge.functions.support.elements import present_positions
from braid.lake.merge.segments import Ints
from braid.lake.merge.selection import NO_ROW, Pick
from braid.lake.merge.steps import Step, Steps


def pick_single(steps: Steps, positions: Ints, counts: Ints) -> Reduced:
    """Return the only value of each segment, null where there is none; others are undecided.

    Args:
        steps: The steps of one column.
        positions: The positions that have a value.
        counts: Number of these positions per segment.
    """
    rows = np.full(steps.segments.count, NO_ROW, dtype=np.int64)
    rows[steps.segments.segment_of[positions]] = steps.segments.order[positions]
    return Reduced(values=Pick(rows=rows), undecided=some(counts > 1))


def some(chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ints | None:
    """Return the numbers of the chosen segments; None when there are none."""
    return np.flatnonzero(chosen) if chosen.any() else None


def _single_values(steps: Steps, column: pa.Array) -> Reduced:
    positions = present_positions(steps, column)
    return pick_single(steps, positions, value_counts(steps, positions))


def _nulls_only(steps: Steps, column: pa.Array) -> Reduced:
    counts = value_counts(steps, present_positions(steps, column))
    rows = np.full(steps.segments.count, NO_ROW, dtype=np.int64)
    return Reduced(values=Pick(rows=rows), undecided=some(counts > 0))


SINGLE_VALUES = Reduction(reduce=_single_values, handles=frozenset({Step.ADD, Step.LATE}))
"""Reduction for a function that keeps the only value of a key as it is."""

NULLS_ONLY = Reduction(
    reduce=_nulls_only, handles=frozenset({Step.ADD, Step.LATE}), keeps_single=False
)
"""Reduction for a function that may change even a single value, and returns null for nulls: it decides keys without
a value only."""
