"""Exact reader of single JSON values: returns the value of a column's type, or a fault that says why the JSON value does not fit.

| column | JSON |
|---|---|
| BOOLEAN | boolean |
| TINYINT, SMALLINT, INT, BIGINT | number without a point or an exponent |
| FLOAT, DOUBLE | number, or one of the texts `NaN`, `Infinity` and `INF`, the last two with or without a sign |
| DECIMAL | number, or the text of one; rounded half up to the scale |
| CHAR, VARCHAR | text; a number, boolean, array or object becomes its JSON text, with numbers as they were written (`-0` as `0`) |
| BINARY, VARBINARY | base64 text |
| DATE, TIME, TIMESTAMP of either kind | text (`formats.times`) |
| ARRAY | array |
| MAP | object; a key that occurs twice is refused |
| ROW | object; fields that the type does not have are left out |
| VARIANT | any value, null too; a name that occurs twice in an object is refused |
"""

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.json.message import JsonObject, OversizedNumber, WrittenNumber, json_text
from braid.formats.times import DATE_AND_TIME_TYPES, time_value
from braid.formats.type_bounds import INTEGER_BOUND
from braid.formats.unpaired_surrogates import has_utf8_form
from braid.lake import DataField, DataType, NotVariant, TypeRoot, variant_of_json

NUMBER_TEXT: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")
"""Pattern of the texts that are numbers, in decimal or scientific notation; more of them than JSON has."""

_FLOAT_TEXTS: Final = frozenset(
    f"{sign}{name}" for sign in ("", "+", "-") for name in ("Infinity", "INF")
) | {"NaN"}
_EXACT: Final = Context(prec=100, rounding=ROUND_HALF_UP)
FLOAT_MAX: Final = (2 - 2**-23) * 2**127
"""The largest value of a FLOAT."""
_FLOAT_ROUNDED_MAX: Final = FLOAT_MAX + 2**103  # from here on a number rounds to infinity
_SHOWN_CHARACTERS: Final = 80
_FORMS: Final = {
    TypeRoot.DATE: "2026-01-02",
    TypeRoot.TIME: "03:04, 03:04:05 or 03:04:05.678",
    TypeRoot.TIMESTAMP: "2026-01-02T03:04:05.678Z, 2026-01-02 03:04:05+02:00 or 2026-01-02T03:04",
    TypeRoot.TIMESTAMP_LTZ: "2026-01-02T03:04:05.678Z, 2026-01-02 03:04:05+02:00 or 2026-01-02T03:04",
}
_JSON_TYPES: Final = (
    (bool, "a boolean"),
    ((int, float, Decimal, OversizedNumber), "a number"),
    (str, "a string"),
    (list, "an array"),
    (dict, "an object"),
)


@dataclass(frozen=True, slots=True)
class ValueFault(Exception):
    """A JSON value that does not fit its type.

    Attributes:
        reason: WRONG_TYPE, OUT_OF_RANGE or NOT_NULL.
        address: The place of the faulty part: field names and indexes, joined by dots.
        found: What the message has there, in words.
        expected: What the type needs, in words.
    """

    reason: DeadLetterReason
    address: str
    found: str
    expected: str


def exact_value(value: Any, data_type: DataType, *, address: str = "") -> Any:
    """Return a JSON value in the form that `pa.array` accepts for the type's Arrow form.

    Args:
        value: A value of `json.message.read_message`; null is null of every type but VARIANT.
        data_type: The type; anything but MULTISET.
        address: The value's place in the message, for faults.

    Raises:
        ValueFault: The value, or a part of it, does not fit.
    """
    if value is None and data_type.root is not TypeRoot.VARIANT:
        return None
    try:
        return _READERS[data_type.root](value, data_type, address)
    except (TypeError, ValueError, binascii.Error):
        reason = DeadLetterReason.WRONG_TYPE
    except OverflowError:
        reason = DeadLetterReason.OUT_OF_RANGE
    expected = expected_form(data_type)
    if data_type.root in DATE_AND_TIME_TYPES and is_number(value):
        expected += " (a column with a `time_format` reads numbers)"
    raise ValueFault(reason, address, shown(value), expected)


