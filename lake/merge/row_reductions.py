"""Vectorised reductions of each segment to the row that gives a value: one function for each rule.

Segments are usually short, a row or two per sorted run. So the functions `last_rows_*` go layer by layer: first the
last row of every segment, then the last row but one of the segments that have at least two, and so on
(`Segments.layers`). Segments are sorted by length, longest first, so each layer belongs to a prefix of them and every
step is plain arithmetic on slices. The few segments with more rows than there are layers are then searched without
layers, by one pass over rows.
"""

from collections.abc import Sequence

import numpy as np

from braid.lake.merge.order.key_codes import Numbers, Uints
from braid.lake.merge.order.key_order import number_codes
from braid.lake.merge.segments import Bools, Ints, Segments


def last_rows_where(segments: Segments, qualifies: Bools) -> Ints:
    """Return the last qualifying row of each segment, its last row where none qualifies.

    Args:
        segments: The segments.
        qualifies: One boolean per row.
    """
    first, *others = segments.layers
    # The first layer holds the last row of each segment: it stays where no row qualifies.
    rows, found = first.copy(), qualifies[first]
    # Backwards through each segment, so the first hit is the last qualifying row.
    for layer in others:
        decided = found[: len(layer)]
        hits = qualifies[layer]
        hits &= ~decided
        np.copyto(rows[: len(layer)], layer, where=hits)
        decided |= hits
    undecided = np.flatnonzero(~found[: segments.long_count])
    if len(undecided):
        _find_in_long(segments, qualifies, undecided, rows)
    return segments.in_key_order(rows)


def first_rows_where(segments: Segments, qualifies: Bools) -> Ints:
    """Return the first qualifying row of each segment, its first row where none qualifies.

    Args:
        segments: The segments.
        qualifies: One boolean per row.
    """
    positions = np.flatnonzero(qualifies[segments.order])
    return segments.order[first_positions(segments, positions, default=segments.starts)]


def last_rows_of_maximum(segments: Segments, codes: Numbers) -> Ints:
    """Return the last row of each segment that attains the segment's greatest code.

    Args:
        segments: The segments.
        codes: One per row.
    """
    first, *others = segments.layers
    rows, best = first.copy(), codes[first]
    for layer in others:
        greatest = best[: len(layer)]
        values = codes[layer]
        # Strictly greater, because layers go backwards: of equal rows the later one stays.
        np.copyto(rows[: len(layer)], layer, where=values > greatest)
        np.maximum(greatest, values, out=greatest)
    if segments.long_count:
        _find_long_maximum(segments, codes, rows)
    return segments.in_key_order(rows)


def last_rows_of_greatest(segments: Segments, words: Sequence[Uints]) -> Ints:
    """Return the last row of each segment that attains the segment's greatest words.

    Args:
        segments: The segments.
        words: Words with one number per row each, compared in turn, the most significant first;
            empty when all rows are equal.
    """
    if not words:
        return segments.last_rows
    if len(words) == 1:
        return last_rows_of_maximum(segments, words[0])
    first, *others = segments.layers
    rows = first.copy()
    best = [values[first] for values in words]
    for layer in others:
        greatest, values = [word[: len(layer)] for word in best], [word[layer] for word in words]
        greater = _is_greater(values, greatest)
        np.copyto(rows[: len(layer)], layer, where=greater)
        for known, new in zip(greatest, values, strict=True):
            np.copyto(known, new, where=greater)
    if segments.long_count:
        _find_long_greatest(segments, words, rows)
    return segments.in_key_order(rows)


def last_positions(segments: Segments, positions: Ints, *, default: Ints) -> Ints:
    """Return the last of the given ascending positions in each segment, else the default."""
    found = default.copy()
    # For an index that occurs more than once numpy keeps the last value, here the last position.
    found[segments.segment_of[positions]] = positions
    return found


def first_positions(segments: Segments, positions: Ints, *, default: Ints) -> Ints:
    """Return the first of the given ascending positions in each segment, else the default."""
    return last_positions(segments, positions[::-1], default=default)


def _find_in_long(segments: Segments, qualifies: Bools, undecided: Ints, rows: Ints) -> None:
    """Set `rows` of long segments that no layer decided to their last qualifying row."""
    chosen = segments.by_length[undecided]
    qualifying = np.flatnonzero(qualifies[segments.order])
    # One more position, -1, is put before all others: it is found where nothing qualifies up to the
    # segment's end, and it lies before the segment's start.
    index = np.searchsorted(qualifying, segments.lasts[chosen], side="right")
    positions = np.concatenate(([-1], qualifying))[index]
    found = positions >= segments.starts[chosen]
    rows[undecided[found]] = segments.order[positions[found]]


def _is_greater(words: Sequence[Uints], others: Sequence[Uints]) -> Bools:
    """Return where rows of words are greater than others, most significant word first.

    Words are compared from the least significant one on: a more significant word overrules the
    result of the words before, unless it is equal.
    """
    assert words, "without words all rows are equal"
    greater: Bools = words[-1] > others[-1]
    for mine, other in zip(words[-2::-1], others[-2::-1], strict=True):
        greater &= mine == other
        greater |= mine > other
    return greater


def _find_long_greatest(segments: Segments, words: Sequence[Uints], rows: Ints) -> None:
    """Set `rows` of segments longer than all layers to the last row with their greatest words."""
    chosen = segments.by_length[: segments.long_count]
    # Codes are made of the rows of these segments alone: ranking all rows would cost a sort of all.
    long_rows = segments.order[segments.positions_of(chosen)]
    codes = np.empty(len(words[0]), dtype=np.uint64)
    codes[long_rows] = number_codes([word[long_rows] for word in words])
    _find_long_maximum(segments, codes, rows)


def _find_long_maximum(segments: Segments, codes: Numbers, rows: Ints) -> None:
    """Set `rows` of segments longer than all layers to the last row with their greatest code.

    One pass over their rows: `values` has the rows of one segment after another, and a segment has
    the positions from its entry in `begins` to before its entry in `ends`.
    """
    chosen = segments.by_length[: segments.long_count]
    lengths = segments.lasts[chosen] - segments.starts[chosen] + 1
    ends = np.cumsum(lengths)
    begins = ends - lengths
    positions = segments.positions_of(chosen)
    values = codes[segments.order[positions]]
    attains = np.flatnonzero(values == np.repeat(np.maximum.reduceat(values, begins), lengths))
    # Each segment attains its maximum, so the last position below its end is one of its own.
    last = attains[np.searchsorted(attains, ends) - 1]
    rows[: segments.long_count] = segments.order[positions[last]]
