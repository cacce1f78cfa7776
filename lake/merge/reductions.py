"""Which row of each segment gives a value: one vectorised reduction per rule.

Segments are short as a rule, a row or two per sorted run, so reductions step back from the last row
of each segment, all segments at once, and only those that are not decided yet. A few steps decide
nearly all; segments that are still open then are decided by a pass over all rows, whatever their
length.
"""

import numpy as np

from lake.merge.order_words import Uints
from lake.merge.segments import Bools, Ints, Segments

_STEPS_BACK = 8
# Below this share of rows, visiting those rows is cheaper than stepping back from the last ones.
_SPARSE = 0.3


def last_rows_where(segments: Segments, qualifies: Bools) -> Ints:
    """Return the last qualifying row of each segment, its last row where none qualifies.

    Args:
        segments: The segments.
        qualifies: One boolean per row.
    """
    rows = segments.last_rows.copy()
    if np.count_nonzero(qualifies) < _SPARSE * len(qualifies):
        places = np.flatnonzero(qualifies[segments.order])
        # Of several values for one index, numpy keeps the last.
        rows[segments.segment_of[places]] = segments.order[places]
        return rows
    is_open = np.flatnonzero(~qualifies[rows] & ~segments.is_single)
    places = segments.lasts[is_open]
    for _ in range(_STEPS_BACK):
        if not len(is_open):
            return rows
        places -= 1
        candidates = segments.order[places]
        found = qualifies[candidates]
        rows[is_open[found]] = candidates[found]
        goes_on = ~found & (places > segments.starts[is_open])
        is_open, places = is_open[goes_on], places[goes_on]
    if len(is_open):
        _find_last_before(segments, qualifies, is_open, places, rows)
    return rows


def _find_last_before(
    segments: Segments, qualifies: Bools, is_open: Ints, places: Ints, rows: Ints
) -> None:
    """Set `rows` of open segments to the last qualifying row before a place, if there is one."""
    qualifying = np.flatnonzero(qualifies[segments.order])
    index = np.searchsorted(qualifying, places) - 1
    candidates = qualifying[np.maximum(index, 0)] if len(qualifying) else np.zeros_like(places)
    found = (index >= 0) & (candidates >= segments.starts[is_open])
    rows[is_open[found]] = segments.order[candidates[found]]


def last_rows_of_maximum(segments: Segments, codes: Uints) -> Ints:
    """Return the last row of each segment that attains the segment's greatest code.

    Args:
        segments: The segments.
        codes: One per row.
    """
    rows = segments.last_rows.copy()
    best = codes[rows]
    is_open = np.flatnonzero(~segments.is_single)
    places = segments.lasts[is_open]
    for _ in range(_STEPS_BACK):
        if not len(is_open):
            return rows
        places -= 1
        candidates = segments.order[places]
        # Not better when equal: of equal ones the later wins.
        better = codes[candidates] > best[is_open]
        rows[is_open[better]] = candidates[better]
        best[is_open[better]] = codes[candidates[better]]
        goes_on = places > segments.starts[is_open]
        is_open, places = is_open[goes_on], places[goes_on]
    if len(is_open):
        _find_last_maximum(segments, codes, is_open, rows)
    return rows


def _find_last_maximum(segments: Segments, codes: Uints, is_open: Ints, rows: Ints) -> None:
    """Set `rows` of open segments by a pass over all their rows."""
    in_open = np.zeros(segments.count, dtype=np.bool_)
    in_open[is_open] = True
    places = np.flatnonzero(in_open[segments.segment_of])
    lengths = (segments.lasts - segments.starts)[is_open] + 1
    starts = np.cumsum(lengths) - lengths
    values = codes[segments.order[places]]
    attains = values == np.repeat(np.maximum.reduceat(values, starts), lengths)
    places = places[attains]
    rows[segments.segment_of[places]] = segments.order[places]


def last_places(segments: Segments, places: Ints, *, default: Ints) -> Ints:
    """Return the last of the given ascending places in each segment, else the default."""
    found = default.copy()
    found[segments.segment_of[places]] = places
    return found


def first_places(segments: Segments, places: Ints, *, default: Ints) -> Ints:
    """Return the first of the given ascending places in each segment, else the default."""
    return last_places(segments, places[::-1], default=default)
