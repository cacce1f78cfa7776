"""Types and schema changes in the form of a conformance case, which the Java driver reads."""

from typing import Any, assert_never

from braid.lake import (
    AddColumn,
    DataType,
    DropColumn,
    DropPrimaryKey,
    Position,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
)
from braid.lake.format.type_codec import type_to_json


def java_type(data_type: DataType) -> Any:
    """Return a type; Java numbers the fields within by itself."""
    return _without_ids(type_to_json(data_type))


def _without_ids(document: Any) -> Any:
    if isinstance(document, list):
        return [_without_ids(one) for one in document]
    if isinstance(document, dict):
        return {key: _without_ids(value) for key, value in document.items() if key != "id"}
    return document


def java_change(change: SchemaChange) -> dict[str, Any]:
    """Return a change; the reverse of `tests.conformance.alter.schema_change`."""
    match change:
        case SetOption():
            return {"op": "set_option", "key": change.key, "value": change.value}
        case RemoveOption():
            return {"op": "remove_option", "key": change.key}
        case DropPrimaryKey():
            return {"op": "drop_primary_key"}
        case UpdateColumnPosition():
            return {"op": "position", "name": change.name, **_place(change.position)}
        case UpdateComment():
            message = "no step of a case changes the comment of a table"
            raise AssertionError(message)
        case _:
            return {"name": list(change.path), **_of_column(change)}


def _of_column(
    change: AddColumn
    | RenameColumn
    | DropColumn
    | UpdateColumnType
    | UpdateColumnNullability
    | UpdateColumnComment
    | UpdateColumnDefault,
) -> dict[str, Any]:
    match change:
        case AddColumn():
            place = {} if change.position is None else _place(change.position)
            return {"op": "add", "type": java_type(change.type), **place}
        case RenameColumn():
            return {"op": "rename", "to": change.name}
        case DropColumn():
            return {"op": "drop"}
        case UpdateColumnType():
            keeps = change.keep_nullability
            return {"op": "type", "type": java_type(change.type), "keep_nullability": keeps}
        case UpdateColumnNullability():
            return {"op": "nullability", "nullable": change.nullable}
        case UpdateColumnComment():
            return {"op": "comment", "value": change.description}
        case UpdateColumnDefault():
            return {"op": "default", "value": change.default_value}
        case _:
            assert_never(change)


def _place(position: Position) -> dict[str, Any]:
    return {position.kind.value: position.neighbour or True}
