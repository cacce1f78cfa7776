"""Reader of the format's JSON objects, with accessors that check the kind of a value; their writer.

Two accessors differ: `text_map` converts values to text, and `value` does not check its value. Keys
that are not read are ignored.
"""

from collections.abc import Mapping, Sequence
from typing import NoReturn, Self

import orjson

from braid.lake.errors import CorruptData


class JsonDocument:
    """One JSON object.

    Accessors of a kind raise `CorruptData`, with key and value, for a value of another kind.
    """

    def __init__(self, document: Mapping[str, object], *, what: str) -> None:
        self._document = document
        self._what = what

    @classmethod
    def parse(cls, data: bytes, *, what: str) -> Self:
        """Return the object in `data`; `what` names the kind of file in errors.

        Raises:
            CorruptData: The bytes are not JSON, or not a JSON object.
        """
        try:
            document = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            text = f"{what} file is not JSON: {error}"
            raise CorruptData(text) from error
        if not isinstance(document, dict):
            text = f"{what} file holds a JSON {type(document).__name__}, expected an object"
            raise CorruptData(text)
        return cls(document, what=what)

    def integer(self, key: str, *, default: int | None = None) -> int:
        """Return a whole number, or the default when the key is absent or null."""
        value = self.optional_integer(key)
        if value is None:
            return self._refuse(key, "a whole number") if default is None else default
        return value

    def optional_integer(self, key: str) -> int | None:
        """Return a whole number, or None when the key is absent or null."""
        value = self._document.get(key)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        return self._refuse(key, "a whole number")

    def text(self, key: str) -> str:
        """Return a string."""
        value = self.optional_text(key)
        return self._refuse(key, "a string") if value is None else value

    def optional_text(self, key: str) -> str | None:
        """Return a string, or None when the key is absent or null."""
        value = self._document.get(key)
        if value is None or isinstance(value, str):
            return value
        return self._refuse(key, "a string")

    def text_list(self, key: str) -> tuple[str, ...]:
        """Return a list of strings."""
        value = self._document.get(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._refuse(key, "a list of strings")
        return tuple(value)

    def object_list(self, key: str) -> Sequence[Mapping[str, object]]:
        """Return a list of objects."""
        value = self._document.get(key)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self._refuse(key, "a list of objects")
        return value

    def text_map(self, key: str, *, required: bool = False) -> dict[str, str]:
        """Return an object of strings; {} when it is absent or null, unless it is required.

        Values that are not strings become text, and keys whose value is null are left out.
        """
        value = self._document.get(key)
        if value is None and not required:
            return {}
        if not isinstance(value, dict):
            self._refuse(key, "an object of strings")
        return {name: _as_text(item) for name, item in value.items() if item is not None}

    def value(self, key: str) -> object:
        """Return the value of a key, of any kind; None if it is absent."""
        return self._document.get(key)

    def _refuse(self, key: str, expected: str) -> NoReturn:
        found = repr(self._document[key]) if key in self._document else "nothing"
        text = f"{self._what} file has {found} under `{key}`, expected {expected}"
        raise CorruptData(text)


def dump_json(document: Mapping[str, object]) -> bytes:
    """Return the object as indented UTF-8 JSON; keys whose value is None are left out."""
    present = {key: value for key, value in document.items() if value is not None}
    return orjson.dumps(present, option=orjson.OPT_INDENT_2)


def _as_text(value: object) -> str:
    # Booleans as options spell them, unlike Python's `str`.
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
