"""Reductions of the first and last functions: each picks a record.

Source: merge-semantics 4.
"""

import numpy as np
import pyarrow as pa

from braid.lake.format.arrays import validity
from braid.lake.merge.aggregate_function import Reduced, Reduction
from braid.lake.merge.row_reductions import first_positions, last_positions, last_rows_where
from braid.lake.merge.segments import Bools, Ints, Segments
from braid.lake.merge.selection import NO_ROW, Pick
from braid.lake.merge.steps import Step, Steps

_NO_POSITION = -1


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
        positions = _last(segments, steps.where(Step.ADD, Step.SEED, Step.RETRACT))
    else:
        positions = segments.lasts
    # Position -1 reads the last step of all segments; the first condition masks it.
    emptied = (positions == _NO_POSITION) | (steps.steps[positions] == Step.RETRACT)
    return _picked(segments, np.where(emptied, _NO_POSITION, positions))


def _last_non_null_value(steps: Steps, column: pa.Array) -> Reduced:
    segments = steps.segments
    if steps.steps is None:
        if not column.null_count:
            return Reduced(values=Pick(rows=segments.last_rows))
        # Where no row has a value the last row is returned, whose null is the result.
        return Reduced(values=Pick(rows=last_rows_where(segments, validity(column))))
    has_value = validity(column)[segments.order]
    # The last value that is not late decides; null has no effect, even as a retract.
    positions = _last(segments, has_value & steps.where(Step.ADD, Step.SEED, Step.RETRACT))
    emptied = (positions == _NO_POSITION) | (steps.steps[positions] == Step.RETRACT)
    # If that leaves null, the first late value after it replaces the null.
    fillers = np.flatnonzero(has_value & steps.where(Step.LATE))
    after = _first_after(segments, fillers, positions)
    return _picked(segments, np.where(emptied, after, positions))


def _first_value(steps: Steps, _column: pa.Array) -> Reduced:
    segments = steps.segments
    if steps.steps is None:
        return Reduced(values=Pick(rows=segments.order[segments.starts]))
    # The first call returns a new value, or the accumulated one if the new one is late; a seed is
    # not a call.
    first = segments.starts
    seeded = steps.steps[first] == Step.SEED
    call = first + seeded
    is_called = call <= segments.lasts
    call = np.where(is_called, call, first)
    taken = is_called & (steps.steps[call] == Step.ADD)
    positions = np.where(taken, call, np.where(seeded, first, _NO_POSITION))
    # Every later call returns a late value, so the last late one stays.
    late = steps.where(Step.LATE)
    late[call] = False
    return _picked(segments, _last(segments, late, default=positions))


def _first_non_null_value(steps: Steps, column: pa.Array) -> Reduced:
    segments = steps.segments
    has_value = validity(column)[segments.order]
    never = np.full(segments.count, len(segments.order))
    added = first_positions(
        segments, np.flatnonzero(has_value & steps.where(Step.ADD)), default=never
    )
    if steps.steps is None:
        return _picked(segments, np.where(added == never, _NO_POSITION, added))
    # Until the function has found its first value, a seed or a late value replaces null, ...
    fillers = np.flatnonzero(has_value & steps.where(Step.SEED, Step.LATE))
    filled = first_positions(segments, fillers, default=np.full(segments.count, _NO_POSITION))
    # ... and the next late record makes that value the first one.
    late = np.flatnonzero(steps.where(Step.LATE))
    met = _first_after(segments, late, np.where(filled == _NO_POSITION, never, filled))
    met = np.where(met == _NO_POSITION, never, met)
    found = np.minimum(added, met)
    positions = np.where(added < met, added, filled)
    # From then on every late record replaces it, null or not, so the last one stays.
    last_late = _last(segments, steps.where(Step.LATE))
    return _picked(segments, np.where(last_late > found, last_late, positions))


def _last(segments: Segments, chosen: Bools, *, default: Ints | None = None) -> Ints:
    """Return the last chosen position of each segment, else the default, `_NO_POSITION`."""
    if default is None:
        default = np.full(segments.count, _NO_POSITION)
    return last_positions(segments, np.flatnonzero(chosen), default=default)


def _first_after(segments: Segments, positions: Ints, after: Ints) -> Ints:
    """Return the first of the given positions in each segment that follows another position.

    Args:
        segments: The segments.
        positions: Ascending.
        after: One position per segment: `_NO_POSITION` is before all positions, a number beyond the
            segment's last position is after all.

    Returns:
        One position per segment, `_NO_POSITION` where none follows.
    """
    start = np.maximum(after + 1, segments.starts)
    found = np.append(positions, len(segments.order))[np.searchsorted(positions, start)]
    return np.where(found <= segments.lasts, found, _NO_POSITION)


def _picked(segments: Segments, positions: Ints) -> Reduced:
    # Position -1 reads the last row of all, which the condition replaces.
    rows = np.where(positions == _NO_POSITION, NO_ROW, segments.order[positions])
    return Reduced(values=Pick(rows=rows))
