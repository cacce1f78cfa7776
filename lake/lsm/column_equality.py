"""Vectorised equality of the values of two columns, row by row.

| type | two values are equal iff |
|---|---|
| every | both are null, or neither is null and the line of their type holds |
| FLOAT, DOUBLE | they are the same number, or both are NaN; -0.0 and 0.0 differ |
| ROW | all fields are equal |
| ARRAY | they have the same length, and the elements at each position are equal |
| MAP, MULTISET | they have the same entries, in any order |
| any other | they are the same value |

Paimon intends the same, but its code differs inside of collections: a null in an ARRAY or MAP is unequal to
itself, and so is a number outside of -128 to 127 in a MAP. So Paimon reports some updates that change nothing.
This module does what is intended.

Source: merge-semantics 6.5.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.arrays import combined_array, validity
from braid.lake.format.arrow_types import elements
from braid.lake.merge.order.key_order import key_codes
from braid.lake.merge.segments import concatenated_ranges

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


def equal_values(left: pa.Array | pa.ChunkedArray, right: pa.Array | pa.ChunkedArray) -> Bools:
    """Return one boolean per row, true where both columns hold the same value.

    Args:
        left: A column of any type of the format.
        right: A column of the same type and length.
    """
    assert len(left) == len(right), "values are compared in pairs"
    left, right = combined_array(left), combined_array(right)
    has_left, has_right = validity(left), validity(right)
    both = has_left & has_right
    if both.all():
        return _equal_present(left, right)
    same: Bools = has_left == has_right
    rows = np.flatnonzero(both)
    if len(rows):
        same[rows] = _equal_present(_take(left, rows), _take(right, rows))
    return same


def _equal_present(left: pa.Array, right: pa.Array) -> Bools:
    """Return one boolean per row, true where the values are equal; neither column has nulls."""
    kind = left.type
    if pa.types.is_floating(kind):
        return _equal_numbers(left, right)
    if pa.types.is_struct(kind):
        fields = zip(left.flatten(), right.flatten(), strict=True)
        same = np.ones(len(left), dtype=np.bool_)
        for one, other in fields:
            same &= equal_values(one, other)
        return same
    if pa.types.is_map(kind):
        return _equal_sequences(left, right, _equal_entries)
    if pa.types.is_list(kind):
        return _equal_sequences(left, right, _equal_elements)
    found: Bools = pc.equal(left, right).to_numpy(zero_copy_only=False)
    return found


def _equal_numbers(left: pa.Array, right: pa.Array) -> Bools:
    one, other = left.to_numpy(), right.to_numpy()
    bits = np.dtype(f"i{left.type.bit_width // 8}")
    found: Bools = one.view(bits) == other.view(bits)
    found |= np.isnan(one) & np.isnan(other)
    return found


def _equal_elements(left: pa.Array, right: pa.Array, _row_of: Ints) -> Bools:
    return equal_values(left, right)


def _equal_entries(left: pa.Array, right: pa.Array, row_of: Ints) -> Bools:
    """Return which entries of maps are equal, after sorting the entries of each map by key."""
    # Keys of both sides are coded together, because codes are comparable only within one call.
    codes = key_codes([pa.concat_arrays([left.field(0), right.field(0)])])
    one, other = codes[: len(left)], codes[len(left) :]
    order, other_order = np.lexsort([one, row_of]), np.lexsort([other, row_of])
    items = equal_values(_take(left.field(1), order), _take(right.field(1), other_order))
    same_keys: Bools = one[order] == other[other_order]
    return same_keys & items


_Compare = Callable[[pa.Array, pa.Array, Ints], Bools]


def _equal_sequences(left: pa.Array, right: pa.Array, compare: _Compare) -> Bools:
    """Return which lists are equal; elements of lists of different lengths are not compared.

    Args:
        left: Lists or maps, none of them null.
        right: As many lists or maps of the same type, none of them null.
        compare: Takes the elements of both sides and, for each element, the number of its list;
            returns which elements are equal. It may reorder the elements within a list. It is called
            with lists of equal lengths only.
    """
    starts, lengths = _extents(left)
    other_starts, other_lengths = _extents(right)
    same: Bools = lengths == other_lengths
    # Empty lists are equal already, and `reduceat` below has no empty ranges.
    rows = np.flatnonzero(same & (lengths > 0))
    if not len(rows):
        return same
    counts = lengths[rows]
    equal = compare(
        _take(elements(left), concatenated_ranges(starts[rows], counts)),
        _take(elements(right), concatenated_ranges(other_starts[rows], counts)),
        np.repeat(np.arange(len(rows)), counts),
    )
    same[rows] = np.logical_and.reduceat(equal, np.cumsum(counts) - counts)
    return same


def _extents(array: pa.Array) -> tuple[Ints, Ints]:
    """Return the start of each list in `elements`, and its length."""
    offsets = np.asarray(array.offsets).astype(np.int64)
    return offsets[:-1] - offsets[0], np.diff(offsets)


def _take(array: pa.Array, rows: Ints) -> pa.Array:
    return pc.take(array, pa.array(rows), boundscheck=False)
