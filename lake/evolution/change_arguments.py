"""Whether the parts of a schema change are of the right kind, before anything is done with them.

A text is no path: it would be taken as the names of its letters.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Final

from lake.evolution.refused_change import refuse
from lake.evolution.schema_changes import Position, SchemaChange
from lake.format.data_types import DataType

_SHOWN_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class _Kind:
    """What one part has to be.

    Attributes:
        is_right: Says it of a value.
        expected: What to expect, for people.
        hint: How to come by one; None when `expected` says it all.
    """

    is_right: Callable[[object], bool]
    expected: str
    hint: str | None = None


def _is_path(value: object) -> bool:
    return isinstance(value, tuple) and value != () and all(isinstance(n, str) for n in value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_PATH: Final = _Kind(
    _is_path, "a tuple of at least one name", 'such as `("city",)`, or `("address", "city")`'
)
_TEXT: Final = _Kind(_is_text, "text")
_OPTIONAL_TEXT: Final = _Kind(lambda value: value is None or _is_text(value), "text or None")
_FLAG: Final = _Kind(lambda value: isinstance(value, bool), "True or False")
_KINDS: Final[Mapping[str, _Kind]] = {
    "path": _PATH,
    "name": _TEXT,
    "key": _TEXT,
    "value": _Kind(_is_text, "text", "such as `4` or `true`, in quotes"),
    "type": _Kind(
        lambda value: isinstance(value, DataType), "a type", 'such as `parse_type("INT")`'
    ),
    "comment": _OPTIONAL_TEXT,
    "description": _OPTIONAL_TEXT,
    "default_value": _OPTIONAL_TEXT,
    "nullable": _FLAG,
    "keep_nullability": _FLAG,
    "position": _Kind(
        lambda value: isinstance(value, Position),
        "a position",
        "such as `Position(kind=PositionKind.LAST)`",
    ),
}
"""By the name of the part; it is the same in every change."""


def check_parts(change: SchemaChange) -> None:
    """Refuse a change with a part of the wrong kind.

    Raises:
        RefusedChangeError: Names the first such part.
    """
    for field in fields(change):
        value = getattr(change, field.name)
        kind = _KINDS[field.name]
        # A part that may be left out is None by default.
        if (value is None and field.default is None) or kind.is_right(value):
            continue
        refuse(
            field.name,
            repr(value)[:_SHOWN_MAX],
            f"expected {kind.expected}",
            kind.hint,
        )
