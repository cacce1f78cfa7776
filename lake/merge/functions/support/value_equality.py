"""Equality and order of column values.

Values have the form that `plain_values` gives them. Python's `==` is not sufficient: NaN equals NaN
here, -0.0 does not equal 0.0, and the entries of a MAP have no order.

Source: merge-semantics 4.2 (equality), 3.1 (order, see `order_values`).
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable

import pyarrow as pa

from braid.lake.merge.order.order_values import order_value, order_values
from braid.lake.merge.plain_values import plain_array

Identity = Callable[[object], Hashable]
"""Returns a key for a value: keys are equal iff the values are equal; None iff the value is
null."""

OrderKey = Callable[[object], tuple[object, ...]]

_NAN = "NaN"
_MINUS_ZERO = "-0.0"


def identity(data_type: pa.DataType) -> Identity:
    """Return the function whose results are equal, with equal hashes, iff the values are equal.

    Args:
        data_type: The type of the values; keys of values of different types may collide.
    """
    if pa.types.is_floating(data_type):
        return _float_identity
    if pa.types.is_struct(data_type):
        return _row_identity([identity(field.type) for field in data_type])
    if pa.types.is_map(data_type):
        return _map_identity(identity(data_type.key_type), identity(data_type.item_type))
    if pa.types.is_list(data_type):
        return _list_identity(identity(data_type.value_type))
    return _same


def ordering(data_type: pa.DataType) -> OrderKey:
    """Return the function whose results compare as values of the type do, null smallest.

    Args:
        data_type: The type of the values.
    """
    if pa.types.is_nested(data_type):
        return lambda value: order_values(plain_array([value], data_type))[0]
    return order_value


def _same(value: object) -> Hashable:
    assert isinstance(value, Hashable)
    return value


def _float_identity(value: object) -> Hashable:
    if value is None:
        return None
    assert isinstance(value, float)
    if math.isnan(value):
        return _NAN
    if value == 0.0 and math.copysign(1.0, value) < 0:
        return _MINUS_ZERO
    return value


def _row_identity(parts: list[Identity]) -> Identity:
    def key(value: object) -> Hashable:
        if value is None:
            return None
        assert isinstance(value, tuple)
        return tuple(part(field) for part, field in zip(parts, value, strict=True))

    return key


def _list_identity(part: Identity) -> Identity:
    def key(value: object) -> Hashable:
        if value is None:
            return None
        assert isinstance(value, list)
        return tuple(part(element) for element in value)

    return key


def _map_identity(key_part: Identity, item_part: Identity) -> Identity:
    def key(value: object) -> Hashable:
        if value is None:
            return None
        assert isinstance(value, list)
        entries = Counter((key_part(name), item_part(item)) for name, item in value)
        return frozenset(entries.items())

    return key
