"""Column values as Python tuples whose order is the order of the values.

The order is that of table-format 13.1: null before everything, FLOAT and DOUBLE in Java's total order
(-0.0 < 0.0, NaN largest), text and bytes by unsigned bytes. An ARRAY compares element by element, then
the shorter is the smaller; a ROW field by field. MAP and MULTISET have no order that is written down.
"""

import itertools
import math
from collections.abc import Sequence

import pyarrow as pa

from lake.errors import Problem, UnsupportedFeature

# Compares as the format says; null is the empty tuple and so the smallest.
OrderValue = tuple[object, ...]


def has_order(data_type: pa.DataType) -> bool:
    """Return whether values of the type can be put in order."""
    if pa.types.is_map(data_type):
        return False
    return all(has_order(data_type.field(i).type) for i in range(data_type.num_fields))


def order_values(column: pa.Array | pa.ChunkedArray) -> list[OrderValue]:
    """Return one tuple per row that compares as the column's values do.

    Raises:
        UnsupportedFeature: The type is, or holds, a MAP or MULTISET.
    """
    if not has_order(column.type):
        problem = Problem(
            field="type", value=str(column.type), message="values of this type have no order"
        )
        text = f"ordering by a column of type `{column.type}` is not supported"
        raise UnsupportedFeature(text, problems=[problem])
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [value for chunk in chunks for value in _values(chunk)]


def _values(array: pa.Array) -> list[OrderValue]:
    if pa.types.is_struct(array.type):
        children = [_values(child) for child in array.flatten()]
        return _where_valid(array, list(zip(*children, strict=True)))
    if pa.types.is_list(array.type):
        elements, offsets = _values(array.values), array.offsets.to_pylist()
        lists = [tuple(elements[start:stop]) for start, stop in itertools.pairwise(offsets)]
        return _where_valid(array, lists)
    if pa.types.is_timestamp(array.type):
        # Python's datetime has no nanoseconds.
        array = array.cast(pa.int64())
    return [_order_value(value) for value in array.to_pylist()]


def _where_valid(array: pa.Array, values: Sequence[OrderValue]) -> list[OrderValue]:
    # One more tuple around a value, for an empty list is larger than null.
    valid = array.is_valid().to_pylist()
    return [(value,) if ok else () for value, ok in zip(values, valid, strict=True)]


def _order_value(value: object) -> OrderValue:
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
