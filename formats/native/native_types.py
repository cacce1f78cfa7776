"""Native types: the interface to the types that a schema declares, and the check that a stream's columns can be read from them.

The schemas of Avro, Protobuf and Kafka Connect have native types, and so have the MySQL types that Canal's messages name.

`undeclared_fields` returns the fields of such a type from which no column is read.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from braid.formats.field_tree import FieldTree
from braid.formats.native.kinds import NativeKind, can_fill
from braid.lake import DataType, TypeRoot

_NESTED: Final = {
    (NativeKind.LIST, TypeRoot.ARRAY),
    (NativeKind.MAP, TypeRoot.MAP),
    (NativeKind.RECORD, TypeRoot.ROW),
}


class NativeType(Protocol):
    """The type of a value in a schema; one that is recursive contains itself."""

    @property
    def possible(self) -> Sequence["NativeType"]:
        """The types that a value which is not null can have: of a union its branches, else the type itself."""
        ...

    @property
    def native_kind(self) -> NativeKind:
        """The kind of its values; a union has none."""
        ...

    @property
    def column_type(self) -> DataType | None:
        """The type of a column that holds each of its values; None of types with parts, and where there is none."""
        ...

    @property
    def item(self) -> "NativeType | None":
        """The type of the items of a list, or of the values of a map."""
        ...

    @property
    def fields(self) -> Mapping[str, "NativeType"]:
        """The fields of a record, by name."""
        ...

    @property
    def identity(self) -> Hashable:
        """What a record's type has in common with itself only, however it is reached in its schema."""
        ...


def types_at(declared: NativeType, path: Sequence[str]) -> list[NativeType]:
    """Return the types that a field can have; none if no message has it.

    Args:
        declared: The type of the messages.
        path: Names from the message to the field; the name behind a map is any of its keys.
    """
    found = list(declared.possible)
    for name in path:
        inner: list[NativeType] = []
        for possible in found:
            if possible.native_kind is NativeKind.MAP and possible.item is not None:
                inner += possible.item.possible
            elif possible.native_kind is NativeKind.RECORD and name in possible.fields:
                inner += possible.fields[name].possible
        found = inner
    return found


def misfit(possible: Sequence[NativeType], data_type: DataType) -> str | None:
    """Return why no value can fill a column, such as `a text, not INT`; None if one can.

    Args:
        possible: The types that the value can have.
        data_type: The type of the column.
    """
    reasons = [_misfit(one, data_type) for one in possible]
    return reasons[0] if reasons and None not in reasons else None


def _misfit(declared: NativeType, data_type: DataType) -> str | None:
    kind = declared.native_kind
    if not can_fill(kind, data_type.root):
        return f"{kind.value}, not {data_type.with_nullable(True)}"
    if (kind, data_type.root) not in _NESTED:
        return None
    if kind is NativeKind.RECORD:
        for field in data_type.fields:
            if field.name in declared.fields:
                inner = misfit(declared.fields[field.name].possible, field.type)
                if inner is not None:
                    return f"{kind.value} whose field `{field.name}` is {inner}"
        return None
    inner_type = data_type.element or data_type.value
    assert declared.item is not None, "a list or map has a type of items"
    assert inner_type is not None, "an ARRAY or MAP has a type of items"
    inner = misfit(declared.item.possible, inner_type)
    return None if inner is None else f"{kind.value} of {inner}"


def undeclared_fields(
    declared: NativeType, tree: FieldTree, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """Yield the fields from which no column is read, in records from which one is read, and inside of ROWs.

    Args:
        declared: The type of the messages.
        tree: The fields that are read.
        path: The path of `declared` in the message.
    """
    for record in declared.possible:
        if record.native_kind is not NativeKind.RECORD:
            continue
        for name, part in record.fields.items():
            here = (*path, name)
            if name in tree.objects:
                yield from undeclared_fields(part, tree.objects[name], here)
            elif name in tree.values:
                yield from _fields_beside(part, tree.values[name], here)
            elif tree.has_columns and name not in tree.names:
                yield here


def _fields_beside(
    declared: NativeType, data_type: DataType, path: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """Yield the fields of records that the ROWs of a column do not have."""
    for possible in declared.possible:
        if (possible.native_kind, data_type.root) not in _NESTED:
            continue
        if possible.native_kind is NativeKind.RECORD:
            types = {field.name: field.type for field in data_type.fields}
            for name, part in possible.fields.items():
                if name in types:
                    yield from _fields_beside(part, types[name], (*path, name))
                else:
                    yield (*path, name)
            continue
        inner = data_type.element or data_type.value
        if possible.item is not None and inner is not None:
            yield from _fields_beside(possible.item, inner, path)
