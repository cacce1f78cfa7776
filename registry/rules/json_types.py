"""Column types that no stream reads, whatever its format: MULTISET, and MAP with keys of another type than VARCHAR. Pure."""

from collections.abc import Iterator
from typing import Final

from braid.lake import DataType, TypeRoot

HINT: Final = "declare an ARRAY or a MAP instead of a MULTISET, and the keys of a MAP with STRING"


def unreadable_in_json(data_type: DataType) -> str | None:
    """Return why a column of this type cannot be read from JSON, and by no stream; None when it can.

    Example:
        >>> from braid.lake import parse_type
        >>> unreadable_in_json(parse_type("ARRAY<MAP<INT, INT>>"))
        'the keys of a JSON object are text, not INT'
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
        if part is not None:
            yield from _reasons(part)
