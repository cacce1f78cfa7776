"""Types of the rows in Canal's messages, which are MySQL's column types: they give the types of the columns that a stream adds.

A message names the types beside its rows: `"mysqlType": {"id": "bigint(20)", "total": "decimal(9,2)"}`.

| in MySQL | column |
|---|---|
| signed `tinyint`, `smallint`, `mediumint` and `int`; unsigned `tinyint`, `smallint` and `mediumint`; `year` | INT |
| `int unsigned`; `bigint` | BIGINT |
| `bigint unsigned` | DECIMAL(20, 0) |
| `decimal` | DECIMAL of its precision and scale; STRING if it has more than 38 digits |
| `float`, `double` | FLOAT, DOUBLE |
| `date` | DATE |
| `datetime`, `timestamp` | TIMESTAMP(3); TIMESTAMP(6) if it has more than three digits of the second |
| `binary`, `varbinary`, and every `blob` | BYTES |
| all others | STRING |

Synonyms that MySQL itself does not show, such as `integer`, `numeric` and `real`, are known, too. `tinyint(1)` is a
number, because MySQL stores any small number in it, and `time` a text, because it goes from -838 to 838 hours.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from braid.formats.change_capture.envelopes import KnownSchemas
from braid.formats.change_capture.json_rows import schema_of_row
from braid.formats.native.kinds import NativeKind
from braid.formats.native.native_types import NativeType
from braid.formats.schema_registry.recent_entries import RecentEntries
from braid.lake import DataType, parse_type

_NAME: Final = re.compile(
    r"\s*([a-z]+)\s*(?:\(\s*([0-9]{1,3})\s*(?:,\s*([0-9]{1,3})\s*)?\))?", re.IGNORECASE
)
_STRING: Final = parse_type("STRING")
_TYPES: Final = {
    **dict.fromkeys(
        ("tinyint", "smallint", "mediumint", "int", "integer", "bool", "boolean", "year"),
        parse_type("INT"),
    ),
    "bigint": parse_type("BIGINT"),
    "float": parse_type("FLOAT"),
    "double": parse_type("DOUBLE"),
    "real": parse_type("DOUBLE"),
    "date": parse_type("DATE"),
    **dict.fromkeys(
        ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), parse_type("BYTES")
    ),
}
_UNSIGNED: Final = {
    "int": parse_type("BIGINT"),
    "integer": parse_type("BIGINT"),
    "bigint": parse_type("DECIMAL(20, 0)"),
}
_DECIMALS: Final = ("decimal", "numeric", "dec", "fixed")
_TIMESTAMPS: Final = ("datetime", "timestamp")
_DECIMAL_DIGITS: Final = 10  # of a decimal that does not say how many it has
_DIGITS_MAX: Final = 38
_TYPES_MAX: Final = 256
_CHARACTERS_MAX: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class MysqlType:
    """The type of a row, or of one of its values, which is a text (see `NativeType`).

    Attributes:
        column_type: The type of a column of its values; None of a row.
        fields: The types of the values of a row, by name.
    """

    column_type: DataType | None = None
    fields: Mapping[str, "MysqlType"] = field(default_factory=dict)

    @property
    def possible(self) -> "tuple[MysqlType, ...]":
        """The type itself."""
        return (self,)

    @property
    def native_kind(self) -> NativeKind:
        """The kind of its values."""
        return NativeKind.RECORD if self.column_type is None else NativeKind.TEXT

    @property
    def item(self) -> None:
        """The type of items; there are none."""

    @property
    def identity(self) -> int:
        """What its type has in common with itself only."""
        return id(self)


class CanalRowTypes:
    """The types of rows, by what their messages name (see `MessageTypes`)."""

    is_whole = False

    def __init__(self, known: KnownSchemas) -> None:
        """Prepare to find them.

        Args:
            known: The JSON texts of `mysqlType` of the messages that were read last.
        """
        self._texts = known
        self._known = RecentEntries[bytes, MysqlType](
            count_max=_TYPES_MAX, size_max=_CHARACTERS_MAX
        )

    def type_of(self, payload: bytes) -> NativeType | None:
        """Return the type of a row (see `MessageTypes.type_of`); None if its message does not name it."""
        text = schema_of_row(payload, self._texts)
        if text is None:
            return None
        found = self._known.get(text)
        if found is None:
            found = parse_mysql_types(text)
            self._known.put(text, found, size=len(text))
        return found

    def of_column(self, declared: NativeType) -> NativeType:
        """Return the type (see `MessageTypes.of_column`)."""
        return declared


def parse_mysql_types(text: bytes) -> MysqlType:
    """Return the type of rows, without the fields whose type is not named.

    Args:
        text: The JSON text of `mysqlType`; what is no object names no types.
    """
    try:
        named = json.loads(text)
    except (ValueError, RecursionError):
        named = None
    if not isinstance(named, dict):
        return MysqlType()
    return MysqlType(
        fields={
            name: MysqlType(column_type(declared))
            for name, declared in named.items()
            if isinstance(declared, str)
        }
    )


def column_type(declared: str) -> DataType:
    """Return the type of a column of Braid that holds each value of a column of MySQL.

    Args:
        declared: The type in MySQL.

    Example:
        >>> str(column_type("decimal(9,2) unsigned"))
        'DECIMAL(9, 2)'
    """
    found = _NAME.match(declared)
    if found is None:
        return _STRING
    name, first, second = found[1].lower(), found[2], found[3]
    if name in _DECIMALS:
        return _decimal(int(first or _DECIMAL_DIGITS), int(second or 0))
    if name in _TIMESTAMPS:
        return parse_type("TIMESTAMP(3)" if int(first or 0) <= 3 else "TIMESTAMP(6)")
    if name in _UNSIGNED and "unsigned" in declared.lower():
        return _UNSIGNED[name]
    return _TYPES.get(name, _STRING)


def _decimal(precision: int, scale: int) -> DataType:
    precision = precision or _DECIMAL_DIGITS
    if not scale <= precision <= _DIGITS_MAX:
        return _STRING
    return parse_type(f"DECIMAL({precision}, {scale})")
