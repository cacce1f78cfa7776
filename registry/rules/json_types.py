"""Column types that cannot be read from JSON: a stream with one would fail at its first record."""

from collections.abc import Iterator
from typing import Final

from braid.lake import DataType, TypeRoot

_DIGITS_MAX: Final = 6  # of a second, inside of a nested type
_NEEDS_CHECK: Final = frozenset(
    {TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.CHAR, TypeRoot.BINARY, TypeRoot.TIME}
)
_TIMESTAMPS: Final = frozenset({TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ})

HINT = (
    "declare nested values with BOOLEAN, INT, BIGINT, FLOAT, DOUBLE, DECIMAL, STRING, BYTES, DATE "
    "or a timestamp of up to 6 digits, and the keys of a MAP with STRING"
)


def unreadable_in_json(data_type: DataType) -> str | None:
    """Return why a column of this type cannot be read from JSON; None when it can.

    Example:
        >>> from braid.lake import parse_type
        >>> unreadable_in_json(parse_type("ARRAY<TINYINT>"))
        'values of type TINYINT inside of another type cannot be checked'
    """
    return next(_reasons(data_type), None)


def _reasons(data_type: DataType) -> Iterator[str]:
    if data_type.root is TypeRoot.MULTISET:
        yield "JSON has no MULTISET"
    if data_type.root is TypeRoot.MAP and data_type.key is not None:
        key = data_type.key.root
        if key is not TypeRoot.VARCHAR:
            yield f"the keys of a JSON object are text, not {key.value}"
    parts = [data_type.element, data_type.key, data_type.value]
    for part in [*parts, *(field.type for field in data_type.fields)]:
        if part is None:
            continue
        is_too_fine = part.root in _TIMESTAMPS and (part.precision or 0) > _DIGITS_MAX
        if part.root in _NEEDS_CHECK or is_too_fine:
            shown = part.with_nullable(True)
            yield f"values of type {shown} inside of another type cannot be checked"
        yield from _reasons(part)
