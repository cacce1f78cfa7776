"""Faults of JSON values: checks whether a value of a message certainly does not fit a column's type.

Spark's parser decides. It may refuse a value in which no fault is found here, but it never accepts a value
in which a fault is found.
"""

import base64
import binascii
import re
from datetime import date, datetime
from decimal import Context, Decimal
from typing import Any, Final

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.integer_bounds import INTEGER_BOUND
from braid.formats.json_message import OversizedNumber
from braid.lake import DataType, TypeRoot

_DECIMAL_TEXT: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
_FLOAT_TEXTS: Final = frozenset(
    {"NaN", "Infinity", "+Infinity", "-Infinity", "INF", "+INF", "-INF"}
)
_EXACT: Final = Context(prec=100)


def value_fault(value: Any, data_type: DataType) -> DeadLetterReason | None:
    """Return why a JSON value, which is not null, does not fit a type; None when no fault is known.

    Args:
        value: A value that `json_message.read_message` returned. Of a nested value only the outermost level
            is checked.
        data_type: The type of the column, or of a part of it.
    """
    if isinstance(value, OversizedNumber):
        return DeadLetterReason.OUT_OF_RANGE
    match data_type.root:
        case TypeRoot.BOOLEAN:
            is_right = isinstance(value, bool)
        case TypeRoot.TINYINT | TypeRoot.SMALLINT | TypeRoot.INT | TypeRoot.BIGINT:
            return _integer_fault(value, INTEGER_BOUND[data_type.root])
        case TypeRoot.FLOAT | TypeRoot.DOUBLE:
            is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
            is_right = is_number or (isinstance(value, str) and value in _FLOAT_TEXTS)
        case TypeRoot.DECIMAL:
            return _decimal_fault(value, data_type)
        case TypeRoot.BINARY | TypeRoot.VARBINARY:
            is_right = _is_base64(value)
        case TypeRoot.DATE | TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            is_right = _is_date_or_time(value, data_type.root)
        case TypeRoot.ARRAY:
            is_right = isinstance(value, list)
        case TypeRoot.MAP | TypeRoot.MULTISET | TypeRoot.ROW:
            is_right = isinstance(value, dict)
        case _:
            is_right = True  # any JSON value has a text
    return None if is_right else DeadLetterReason.WRONG_TYPE


def _integer_fault(value: Any, bound: int) -> DeadLetterReason | None:
    # In Python a bool is an int; in JSON `true` is not a number.
    if not isinstance(value, int) or isinstance(value, bool):
        return DeadLetterReason.WRONG_TYPE
    return None if -bound <= value < bound else DeadLetterReason.OUT_OF_RANGE


def _decimal_fault(value: Any, data_type: DataType) -> DeadLetterReason | None:
    if isinstance(value, bool | list | dict):
        return DeadLetterReason.WRONG_TYPE
    assert data_type.precision is not None, "a DECIMAL has a precision"
    assert data_type.scale is not None, "a DECIMAL has a scale"
    text = str(value)
    if _DECIMAL_TEXT.fullmatch(text) is None:
        return DeadLetterReason.WRONG_TYPE
    # Spark rounds half up to the scale, so a value within half a unit of the bound rounds to one digit
    # too many and is too large as well.
    half = Decimal(5).scaleb(-data_type.scale - 1, _EXACT)
    bound = _EXACT.subtract(Decimal(10) ** (data_type.precision - data_type.scale), half)
    return None if Decimal(text).copy_abs() < bound else DeadLetterReason.OUT_OF_RANGE


def _is_base64(value: Any) -> bool:
    try:
        base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        return False
    return True


def _is_date_or_time(value: Any, root: TypeRoot) -> bool:
    if not isinstance(value, str):
        return root is TypeRoot.TIMESTAMP_LTZ and isinstance(value, int)
    try:
        if root is TypeRoot.DATE:
            date.fromisoformat(value[:10])
        else:
            datetime.fromisoformat(value)
    except ValueError:
        return False
    return True
