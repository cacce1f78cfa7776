"""Order in which values are combined: first the late values, the last of them first; then the others in merge order.

Source: merge-semantics 4, `aggReversed` as `agg(in, acc)`.
"""

import numpy as np

from braid.lake.merge.segments import Bools, Ints
from braid.lake.merge.steps import Step, Steps


def value_counts(steps: Steps, positions: Ints) -> Ints:
    """Return the number of the given positions in each segment."""
    if len(positions) == len(steps.segments.order):
        return steps.segments.lasts - steps.segments.starts + 1
    return np.bincount(steps.segments.segment_of[positions], minlength=steps.segments.count)


def late_first(steps: Steps, positions: Ints) -> Ints:
    """Return the positions, segment by segment: late ones in reverse order, then the others in order.

    A late value is combined as `aggregate(value, accumulated)`, so it precedes everything accumulated
    before it. A stable partition by arithmetic: the rank of a position among the late positions of
    its segment, or among the others, gives its index in the result.

    Args:
        steps: The steps of one column.
        positions: The positions with a value, ascending.
    """
    if not steps.has(Step.LATE):
        return positions
    is_late = steps.where(Step.LATE)[positions]
    segment_of = steps.segments.segment_of[positions]
    late_counts = _counts(segment_of, is_late, steps.segments.count)
    other_counts = _counts(segment_of, ~is_late, steps.segments.count)
    starts = _starts(late_counts + other_counts)
    result = np.empty_like(positions)
    late_segment, other_segment = segment_of[is_late], segment_of[~is_late]
    late_rank = np.arange(len(late_segment)) - _starts(late_counts)[late_segment]
    other_rank = np.arange(len(other_segment)) - _starts(other_counts)[other_segment]
    late_last = starts + late_counts - 1
    result[late_last[late_segment] - late_rank] = positions[is_late]
    result[(late_last + 1)[other_segment] + other_rank] = positions[~is_late]
    return result


def _counts(segment_of: Ints, chosen: Bools, count: int) -> Ints:
    return np.bincount(segment_of[chosen], minlength=count)


def _starts(counts: Ints) -> Ints:
    starts = np.cumsum(counts)
    starts -= counts
    return starts
