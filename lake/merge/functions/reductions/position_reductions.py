"""The first and last functions for many keys at once: each picks a record.

Source: merge-semantics 4.
"""

import numpy as np
import pyarrow as pa

from lake.format.arrays import validity
from lake.merge.aggregate_function import Reduced, Reduction
from lake.merge.reductions import first_places, last_places, last_rows_where
from lake.merge.segments import Bools, Ints, Segments
from lake.merge.selection import NO_ROW, Pick
from lake.merge.steps import Step, Steps

_NO_PLACE = -1


def last_value_reduction() -> Reduction:
    """Return the reduction of `last_value`."""
    return Reduction(reduce=_last_value, handles=frozenset(Step))


def last_non_null_value_reduction() -> Reduction:
    """Return the reduction of `last_non_null_value`."""
    return Reduction(reduce=_last_non_null_value, handles=frozenset(Step))


def first_value_reduction() -> Reduction:
    """Return the reduction of `first_value`."""
    return Reduction(reduce=_first_value, handles=frozenset({Step.ADD, Step.LATE, Step.SEED}))


def first_non_null_value_reduction() -> Reduction:
    """Return the reduction of `first_non_null_value`."""
    return Reduction(
        reduce=_first_non_null_value, handles=frozenset({Step.ADD, Step.LATE, Step.SEED})
    )


def _last_value(steps: Steps, _column: pa.Array) -> Reduced:
    segments = steps.segments
    if steps.steps is None:
        return Reduced(values=Pick(rows=segments.last_rows))
    if steps.has(Step.LATE):
        places = _last(segments, steps.where(Step.ADD, Step.SEED, Step.RETRACT))
    else:
        places = segments.lasts
    emptied = (places == _NO_PLACE) | (steps.steps[places] == Step.RETRACT)
    return _picked(segments, np.where(emptied, _NO_PLACE, places))


def _last_non_null_value(steps: Steps, column: pa.Array) -> Reduced:
    segments = steps.segments
    if steps.steps is None:
        if not column.null_count:
            return Reduced(values=Pick(rows=segments.last_rows))
        # Where no row has a value the last row is taken, and its null with it.
        return Reduced(values=Pick(rows=last_rows_where(segments, validity(column))))
    has_value = validity(column)[segments.order]
    # What decides is the last value that is not late; null changes nothing, even as a retract.
    places = _last(segments, has_value & steps.where(Step.ADD, Step.SEED, Step.RETRACT))
    emptied = (places == _NO_PLACE) | (steps.steps[places] == Step.RETRACT)
    # What it left empty is filled by the first late value after it.
    fillers = np.flatnonzero(has_value & steps.where(Step.LATE))
    after = _first_after(segments, fillers, places)
    return _picked(segments, np.where(emptied, after, places))


def _first_value(steps: Steps, _column: pa.Array) -> Reduced:
    segments = steps.segments
    if steps.steps is None:
        return Reduced(values=Pick(rows=segments.order[segments.starts]))
    # The first call takes what is new, or leaves what is there when that is late; a seed is no call.
    first = segments.starts
    seeded = steps.steps[first] == Step.SEED
    call = first + seeded
    is_called = call <= segments.lasts
    call = np.where(is_called, call, first)
    taken = is_called & (steps.steps[call] == Step.ADD)
    places = np.where(taken, call, np.where(seeded, first, _NO_PLACE))
    # After it every late value is taken, so the last one stays.
    late = steps.where(Step.LATE)
    late[call] = False
    return _picked(segments, _last(segments, late, default=places))


def _first_non_null_value(steps: Steps, column: pa.Array) -> Reduced:
    segments = steps.segments
    has_value = validity(column)[segments.order]
    never = np.full(segments.count, len(segments.order))
    added = first_places(segments, np.flatnonzero(has_value & steps.where(Step.ADD)), default=never)
    if steps.steps is None:
        return _picked(segments, np.where(added == never, _NO_PLACE, added))
    # Until the function has found its first value a seed or a late value fills what is empty, ...
    fillers = np.flatnonzero(has_value & steps.where(Step.SEED, Step.LATE))
    filled = first_places(segments, fillers, default=np.full(segments.count, _NO_PLACE))
    # ... and a late record that meets it makes it the first value.
    late = np.flatnonzero(steps.where(Step.LATE))
    met = _first_after(segments, late, np.where(filled == _NO_PLACE, never, filled))
    met = np.where(met == _NO_PLACE, never, met)
    found = np.minimum(added, met)
    places = np.where(added < met, added, filled)
    # From then on every late record is taken, null or not, so the last one stays.
    last_late = _last(segments, steps.where(Step.LATE))
    return _picked(segments, np.where(last_late > found, last_late, places))


def _last(segments: Segments, chosen: Bools, *, default: Ints | None = None) -> Ints:
    """Return the last chosen place of each segment, else the default, `_NO_PLACE`."""
    if default is None:
        default = np.full(segments.count, _NO_PLACE)
    return last_places(segments, np.flatnonzero(chosen), default=default)


def _first_after(segments: Segments, places: Ints, after: Ints) -> Ints:
    """Return the first of the ascending places of each segment that follows another.

    Args:
        segments: The segments.
        places: In question.
        after: One per segment; `_NO_PLACE` for before all, beyond its last place for after all.

    Returns:
        One per segment, `_NO_PLACE` where none does.
    """
    start = np.maximum(after + 1, segments.starts)
    found = np.append(places, len(segments.order))[np.searchsorted(places, start)]
    return np.where(found <= segments.lasts, found, _NO_PLACE)


def _picked(segments: Segments, places: Ints) -> Reduced:
    # The place -1 is some row's, which is then not taken.
    rows = np.where(places == _NO_PLACE, NO_ROW, segments.order[places])
    return Reduced(values=Pick(rows=rows))
