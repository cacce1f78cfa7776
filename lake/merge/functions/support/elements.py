"""Elements of arrays and entries of maps, gathered segment by segment, and codes that are equal for equal elements.

An element is an index into the child array of the column, so only elements of the result are copied.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.arrays import validity
from braid.lake.merge.functions.support.arrival_order import late_first, value_counts
from braid.lake.merge.segments import Bools, Ints, run_starts
from braid.lake.merge.steps import Steps

Int32s = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Elements:
    """The elements of all values of each segment, one value after the other.

    Attributes:
        indices: Into the child array.
        starts: Index in `indices` of each segment's first element, then the length of `indices`.
        value_counts: Number of values that are not null, per segment.
    """

    indices: Ints
    starts: Ints
    value_counts: Ints

    @property
    def segment_of(self) -> Ints:
        """Return the segment of each element."""
        return np.repeat(np.arange(len(self.value_counts)), np.diff(self.starts))

    def offsets_of(self, kept: Bools) -> pa.Array:
        """Return the offsets of the segments when only the given elements are kept."""
        before = np.zeros(len(kept) + 1, dtype=np.int32)
        np.cumsum(kept, out=before[1:])
        return pa.array(before[self.starts])

    @property
    def offsets(self) -> pa.Array:
        """Return the offsets of the segments in their elements."""
        return pa.array(self.starts.astype(np.int32))

    @property
    def nulls(self) -> pa.Array | None:
        """Return which segments have no value; None when all have one."""
        missing = self.value_counts == 0
        return pa.array(missing) if missing.any() else None


def gather_elements(steps: Steps, column: pa.Array, *, in_order: bool) -> Elements:
    """Return the elements of the values of each segment.

    Args:
        steps: The steps of one column.
        column: The column's rows: lists or maps.
        in_order: Values in order of arrival; otherwise late ones first, see `late_first`.
    """
    positions = present_positions(steps, column)
    counts = value_counts(steps, positions)
    if not in_order:
        positions = late_first(steps, positions)
    rows = steps.segments.order[positions]
    offsets = column.offsets.to_numpy()
    firsts = offsets[rows]
    lengths = offsets[rows + 1] - firsts
    ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    starts = ends[np.concatenate(([0], np.cumsum(counts)))]
    indices = _ranges(firsts, lengths, ends)
    return Elements(indices=indices, starts=starts, value_counts=counts)


def _ranges(firsts: Int32s, lengths: Int32s, ends: Ints) -> Ints:
    """Return ranges of numbers, given by first number and length, one after another.

    They are a running sum of differences: 1 within a range, and between ranges the difference from
    the last number of a range to the first number of the next.

    Args:
        firsts: First number of each range.
        lengths: Length of each range.
        ends: Ends of the ranges in the result, after a leading 0.
    """
    if not ends[-1]:
        return np.empty(0, dtype=np.int64)
    starts = ends[:-1]
    if not lengths.all():
        # An empty range would begin where the next one does, and its difference would be lost.
        filled = lengths > 0
        firsts, lengths, starts = firsts[filled], lengths[filled], starts[filled]
    steps = np.ones(ends[-1], dtype=np.int64)
    steps[0] = firsts[0]
    steps[starts[1:]] = firsts[1:] - (firsts[:-1] + lengths[:-1] - 1)
    return np.cumsum(steps, out=steps)


def present_positions(steps: Steps, column: pa.Array) -> Ints:
    """Return the positions whose value is not null, ascending."""
    if not column.null_count:
        return np.arange(len(steps.segments.order))
    return np.flatnonzero(validity(column)[steps.segments.order])


def is_codable(data_type: pa.DataType) -> bool:
    """Return whether `element_codes` accepts values of the type."""
    return not pa.types.is_nested(data_type)


def element_codes(values: pa.Array) -> Ints:
    """Return one number per value, from 0 without gaps; equal iff the values are equal.

    Values are equal as in `value_equality`: by their bits, except that NaNs are equal; null equals null.
    """
    if pa.types.is_floating(values.type):
        values = _float_bits(values)
    encoded = pc.dictionary_encode(values, null_encoding="encode")
    codes: Ints = encoded.indices.to_numpy().astype(np.int64)
    return codes


def first_and_last(elements: Elements, codes: Ints) -> tuple[Ints, Ints]:
    """Return the first and the last index of each distinct value of a segment, by ascending first.

    Args:
        elements: The elements.
        codes: One per element.
    """
    count = len(codes)
    # One number per pair of segment and code, ordered by segment.
    keys = elements.segment_of * (int(codes.max(initial=0)) + 1) + codes
    order = _stable_order(keys)
    ordered = keys[order]
    is_first = run_starts(ordered)
    is_last = np.ones(count, dtype=np.bool_)
    is_last[:-1] = is_first[1:]
    last_of = np.full(count, -1, dtype=np.int64)
    last_of[order[is_first]] = order[is_last]
    firsts = np.flatnonzero(last_of >= 0)
    return firsts, last_of[firsts]


def _stable_order(keys: Ints) -> Ints:
    bits = max(len(keys) - 1, 0).bit_length()
    if int(keys.max(initial=0)).bit_length() + bits > 63:
        return np.argsort(keys, kind="stable")
    # With the index in the lower bits all numbers differ, so numpy's vectorised sort keeps the order
    # of equal keys.
    packed = (keys << bits) | np.arange(len(keys))
    packed.sort()
    packed &= (1 << bits) - 1
    return packed


def _float_bits(values: pa.Array) -> pa.Array:
    is_nan = pc.is_nan(values)
    one_nan = pc.if_else(is_nan, pa.scalar(float("nan"), values.type), values)
    return one_nan.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
