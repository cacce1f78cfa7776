"""Kinds of native values: the kinds that a format's schema can declare, and the column types that can be filled from each.

| kind | column |
|---|---|
| null | every type |
| boolean | BOOLEAN, CHAR, VARCHAR |
| whole number | TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL, CHAR, VARCHAR |
| floating-point number, decimal | FLOAT, DOUBLE, DECIMAL, CHAR, VARCHAR |
| text | CHAR, VARCHAR, and in the form of JSON: VARIANT, DECIMAL, BINARY, VARBINARY, DATE, TIME, TIMESTAMP of either kind |
| bytes | BINARY, VARBINARY |
| date | DATE, CHAR, VARCHAR |
| time | TIME, CHAR, VARCHAR |
| moment | TIMESTAMP of either kind, CHAR, VARCHAR |
| list | ARRAY, CHAR, VARCHAR |
| map | MAP, CHAR, VARCHAR |
| record | ROW, CHAR, VARCHAR |
| boolean, number, list, map, record | VARIANT, in the form of JSON |
| unreadable | none |

Where some values of a kind fit the column's type and others do not, such as numbers that may be too large, each record is
decided by itself. Source: `formats.json.exact_values`, for the kinds that JSON has; but here no text fills FLOAT or DOUBLE.
"""

from enum import Enum
from typing import Final

from braid.formats.type_bounds import INTEGER_BOUND
from braid.lake import TypeRoot


class NativeKind(Enum):
    """A kind of value, in the words of error messages."""

    NULL = "null"
    BOOLEAN = "a boolean"
    WHOLE = "a whole number"
    FLOAT = "a floating-point number"
    DECIMAL = "a decimal"
    TEXT = "a text"
    BYTES = "bytes"
    DATE = "a date"
    TIME = "a time of day"
    MOMENT = "a timestamp"
    LIST = "a list"
    MAP = "a map"
    RECORD = "a record"
    UNREADABLE = "a duration"


_TEXTS: Final = frozenset({TypeRoot.CHAR, TypeRoot.VARCHAR})
_JSON: Final = _TEXTS | {TypeRoot.VARIANT}
_BINARIES: Final = frozenset({TypeRoot.BINARY, TypeRoot.VARBINARY})
_TIMESTAMPS: Final = frozenset({TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ})
_FRACTIONS: Final = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE, TypeRoot.DECIMAL})
_FITTING: Final = {
    NativeKind.BOOLEAN: {TypeRoot.BOOLEAN} | _JSON,
    NativeKind.WHOLE: INTEGER_BOUND.keys() | _FRACTIONS | _JSON,
    NativeKind.FLOAT: _FRACTIONS | _JSON,
    NativeKind.DECIMAL: _FRACTIONS | _JSON,
    NativeKind.TEXT: {TypeRoot.VARIANT, TypeRoot.DECIMAL, TypeRoot.DATE, TypeRoot.TIME}
    | _TEXTS
    | _BINARIES
    | _TIMESTAMPS,
    NativeKind.BYTES: _BINARIES,
    NativeKind.DATE: {TypeRoot.DATE} | _TEXTS,
    NativeKind.TIME: {TypeRoot.TIME} | _TEXTS,
    NativeKind.MOMENT: _TIMESTAMPS | _TEXTS,
    NativeKind.LIST: {TypeRoot.ARRAY} | _JSON,
    NativeKind.MAP: {TypeRoot.MAP} | _JSON,
    NativeKind.RECORD: {TypeRoot.ROW} | _JSON,
    NativeKind.UNREADABLE: frozenset[TypeRoot](),
}


def can_fill(kind: NativeKind, root: TypeRoot) -> bool:
    """Return whether values of a kind can fill a column of a type, whatever the type's length and parts."""
    return kind is NativeKind.NULL or root in _FITTING[kind]
