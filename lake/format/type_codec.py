"""Column types and fields as schema files spell them: parsed and written.

An atomic type is a JSON string (`DECIMAL(10, 2) NOT NULL`). A nested type is a JSON object, which has the
nullability in its `type` (`{"type": "ARRAY NOT NULL", "element": "INT"}`). The SQL form of nested types
(`ARRAY<INT> NOT NULL`) is read as well, because users and declarations write it; so are
aliases (`INTEGER`) and words in lower case. Types that the
format has and this version does not (BLOB) are refused.

Source: table-format 2.1 and 2.2.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NoReturn

from braid.lake.errors import InvalidRequest, Problem, UnsupportedFeature
from braid.lake.format.data_types import (
    DECIMAL_PRECISION_MAX,
    LENGTH_MAX,
    TIMESTAMP_PRECISION_MAX,
    UNASSIGNED,
    DataField,
    DataType,
    TypeRoot,
)

DEPTH_MAX: Final = 64
"""Deepest nesting of types; it is bounded because every walk over a type is recursive."""

_UNSUPPORTED_WORDS: Final = ("BLOB", "VECTOR", "GEOMETRY", "GEOGRAPHY")
_PLAIN_WORDS: Final = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "VARIANT",
)  # fmt: skip
_SHOWN_MAX: Final = 200
_REMEMBERED_TYPES: Final = 512
_REMEMBERED_MAX: Final = 64


def parse_type(source: str | Mapping[str, object]) -> DataType:
    """Return the type that a schema file or a user has written.

    Accepts aliases (`INTEGER`, `NUMERIC`, `DOUBLE PRECISION`, `TIMESTAMP_LTZ(3)`), any case and
    spacing, and the SQL form of nested types (`ARRAY<INT>`, `MAP<STRING, INT>`,
    ``ROW<a INT, `b c` STRING NOT NULL>``; the names of fields keep their case).
    Fields of a ROW without an id get `UNASSIGNED`; in the SQL form no field has an id.

    Raises:
        UnsupportedFeature: The type exists in the format but not in this version (BLOB, VECTOR,
            GEOMETRY, GEOGRAPHY).
        InvalidRequest: The text is not a type of the format, a length or precision is out of range, or
            types are nested more than `DEPTH_MAX` deep.
    """
    # Tables have many columns of few types, and types never change: short texts are parsed once.
    if isinstance(source, str) and len(source) <= _REMEMBERED_MAX:
        return _parse_short(source)
    return _parse(source)


@lru_cache(maxsize=_REMEMBERED_TYPES)
def _parse_short(source: str) -> DataType:
    return _parse(source)


def _parse(source: str | Mapping[str, object]) -> DataType:
    try:
        parsed = _TypeText(source).parse() if isinstance(source, str) else _parse_object(source)
        is_too_deep = _depth(parsed) > DEPTH_MAX
    except RecursionError:  # far beyond the limit
        _refuse(_shown(source), f"expected a type that is nested at most {DEPTH_MAX} levels deep")
    if is_too_deep:
        _refuse(_shown(source), f"expected a type that is nested at most {DEPTH_MAX} levels deep")
    return parsed


def _shown(source: str | Mapping[str, object]) -> str:
    return source[:_SHOWN_MAX] if isinstance(source, str) else str(source.get("type"))


def _depth(data_type: DataType) -> int:
    parts = [data_type.element, data_type.key, data_type.value]
    parts += [field.type for field in data_type.fields]
    return 1 + max((_depth(part) for part in parts if part is not None), default=0)


def type_to_json(data_type: DataType) -> str | dict[str, object]:
    """Return the JSON of the type in a schema file: a text, or an object for nested types."""
    if not data_type.is_nested:
        return str(data_type)
    word = data_type.root + ("" if data_type.nullable else " NOT NULL")
    match data_type.root:
        case TypeRoot.MAP:
            assert data_type.key is not None
            assert data_type.value is not None
            return {
                "type": word,
                "key": type_to_json(data_type.key),
                "value": type_to_json(data_type.value),
            }
        case TypeRoot.ROW:
            return {"type": word, "fields": [field_to_json(field) for field in data_type.fields]}
        case _:
            assert data_type.element is not None
            return {"type": word, "element": type_to_json(data_type.element)}


def field_to_json(field: DataField) -> dict[str, object]:
    """Return the JSON object of a field in a schema file; unset keys are left out."""
    document: dict[str, object] = {
        "id": field.id,
        "name": field.name,
        "type": type_to_json(field.type),
    }
    if field.description is not None:
        document["description"] = field.description
    if field.default_value is not None:
        document["defaultValue"] = field.default_value
    return document


def parse_field(document: Mapping[str, object]) -> DataField:
    """Return the field of a JSON object of a schema file; a missing id is `UNASSIGNED`.

    Raises:
        InvalidRequest: A key is missing or of the wrong kind.
        UnsupportedFeature: This version does not have the type.
    """
    field_id = document.get("id", UNASSIGNED)
    name = document.get("name")
    if not isinstance(field_id, int):
        _refuse(str(document), "the id of a field is not a whole number")
    if not isinstance(name, str):
        _refuse(str(document), "a field has no name")
    description = document.get("description")
    default_value = document.get("defaultValue")
    return DataField(
        id=field_id,
        name=name,
        type=parse_type(_type_source(document.get("type"))),
        description=None if description is None else str(description),
        default_value=None if default_value is None else str(default_value),
    )


def _type_source(source: object) -> str | Mapping[str, object]:
    if not isinstance(source, str | Mapping):
        _refuse(str(source), "a type is text or an object")
    return source


def _parse_object(source: Mapping[str, object]) -> DataType:
    word = source.get("type")
    if not isinstance(word, str):
        _refuse(str(source), "the object of a nested type has no `type`")
    words = word.upper().split()
    if words and words[0] in _UNSUPPORTED_WORDS:
        _refuse_unsupported(word)
    nullable = words[1:] != ["NOT", "NULL"]
    if words[1:] not in ([], ["NOT", "NULL"]):
        _refuse(word, "unknown words after the type")
    match words[:1]:
        case ["ARRAY" | "MULTISET" as root]:
            return DataType(
                root=TypeRoot(root),
                nullable=nullable,
                element=parse_type(_type_source(source.get("element"))),
            )
        case ["MAP"]:
            return DataType(
                root=TypeRoot.MAP,
                nullable=nullable,
                key=parse_type(_type_source(source.get("key"))),
                value=parse_type(_type_source(source.get("value"))),
            )
        case ["ROW"]:
            fields = source.get("fields")
            if not isinstance(fields, Sequence) or isinstance(fields, str):
                _refuse(str(source), "a ROW has no list `fields`")
            return DataType(
                root=TypeRoot.ROW,
                nullable=nullable,
                fields=tuple(parse_field(field) for field in fields),
            )
        case _:
            return _refuse(word, "not a nested type")


_TOKEN = re.compile(r"\s*(?:(\w+)|([(),<>])|`((?:[^`]|``)+)`)")
_QUOTED = "`"


class _TypeText:
    """A recursive-descent parser of one type's text."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Each token as a pair: the word in upper case, or `_QUOTED`; and the word as it was written.
        self._tokens: list[str] = []
        self._written: list[str] = []
        self._tokenise(text)
        self._index = 0

    def parse(self) -> DataType:
        result = self._type()
        if self._index != len(self._tokens):
            self._refuse(f"unexpected `{self._tokens[self._index]}`")
        return result

    def _tokenise(self, text: str) -> None:
        stripped = text.rstrip()
        position = 0
        while position < len(stripped):
            match = _TOKEN.match(stripped, position)
            if match is None:
                if stripped.upper().startswith(_UNSUPPORTED_WORDS):
                    _refuse_unsupported(text)
                self._refuse(f"unexpected `{stripped[position:].strip()}`")
            word, sign, quoted = match.groups()
            self._tokens.append(_QUOTED if quoted else (word or sign).upper())
            self._written.append(quoted.replace("``", "`") if quoted else word or sign)
            position = match.end()

    def _type(self) -> DataType:
        word = self._next()
        if word in _UNSUPPORTED_WORDS:
            _refuse_unsupported(self._text)
        # Each method returns None for a word of another kind of type.
        base = self._nested(word) or self._sized(word) or self._timed(word) or self._plain(word)
        if base is None:
            self._refuse("not a type of the format")
        return base.with_nullable(self._nullable())

    def _nested(self, word: str) -> DataType | None:
        match word:
            case "ARRAY" | "MULTISET":
                self._expect("<")
                element = self._type()
                self._expect(">")
                return DataType(root=TypeRoot(word), element=element)
            case "MAP":
                self._expect("<")
                key = self._type()
                self._expect(",")
                value = self._type()
                self._expect(">")
                return DataType(root=TypeRoot.MAP, key=key, value=value)
            case "ROW":
                return DataType(root=TypeRoot.ROW, fields=self._fields())
            case _:
                return None

    def _fields(self) -> tuple[DataField, ...]:
        self._expect("<")
        fields = [self._field()]
        while self._skip(","):
            fields.append(self._field())
        self._expect(">")
        names = [field.name for field in fields]
        for name in names:
            if names.count(name) > 1:
                self._refuse(f"the field `{name}` is declared more than once")
        return tuple(fields)

    def _field(self) -> DataField:
        # Any word may be the name of a field, also the name of a type.
        word = self._next()
        name = self._written[self._index - 1]
        if word != _QUOTED and re.fullmatch(r"\w+", name) is None:
            self._refuse(f"expected the name of a field, found `{name}`")
        return DataField(name=name, type=self._type())

    def _sized(self, word: str) -> DataType | None:
        match word:
            case "STRING":
                return DataType(root=TypeRoot.VARCHAR, length=LENGTH_MAX)
            case "BYTES":
                return DataType(root=TypeRoot.VARBINARY, length=LENGTH_MAX)
            case "CHAR" | "VARCHAR" | "BINARY" | "VARBINARY":
                (length,) = self._numbers([1])
                self._check("length", length, 1, LENGTH_MAX)
                return DataType(root=TypeRoot(word), length=length)
            case "DECIMAL" | "NUMERIC" | "DEC":
                precision, scale = self._numbers([10, 0])
                self._check("precision", precision, 1, DECIMAL_PRECISION_MAX)
                self._check("scale", scale, 0, precision)
                return DataType(root=TypeRoot.DECIMAL, precision=precision, scale=scale)
            case _:
                return None

    def _timed(self, word: str) -> DataType | None:
        if word not in ("TIME", "TIMESTAMP", "TIMESTAMP_LTZ"):
            return None
        root = TypeRoot(word)
        (precision,) = self._numbers([0 if root is TypeRoot.TIME else 6])
        self._check("precision", precision, 0, TIMESTAMP_PRECISION_MAX)
        if root is not TypeRoot.TIMESTAMP_LTZ and self._skip("WITHOUT", "TIME", "ZONE"):
            pass  # the default, written explicitly
        elif root is TypeRoot.TIMESTAMP and self._skip("WITH", "LOCAL", "TIME", "ZONE"):
            root = TypeRoot.TIMESTAMP_LTZ
        return DataType(root=root, precision=precision)

    def _plain(self, word: str) -> DataType | None:
        if word == "INTEGER":
            return DataType(root=TypeRoot.INT)
        if word == "DOUBLE":
            self._skip("PRECISION")
        if word in _PLAIN_WORDS:
            return DataType(root=TypeRoot(word))
        return None

    def _nullable(self) -> bool:
        if self._skip("NOT", "NULL"):
            return False
        self._skip("NULL")
        return True

    def _numbers(self, defaults: list[int]) -> list[int]:
        if not self._skip("("):
            return defaults
        numbers = [self._number()]
        while self._skip(","):
            numbers.append(self._number())
        self._expect(")")
        if len(numbers) > len(defaults):
            self._refuse(f"expected at most {len(defaults)} numbers in parentheses")
        return numbers + defaults[len(numbers) :]

    def _number(self) -> int:
        token = self._next()
        # Signs are not tokens, so numbers are not negative.
        if not token.isdecimal():
            self._refuse(f"`{token}` is not a number")
        return int(token)

    def _check(self, what: str, found: int, low: int, high: int) -> None:
        if not low <= found <= high:
            self._refuse(f"{what} {found} is not within {low} to {high}")

    def _next(self) -> str:
        if self._index == len(self._tokens):
            self._refuse("the text ends too early")
        self._index += 1
        return self._tokens[self._index - 1]

    def _expect(self, token: str) -> None:
        if not self._skip(token):
            self._refuse(f"expected `{token}`")

    def _skip(self, *tokens: str) -> bool:
        end = self._index + len(tokens)
        if tuple(self._tokens[self._index : end]) != tokens:
            return False
        self._index = end
        return True

    def _refuse(self, message: str) -> NoReturn:
        _refuse(self._text, message)


def _refuse(found: str, message: str) -> NoReturn:
    problem = Problem(
        field="type",
        value=found,
        message=message,
        hint="for example INT, DECIMAL(10, 2), STRING NOT NULL, TIMESTAMP(3)",
    )
    text = f"cannot read the column type `{found}`"
    raise InvalidRequest(text, problems=[problem])


def _refuse_unsupported(found: str) -> NoReturn:
    problem = Problem(
        field="type",
        value=found,
        message="this version reads and writes no column of this type",
        hint=f"not supported: {', '.join(_UNSUPPORTED_WORDS)}",
    )
    text = f"the column type `{found}` is not supported"
    raise UnsupportedFeature(text, problems=[problem])
