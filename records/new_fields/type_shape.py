"""Shapes of fields whose types a schema declares; the type of a new column is derived from its field's shape.

| type in the schema | type of a new column |
|---|---|
| scalar | as in `native.column_types` |
| list, map | ARRAY, MAP with STRING keys |
| record | ROW of its fields |
| union | a type that holds the values of all branches; null is ignored |
| record without fields, record that contains itself, or record with names that a ROW cannot have | STRING: JSON |
| list, map or record that is nested too deeply | STRING: JSON |

A type that no column can hold, or that has too many nested types, has no shape (`NoColumnError`). The shapes are the same as
in `value_shape`, which derives column types from them.
"""

from collections.abc import Hashable, Sequence
from typing import Final

from braid.formats.native.kinds import NativeKind
from braid.formats.native.native_types import NativeType
from braid.records.new_fields.value_shape import (
    DEPTH_MAX,
    NOTHING,
    TEXT,
    Kind,
    Shape,
    are_names,
    join,
    typed,
)

_PARTS_MAX: Final = 5_000


class NoColumnError(Exception):
    """No column can hold the values of a type; the message says why."""


def shape_of_type(possible: Sequence[NativeType]) -> Shape:
    """Return the shape of all values of a field.

    Args:
        possible: The types that the value can have, without null.

    Returns:
        The shape; `NOTHING` if the value is always null.

    Raises:
        NoColumnError: The field may have a value that no column holds, or too many parts.
    """
    return _Shapes().shape(possible, ())


class _Shapes:
    """The shapes of one field's parts, which are counted: a few named types can be nested to very many fields."""

    def __init__(self) -> None:
        self._parts = 0
        # Records that were found inside of themselves.
        self._recursive: set[Hashable] = set()

    def shape(self, possible: Sequence[NativeType], around: tuple[Hashable, ...]) -> Shape:
        found = NOTHING
        for one in possible:
            found = join(found, self._shape(one, around))
        return found

    def _shape(self, declared: NativeType, around: tuple[Hashable, ...]) -> Shape:
        self._parts += 1
        if self._parts > _PARTS_MAX:
            message = f"its type has more than {_PARTS_MAX} parts"
            raise NoColumnError(message)
        kind = declared.native_kind
        match kind:
            case NativeKind.NULL:
                return NOTHING
            case NativeKind.LIST | NativeKind.MAP | NativeKind.RECORD if len(around) >= DEPTH_MAX:
                return TEXT
            case NativeKind.LIST | NativeKind.MAP:
                assert declared.item is not None, "a list or map has a type of items"
                item = self.shape(declared.item.possible, (*around, None))
                return Shape(kind=Kind.LIST if kind is NativeKind.LIST else Kind.MAP, item=item)
            case NativeKind.RECORD:
                return self._record(declared, around)
            case _ if declared.column_type is None:
                message = f"no column can hold {kind.value}"
                raise NoColumnError(message)
            case _:
                return typed(declared.column_type)

    def _record(self, declared: NativeType, around: tuple[Hashable, ...]) -> Shape:
        me = declared.identity
        if me in around:
            self._recursive.add(me)
            return TEXT
        fields = [
            (name, self.shape(part.possible, (*around, me)))
            for name, part in declared.fields.items()
        ]
        if me in self._recursive or not are_names(declared.fields):
            return TEXT
        return Shape(kind=Kind.OBJECT, fields=tuple(fields))
