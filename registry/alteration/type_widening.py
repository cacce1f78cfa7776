"""Safe widening of a column's type while a stream writes the column.

Pure. The stream's parser switches to the new type between two micro-batches, and files written before
are read as the new type from then on. Both are correct only if every value of the old type is a value of
the new one, and if every message that could be parsed before still can be.
"""

from collections.abc import Mapping
from typing import Final

from braid.lake import DataType, TypeRoot

_DIGITS: Final[Mapping[TypeRoot, int]] = {
    TypeRoot.TINYINT: 3,
    TypeRoot.SMALLINT: 5,
    TypeRoot.INT: 10,
    TypeRoot.BIGINT: 19,
}
"""Integer types, from narrow to wide, and the most decimal digits of a value."""

_EXACT_DIGITS: Final[Mapping[TypeRoot, int]] = {TypeRoot.FLOAT: 7, TypeRoot.DOUBLE: 15}
"""Every integer of that many digits has an exact value of the type: 10**7 < 2**24, 10**15 < 2**53."""

_TEXTS: Final = (TypeRoot.CHAR, TypeRoot.VARCHAR)
_BYTES: Final = (TypeRoot.BINARY, TypeRoot.VARBINARY)
_TIMES: Final = (TypeRoot.TIME, TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)


def is_safe_widening(old: DataType, new: DataType) -> bool:
    """Return whether a stream that writes the old type can continue with the new one.

    Nullability is ignored. Inside of nested types fields may be added, and none may be dropped.

    Example:
        >>> from braid.lake import parse_type
        >>> is_safe_widening(parse_type("INT"), parse_type("BIGINT"))
        True
        >>> is_safe_widening(parse_type("BIGINT"), parse_type("INT"))
        False
        >>> is_safe_widening(parse_type("DECIMAL(10, 2)"), parse_type("DECIMAL(12, 3)"))
        True
    """
    if old.root in _DIGITS:
        return _is_wider_than_whole(old, new)
    match old.root:
        case TypeRoot.FLOAT:
            return new.root in (TypeRoot.FLOAT, TypeRoot.DOUBLE)
        case TypeRoot.DECIMAL:
            return new.root is TypeRoot.DECIMAL and _holds_decimals(
                new, digits=_whole_digits(old), scale=old.scale or 0
            )
        case root if root in _TEXTS:
            return new.root in (root, TypeRoot.VARCHAR) and _is_longer(old, new)
        case root if root in _BYTES:
            return new.root in (root, TypeRoot.VARBINARY) and _is_longer(old, new)
        case root if root in _TIMES:
            return new.root is root and (new.precision or 0) >= (old.precision or 0)
        case TypeRoot.ROW:
            return new.root is TypeRoot.ROW and _has_all_fields(old, new)
        case _:
            return new.root is old.root and _are_parts_followed(old, new)


def _is_wider_than_whole(old: DataType, new: DataType) -> bool:
    if new.root in _DIGITS:
        return _DIGITS[new.root] >= _DIGITS[old.root]
    if new.root is TypeRoot.DECIMAL:
        return _holds_decimals(new, digits=_DIGITS[old.root], scale=0)
    return _DIGITS[old.root] <= _EXACT_DIGITS.get(new.root, 0)


def _holds_decimals(new: DataType, *, digits: int, scale: int) -> bool:
    return (new.scale or 0) >= scale and _whole_digits(new) >= digits


def _whole_digits(decimal: DataType) -> int:
    return (decimal.precision or 0) - (decimal.scale or 0)


def _is_longer(old: DataType, new: DataType) -> bool:
    # A CHAR of another length holds another text: it is padded with blanks.
    is_char = new.root in (TypeRoot.CHAR, TypeRoot.BINARY)
    lengths = (old.length or 0, new.length or 0)
    return lengths[0] == lengths[1] if is_char else lengths[0] <= lengths[1]


def _has_all_fields(old: DataType, new: DataType) -> bool:
    types = {field.name: field.type for field in new.fields}
    return all(
        field.name in types and is_safe_widening(field.type, types[field.name])
        for field in old.fields
    )


def _are_parts_followed(old: DataType, new: DataType) -> bool:
    if old.key != new.key:
        return False
    pairs = ((old.element, new.element), (old.value, new.value))
    return all(a is None or (b is not None and is_safe_widening(a, b)) for a, b in pairs)
