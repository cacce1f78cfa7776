"""Type check of the attributes of schema changes.

Python callers can pass values of any type. The common mistake is a `str` as a path: each of its letters
would count as a name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Final

from braid.lake.evolution.refused_change import refuse
from braid.lake.evolution.schema_changes import Position, SchemaChange
from braid.lake.format.data_types import DataType

_SHOWN_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class _Kind:
    """The values that an attribute may have.

    Attributes:
        is_right: Returns whether a value is allowed.
        expected: Description of the allowed values, for messages.
        hint: An example of such a value; None where `expected` is enough.
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
"""Kinds by attribute name; an attribute name means the same in every change."""


def check_parts(change: SchemaChange) -> None:
    """Refuse a change with an attribute of the wrong type.

    Raises:
        RefusedChangeError: An attribute has the wrong type; the error names the first such attribute.
    """
    for field in fields(change):
        value = getattr(change, field.name)
        kind = _KINDS[field.name]
        # An optional attribute is None by default.
        if (value is None and field.default is None) or kind.is_right(value):
            continue
        refuse(
            field.name,
            repr(value)[:_SHOWN_MAX],
            f"expected {kind.expected}",
            kind.hint,
        )