def value_fault(value: Any, data_type: DataType) -> DeadLetterReason | None:
    """Return why a JSON value, which is not null, does not fit a type; None where it fits."""
    try:
        exact_value(value, data_type)
    except ValueFault as fault:
        return fault.reason
    return None


def expected_form(data_type: DataType) -> str:
    """Return a type, with the form of its values where the type's name does not imply it."""
    form = _FORMS.get(data_type.root)
    return f"{data_type.with_nullable(True)}" + (f", written as {form}" if form else "")


def shown(value: Any) -> str:
    """Return a JSON value for an error message: short values as JSON, arrays and objects by their kind."""
    match value:
        case OversizedNumber():
            return value.shown
        case list() | dict():
            return json_kind(value)
        case WrittenNumber():
            return value.text[:_SHOWN_CHARACTERS]
        case _:
            return json.dumps(value)[:_SHOWN_CHARACTERS]


def is_number(value: Any) -> bool:
    """Return whether a JSON value is a number."""
    return isinstance(value, int | float | Decimal | OversizedNumber) and not isinstance(
        value, bool
    )


def json_kind(value: Any) -> str:
    """Return the kind of a JSON value, with its article: `a number`."""
    return next((name for kind, name in _JSON_TYPES if isinstance(value, kind)), "null")


def _boolean(value: Any, _: DataType, __: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _integer(value: Any, data_type: DataType, _: str) -> int:
    # In Python a bool is an int; in JSON `true` is not a number.
    if isinstance(value, OversizedNumber):
        raise OverflowError
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    bound = INTEGER_BOUND[data_type.root]
    if not -bound <= value < bound:
        raise OverflowError
    return value


def _float(value: Any, data_type: DataType, _: str) -> float:
    if isinstance(value, str):
        if value not in _FLOAT_TEXTS:
            raise ValueError
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | OversizedNumber):
        raise TypeError
    # An int that is too large raises OverflowError.
    found = value.nearest if isinstance(value, OversizedNumber) else float(value)
    if isinstance(value, float):
        return found  # NaN, or an infinity as it was written
    bound = _FLOAT_ROUNDED_MAX if data_type.root is TypeRoot.FLOAT else math.inf
    if abs(found) >= bound:
        raise OverflowError
    return found


def _decimal(value: Any, data_type: DataType, _: str) -> Decimal:
    if isinstance(value, OversizedNumber):
        raise OverflowError
    if isinstance(value, bool | list | dict | float):
        raise TypeError
    if isinstance(value, str) and NUMBER_TEXT.fullmatch(value) is None:
        raise ValueError
    assert data_type.precision is not None, "a DECIMAL has a precision"
    assert data_type.scale is not None, "a DECIMAL has a scale"
    number = Decimal(value)
    # Compared before it is rounded: `1e999999999` has too many digits to be written out.
    if number.is_zero():
        return Decimal(0)
    if number.adjusted() > data_type.precision - data_type.scale:
        raise OverflowError
    if number.adjusted() < -data_type.scale - 2:
        return Decimal(0)
    rounded = number.quantize(Decimal(1).scaleb(-data_type.scale), context=_EXACT)
    if rounded.adjusted() >= data_type.precision - data_type.scale and not rounded.is_zero():
        raise OverflowError
    return rounded


def _text(value: Any, data_type: DataType, address: str) -> str:
    if isinstance(value, str):
        text = value
    elif isinstance(value, float):
        text = json.dumps(value)
    else:
        text = json_text(value)
    if not has_utf8_form(text):
        raise _half_of_a_pair(value, data_type, address)
    if data_type.length is not None and len(text) > data_type.length:
        raise OverflowError
    return text


def _bytes(value: Any, data_type: DataType, _: str) -> bytes:
    if not isinstance(value, str):
        raise TypeError
    found = base64.b64decode(value, validate=True)
    if data_type.length is not None and len(found) > data_type.length:
        raise OverflowError
    return found


