"""Exact reader of single native values: returns the value of a column's type, or a fault that says why the native value does not fit.

Texts, numbers and booleans are read as in `formats.json.exact_values`. Dates and times are converted without a text; digits of
the second that a column's Arrow form does not have are dropped, towards the past.
"""

from typing import Any, Final

import numpy as np

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.json.exact_values import (
    ValueFault,
    exact_value,
    expected_form,
    shown,
    variant_of_text,
)
from braid.formats.json.message import JsonObject
from braid.formats.native.values import (
    Day,
    Moment,
    TimeOfDay,
    Unreadable,
    json_value,
    key_text,
)
from braid.formats.times import day_value, moment_value, time_of_day_value
from braid.lake import DataType, TypeRoot

_TEXTS: Final = (TypeRoot.CHAR, TypeRoot.VARCHAR)
_BINARIES: Final = (TypeRoot.BINARY, TypeRoot.VARBINARY)
_FLOATS: Final = (TypeRoot.FLOAT, TypeRoot.DOUBLE)


def native_value(value: Any, data_type: DataType, *, address: str = "") -> Any:
    """Return a native value in the form that `pa.array` accepts for the type's Arrow form.

    Args:
        value: The value (`native.values`); null is null of every type.
        data_type: The type; anything but MULTISET.
        address: The value's place in the message, for faults.

    Raises:
        ValueFault: The value, or a part of it, does not fit.
    """
    match data_type.root, value:
        case _, None:
            return None
        case TypeRoot.ARRAY, list():
            assert data_type.element is not None, "an ARRAY has an element type"
            return [
                _part(item, data_type.element, f"{address}.{index}")
                for index, item in enumerate(value)
            ]
        case TypeRoot.MAP, dict():
            return _entries(value, data_type, address)
        case TypeRoot.ROW, dict():
            return {
                field.name: _part(value.get(field.name), field.type, f"{address}.{field.name}")
                for field in data_type.fields
            }
        case _:
            return _scalar(value, data_type, address)


def _scalar(value: Any, data_type: DataType, address: str) -> Any:
    try:
        match data_type.root, value:
            case _, Unreadable():
                reason = DeadLetterReason.WRONG_TYPE
            case root, bytes() if root in _BINARIES:
                if data_type.length is None or len(value) <= data_type.length:
                    return value
                reason = DeadLetterReason.OUT_OF_RANGE
            case TypeRoot.VARIANT, str():
                return variant_of_text(value, data_type, address)
            case _, bytes():
                reason = DeadLetterReason.WRONG_TYPE
            case TypeRoot.DATE, Day():
                return day_value(value.days)
            case TypeRoot.TIME, TimeOfDay():
                return time_of_day_value(value.nanos)
            case ((TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ), Moment()):
                return moment_value(value.nanos, data_type)
            case root, (Day() | TimeOfDay() | Moment()) if root not in _TEXTS:
                reason = DeadLetterReason.WRONG_TYPE
            case _:
                # As the double that it is, and not by its shortest digits.
                is_short = isinstance(value, np.float32) and data_type.root in _FLOATS
                plain = json_value(float(value) if is_short else value)
                return exact_value(plain, data_type, address=address)
    except OverflowError:
        reason = DeadLetterReason.OUT_OF_RANGE
    raise ValueFault(reason, address, native_shown(value), expected_form(data_type))


def native_shown(value: Any) -> str:
    """Return a native value for an error message."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return value.name if isinstance(value, Unreadable) else shown(json_value(value))


def _entries(value: dict[Any, Any], data_type: DataType, address: str) -> list[tuple[Any, Any]]:
    assert data_type.key is not None, "a MAP has a key type"
    assert data_type.value is not None, "a MAP has a value type"
    if isinstance(value, JsonObject) and value.repeated is not None:
        twice = f"the key {shown(key_text(value.repeated))} twice"
        raise ValueFault(DeadLetterReason.WRONG_TYPE, address, twice, "it once")
    return [
        (
            _part(name, data_type.key, f"{address}.{key_text(name)}"),
            _part(item, data_type.value, f"{address}.{key_text(name)}"),
        )
        for name, item in value.items()
    ]


def _part(value: Any, data_type: DataType, address: str) -> Any:
    if value is None and not data_type.nullable:
        raise ValueFault(DeadLetterReason.NOT_NULL, address, "null", str(data_type))
    return native_value(value, data_type, address=address)
