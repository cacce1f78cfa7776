"""The engine's changes for a request to change a table that is not registered. Pure.

Such a table has no declaration. So changes of sequence groups, streams, the time to live of rows and aggregate
functions are refused. Except for streams, these are options of the table format here.
"""

from collections.abc import Sequence
from typing import Final, assert_never

from braid.lake import (
    AddColumn,
    ChangeProblem,
    DropColumn,
    InvalidRequest,
    Position,
    PositionKind,
    Problem,
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
    parse_type,
)
from braid.schemas import (
    AddColumnChange,
    AddSequenceGroupChange,
    ColumnPosition,
    DropColumnChange,
    RemoveOptionChange,
    RenameColumnChange,
    SetOptionChange,
    TableChange,
    UpdateColumnAggregateChange,
    UpdateColumnCommentChange,
    UpdateColumnDefaultChange,
    UpdateColumnNullabilityChange,
    UpdateColumnPositionChange,
    UpdateColumnTypeChange,
    UpdateCommentChange,
    UpdateRowTtlChange,
)

_OF_REGISTERED: Final = ("aggregate", "sequence_group", "stream", "source", "keep", "unordered")


def engine_changes(changes: Sequence[TableChange]) -> tuple[SchemaChange, ...]:
    """Return the engine's changes, in order.

    Raises:
        InvalidRequest: A type cannot be parsed, or a change needs a registered table.
    """
    found = (one for index, change in enumerate(changes) for one in _engine(change, index))
    return tuple(found)


def _engine(change: TableChange, index: int) -> Sequence[SchemaChange]:
    match change:
        case AddColumnChange():
            return _added(change, index)
        case DropColumnChange():
            return [DropColumn(path=change.path)]
        case RenameColumnChange():
            return [RenameColumn(path=change.path, name=change.to)]
        case UpdateColumnTypeChange():
            data_type = parse_type(change.type)
            return [UpdateColumnType(path=change.path, type=data_type, keep_nullability=True)]
        case UpdateColumnNullabilityChange():
            return [UpdateColumnNullability(path=change.path, nullable=change.nullable)]
        case UpdateColumnCommentChange():
            return [UpdateColumnComment(path=change.path, description=change.description)]
        case UpdateColumnDefaultChange():
            return [UpdateColumnDefault(path=change.path, default_value=change.default)]
        case UpdateColumnPositionChange():
            return [UpdateColumnPosition(name=change.column, position=_position(change.position))]
        case UpdateCommentChange():
            return [UpdateComment(comment=change.comment)]
        case SetOptionChange():
            return [SetOption(key=change.key, value=change.value)]
        case RemoveOptionChange():
            return [RemoveOption(key=change.key)]
        case UpdateColumnAggregateChange() | AddSequenceGroupChange() | UpdateRowTtlChange():
            raise _only_registered(index, "change", change.change, "set the options of the format")
        case _:
            assert_never(change)


def _added(change: AddColumnChange, index: int) -> Sequence[SchemaChange]:
    for part in _OF_REGISTERED:
        if getattr(change, part) not in (None, False):
            raise _only_registered(index, part, str(getattr(change, part)), "leave it out")
    added = AddColumn(
        path=change.path,
        type=parse_type(change.type),
        description=change.description,
        position=None if change.position is None else _position(change.position),
    )
    if change.default is None:
        return [added]
    return [added, UpdateColumnDefault(path=change.path, default_value=change.default)]


def _position(position: ColumnPosition) -> Position:
    return Position(kind=PositionKind(position.place.value), neighbour=position.neighbour)


def _only_registered(index: int, part: str, value: str, hint: str) -> InvalidRequest:
    problem = Problem(
        field=part,
        value=value,
        message="only registered tables support this, and the table is not registered",
        hint=hint,
    )
    message = "the schema cannot be changed as requested"
    return InvalidRequest(message, problems=[ChangeProblem.at(index, problem)])
