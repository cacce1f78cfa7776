"""Schema changes of a case, as the engine takes them."""

from collections.abc import Mapping
from typing import Any

from braid.lake import (
    AddColumn,
    DropColumn,
    DropPrimaryKey,
    Position,
    PositionKind,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    parse_type,
)
from tests.conformance.outcome import NotYet


def schema_change(raw: Mapping[str, Any]) -> SchemaChange:
    """Return one change of an `alter` step.

    Raises:
        NotYet: There is none of the kind.
    """
    match raw["op"]:
        case "set_option":
            return SetOption(key=raw["key"], value=raw["value"])
        case "remove_option":
            return RemoveOption(key=raw["key"])
        case "drop_primary_key":
            return DropPrimaryKey()
        case "position":
            position = _position(raw)
            assert position is not None
            return UpdateColumnPosition(name=raw["name"], position=position)
        case _:
            return _column_change(raw)


def _column_change(raw: Mapping[str, Any]) -> SchemaChange:
    path = _path(raw["name"])
    match raw["op"]:
        case "add":
            return AddColumn(path=path, type=parse_type(raw["type"]), position=_position(raw))
        case "rename":
            return RenameColumn(path=path, name=raw["to"])
        case "drop":
            return DropColumn(path=path)
        case "type":
            keeps = bool(raw.get("keep_nullability", False))
            return UpdateColumnType(path=path, type=parse_type(raw["type"]), keep_nullability=keeps)
        case "nullability":
            return UpdateColumnNullability(path=path, nullable=raw["nullable"])
        case "default":
            return UpdateColumnDefault(path=path, default_value=raw["value"])
        case "comment":
            return UpdateColumnComment(path=path, description=raw["value"])
        case other:
            message = f"alter {other}"
            raise NotYet(message)


def _path(name: str | list[str]) -> tuple[str, ...]:
    return (name,) if isinstance(name, str) else tuple(name)


def _position(raw: Mapping[str, Any]) -> Position | None:
    for place in (PositionKind.FIRST, PositionKind.LAST):
        if raw.get(place):
            return Position(kind=place)
    for place in (PositionKind.AFTER, PositionKind.BEFORE):
        if place in raw:
            return Position(kind=place, neighbour=raw[place])
    return None