def _time(value: Any, data_type: DataType, _: str) -> int:
    if not isinstance(value, str):
        raise TypeError
    return time_value(value, data_type)


def _array(value: Any, data_type: DataType, address: str) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    assert data_type.element is not None, "an ARRAY has an element type"
    return [
        _part(item, data_type.element, f"{address}.{index}") for index, item in enumerate(value)
    ]


def _map(value: Any, data_type: DataType, address: str) -> list[tuple[str, Any]]:
    if not isinstance(value, JsonObject):
        raise TypeError
    assert data_type.key is not None, "a MAP has a key type"
    assert data_type.value is not None, "a MAP has a value type"
    items = [
        (name, _part(item, data_type.value, f"{address}.{name}")) for name, item in value.items()
    ]
    if not all(map(has_utf8_form, value)):
        raise _half_of_a_pair(value, data_type, address)
    if value.repeated is not None:
        twice = f"the key {json.dumps(value.repeated)} twice"
        raise ValueFault(DeadLetterReason.WRONG_TYPE, address, twice, "it once")
    return [(_part(name, data_type.key, f"{address}.{name}"), item) for name, item in items]


def _row(value: Any, data_type: DataType, address: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return {field.name: _part_of_row(value, field, address) for field in data_type.fields}


def _variant(value: Any, data_type: DataType, address: str) -> dict[str, bytes]:
    return variant_of_text(json_text(value, shortens=True), data_type, address)


def variant_of_text(text: str, data_type: DataType, address: str = "") -> dict[str, bytes]:
    """Return a JSON text as a VARIANT, in the form that `pa.array` accepts.

    Args:
        text: The text.
        data_type: VARIANT.
        address: The value's place in the message, for faults.

    Raises:
        ValueFault: It is not JSON, or no value can be made of it.
    """
    try:
        value, metadata = variant_of_json(text)
    except NotVariant as error:
        shown_text = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
        expected = f"{expected_form(data_type)} ({error})"
        raise ValueFault(DeadLetterReason.WRONG_TYPE, address, shown_text, expected) from error
    return {"value": value, "metadata": metadata}


def _part_of_row(fields: dict[str, Any], part: DataField, address: str) -> Any:
    if part.type.root is TypeRoot.VARIANT and part.type.nullable and part.name not in fields:
        return None  # null, while null of JSON is a value
    return _part(fields.get(part.name), part.type, f"{address}.{part.name}")


def _part(value: Any, data_type: DataType, address: str) -> Any:
    if value is None and not data_type.nullable and data_type.root is not TypeRoot.VARIANT:
        raise ValueFault(DeadLetterReason.NOT_NULL, address, "null", str(data_type))
    return exact_value(value, data_type, address=address)


def _half_of_a_pair(value: Any, data_type: DataType, address: str) -> ValueFault:
    """Return the fault of a text with half of a surrogate pair, which no UTF-8 text can hold."""
    expected = f"{expected_form(data_type)} without half of a surrogate pair"
    return ValueFault(DeadLetterReason.WRONG_TYPE, address, shown(value), expected)


_READERS: Final[Mapping[TypeRoot, Callable[[Any, DataType, str], Any]]] = {
    TypeRoot.BOOLEAN: _boolean,
    **dict.fromkeys(INTEGER_BOUND, _integer),
    TypeRoot.FLOAT: _float,
    TypeRoot.DOUBLE: _float,
    TypeRoot.DECIMAL: _decimal,
    TypeRoot.CHAR: _text,
    TypeRoot.VARCHAR: _text,
    TypeRoot.BINARY: _bytes,
    TypeRoot.VARBINARY: _bytes,
    **dict.fromkeys(DATE_AND_TIME_TYPES, _time),
    TypeRoot.ARRAY: _array,
    TypeRoot.MAP: _map,
    TypeRoot.ROW: _row,
    TypeRoot.VARIANT: _variant,
}
