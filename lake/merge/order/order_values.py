"""Comparable values: column values as Python tuples whose order is the order of the values.

The order is that of table-format 13.1: null before everything, FLOAT and DOUBLE in Java's total order
(-0.0 < 0.0, NaN largest), text and bytes by unsigned bytes. An ARRAY compares element by element, a
prefix first; a ROW field by field. A MAP or MULTISET with fewer entries is smaller; with equally many,
the keys compare as an ARRAY, then the values. Keys and values are taken in the order in which they are
stored, so maps that are equal as sets of entries may differ here.

Source: merge-semantics 3.1; maps are ordered as generated rows are in Paimon since 2.0.0.
"""

import itertools
import math
from collections.abc import Sequence

import pyarrow as pa

# Compares by the order of the format; null is the empty tuple and so the smallest.
OrderValue = tuple[object, ...]


def order_values(column: pa.Array | pa.ChunkedArray) -> list[OrderValue]:
    """Return one tuple per row that compares as the column's values do.

    Args:
        column: A column of any type.
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [value for chunk in chunks for value in _values(chunk)]


def order_value(value: object) -> OrderValue:
    """Return what `order_values` gives for one value that is not nested, without making an array.

    Args:
        value: A value as `plain_values` or `pa.Array.to_pylist()` returns it.
    """
    match value:
        case None:
            return ()
        case float():
            # Java's total order: -0.0 < 0.0, NaN largest and equal to itself.
            if math.isnan(value):
                return (1, 0.0, 0.0)
            return (0, value, math.copysign(1.0, value))
        case str():
            return (value.encode(),)
        case _:
            return (value,)


def _values(array: pa.Array) -> list[OrderValue]:
    kind = array.type
    if pa.types.is_struct(kind):
        fields = [_values(child) for child in array.flatten()]
        rows = zip(*fields, strict=True) if fields else itertools.repeat((), len(array))
        return _where_valid(array, list(rows))
    if pa.types.is_map(kind):
        entries, bounds = _inside(array)
        keys, values = _values(entries.field(0)), _values(entries.field(1))
        maps = [
            (stop - start, *keys[start:stop], *values[start:stop])
            for start, stop in itertools.pairwise(bounds)
        ]
        return _where_valid(array, maps)
    if pa.types.is_list(kind):
        inside, bounds = _inside(array)
        elements = _values(inside)
        lists = [tuple(elements[start:stop]) for start, stop in itertools.pairwise(bounds)]
        return _where_valid(array, lists)
    if pa.types.is_timestamp(kind):
        # Python's datetime has no nanoseconds.
        array = array.cast(pa.int64())
    return [order_value(value) for value in array.to_pylist()]


def _inside(array: pa.Array) -> tuple[pa.Array, list[int]]:
    """Return the elements of an array's lists, or entries of its maps, and where each begins."""
    offsets = array.offsets.to_pylist()
    first, last = offsets[0], offsets[-1]
    return array.values.slice(first, last - first), [offset - first for offset in offsets]


def _where_valid(array: pa.Array, values: Sequence[OrderValue]) -> list[OrderValue]:
    # One more tuple around a value: null is (), and an empty list has to be larger.
    valid = array.is_valid().to_pylist()
    return [(value,) if ok else () for value, ok in zip(values, valid, strict=True)]
