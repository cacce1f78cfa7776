"""Explanations of refused JSON messages: which column, what was found, what was expected.

Spark reports that a message cannot be read as declared, not why. Refused messages are few, so each is
parsed again here. An accepted message is never refused here, and a refused message stays refused
even if its fault is not found.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.json_message import OversizedNumber, items_of, read_message
from braid.formats.json_value_faults import value_fault
from braid.formats.mapped_column import MappedColumn
from braid.formats.unpaired_surrogates import is_unpaired_surrogate
from braid.lake import DataType, TypeRoot

_SHOWN_CHARACTERS = 80


def explain_message(value: bytes, columns: Sequence[MappedColumn]) -> tuple[DeadLetterReason, str]:
    """Return the reason, and a sentence that names the column, what was found and what was expected.

    Args:
        value: The message's value as received.
        columns: The columns that are read from the value.

    Example:
        >>> explain_message(b"[1]", ())[1]
        'found an array, expected an object'
    """
    try:
        found = read_message(value)
    except UnicodeDecodeError as error:
        return DeadLetterReason.MALFORMED, f"not UTF-8: {error.reason} at byte {error.start}"
    except ValueError as error:
        return DeadLetterReason.MALFORMED, f"not JSON: {error}"
    except RecursionError:
        return DeadLetterReason.MALFORMED, "JSON that is nested too deeply"
    if not isinstance(found, dict):
        message = f"found {_json_type(found)}, expected an object"
        return DeadLetterReason.MALFORMED, message
    for column in columns:
        fault = _column_fault(found, column)
        if fault is not None:
            return fault
    return DeadLetterReason.WRONG_TYPE, "a field cannot be read as its column's type"


def explain_value(value: bytes, column: MappedColumn) -> str | None:
    """Return a sentence with what a message has for a column and what was expected; None when it has nothing.

    Args:
        value: The bytes of a message that is known to have a wrong value for the column.
        column: The column.
    """
    try:
        found = read_message(value)
        for name in column.path:
            found = found[name]
    except (ValueError, RecursionError, TypeError, KeyError):
        return None
    fault = _fault(found, column.type, column=column, address=column.address)
    if fault is not None:
        return fault[1]
    return _sentence(column, column.address, _shown(found), _expected(column.type))


def explain_key(key: bytes, column: MappedColumn) -> str:
    """Return a sentence with what a Kafka key has and what was expected.

    Args:
        key: A Kafka key that does not hold the column as declared.
        column: The column that is read from the key.
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
    ((int, float, Decimal, OversizedNumber), "a number"),
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
            address = ".".join(column.path[:depth])
            text = f"field {address}: found {_json_type(value)}, expected an object"
            return DeadLetterReason.WRONG_TYPE, text
        value = value.get(name)
        if value is None:
            return None
    return _fault(value, column.type, column=column, address=column.address)


def _fault(
    value: Any, data_type: DataType, *, column: MappedColumn, address: str
) -> tuple[DeadLetterReason, str] | None:
    """Return what is wrong with a value, or with its first faulty part; None: no fault is found.

    Type and range come first, then the parts, then surrogates and repeated keys.
    """
    if value is None:
        return None
    reason = value_fault(value, data_type)
    if reason is not None:
        return reason, _sentence(column, address, _shown(value), _expected(data_type))
    if _is_inner_zone(value, data_type, is_inner=address != column.address):
        expected = (
            f"{data_type.with_nullable(True)}, without a zone inside of another type: {_INNER_FORM}"
        )
        return DeadLetterReason.WRONG_TYPE, _sentence(column, address, _shown(value), expected)
    for name, item, item_type in items_of(value, data_type):
        fault = _fault(item, item_type, column=column, address=f"{address}.{name}")
        if fault is not None:
            return fault
    if is_unpaired_surrogate(value, data_type):
        expected = f"{_expected(data_type)} without half of a surrogate pair"
        return DeadLetterReason.WRONG_TYPE, _sentence(column, address, _shown(value), expected)
    if data_type.root is TypeRoot.MAP and value.repeated is not None:
        twice = f"the key {json.dumps(value.repeated)} twice"
        return DeadLetterReason.WRONG_TYPE, _sentence(column, address, twice, "it once")
    return None


def _sentence(column: MappedColumn, address: str, found: str, expected: str) -> str:
    return f"field {address}: found {found}, expected {expected} for column {column.name}"


_FORMS: Final = {
    TypeRoot.DATE: "2026-01-02",
    TypeRoot.TIME: "03:04, 03:04:05 or 03:04:05.678",
    TypeRoot.TIMESTAMP: "2026-01-02T03:04:05.678Z, 2026-01-02 03:04:05+02:00 or 2026-01-02T03:04",
    TypeRoot.TIMESTAMP_LTZ: "2026-01-02T03:04:05.678Z, 2026-01-02 03:04:05+02:00 or 2026-01-02T03:04",
}

_INNER_FORM: Final = "2026-01-02T03:04:05.678"


def _expected(data_type: DataType) -> str:
    """Return a type, with the form of its values where the type's name does not imply it."""
    form = _FORMS.get(data_type.root)
    return f"{data_type.with_nullable(True)}" + (f", written as {form}" if form else "")


def _is_inner_zone(value: Any, data_type: DataType, *, is_inner: bool) -> bool:
    """Return whether a timestamp has a zone where Spark accepts only a local time.

    A column of type TIMESTAMP is read as text, with or without a zone. Inside of an ARRAY, MAP or ROW Spark's
    own parser reads it, which accepts no zone.
    """
    if not is_inner or data_type.root is not TypeRoot.TIMESTAMP:
        return False
    return datetime.fromisoformat(value).tzinfo is not None


def _shown(value: Any) -> str:
    match value:
        case OversizedNumber():
            return value.shown
        case list() | dict():
            return _json_type(value)
        case Decimal():
            return str(value)[:_SHOWN_CHARACTERS]
        case _:
            return json.dumps(value)[:_SHOWN_CHARACTERS]


def _json_type(value: Any) -> str:
    return next((name for kind, name in _JSON_TYPES if isinstance(value, kind)), "null")
