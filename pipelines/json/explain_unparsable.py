"""Finds out what is wrong with a value that Spark could not read as declared.

Spark only says that something was. Dead letters are few, so each is parsed again here; what Spark
took is never questioned, and what this cannot name is still a dead letter.
"""

import base64
import binascii
import json
import re
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Context, Decimal
from typing import Any, Final

from lake import DataType, TypeRoot
from pipelines.json.dead_letter import DeadLetterReason
from pipelines.json.half_pairs import is_half_pair
from pipelines.json.json_message import LongNumber, items_of, read_message
from pipelines.stream.stream_plan import MappedColumn

_SHOWN_CHARACTERS = 80
_INTEGER_BITS = {
    TypeRoot.TINYINT: 8,
    TypeRoot.SMALLINT: 16,
    TypeRoot.INT: 32,
    TypeRoot.BIGINT: 64,
}
_DECIMAL_TEXT: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
_FLOAT_TEXTS: Final = frozenset(
    {"NaN", "Infinity", "+Infinity", "-Infinity", "INF", "+INF", "-INF"}
)
_EXACT: Final = Context(prec=100)


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
        found = read_message(value)
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


def explain_value(value: bytes, column: MappedColumn) -> str | None:
    """Return what a message has for a column and what was expected; None when it has nothing.

    Args:
        value: A message that is known to have a wrong value for the column.
        column: What was declared.
    """
    try:
        found = read_message(value)
        for name in column.path:
            found = found[name]
    except (ValueError, RecursionError, TypeError, KeyError):
        return None
    fault = _fault(found, column.type, column=column, where=column.address)
    if fault is not None:
        return fault[1]
    return _sentence(column, column.address, _shown(found), _expected(column.type))


def explain_key(key: bytes, column: MappedColumn) -> str:
    """Return what a Kafka key has, and what was expected of it.

    Args:
        key: One that does not hold the column as declared.
        column: That is read from it.
    """
    found = key.decode("utf-8", "backslashreplace")[:_SHOWN_CHARACTERS]
    expected = _expected(column.type)
    if column.path:
        expected = f"a JSON object with the field {'.'.join(column.path)}: {expected}"
    return (
        f"the record's Kafka key does not hold key column {column.name} as declared: "
        f"found `{found}`, expected {expected}"
    )


_JSON_TYPES = (
    (bool, "a boolean"),
    ((int, float, Decimal, LongNumber), "a number"),
    (str, "a string"),
    (list, "an array"),
    (dict, "an object"),
)


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
    return _fault(value, column.type, column=column, where=column.address)


def _fault(
    value: Any, data_type: DataType, *, column: MappedColumn, where: str
) -> tuple[DeadLetterReason, str] | None:
    """Return what is wrong with a value or with the first bad one inside of it."""
    if value is None:
        return None
    reason = value_fault(value, data_type)
    if reason is not None:
        return reason, _sentence(column, where, _shown(value), _expected(data_type))
    if _is_inner_zone(value, data_type, is_inner=where != column.address):
        expected = (
            f"{data_type.with_nullable(True)}, inside of another type without a zone: {_INNER_FORM}"
        )
        return DeadLetterReason.WRONG_TYPE, _sentence(column, where, _shown(value), expected)
    for name, item, item_type in items_of(value, data_type):
        fault = _fault(item, item_type, column=column, where=f"{where}.{name}")
        if fault is not None:
            return fault
    if is_half_pair(value, data_type):
        expected = f"{_expected(data_type)} without half of a surrogate pair"
        return DeadLetterReason.WRONG_TYPE, _sentence(column, where, _shown(value), expected)
    if data_type.root is TypeRoot.MAP and value.repeated is not None:
        twice = f"the key {json.dumps(value.repeated)} twice"
        return DeadLetterReason.WRONG_TYPE, _sentence(column, where, twice, "it once")
    return None


def _sentence(column: MappedColumn, where: str, found: str, expected: str) -> str:
    return f"field {where}: found {found}, expected {expected} for column {column.name}"


_FORMS: Final = {
    TypeRoot.DATE: "2026-01-02",
    TypeRoot.TIME: "03:04, 03:04:05 or 03:04:05.678",
    TypeRoot.TIMESTAMP: "2026-01-02T03:04:05.678Z, 2026-01-02 03:04:05+02:00 or 2026-01-02T03:04",
    TypeRoot.TIMESTAMP_LTZ: "2026-01-02T03:04:05.678Z, 2026-01-02 03:04:05+02:00 or 2026-01-02T03:04",
}

_INNER_FORM: Final = "2026-01-02T03:04:05.678"


def _expected(data_type: DataType) -> str:
    """Return a type, and how its values are written where that is not plain."""
    form = _FORMS.get(data_type.root)
    return f"{data_type.with_nullable(True)}" + (f", written as {form}" if form else "")


def _is_inner_zone(value: Any, data_type: DataType, *, is_inner: bool) -> bool:
    """Whether a moment stands where Spark reads only what a clock shows."""
    if not is_inner or data_type.root is not TypeRoot.TIMESTAMP:
        return False
    return datetime.fromisoformat(value).tzinfo is not None


def _shown(value: Any) -> str:
    match value:
        case LongNumber():
            return value.shown
        case list() | dict():
            return _json_type(value)
        case Decimal():
            return str(value)[:_SHOWN_CHARACTERS]
        case _:
            return json.dumps(value)[:_SHOWN_CHARACTERS]


def value_fault(value: Any, data_type: DataType) -> DeadLetterReason | None:
    """Return what is certainly wrong with a JSON value that is not null."""
    if isinstance(value, LongNumber):
        return DeadLetterReason.OUT_OF_RANGE
    match data_type.root:
        case TypeRoot.BOOLEAN:
            is_right = isinstance(value, bool)
        case TypeRoot.TINYINT | TypeRoot.SMALLINT | TypeRoot.INT | TypeRoot.BIGINT:
            return _integer_fault(value, _INTEGER_BITS[data_type.root])
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
    text = str(value)
    if _DECIMAL_TEXT.fullmatch(text) is None:
        return DeadLetterReason.WRONG_TYPE
    # What rounds up to one digit more is too large as well.
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


def _json_type(value: Any) -> str:
    return next((name for kind, name in _JSON_TYPES if isinstance(value, kind)), "null")
