"""Models of requests for schema changes, made from the engine's changes between two schemas. Pure."""

from typing import assert_never

from braid.lake import (
    AddColumn,
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
from braid.schemas import (
    AddColumnChange,
    ColumnPlace,
    ColumnPosition,
    DropColumnChange,
    RemoveOptionChange,
    RenameColumnChange,
    SetOptionChange,
    TableChange,
    UpdateColumnCommentChange,
    UpdateColumnDefaultChange,
    UpdateColumnNullabilityChange,
    UpdateColumnPositionChange,
    UpdateColumnTypeChange,
    UpdateCommentChange,
)


def change_model(change: SchemaChange) -> TableChange:
    """Return the model of a change as a request would contain it.

    Requires:
        The table holds data, so its key does not change: `DropPrimaryKey` has no model.
    """
    match change:
        case AddColumn():
            return AddColumnChange(
                change="add_column",
                column=_column(change.path),
                type=str(change.type),
                description=change.description,
                position=None if change.position is None else _position(change.position),
            )
        case DropColumn():
            return DropColumnChange(change="drop_column", column=_column(change.path))
        case RenameColumn():
            return RenameColumnChange(
                change="rename_column", column=_column(change.path), to=change.name
            )
        case UpdateColumnType():
            return UpdateColumnTypeChange(
                change="update_column_type", column=_column(change.path), type=str(change.type)
            )
        case UpdateColumnNullability():
            return UpdateColumnNullabilityChange(
                change="update_column_nullability",
                column=_column(change.path),
                nullable=change.nullable,
            )
        case UpdateColumnComment():
            return UpdateColumnCommentChange(
                change="update_column_comment",
                column=_column(change.path),
                description=change.description,
            )
        case UpdateColumnDefault():
            return UpdateColumnDefaultChange(
                change="update_column_default",
                column=_column(change.path),
                default=change.default_value,
            )
        case UpdateColumnPosition():
            return UpdateColumnPositionChange(
                change="update_column_position",
                column=change.name,
                position=_position(change.position),
            )
        case UpdateComment():
            return UpdateCommentChange(change="update_comment", comment=change.comment)
        case SetOption():
            return SetOptionChange(change="set_option", key=change.key, value=change.value)
        case RemoveOption():
            return RemoveOptionChange(change="remove_option", key=change.key)
        case DropPrimaryKey():
            raise AssertionError(change)
        case _:
            assert_never(change)


def _column(path: tuple[str, ...]) -> str | tuple[str, ...]:
    return path[0] if len(path) == 1 else path


def _position(position: Position) -> ColumnPosition:
    return ColumnPosition(place=ColumnPlace(position.kind.value), neighbour=position.neighbour)
