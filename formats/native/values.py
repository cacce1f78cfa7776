"""Native values: single values of formats with a schema, as Python objects whose classes tell their kinds; and their form in JSON.

| kind | object |
|---|---|
| null | None |
| boolean | bool |
| whole number | int |
| floating-point number | float; of 32 bits `np.float32` |
| decimal | Decimal |
| text, bytes | str, bytes |
| date, time, moment | `Day`, `TimeOfDay`, `Moment` |
| list | list |
| record, map | dict; keys are texts, or scalars as above. A map that has a key twice is a `JsonObject` that names the key |
| unreadable | `Unreadable` |
"""

import base64
import json
import math
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

import numpy as np

from braid.formats.json.message import JsonObject, json_object, json_text, written_number

_EPOCH: Final = date(1970, 1, 1)
_SECOND_NS: Final = 10**9
_DAY_NS: Final = 86_400 * _SECOND_NS


@dataclass(frozen=True, slots=True)
class Day:
    """A date.

    Attributes:
        days: Days since 1970-01-01.
    """

    days: int


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """A time of day.

    Attributes:
        nanos: Nanoseconds since midnight, at least 0 and less than a day in what a format allows.
    """

    nanos: int


@dataclass(frozen=True, slots=True)
class Moment:
    """A timestamp.

    Attributes:
        nanos: Nanoseconds since the epoch; of a local one, by a clock that shows UTC.
        is_local: Whether it is the time of a clock without a zone.
    """

    nanos: int
    is_local: bool = False


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A value that no column can hold.

    Attributes:
        name: What it is, with its article: `a duration`.
    """

    name: str


def json_value(value: Any) -> Any:
    """Return a native value as JSON: a value such as `json.message.read_message` returns.

    Bytes become base64, dates and times ISO 8601, and what no column can hold its name. Keys of maps become texts.
    """
    if isinstance(value, np.float32):
        return _number(value, str(value))
    match value:
        case bool() | int() | str() | None:
            return value
        case float():
            return _number(value, repr(value))
        case Decimal():
            return written_number(f"{value:f}")
        case bytes():
            return base64.b64encode(value).decode()
        case list():
            return [json_value(item) for item in value]
        case dict():
            pairs = (isinstance(value, JsonObject) and value.pairs) or value.items()
            return json_object([(key_text(name), json_value(item)) for name, item in pairs])
        case _:
            return text_form(value)


def key_text(key: Any) -> str:
    """Return a native value as the text that it is as the key of a JSON object.

    Numbers and booleans are written as in JSON, lists, maps and records as their JSON, and others as in `json_value`.
    """
    if isinstance(key, str):
        return key
    plain = json_value(key)
    if isinstance(plain, str):
        return plain
    return json.dumps(plain) if isinstance(plain, float) else json_text(plain)


def text_form(value: Day | TimeOfDay | Moment | Unreadable) -> str:
    """Return a date or time as ISO 8601; one that ISO 8601 has no form for as a number with its unit."""
    match value:
        case Day():
            return _date_text(value.days)
        case TimeOfDay():
            is_time = 0 <= value.nanos < _DAY_NS
            return _clock(value.nanos) if is_time else f"{value.nanos} ns after midnight"
        case Moment():
            days, nanos = divmod(value.nanos, _DAY_NS)
            zone = "" if value.is_local else "Z"
            return f"{_date_text(days)}T{_clock(nanos)}{zone}"
        case Unreadable():
            return value.name


def _number(value: Any, text: str) -> Any:
    return written_number(text) if math.isfinite(value) else float(value)


def _date_text(days: int) -> str:
    try:
        return (_EPOCH + timedelta(days=days)).isoformat()
    except OverflowError:
        return f"day {days}"


def _clock(nanos: int) -> str:
    seconds, fraction = divmod(nanos, _SECOND_NS)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    whole = f"{hour:02d}:{minute:02d}:{second:02d}"
    if not fraction:
        return whole
    digits = f"{fraction:09d}"
    # Three, six or nine digits, as most writers of ISO 8601 have it.
    while digits.endswith("000"):
        digits = digits[:-3]
    return f"{whole}.{digits}"
