"""Finds out what is wrong with a value that Spark could not read as declared.

Spark only says that something was. Dead letters are few, so each is parsed again here; what Spark
took is never questioned, and what this cannot name is still a dead letter.
"""

import base64
import binascii
import json
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from lake import DataType, TypeRoot
from pipelines.dead_letter import DeadLetterReason
from pipelines.stream_plan import MappedColumn

_SHOWN_CHARACTERS = 80
_INTEGER_BITS = {
    TypeRoot.TINYINT: 8,
    TypeRoot.SMALLINT: 16,
    TypeRoot.INT: 32,
    TypeRoot.BIGINT: 64,
}
_JSON_TYPES = (
    (bool, "a boolean"),
    ((int, float), "a number"),
    (str, "a string"),
    (list, "an array"),
    (dict, "an object"),
)


def explain_unparsable(
    value: bytes, columns: Sequence[MappedColumn]
) -> tuple[DeadLetterReason, str]:
    """Return the reason, and a sentence that names column, found and expected.

    Args:
        value: The message's value as received.
        columns: What was declared.

    Example:
        >>> explain_unparsable(b"[1]", ())[1]
        'found an array, expected an object'
    """
    try:
        found = json.loads(value.decode("utf-8"))
    except UnicodeDecodeError as error:
        return DeadLetterReason.MALFORMED, f"not UTF-8: {error.reason} at byte {error.start}"
    except ValueError as error:
        return DeadLetterReason.MALFORMED, f"not JSON: {error}"
    except RecursionError:
        return DeadLetterReason.MALFORMED, "not JSON that can be read: nested too deeply"
    if not isinstance(found, dict):
        message = f"found {_json_type(found)}, expected an object"
        return DeadLetterReason.MALFORMED, message
    for column in columns:
        fault = _column_fault(found, column)
        if fault is not None:
            return fault
    return DeadLetterReason.WRONG_TYPE, "a field cannot be read as its column's type"


def _column_fault(
    message: dict[str, Any], column: MappedColumn
) -> tuple[DeadLetterReason, str] | None:
    value: Any = message
    for depth, name in enumerate(column.path):
        if not isinstance(value, dict):
            where = ".".join(column.path[:depth])
            text = f"field {where}: found {_json_type(value)}, expected an object"
            return DeadLetterReason.WRONG_TYPE, text
        value = value.get(name)
        if value is None:
            return None
    reason = _value_fault(value, column.type)
    if reason is None:
        return None
    is_short = not isinstance(value, list | dict)
    shown = json.dumps(value)[:_SHOWN_CHARACTERS] if is_short else _json_type(value)
    expected = column.type.with_nullable(True)
    text = f"field {column.address}: found {shown}, expected {expected} for column {column.name}"
    return reason, text


def _value_fault(value: Any, data_type: DataType) -> DeadLetterReason | None:
    """Return what is certainly wrong with a JSON value that is not null."""
    match data_type.root:
        case TypeRoot.BOOLEAN:
            is_right = isinstance(value, bool)
        case TypeRoot.TINYINT | TypeRoot.SMALLINT | TypeRoot.INT | TypeRoot.BIGINT:
            return _integer_fault(value, _INTEGER_BITS[data_type.root])
        case TypeRoot.FLOAT | TypeRoot.DOUBLE:
            is_right = isinstance(value, int | float) and not isinstance(value, bool)
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


def _integer_fault(value: Any, bits: int) -> DeadLetterReason | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return DeadLetterReason.WRONG_TYPE
    bound = 1 << (bits - 1)
    return None if -bound <= value < bound else DeadLetterReason.OUT_OF_RANGE


def _decimal_fault(value: Any, data_type: DataType) -> DeadLetterReason | None:
    if isinstance(value, bool | list | dict):
        return DeadLetterReason.WRONG_TYPE
    assert data_type.precision is not None
    assert data_type.scale is not None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return DeadLetterReason.WRONG_TYPE
    bound = Decimal(10) ** (data_type.precision - data_type.scale)
    return None if number.is_finite() and abs(number) < bound else DeadLetterReason.OUT_OF_RANGE


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
            return True
        has_zone = datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False
    return root is TypeRoot.TIMESTAMP_LTZ or not has_zone


def _json_type(value: Any) -> str:
    return next((name for kind, name in _JSON_TYPES if isinstance(value, kind)), "null")
