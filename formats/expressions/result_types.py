"""Result types of expressions: which types a column can hold without loss.

| column | result |
|---|---|
| BOOLEAN | boolean |
| TINYINT to BIGINT | integers whose range is within the column's |
| FLOAT | FLOAT; whole numbers of at most 16 bits |
| DOUBLE | FLOAT, DOUBLE; whole numbers of at most 32 bits |
| DECIMAL | DECIMALs and whole numbers with at most as many digits before and after the point |
| CHAR, VARCHAR; BINARY, VARBINARY | text; bytes: values that are too long are found record by record |
| DATE, TIME | date, time |
| TIMESTAMP; TIMESTAMP WITH LOCAL TIME ZONE | timestamp without a zone; timestamp with a zone. Digits of the second that the Arrow form does not have are dropped |
| ARRAY, MAP, ROW | list, map, struct with the same names in the same order; the same rules apply to the types inside them |

A result that is always NULL fits every column. `result_arrays` finds single results that do not fit, such as dates that are
out of range.
"""

from typing import TYPE_CHECKING, Any, Final

from braid.lake import DataType, TypeRoot

if TYPE_CHECKING:
    from duckdb.sqltypes import DuckDBPyType

# Bits with the sign, and digits, of whole numbers.
_WHOLE: Final = {
    "tinyint": (8, 3),
    "smallint": (16, 5),
    "integer": (32, 10),
    "bigint": (64, 19),
    "utinyint": (9, 3),
    "usmallint": (17, 5),
    "uinteger": (33, 10),
    "ubigint": (65, 20),
    "hugeint": (128, 39),
}
_BITS: Final = {
    TypeRoot.TINYINT: 8,
    TypeRoot.SMALLINT: 16,
    TypeRoot.INT: 32,
    TypeRoot.BIGINT: 64,
    TypeRoot.FLOAT: 17,
    TypeRoot.DOUBLE: 33,
}
_PLAIN: Final = {
    TypeRoot.BOOLEAN: ("boolean",),
    TypeRoot.FLOAT: ("float",),
    TypeRoot.DOUBLE: ("float", "double"),
    TypeRoot.CHAR: ("varchar",),
    TypeRoot.VARCHAR: ("varchar",),
    TypeRoot.BINARY: ("blob",),
    TypeRoot.VARBINARY: ("blob",),
    TypeRoot.DATE: ("date",),
    TypeRoot.TIME: ("time",),
    TypeRoot.TIMESTAMP: ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"),
    TypeRoot.TIMESTAMP_LTZ: ("timestamp with time zone",),
}
_NOTHING: Final = "null"  # a result that is always NULL


def is_lossless(found: "DuckDBPyType", wanted: DataType) -> bool:
    """Return whether a column holds results of a type without loss; single ones may not fit (`result_arrays`)."""
    kind, parts = found.id, _parts(found)
    if kind == _NOTHING or kind in _PLAIN.get(wanted.root, ()):
        return True
    if kind in _WHOLE:
        bits, digits = _WHOLE[kind]
        if wanted.root is TypeRoot.DECIMAL:
            return digits <= _digits(wanted)
        return bits <= _BITS.get(wanted.root, 0)
    match kind, wanted.root:
        case "decimal", TypeRoot.DECIMAL:
            (_, precision), (_, scale) = parts
            return bool(scale <= (wanted.scale or 0) and precision - scale <= _digits(wanted))
        case "list", TypeRoot.ARRAY:
            assert wanted.element is not None, "an ARRAY has an element type"
            ((_, child),) = parts
            return is_lossless(child, wanted.element)
        case "map", TypeRoot.MAP:
            assert wanted.key is not None, "a MAP has a key type"
            assert wanted.value is not None, "a MAP has a value type"
            (_, key), (_, value) = parts
            return is_lossless(key, wanted.key) and is_lossless(value, wanted.value)
        case "struct", TypeRoot.ROW:
            names = [field.name for field in wanted.fields]
            return names == [name for name, _ in parts] and all(
                is_lossless(child, field.type)
                for (_, child), field in zip(parts, wanted.fields, strict=True)
            )
        case _:
            return False


def _parts(found: "DuckDBPyType") -> Any:
    """Return the parts of a type with their names: of a DECIMAL its digits, of others the types inside of it."""
    return found.children if found.id in ("decimal", "list", "map", "struct") else ()


def _digits(wanted: DataType) -> int:
    """Return the number of digits of a DECIMAL before the point."""
    return (wanted.precision or 0) - (wanted.scale or 0)
