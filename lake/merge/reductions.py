"""Which row of each segment gives a value: one vectorised reduction per rule.

Every function returns places, one per segment, `NO_ROW` where the segment gives none.
"""

import numpy as np

from lake.merge.segments import Bools, Ints, Segments
from lake.merge.selection import NO_ROW

# Stepping back row by row is cheapest while few segments are left; see `last_where`.
_STEPS_BACK = 4
# Below this share of rows, visiting those rows is cheaper than stepping back from the ends.
_SPARSE = 0.3


def last_where(segments: Segments, qualifies: Bools) -> Ints:
    """Return the last qualifying place of each segment.

    Args:
        segments: The segments.
        qualifies: One boolean per place.
    """
    if np.count_nonzero(qualifies) < _SPARSE * len(qualifies):
        return last_of(segments, np.flatnonzero(qualifies))
    found = segments.lasts.copy()
    missing = np.flatnonzero(~qualifies[found])
    for _ in range(_STEPS_BACK):
        if not len(missing):
            return found
        before = found[missing] - 1
        inside = before >= segments.starts[missing]
        found[missing[~inside]] = NO_ROW
        missing, before = missing[inside], before[inside]
        found[missing] = before
        missing = missing[~qualifies[before]]
    if len(missing):
        found[missing] = _last_before(segments, qualifies, missing, found[missing])
    return found


def last_of(segments: Segments, places: Ints) -> Ints:
    """Return the last of the given ascending places in each segment."""
    # Of several values for one index, numpy keeps the last.
    found = np.full(segments.count, NO_ROW, dtype=np.int64)
    found[segments.segment_of[places]] = places
    return found


def first_of(segments: Segments, places: Ints) -> Ints:
    """Return the first of the given ascending places in each segment."""
    found = np.full(segments.count, NO_ROW, dtype=np.int64)
    backwards = places[::-1]
    found[segments.segment_of[backwards]] = backwards
    return found


def _last_before(segments: Segments, qualifies: Bools, missing: Ints, places: Ints) -> Ints:
    qualifying = np.flatnonzero(qualifies)
    index = np.searchsorted(qualifying, places) - 1
    candidates = np.where(index >= 0, qualifying[index], NO_ROW)
    return np.where(candidates >= segments.starts[missing], candidates, NO_ROW)
