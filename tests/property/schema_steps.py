"""Changes of a schema, drawn at random and made to the model's columns as well."""

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from braid.lake import (
    AddColumn,
    DropColumn,
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
from tests.property.evolving_columns import FAMILIES, LEAVES, Column, rows_within

NAMES = tuple("abcdefgh")
"""Few, so that one that has gone comes back with another meaning."""
FREE_OPTIONS = {
    "target-file-size": ("1 kb", "128 mb"),
    "num-sorted-run.compaction-trigger": ("2", "5"),
    "compaction.small-file-ratio": ("0.01", "0.7"),
    "file.compression": ("zstd", "none"),
    "file.format": ("parquet", "orc", "avro"),
    "write-only": ("true", "false"),
}


@dataclass(frozen=True, kw_only=True)
class Roles:
    """What columns are to the table, by their ids.

    Attributes:
        keys: The primary key, which keeps its type.
        fixed: Of it, what is never renamed: the partition.
        named: Columns that options name, which are not dropped.
    """

    keys: Collection[int]
    fixed: Collection[int]
    named: Collection[int]


def drawn_change(data: st.DataObject, columns: list[Column], roles: Roles) -> SchemaChange | None:
    """Draw a change and make it to the columns; None where there is nothing of its kind to change.

    Args:
        data: Draws.
        columns: Changed by this.
        roles: Of the columns.
    """
    kinds: Sequence[Callable[[st.DataObject, list[Column], Roles], SchemaChange | None]] = (
        *(_add, _add, _drop, _rename, _rename, _type, _type, _move, _default),
        *(_allow_null, _comment, _option),
    )
    return data.draw(st.sampled_from(kinds))(data, columns, roles)


def refused_changes(columns: Sequence[Column], roles: Roles) -> list[SchemaChange]:
    """Return changes that no table takes while it holds data."""
    key = next(one.name for one in columns if one.id in roles.keys)
    other = next(one.name for one in columns if one.id not in roles.keys)
    integer = parse_type("INT")
    refused: list[SchemaChange] = [
        DropColumn(path=(key,)),
        UpdateColumnType(path=(key,), type=parse_type("BYTES")),
        UpdateColumnNullability(path=(key,), nullable=True),
        AddColumn(path=(other,), type=integer),
        AddColumn(path=("z",), type=integer.with_nullable(False)),
        RenameColumn(path=(other,), name=key),
        RenameColumn(path=("z",), name="y"),
        UpdateColumnType(path=(other,), type=parse_type("MAP<INT, INT>")),
        UpdateColumnPosition(
            name=other, position=Position(kind=PositionKind.AFTER, neighbour=other)
        ),
        SetOption(key="merge-engine", value="none"),
        SetOption(key="bucket", value="7"),
        SetOption(key="num-levels", value="many"),
    ]
    refused += [DropColumn(path=(one.name,)) for one in columns if one.id in roles.named]
    refused += [
        RenameColumn(path=(one.name,), name="z") for one in columns if one.id in roles.fixed
    ]
    return refused


def _siblings(data: st.DataObject, columns: list[Column]) -> tuple[tuple[str, ...], list[Column]]:
    """Draw whose fields to change: the table's most often."""
    within = [(path, inner.fields) for path, inner in rows_within(columns)]
    return data.draw(st.sampled_from([((), columns)] * (len(within) + 1) + within))


def _add(data: st.DataObject, columns: list[Column], _: Roles) -> SchemaChange | None:
    path, siblings = _siblings(data, columns)
    free = [name for name in NAMES if name not in {one.name for one in siblings}]
    if not free or len(siblings) > 12:
        return None
    name = data.draw(st.sampled_from(free))
    column = _drawn_column(data, name, depth=len(path))
    position = None
    if data.draw(st.booleans()):
        neighbour = data.draw(st.sampled_from(siblings)).name
        place = data.draw(st.sampled_from(PositionKind))
        is_beside = place in (PositionKind.AFTER, PositionKind.BEFORE)
        position = Position(kind=place, neighbour=neighbour if is_beside else None)
    _put(siblings, column, position or Position(kind=PositionKind.LAST))
    return AddColumn(path=(*path, name), type=parse_type(column.sql), position=position)


def _drawn_column(data: st.DataObject, name: str, *, depth: int) -> Column:
    families = [*LEAVES, *(["row", "list", "map"] if depth < 3 else [])]
    family = data.draw(st.sampled_from(families))
    if family in FAMILIES:
        return Column(name, family, data.draw(st.sampled_from(FAMILIES[family])))
    inner = [_drawn_column(data, one, depth=3) for one in data.draw(st.sampled_from(["a", "ba"]))]
    return Column(name, family, fields=inner)


def _drop(data: st.DataObject, columns: list[Column], roles: Roles) -> SchemaChange | None:
    path, siblings = _siblings(data, columns)
    droppable = [
        one for one in siblings if path or not (one.id in roles.keys or one.id in roles.named)
    ]
    if len(siblings) == 1 or not droppable:
        return None
    column = data.draw(st.sampled_from(droppable))
    siblings.remove(column)
    return DropColumn(path=(*path, column.name))


def _rename(data: st.DataObject, columns: list[Column], roles: Roles) -> SchemaChange | None:
    path, siblings = _siblings(data, columns)
    free = [name for name in NAMES if name not in {one.name for one in siblings}]
    ours = [one for one in siblings if one.id not in roles.fixed]
    if not free or not ours:
        return None
    column, name = data.draw(st.sampled_from(ours)), data.draw(st.sampled_from(free))
    change = RenameColumn(path=(*path, column.name), name=name)
    column.name = name
    return change


def _type(data: st.DataObject, columns: list[Column], roles: Roles) -> SchemaChange | None:
    path, siblings = _siblings(data, columns)
    leaves = [one for one in siblings if one.is_leaf and one.id not in roles.keys]
    if not leaves:
        return None
    column = data.draw(st.sampled_from(leaves))
    others = [kind for kind in FAMILIES[column.family] if kind != column.type]
    column.type = data.draw(st.sampled_from(others))
    return UpdateColumnType(
        path=(*path, column.name), type=parse_type(column.type), keep_nullability=True
    )


def _move(data: st.DataObject, columns: list[Column], _: Roles) -> SchemaChange | None:
    column, neighbour = data.draw(st.sampled_from(list(itertools.permutations(columns, 2))))
    place = data.draw(st.sampled_from(PositionKind))
    is_beside = place in (PositionKind.AFTER, PositionKind.BEFORE)
    position = Position(kind=place, neighbour=neighbour.name if is_beside else None)
    columns.remove(column)
    _put(columns, column, position)
    return UpdateColumnPosition(name=column.name, position=position)


def _default(data: st.DataObject, columns: list[Column], roles: Roles) -> SchemaChange | None:
    ours = [
        one
        for one in columns
        if one.family in ("count", "whole")
        and one.id not in roles.keys
        and one.id not in roles.named
    ]
    if not ours:
        return None
    column = data.draw(st.sampled_from(ours))
    column.default = data.draw(st.none() | st.integers(0, 9))
    text = None if column.default is None else str(column.default)
    return UpdateColumnDefault(path=(column.name,), default_value=text)


def _allow_null(_: st.DataObject, columns: list[Column], roles: Roles) -> SchemaChange | None:
    for one in columns:
        if not one.nullable and one.id not in roles.keys:
            one.nullable = True
            return UpdateColumnNullability(path=(one.name,), nullable=True)
    return None


def _comment(data: st.DataObject, columns: list[Column], _: Roles) -> SchemaChange:
    column = data.draw(st.sampled_from(columns))
    return UpdateColumnComment(
        path=(column.name,), description=data.draw(st.sampled_from(["x", "y"]))
    )


def _option(data: st.DataObject, _: list[Column], __: Roles) -> SchemaChange:
    key = data.draw(st.sampled_from(sorted(FREE_OPTIONS)))
    value = data.draw(st.none() | st.sampled_from(FREE_OPTIONS[key]))
    return RemoveOption(key=key) if value is None else SetOption(key=key, value=value)


def _put(siblings: list[Column], column: Column, position: Position) -> None:
    match position.kind:
        case PositionKind.FIRST:
            siblings.insert(0, column)
        case PositionKind.LAST:
            siblings.append(column)
        case PositionKind.AFTER | PositionKind.BEFORE:
            names = [one.name for one in siblings]
            assert position.neighbour is not None
            at = names.index(position.neighbour) + (position.kind is PositionKind.AFTER)
            siblings.insert(at, column)
