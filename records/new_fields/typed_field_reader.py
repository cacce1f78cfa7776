"""Reader of the undeclared fields of messages with a schema: what the table needs before the messages can be written.

The schema change that a message needs is determined once for the type of the message, from all fields of the type, whether
or not a message has values for them. Values are read in three cases only; `undeclared_field_reader` reads them in the last
two:

- a field cannot become a column: messages that have a value for the field are refused;
- a value does not fit its column, which may need a wider type;
- a message may have fields that its type does not declare (`MessageTypes.is_whole`), or no schema declares its type.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from braid.formats.field_tree import FieldTree
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_types import MessageTypes
from braid.formats.native.kinds import NativeKind
from braid.formats.native.native_types import NativeType, types_at
from braid.lake import DataType, TypeRoot
from braid.records.new_fields.schema_delta import NO_DELTA, FieldPath, SchemaDelta, merge_deltas
from braid.records.new_fields.type_shape import NoColumnError, shape_of_type
from braid.records.new_fields.undeclared_field_reader import (
    UndeclaredFieldReader,
    UnrepresentableFieldError,
    check_inner_name,
    held,
    refuse_field,
    value_at,
)
from braid.records.new_fields.value_shape import Kind, Shape


@dataclass(slots=True)
class _Found:
    """What the messages of a type need.

    Attributes:
        declared: The type, which is kept so that it stays the one of its identity.
        delta: Fields that become columns, and columns that get more fields.
        told: The paths of the undeclared fields that the type has, those that stay out included.
        refused: Why fields stay out, by their path; of those inside of a column it begins with the path of the
            column, which stands beside them.
    """

    declared: NativeType
    delta: SchemaDelta = NO_DELTA
    told: frozenset[FieldPath] = frozenset()
    refused: list[tuple[FieldPath, MappedColumn | None, str]] = field(default_factory=list)


class TypedFieldReader:
    """Reads undeclared fields from the types of the messages of one stream."""

    def __init__(self, fields: UndeclaredFieldReader, types: MessageTypes) -> None:
        """Prepare to read.

        Args:
            fields: The stream's declaration, and what is refused.
            types: The types of its messages.
        """
        self._fields = fields
        self._types = types
        self._known: dict[int, _Found] = {}

    def read(self, payload: bytes, tree: Callable[[], Any], *, is_unfit: bool) -> SchemaDelta:
        """Return what the table needs before a message can be written.

        Args:
            payload: The message.
            tree: Returns the message as JSON (`MessageReader.tree`), which is needed for few messages only.
            is_unfit: Whether a value of the message does not fit its column.

        Raises:
            UnrepresentableFieldError: The message has a field, or a value of a column, that no permitted change
                of the table could hold; the error names it.
            ValueError: It is no message of its schema.
        """
        declared = self._types.type_of(payload)
        if declared is None:
            return self._fields.read(tree())
        found = self._known.get(id(declared))
        if found is None:
            found = self._known[id(declared)] = self._found(declared)
        if not found.refused and not is_unfit and self._types.is_whole:
            return found.delta
        message = tree()
        beyond = NO_DELTA if self._types.is_whole else self._fields.beside(message, found.told)
        for path, column, why in found.refused:
            if _has_value(message, path, column):
                raise UnrepresentableFieldError(why)
        if not is_unfit and not beyond:
            return found.delta
        wider = self._fields.wider(message, finds_fields=False)
        return merge_deltas([found.delta, beyond, SchemaDelta(wider=wider)])

    def _found(self, declared: NativeType) -> _Found:
        found = _Found(declared)
        new: dict[FieldPath, Shape] = {}
        wider: dict[str, Shape] = {}
        beside = _merged(_beside(declared, self._fields.tree, ()))
        found.told = frozenset(beside)
        for path, possible in beside.items():
            try:
                new_shape = _shape([self._types.of_column(one) for one in possible], path)
                if new_shape.kind is not Kind.NOTHING:
                    self._fields.check_new(path)
                    new[path] = new_shape
            except UnrepresentableFieldError as error:
                found.refused.append((path, None, str(error)))
        for column in self._fields.plan.field_columns:
            shape = self._missing_parts(column, types_at(declared, column.path), found)
            if shape is not None:
                wider[column.name] = shape
        found.delta = SchemaDelta(new=new, wider=wider)
        return found

    def _missing_parts(
        self, column: MappedColumn, possible: Sequence[NativeType], found: _Found
    ) -> Shape | None:
        """Return the shape of the fields that the ROWs of a column lack; None: there are none to be added."""
        parts = _Parts(column, found)
        shape = parts.shape(possible, column.type, column.path)
        if shape is None:
            return None
        try:
            self._fields.check_wider(column)
        except UnrepresentableFieldError as error:
            found.refused += [(path, column, str(error)) for path in parts.added]
            return None
        return shape


class _Parts:
    """The fields that the ROWs of one column lack."""

    def __init__(self, column: MappedColumn, found: _Found) -> None:
        self._column = column
        self._found = found
        self.added: list[FieldPath] = []

    def shape(
        self, possible: Sequence[NativeType], data_type: DataType, path: FieldPath
    ) -> Shape | None:
        """Return the shape of the missing fields, as `UndeclaredFieldReader.wider` does; None: there are none."""
        match data_type.root:
            case TypeRoot.ROW:
                return self._of_row(possible, data_type, path)
            case TypeRoot.ARRAY:
                return self._of_items(possible, NativeKind.LIST, data_type.element, path)
            case TypeRoot.MAP:
                return self._of_items(possible, NativeKind.MAP, data_type.value, path)
            case _:
                return None

    def _of_items(
        self,
        possible: Sequence[NativeType],
        kind: NativeKind,
        item_type: DataType | None,
        path: FieldPath,
    ) -> Shape | None:
        assert item_type is not None, "an ARRAY or MAP has a type of items"
        items = [
            item
            for one in possible
            if one.native_kind is kind and one.item is not None
            for item in one.item.possible
        ]
        shape = self.shape(items, item_type, path)
        if shape is None:
            return None
        return Shape(kind=Kind.LIST if kind is NativeKind.LIST else Kind.MAP, item=shape)

    def _of_row(
        self, possible: Sequence[NativeType], row: DataType, path: FieldPath
    ) -> Shape | None:
        types = {inner.name: inner.type for inner in row.fields}
        folded = {name.lower(): name for name in types}
        parts = _merged(
            ((name,), part.possible)
            for one in possible
            if one.native_kind is NativeKind.RECORD
            for name, part in one.fields.items()
        )
        shapes = {}
        for (name,), part in parts.items():
            here = (*path, name)
            shape: Shape | None
            if name in types:
                shape = self.shape(part, types[name], here)
            else:
                shape = self._new_part(part, here, folded)
            if shape is not None:
                shapes[name] = shape
        return Shape(kind=Kind.OBJECT, fields=tuple(shapes.items())) if shapes else None

    def _new_part(
        self, possible: Sequence[NativeType], path: FieldPath, folded: dict[str, str]
    ) -> Shape | None:
        try:
            shape = _shape(possible, path)
            if shape.kind is Kind.NOTHING:
                return None
            check_inner_name(path[-1], folded, ".".join(path))
        except UnrepresentableFieldError as error:
            self._found.refused.append((path, self._column, str(error)))
            return None
        folded[path[-1].lower()] = path[-1]
        self.added.append(path)
        return shape


def _beside(
    declared: NativeType, tree: FieldTree, path: FieldPath
) -> Iterator[tuple[FieldPath, Sequence[NativeType]]]:
    """Yield the undeclared fields of records in which the stream reads a field."""
    for record in declared.possible:
        if record.native_kind is not NativeKind.RECORD:
            continue
        for name, part in record.fields.items():
            if name in tree.objects:
                yield from _beside(part, tree.objects[name], (*path, name))
            elif tree.has_columns and name not in tree.names:
                yield (*path, name), part.possible


def _merged(
    found: Iterator[tuple[FieldPath, Sequence[NativeType]]],
) -> Mapping[FieldPath, Sequence[NativeType]]:
    """Return the types of fields that several branches of a union have."""
    merged: dict[FieldPath, list[NativeType]] = {}
    for path, possible in found:
        merged.setdefault(path, []).extend(possible)
    return merged


def _shape(possible: Sequence[NativeType], path: FieldPath) -> Shape:
    try:
        return shape_of_type(possible)
    except NoColumnError as error:
        refuse_field(".".join(path), str(error))


def _has_value(message: Any, path: FieldPath, column: MappedColumn | None) -> bool:
    """Return whether a message has a value for a field, in a part of a column if one is given."""
    if column is None:
        return value_at(message, path) is not None
    value = value_at(message, column.path)
    names = path[len(column.path) :]
    return any(one is not None for one in _values_in(value, column.type, names))


def _values_in(value: Any, data_type: DataType, names: FieldPath) -> Iterator[Any]:
    """Yield the values of a field inside of ROWs."""
    if data_type.root is TypeRoot.ROW and isinstance(value, dict):
        types = {inner.name: inner.type for inner in data_type.fields}
        if len(names) == 1:
            yield value.get(names[0])
        else:
            yield from _values_in(value.get(names[0]), types[names[0]], names[1:])
    for item, item_type in held(value, data_type):
        yield from _values_in(item, item_type, names)
