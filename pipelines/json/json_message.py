"""A message's JSON in Python, for the few messages that are looked at there."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from lake import DataType, TypeRoot

# Spark's parser reads no longer numbers, and Python's none of more than some thousand digits.
_NUMBER_CHARACTERS_MAX: Final = 1_000


class LongNumber:
    """A number of more digits than anybody reads."""

    def __init__(self, text: str) -> None:
        self.shown = f"a number of {len(text)} characters"


class JsonObject(dict[str, Any]):
    """A JSON object that knows a name it has twice."""

    repeated: str | None = None


def read_message(value: bytes) -> Any:
    """Return the value of a JSON text: objects as `JsonObject`, broken numbers as Decimal.

    Raises:
        ValueError: It is no UTF-8 (`UnicodeDecodeError`), or no JSON.
        RecursionError: It is nested too deeply.
    """

    def whole(text: str) -> Any:
        return int(text) if len(text) <= _NUMBER_CHARACTERS_MAX else LongNumber(text)

    def broken(text: str) -> Any:
        return Decimal(text) if len(text) <= _NUMBER_CHARACTERS_MAX else LongNumber(text)

    def named(pairs: list[tuple[str, Any]]) -> JsonObject:
        made = JsonObject()
        for name, item in pairs:
            if name in made:
                made.repeated = name
            made[name] = item
        return made

    text = value.decode("utf-8")
    return json.loads(text, parse_int=whole, parse_float=broken, object_pairs_hook=named)


def items_of(value: Any, data_type: DataType) -> Iterator[tuple[str, Any, DataType]]:
    """Yield the parts of a value that its type declares: name or index, value, type.

    Args:
        value: Of the kind that the type has in JSON.
        data_type: Of the value; others than ARRAY, MAP and ROW have no parts.
    """
    match data_type.root:
        case TypeRoot.ARRAY:
            assert data_type.element is not None
            for index, item in enumerate(value):
                yield str(index), item, data_type.element
        case TypeRoot.MAP:
            assert data_type.value is not None
            for name, item in value.items():
                yield name, item, data_type.value
        case TypeRoot.ROW:
            for field in data_type.fields:
                yield field.name, value.get(field.name), field.type
        case _:
            return
