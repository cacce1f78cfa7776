"""Casts between numbers, and between numbers and BOOLEAN.

Casts to whole numbers truncate fractions, and a number that does not fit keeps its low bits. A
floating-point number out of range first becomes the nearest 32- or 64-bit whole number, and NaN
becomes 0. A cast to BOOLEAN is true if the whole part is not 0. Casts to DECIMAL round half up, and
give null for too many digits; NaN and the infinities, which have no decimal value, are errors.

Source: merge-semantics 8.2; conformance cases K.
"""

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.casts.by_value import by_value

_WIDE: Final = Context(prec=400, rounding=ROUND_HALF_UP)
_UINT64: Final = 1 << 64
_INT64_MAX: Final = (1 << 63) - 1


def number_to_number(column: pa.Array, target: pa.DataType) -> pa.Array:
    """Return whole or floating-point numbers as numbers of another such type."""
    return _with_nulls_of(column, _narrowed(_plain(column), target.to_pandas_dtype()), target)


def number_to_bool(column: pa.Array) -> pa.Array:
    """Return whether the whole part of each number is not 0."""
    whole = _narrowed(_plain(column), np.int64)
    return _with_nulls_of(column, whole != 0, pa.bool_())


def number_to_decimal(column: pa.Array, target: pa.Decimal128Type) -> pa.Array:
    """Return numbers, decimals and BOOLEAN included, as decimals; null where they do not fit.

    Raises:
        ValueError: A floating-point number is not finite.
    """
    kind = column.type
    if pa.types.is_boolean(kind):
        return number_to_decimal(column.cast(pa.int8()), target)
    if pa.types.is_integer(kind):
        column = column.cast(pa.decimal128(19, 0))
    if pa.types.is_floating(kind):
        return by_value(column.cast(pa.float64()), target, lambda value: _fitted(value, target))
    return _decimal_to_decimal(column, target)


def decimal_to_number(column: pa.Array, target: pa.DataType) -> pa.Array:
    """Return decimals as whole numbers, truncated and wrapped, or as floating-point numbers.

    A DOUBLE is the nearest one; a FLOAT is the nearest to that DOUBLE.
    """
    if pa.types.is_floating(target):
        # Cast by way of text, which gives the nearest number; a division by a power of ten does not.
        doubles = column.cast(pa.string()).cast(pa.float64())
        return number_to_number(doubles, target)
    whole = by_value(column, pa.int64(), _wrapped)
    return number_to_number(whole, target)


def fit_decimal(value: Decimal, target: pa.Decimal128Type) -> Decimal | None:
    """Return a decimal with the scale of a type, or None if it has too many digits."""
    # Checked first, because no context has room for the digits of, say, 1e500.
    if value and value.adjusted() >= target.precision - target.scale:
        return None
    scaled = value.quantize(Decimal(1).scaleb(-target.scale), context=_WIDE)
    return scaled if abs(scaled) < Decimal(10) ** (target.precision - target.scale) else None


def _decimal_to_decimal(column: pa.Array, target: pa.Decimal128Type) -> pa.Array:
    wide = pa.decimal256(76, max(column.type.scale, target.scale))
    rounded = pc.round(column.cast(wide), target.scale, round_mode="half_towards_infinity")
    rounded = rounded.cast(pa.decimal256(76, target.scale))
    limit = pa.scalar(Decimal(10) ** (target.precision - target.scale), rounded.type)
    fits = pc.less(pc.abs(rounded), limit)
    return pc.if_else(fits, rounded, pa.scalar(None, rounded.type)).cast(target)


def _fitted(value: object, target: pa.Decimal128Type) -> Decimal | None:
    assert isinstance(value, float)
    decimal = Decimal(repr(value))
    if not decimal.is_finite():
        message = f"{value} is not a decimal number"
        raise ValueError(message)
    return fit_decimal(decimal, target)


def _wrapped(value: object) -> int:
    """Return the low 64 bits of the whole part of a decimal."""
    assert isinstance(value, Decimal)
    low = int(value) % _UINT64
    return low - _UINT64 if low > _INT64_MAX else low


def _narrowed(values: npt.NDArray[np.generic], target: type[np.generic]) -> npt.NDArray[np.generic]:
    if np.issubdtype(values.dtype, np.floating) and np.issubdtype(target, np.integer):
        return _whole(values, np.int64 if target is np.int64 else np.int32).astype(target)
    with np.errstate(over="ignore"):
        return values.astype(target)


def _whole(
    values: npt.NDArray[np.generic], target: type[np.signedinteger[Any]]
) -> npt.NDArray[np.int64]:
    """Return floating-point numbers truncated, and clamped to the range of a type; 0 for NaN."""
    bounds = np.iinfo(target)
    doubles = values.astype(np.float64)
    # -2**63 and 2**63 are exact as doubles, 2**63 - 1 is not.
    too_high, too_low = doubles >= -float(bounds.min), doubles < float(bounds.min)
    inside = np.where(too_high | too_low | np.isnan(doubles), 0.0, doubles)
    whole = inside.astype(np.int64)
    return np.where(too_high, bounds.max, np.where(too_low, bounds.min, whole)).astype(np.int64)


def _plain(column: pa.Array) -> npt.NDArray[np.generic]:
    """Return the values, 0 for null."""
    kind = pa.int8() if pa.types.is_boolean(column.type) else column.type
    values: npt.NDArray[np.generic] = column.cast(kind).fill_null(0).to_numpy(zero_copy_only=False)
    return values


def _with_nulls_of(
    column: pa.Array, values: npt.NDArray[np.generic], target: pa.DataType
) -> pa.Array:
    mask = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.array(values, target, mask=mask, from_pandas=False)
