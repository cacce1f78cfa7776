"""Conversion of Python values to a column's type: each is converted exactly, or refused.

Arrow rounds when it converts into a narrower type (1.5 becomes 1, a timestamp becomes a day), and a
rounded value would match rows that were not requested.
"""

import math
import operator
from datetime import date, datetime, time
from decimal import Decimal
from typing import SupportsIndex, assert_never

import numpy as np
import pyarrow as pa

from braid.lake.format.data_types import DataType, TypeRoot

_DIGITS_MAX = 100  # more than any type of a column has
_INTEGER_BITS = {
    TypeRoot.TINYINT: 8,
    TypeRoot.SMALLINT: 16,
    TypeRoot.INT: 32,
    TypeRoot.BIGINT: 64,
}


def exact_array(values: list[object], data_type: DataType, arrow_type: pa.DataType) -> pa.Array:
    """Return the values as an Arrow array of a column's type, each unchanged.

    Args:
        values: The values as `pa.Array.to_pylist()` would give them, without None. A number of another
            Python type is accepted too, if it is equal (no float for DECIMAL), and so are whole
            nanoseconds for TIMESTAMP(7..9).
        data_type: The column's type; not nested.
        arrow_type: The Arrow form of `data_type`.

    Raises:
        ValueError: A value is of another kind, or the type cannot hold it exactly; the message says
            what was expected.
    """
    exact = [_exact(value, data_type) for value in values]
    try:
        return pa.array(exact, arrow_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        text = f"{error}"
        raise ValueError(text) from error


def _exact(value: object, data_type: DataType) -> object:
    root = data_type.root
    match root:
        case TypeRoot.BOOLEAN:
            return bool(value) if isinstance(value, bool | np.bool_) else _refuse("a boolean")
        case TypeRoot.TINYINT | TypeRoot.SMALLINT | TypeRoot.INT | TypeRoot.BIGINT:
            return _integer(value, _INTEGER_BITS[root])
        case TypeRoot.FLOAT | TypeRoot.DOUBLE:
            return _float(value, is_single=root is TypeRoot.FLOAT)
        case TypeRoot.DECIMAL:
            return _decimal(value, data_type)
        case TypeRoot.CHAR | TypeRoot.VARCHAR:
            return value if isinstance(value, str) else _refuse("a text")
        case TypeRoot.BINARY | TypeRoot.VARBINARY:
            is_bytes = isinstance(value, bytes | bytearray | memoryview)
            return value if is_bytes else _refuse("bytes")
        case TypeRoot.DATE:
            is_date = isinstance(value, date) and not isinstance(value, datetime)
            return value if is_date else _refuse("a date without a time of day")
        case TypeRoot.TIME:
            return _time(value)
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            return _moment(value, data_type)
        case TypeRoot.ARRAY | TypeRoot.MAP | TypeRoot.MULTISET | TypeRoot.ROW | TypeRoot.VARIANT:
            return _refuse("no nested value")
        case _:
            assert_never(root)


def _refuse(expected: str) -> object:
    message = f"expected {expected}"
    raise ValueError(message)


def _decimal(value: object, data_type: DataType) -> object:
    if isinstance(value, float):
        return _refuse("a Decimal or a whole number")
    number = value if isinstance(value, Decimal) else Decimal(_integer(value, 128))
    if not number.is_finite():
        return _refuse("a Decimal or a whole number")
    assert data_type.precision is not None, "a DECIMAL has a precision"
    assert data_type.scale is not None, "a DECIMAL has a scale"
    # Checked here, because Arrow reads past its table of powers of ten where an exponent is far below
    # zero: 1e-77 becomes 0, and 1e-9999999 ends the process.
    if number.is_zero():
        return Decimal(0)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int), "the number is finite"
    significant = len("".join(map(str, digits)).rstrip("0"))
    exponent += len(digits) - significant
    if -exponent > data_type.scale:
        return _refuse(f"at most {data_type.scale} digits after the point")
    if number.adjusted() >= data_type.precision - data_type.scale:
        return _refuse(f"at most {data_type.precision - data_type.scale} digits before the point")
    return Decimal((sign, digits[:significant], exponent))


def _integer(value: object, bits: int) -> int:
    number = _whole_number(value)
    if number is None or not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        message = f"expected a whole number of {bits} bits"
        raise ValueError(message)
    return number


def _whole_number(value: object) -> int | None:
    """Return a value as an int if it is a whole number, else None."""
    if type(value) is int:
        return value  # the usual case: the checks of protocols below take microseconds
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, SupportsIndex):
        return operator.index(value)
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() >= _DIGITS_MAX:
        return None  # its digits could be a billion
    if isinstance(value, float | np.floating | Decimal) and math.isfinite(value):
        number = int(value)
        return number if number == value else None
    return None


def _float(value: object, *, is_single: bool) -> object:
    expected = "a number that 32 bits hold exactly" if is_single else "a number"
    if not isinstance(value, int | float | np.integer | np.floating | Decimal):
        return _refuse(expected)
    if isinstance(value, bool):
        return _refuse(expected)
    try:
        number = float(value)
    except OverflowError:
        return _refuse(expected)
    if math.isnan(number):
        return number
    with np.errstate(over="ignore"):
        held = float(np.float32(number)) if is_single else number
    if held != value:
        return _refuse(f"a number that the column holds exactly; the nearest is {held!r}")
    return number


def _time(value: object) -> object:
    if not isinstance(value, time) or value.tzinfo is not None:
        return _refuse("a time of day without a zone")
    return value if value.microsecond % 1_000 == 0 else _refuse("whole milliseconds")


def _moment(value: object, data_type: DataType) -> object:
    digits = data_type.precision or 0
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and digits > 6:
        return int(value)
    if not isinstance(value, datetime):
        return _refuse("a date with a time of day")
    is_zoned = value.tzinfo is not None
    if is_zoned != (data_type.root is TypeRoot.TIMESTAMP_LTZ):
        return _refuse("a moment without a zone" if is_zoned else "a moment with a zone")
    # A pandas.Timestamp is a datetime with nanoseconds.
    nanosecond = int(getattr(value, "nanosecond", 0))
    if (digits <= 3 and (value.microsecond % 1_000 or nanosecond)) or (digits <= 6 and nanosecond):
        return _refuse("whole milliseconds" if digits <= 3 else "whole microseconds")
    return value
