"""Conversion of arrays of scalar native values to columns: vectorised, and value by value for the values that this does not decide.

The array of a leaf has one of these Arrow types: boolean, int64, uint64, float32, float64, string, binary, decimal128. An array
of unreadable values may have any type. Dates, times and moments are int64, in the unit that the leaf names.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrays import replace_rows, rows_where
from braid.formats.json.exact_values import FLOAT_MAX, ValueFault
from braid.formats.native.exact_values import native_value
from braid.formats.native.kinds import NativeKind
from braid.formats.native.values import Day, Moment, TimeOfDay, Unreadable
from braid.formats.text_values import plain_values
from braid.formats.times import moment_bounds
from braid.formats.type_bounds import INTEGER_BOUND, length_bound
from braid.lake import DataType, TypeRoot, to_arrow_type

_TEXTS: Final = (TypeRoot.CHAR, TypeRoot.VARCHAR)
_FLOATS: Final = (TypeRoot.FLOAT, TypeRoot.DOUBLE)
_BINARIES: Final = (TypeRoot.BINARY, TypeRoot.VARBINARY)
_TIMESTAMPS: Final = (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)
_UNIT_NS: Final = {"ms": 10**6, "us": 10**3, "ns": 1}
_DAY_NS: Final = 86_400 * 10**9


@dataclass(frozen=True, slots=True)
class Leaf:
    """A type of values without parts.

    Attributes:
        kind: The kind of value.
        unit_ns: Nanoseconds of one unit, of times and moments.
        is_local: Whether moments are those of a clock without a zone.
    """

    kind: NativeKind
    unit_ns: int = 1
    is_local: bool = False

    def native(self, value: Any) -> Any:
        """Return the native value for an item of the leaf's array; None is None."""
        if value is None:
            return None
        match self.kind:
            case NativeKind.DATE:
                return Day(value)
            case NativeKind.TIME:
                return TimeOfDay(value * self.unit_ns)
            case NativeKind.MOMENT:
                return Moment(value * self.unit_ns, self.is_local)
            case NativeKind.UNREADABLE:
                return Unreadable(self.kind.value)
            case _:
                return value


def leaf_column(
    values: pa.Array, leaf: Leaf, data_type: DataType
) -> tuple[pa.Array, Sequence[int]]:
    """Return a column of native values, and the positions of values that do not fit it; they are null.

    Args:
        values: The leaf's array.
        leaf: The type of the values.
        data_type: The type of the column; anything but MULTISET.
    """
    found = plain_column(values, leaf, data_type)
    rows = rows_where(pc.and_(found.is_null(), values.is_valid()))
    if not rows:
        return found, rows
    is_short_float = pa.types.is_float32(values.type)
    exact, unfit = [], []
    for row, item in zip(rows, values.take(pa.array(rows)).to_pylist(), strict=True):
        value = leaf.native(np.float32(item) if is_short_float else item)
        try:
            exact.append(native_value(value, data_type))
        except ValueFault:
            exact.append(None)
            unfit.append(row)
    return replace_rows(found, rows, exact), unfit


