"""JSON messages in Python: parsing without loss, for the few messages that are read outside of Spark."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from braid.lake import DataType, TypeRoot

# Spark's parser refuses longer numbers, and Python refuses integers of more than 4,300 digits.
_NUMBER_CHARACTERS_MAX: Final = 1_000


class OversizedNumber:
    """A number with more characters than any parser accepts; only its length is kept."""

    def __init__(self, text: str) -> None:
        self.shown = f"a number of {len(text)} characters"


class JsonObject(dict[str, Any]):
    """A JSON object that keeps a name that occurs twice in it; None: no name does."""

    repeated: str | None = None


def read_message(value: bytes) -> Any:
    """Return the value of a JSON text: objects as `JsonObject`, numbers with a fraction as Decimal.

    Raises:
        ValueError: The value is not UTF-8 (`UnicodeDecodeError`), or not JSON.
        RecursionError: The value is nested too deeply.
    """

    def whole(text: str) -> Any:
        return int(text) if len(text) <= _NUMBER_CHARACTERS_MAX else OversizedNumber(text)

    def fractional(text: str) -> Any:
        return Decimal(text) if len(text) <= _NUMBER_CHARACTERS_MAX else OversizedNumber(text)

    def json_object(pairs: list[tuple[str, Any]]) -> JsonObject:
        made = JsonObject()
        for name, item in pairs:
            if name in made:
                made.repeated = name
            made[name] = item
        return made

    text = value.decode("utf-8")
    return json.loads(text, parse_int=whole, parse_float=fractional, object_pairs_hook=json_object)


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
