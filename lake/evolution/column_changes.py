"""Changes of columns: add, rename, drop, move, and change of type, nullability, comment or default.

Source: merge-semantics 8.3, for ids 8.1.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

from braid.lake.evolution.column_tree import Fields, edit_siblings, edit_type, index_of
from braid.lake.evolution.field_ids import number_new_field
from braid.lake.evolution.option_renames import rename_in_options
from braid.lake.evolution.refused_change import refuse
from braid.lake.evolution.schema_changes import (
    AddColumn,
    DropColumn,
    Path,
    Position,
    PositionKind,
    RenameColumn,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
)
from braid.lake.format.casts.rules import can_cast, has_conversion
from braid.lake.format.data_types import DataField, DataType
from braid.lake.format.schema import TableSchema


def add_column(schema: TableSchema, change: AddColumn) -> TableSchema:
    """Return the schema with one more field, at its position, with an id above all others.

    Raises:
        RefusedChangeError: The new field is NOT NULL, its name is taken, or its parent or its neighbour
            does not exist.
    """
    if not change.type.nullable:
        message = "existing rows have no value for it"
        hint = "leave `NOT NULL` out"
        refuse("type", str(change.type), message, hint)
    name = change.path[-1]
    field, highest = number_new_field(
        DataField(name=name, type=change.type, description=change.description),
        highest_field_id=schema.highest_field_id,
    )

    def add(siblings: Fields) -> Fields:
        _check_free(siblings, name)
        position = change.position or _default_position(schema, change.path)
        return _placed(siblings, field, position)

    assert highest > schema.highest_field_id, "the new field has an id of its own"
    fields = edit_siblings(schema.fields, change.path, add)
    return replace(schema, fields=fields, highest_field_id=highest)


def rename_column(schema: TableSchema, change: RenameColumn) -> TableSchema:
    """Return the schema with a field of another name; keys follow, and most options that name a column.

    Raises:
        RefusedChangeError: The field does not exist or is a partition column, or the new name is empty or
            taken.
    """
    old, new = change.path[-1], change.name
    # Only a column of the table can be part of a key or be named by an option; nested fields cannot.
    is_column = len(change.path) == 1
    if is_column and old in schema.partition_keys:
        _refuse_key(old, "its name is part of the directories of the table's files")
    if not new:
        refuse("to", new, "the name of a column must not be empty")

    def rename(siblings: Fields) -> Fields:
        index = index_of(siblings, old)
        if new != old:
            _check_free(siblings, new, part="to")
        renamed = replace(siblings[index], name=new)
        return (*siblings[:index], renamed, *siblings[index + 1 :])

    fields = edit_siblings(schema.fields, change.path, rename)
    if not is_column:
        return replace(schema, fields=fields)
    return replace(
        schema,
        fields=fields,
        primary_keys=tuple(new if name == old else name for name in schema.primary_keys),
        options=rename_in_options(schema.options, old, new),
    )


def drop_column(schema: TableSchema, change: DropColumn) -> TableSchema:
    """Return the schema without a field.

    Raises:
        RefusedChangeError: The field does not exist, belongs to a key, or is the only one left.
    """
    name = change.path[-1]
    if len(change.path) == 1 and name in (*schema.primary_keys, *schema.partition_keys):
        _refuse_key(name, "its values identify the rows")

    def drop(siblings: Fields) -> Fields:
        index = index_of(siblings, name)
        if len(siblings) == 1:
            refuse("name", name, "it is the only field, and at least one must stay")
        return (*siblings[:index], *siblings[index + 1 :])

    return replace(schema, fields=edit_siblings(schema.fields, change.path, drop))


def update_type(schema: TableSchema, change: UpdateColumnType) -> TableSchema:
    """Return the schema with another type of a field, or of the elements of a field.

    Raises:
        RefusedChangeError: The field belongs to a key, its old values cannot be read as the new type, or
            they may be null while the new type is NOT NULL.
    """
    name = change.path[0]
    if name in (*schema.primary_keys, *schema.partition_keys):
        _refuse_key(name, "its values decide the bucket of a row and the order of rows in files")

    def update(old: DataType) -> DataType:
        # `old` may be the type of the elements of an ARRAY or of the values of a MAP inside the column.
        new = change.type.with_nullable(old.nullable) if change.keep_nullability else change.type
        if not change.keep_nullability:
            _check_nullability(schema, change.path, old, new)
        _check_cast(schema, old, new)
        return new

    fields = edit_type(schema.fields, change.path, update)
    return replace(schema, fields=fields)


def update_nullability(schema: TableSchema, change: UpdateColumnNullability) -> TableSchema:
    """Return the schema with another nullability of a field.

    Raises:
        RefusedChangeError: The field belongs to the primary key, or existing rows may have null in it.
    """
    if change.nullable and change.path[0] in schema.primary_keys:
        _refuse_key(change.path[0], "a key is never null")

    def update(old: DataType) -> DataType:
        new = old.with_nullable(change.nullable)
        _check_nullability(schema, change.path, old, new)
        return new

    return replace(schema, fields=edit_type(schema.fields, change.path, update))


def update_comment(schema: TableSchema, change: UpdateColumnComment) -> TableSchema:
    """Return the schema with another description of a field.

    Raises:
        RefusedChangeError: There is no such field.
    """
    return _edit_field(
        schema, change.path, lambda field: replace(field, description=change.description)
    )


def update_default(schema: TableSchema, change: UpdateColumnDefault) -> TableSchema:
    """Return the schema with another default of a field; the rules for tables check the value.

    Raises:
        RefusedChangeError: There is no such field.
    """
    return _edit_field(
        schema, change.path, lambda field: replace(field, default_value=change.default_value)
    )


def move_column(schema: TableSchema, change: UpdateColumnPosition) -> TableSchema:
    """Return the schema with a column at another position.

    Raises:
        RefusedChangeError: The column or its neighbour does not exist, or they are the same.
    """
    index = index_of(schema.fields, change.name)
    if change.position.neighbour == change.name:
        refuse("name", change.name, "a column cannot be moved beside itself")
    others = (*schema.fields[:index], *schema.fields[index + 1 :])
    return replace(schema, fields=_placed(others, schema.fields[index], change.position))


def _edit_field(
    schema: TableSchema, path: Path, edit: Callable[[DataField], DataField]
) -> TableSchema:
    def edit_one(siblings: Fields) -> Fields:
        index = index_of(siblings, path[-1])
        return (*siblings[:index], edit(siblings[index]), *siblings[index + 1 :])

    return replace(schema, fields=edit_siblings(schema.fields, path, edit_one))


def _placed(siblings: Fields, field: DataField, position: Position) -> Fields:
    match position.kind:
        case PositionKind.FIRST:
            return (field, *siblings)
        case PositionKind.LAST:
            return (*siblings, field)
        case PositionKind.AFTER | PositionKind.BEFORE:
            assert position.neighbour is not None
            index = index_of(siblings, position.neighbour)
            index += position.kind is PositionKind.AFTER
            return (*siblings[:index], field, *siblings[index:])


def _default_position(schema: TableSchema, path: Path) -> Position:
    if len(path) == 1 and schema.partition_keys and _is_on(schema, "add-column-before-partition"):
        first = next(name for name in schema.field_names if name in schema.partition_keys)
        return Position(kind=PositionKind.BEFORE, neighbour=first)
    return Position(kind=PositionKind.LAST)


def _check_free(siblings: Fields, name: str, *, part: str = "name") -> None:
    if any(field.name == name for field in siblings):
        refuse(part, name, "a column of that name exists already")


def _check_nullability(schema: TableSchema, path: Path, old: DataType, new: DataType) -> None:
    key = "alter-column-null-to-not-null.disabled"
    if old.nullable and not new.nullable and _is_on(schema, key, default=True):
        message = "existing rows may have null in the column"
        hint = f"if you know that no row has null, set the table option `{key}` to false"
        refuse("name", ".".join(path), message, hint)


def _check_cast(schema: TableSchema, old: DataType, new: DataType) -> None:
    # Old files keep the old type, so every reader has to be able to cast their values.
    explicitly = not _is_on(schema, "disable-explicit-type-casting")
    if not can_cast(old, new, explicitly=explicitly) or not has_conversion(old, new):
        message = f"values of type {old} cannot be converted to this type"
        hint = "change the fields of a nested column one by one" if old.is_nested else None
        refuse("type", str(new), message, hint)


def _refuse_key(name: str, why: str) -> NoReturn:
    refuse("name", name, f"a key column cannot be changed in this way: {why}")


def _is_on(schema: TableSchema, key: str, *, default: bool = False) -> bool:
    text = schema.options.get(key)
    return default if text is None else text.strip().lower() == "true"