def plain_column(values: pa.Array, leaf: Leaf, data_type: DataType) -> pa.Array:
    """Return a column, null where a value is null or has to be decided exactly."""
    root, wanted = data_type.root, to_arrow_type(data_type)
    match leaf.kind:
        case NativeKind.TEXT if root not in INTEGER_BOUND and root not in _FLOATS:
            return plain_values(values, data_type)
        case NativeKind.BOOLEAN if root is TypeRoot.BOOLEAN:
            return values
        case NativeKind.WHOLE if root in INTEGER_BOUND:
            return _within(values, -INTEGER_BOUND[root], INTEGER_BOUND[root] - 1).cast(wanted)
        case NativeKind.WHOLE if root is TypeRoot.DECIMAL:
            return _whole_decimals(values, data_type)
        case NativeKind.WHOLE | NativeKind.BOOLEAN if root in _TEXTS:
            return _short_texts(values.cast(pa.string()), data_type)
        case NativeKind.WHOLE | NativeKind.FLOAT if root is TypeRoot.DOUBLE:
            return pc.cast(values, wanted, safe=False)
        case NativeKind.WHOLE | NativeKind.FLOAT if root is TypeRoot.FLOAT:
            return _floats(values)
        case NativeKind.DECIMAL if root is TypeRoot.DECIMAL:
            return _decimals(values, data_type)
        case NativeKind.BYTES if root in _BINARIES:
            bound = length_bound(data_type)
            if bound is None:
                return values
            return _where(pc.less_equal(pc.binary_length(values), bound), values)
        case NativeKind.DATE if root is TypeRoot.DATE:
            low, high = moment_bounds(_DAY_NS)
            return _within(values, low, high).cast(pa.int32()).cast(wanted)
        case NativeKind.TIME if root is TypeRoot.TIME:
            clock = _within(values, 0, _DAY_NS // leaf.unit_ns - 1)
            return rescaled(clock, leaf.unit_ns, 10**6).cast(pa.int32()).cast(wanted)
        case NativeKind.MOMENT if root in _TIMESTAMPS:
            low, high = moment_bounds(leaf.unit_ns, is_fine=wanted.unit == "ns")
            near = _within(values, low, high)
            return rescaled(near, leaf.unit_ns, _UNIT_NS[wanted.unit]).cast(wanted)
        case _:
            return pa.nulls(len(values), wanted)


def rescaled(values: pa.Array, unit_ns: int, wanted_ns: int) -> pa.Array:
    """Return whole numbers of one unit in another one, rounded down; they must not overflow."""
    if unit_ns == wanted_ns:
        return values
    is_null = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
    if unit_ns > wanted_ns:
        return pa.array(numbers * (unit_ns // wanted_ns), mask=is_null)
    return pa.array(np.floor_divide(numbers, wanted_ns // unit_ns), mask=is_null)


def _floats(values: pa.Array) -> pa.Array:
    if pa.types.is_float32(values.type):
        return values
    doubles = pc.cast(values, pa.float64(), safe=False)
    is_near = pc.or_(pc.less_equal(pc.abs(doubles), FLOAT_MAX), pc.invert(pc.is_finite(doubles)))
    return pc.cast(_where(is_near, doubles), pa.float32(), safe=False)


def _whole_decimals(values: pa.Array, data_type: DataType) -> pa.Array:
    assert data_type.precision is not None, "a DECIMAL has a precision"
    assert data_type.scale is not None, "a DECIMAL has a scale"
    bound = 10 ** (data_type.precision - data_type.scale) - 1
    near = _within(values, -bound, bound)
    return near.cast(pa.decimal128(20, 0)).cast(to_arrow_type(data_type))


def _decimals(values: pa.Array, data_type: DataType) -> pa.Array:
    assert data_type.precision is not None, "a DECIMAL has a precision"
    assert data_type.scale is not None, "a DECIMAL has a scale"
    wanted = to_arrow_type(data_type)
    if values.type.scale > data_type.scale:  # to be rounded
        return pa.nulls(len(values), wanted)
    try:
        return values.cast(wanted)
    except pa.ArrowInvalid:  # one is too large
        bound = pa.scalar(Decimal(10) ** (data_type.precision - data_type.scale), values.type)
        return _where(pc.less(pc.abs(values), bound), values).cast(wanted)


def _short_texts(texts: pa.StringArray, data_type: DataType) -> pa.Array:
    bound = length_bound(data_type)
    return texts if bound is None else _where(pc.less_equal(pc.utf8_length(texts), bound), texts)


def _within(values: pa.Array, low: int, high: int) -> pa.Array:
    """Return whole numbers, null outside of bounds."""
    is_unsigned = pa.types.is_unsigned_integer(values.type)
    low_max, high_max = (0, 2**64 - 1) if is_unsigned else (-(2**63), 2**63 - 1)
    if low <= low_max and high >= high_max:
        return values
    low, high = max(low, low_max), min(high, high_max)
    found = pc.min_max(values)
    smallest, largest = found["min"].as_py(), found["max"].as_py()
    if smallest is None or (smallest >= low and largest <= high):
        return values
    is_near = pc.and_(
        pc.greater_equal(values, pa.scalar(low, values.type)),
        pc.less_equal(values, pa.scalar(high, values.type)),
    )
    return _where(is_near, values)


def _where(mask: pa.BooleanArray, values: pa.Array) -> pa.Array:
    return pc.if_else(mask, values, pa.scalar(None, values.type))
