"""Reductions of listagg; with `distinct` they decide only keys with at most one text that is not blank.

A key is left undecided if all its texts are blank and one that is not null is late.

Source: merge-semantics 4.1.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.arrays import validity
from braid.lake.merge.aggregate_function import Reduced
from braid.lake.merge.functions.reductions.single_value import pick_single, some
from braid.lake.merge.functions.support.arrival_order import late_first, value_counts
from braid.lake.merge.segments import Bools, Ints
from braid.lake.merge.steps import Step, Steps

# Range of the first bytes, in UTF-8, of the white space beyond ASCII: U+1680, U+2000 to U+205F, U+3000.
_WIDE_SPACE_BYTES = (0xE1, 0xE3)
_ASCII_SPACE_MAX = 0x20


def joined_texts(steps: Steps, column: pa.Array, *, delimiter: str, white_space: str) -> Reduced:
    """Return for each segment its texts that are not blank, joined.

    Args:
        steps: ADD and LATE only.
        column: Text.
        delimiter: Between two texts.
        white_space: The characters of blank texts.
    """
    positions, counts, open_segments = _texts(steps, column, white_space)
    if counts.max() <= 1:
        return Reduced(values=pick_single(steps, positions, counts).values, undecided=open_segments)
    rows = steps.segments.order[late_first(steps, positions)]
    texts = pc.take(column, pa.array(rows), boundscheck=False)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    missing = counts == 0
    lists = pa.ListArray.from_arrays(
        pa.array(offsets), texts, mask=pa.array(missing) if missing.any() else None
    )
    values = pc.binary_join(lists, delimiter)
    return Reduced(values=values.cast(column.type), undecided=open_segments)


def single_texts(steps: Steps, column: pa.Array, *, white_space: str) -> Reduced:
    """Return the only text of each segment that is not blank; a segment with more is undecided."""
    positions, counts, open_segments = _texts(steps, column, white_space)
    single = pick_single(steps, positions, counts)
    if open_segments is None or single.undecided is None:
        undecided = open_segments if single.undecided is None else single.undecided
    else:
        undecided = np.union1d(open_segments, single.undecided)
    return Reduced(values=single.values, undecided=undecided)


def _texts(steps: Steps, column: pa.Array, white_space: str) -> tuple[Ints, Ints, Ints | None]:
    """Return the positions of texts, their number per segment, and the segments left undecided.

    A segment is undecided if it has late texts and all its texts are blank: the last late text is
    then kept, although it is blank.
    """
    is_text = _is_text(column, white_space)[steps.segments.order]
    positions = np.flatnonzero(is_text)
    counts = value_counts(steps, positions)
    if not steps.has(Step.LATE):
        return positions, counts, None
    late_blanks = steps.where(Step.LATE) & ~is_text & validity(column)[steps.segments.order]
    blank_counts = value_counts(steps, np.flatnonzero(late_blanks))
    return positions, counts, some((blank_counts > 0) & (counts == 0))


def _is_text(column: pa.Array, white_space: str) -> Bools:
    """Return which rows hold a text that is neither null nor blank."""
    _, offsets_buffer, data_buffer = column.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype=np.int32)[column.offset :][: len(column) + 1]
    is_text: Bools = offsets[1:] > offsets[:-1]
    is_text &= validity(column)
    present = np.flatnonzero(is_text)
    if not len(present):
        return is_text
    # Only texts whose first byte can begin white space are checked as a whole.
    first = np.frombuffer(data_buffer, dtype=np.uint8)[offsets[present]]
    low, high = _WIDE_SPACE_BYTES
    doubtful = present[(first <= _ASCII_SPACE_MAX) | ((first >= low) & (first <= high))]
    if len(doubtful):
        trimmed = pc.utf8_trim(column.take(pa.array(doubtful)), characters=white_space)
        is_text[doubtful] = pc.binary_length(trimmed).to_numpy() > 0
    return is_text
