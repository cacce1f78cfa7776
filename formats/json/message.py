"""Parser and writer of JSON messages as Python values, in which numbers with a fraction or an exponent keep their texts.

Whole numbers are integers; `-0` is 0. For a number that is too long, only its length and the nearest double are kept.

`json.loads` accepts a little more than JSON: `NaN`, `Infinity` and `-Infinity`. So does this reader, and also
`INF`, `+INF`, `-INF` and `+Infinity`, which Java's usual parsers accept.
"""

import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from braid.lake import DataType, TypeRoot

NUMBER_CHARACTERS_MAX: Final = 1_000
"""Longest number: Python refuses integers of more than 4,300 digits, and other readers far shorter ones."""

# A text, closed or not, or one of the names that Python's parser does not know. Each character is read once: `*+`
# does not go back into a text, and a text that nothing closes extends to the end, so no search begins inside of it.
# A sign before the sign of a name is no JSON: `-+INF`.
_NAMES: Final = re.compile(
    r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|(?<![-+])(?:([+-]?)INF|\+(Infinity))\b', re.DOTALL
)


class OversizedNumber:
    """A number that is too long, or whose exponent is, so that its digits are not kept.

    Attributes:
        shown: Its length in words.
        nearest: The nearest double, which may be infinite.
    """

    def __init__(self, text: str) -> None:
        self.shown = f"a number of {len(text)} characters"
        self.nearest = float(text)


class WrittenNumber(Decimal):
    """A number with a fraction or an exponent, which keeps its text: `1.10`, `1E2`."""

    __slots__ = ("text",)
    text: str


class JsonObject(dict[str, Any]):
    """A JSON object that keeps a name that occurs twice in it; None: no name does.

    Attributes:
        repeated: One of the names that occur twice.
        pairs: All fields as they were written, if a name occurs twice.
    """

    repeated: str | None = None
    pairs: tuple[tuple[str, Any], ...] = ()


def read_message(value: bytes) -> Any:
    """Return the value of a JSON text.

    Objects are `JsonObject`, numbers with a fraction or an exponent `WrittenNumber`, other numbers int, NaN and
    infinities float, and numbers that are too long `OversizedNumber`.

    Raises:
        ValueError: The value is not UTF-8 (`UnicodeDecodeError`), or not JSON.
        RecursionError: The value is nested too deeply.
    """
    text = value.decode("utf-8")
    try:
        return _loads(text)
    except ValueError:
        named = _NAMES.sub(_python_name, text) if "INF" in text or "+Inf" in text else text
        if named == text:
            raise
        return _loads(named)


def _python_name(found: re.Match[str]) -> str:
    if found[2] is not None:
        return "Infinity"
    if found[1] is None:
        return found[0]
    return "-Infinity" if found[1] == "-" else "Infinity"


def _loads(text: str) -> Any:
    return json.loads(
        text, parse_int=_whole, parse_float=written_number, object_pairs_hook=json_object
    )


def _whole(text: str) -> Any:
    return int(text) if len(text) <= NUMBER_CHARACTERS_MAX else OversizedNumber(text)


def written_number(text: str) -> WrittenNumber | OversizedNumber:
    """Return a number that keeps its text, or what is left of one that is too long."""
    if len(text) > NUMBER_CHARACTERS_MAX:
        return OversizedNumber(text)
    try:
        number = WrittenNumber(text)
    except InvalidOperation:  # an exponent that no decimal number can have
        return OversizedNumber(text)
    number.text = text
    return number


def json_object(pairs: list[tuple[str, Any]]) -> JsonObject:
    """Return an object of pairs, which knows whether a name occurs twice."""
    made = JsonObject(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                made.repeated = name
            seen.add(name)
        made.pairs = tuple(pairs)
    return made


def items_of(value: Any, data_type: DataType) -> Iterator[tuple[str, Any, DataType]]:
    """Yield the parts of a value that its type declares, as (name or index, value, type).

    Args:
        value: A value of the JSON type that `data_type` is read from.
        data_type: The value's type; types other than ARRAY, MAP and ROW have no parts.
    """
    match data_type.root:
        case TypeRoot.ARRAY:
            assert data_type.element is not None, "an ARRAY has an element type"
            for index, item in enumerate(value):
                yield str(index), item, data_type.element
        case TypeRoot.MAP:
            assert data_type.value is not None, "a MAP has a value type"
            for name, item in value.items():
                yield name, item, data_type.value
        case TypeRoot.ROW:
            for field in data_type.fields:
                yield field.name, value.get(field.name), field.type
        case _:
            return


def json_text(value: Any, *, shortens: bool = False) -> str:
    """Return a value of `read_message` as JSON without blanks; numbers with a fraction or exponent keep their texts.

    Args:
        value: The value.
        shortens: Whether a number that is too long becomes the nearest double, with an exponent.

    Raises:
        OverflowError: A number in it is too long, and is not to be shortened.
    """
    match value:
        case OversizedNumber() if shortens:
            return _with_exponent(value.nearest)
        case OversizedNumber():
            raise OverflowError(value.shown)
        case WrittenNumber():
            return value.text
        case float():  # NaN and infinities are not JSON: they become texts
            return f'"{json.dumps(value)}"'
        case list():
            return f"[{','.join([json_text(item, shortens=shortens) for item in value])}]"
        case JsonObject():
            pairs = value.pairs or value.items()
            fields = [
                f"{json_text(name)}:{json_text(item, shortens=shortens)}" for name, item in pairs
            ]
            return f"{{{','.join(fields)}}}"
        case _:
            return json.dumps(value, ensure_ascii=False)


def _with_exponent(number: float) -> str:
    if math.isinf(number):
        return f"{'-' if number < 0 else ''}1e999"
    text = repr(number)
    return text if "e" in text else f"{text}e0"
