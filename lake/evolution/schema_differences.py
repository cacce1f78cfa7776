"""Differences between two schemas of a table, as the schema changes that lead from one to the other.

Columns are matched by id. So a rename is found as a rename, and a column that was dropped and added
again is found as a drop and an addition. The changes are listed in this order: drops, changes of
columns that stay, additions, moves, options, comment. Additions and moves use the new names of
columns, the other changes the old names. A path into a column begins with the old name of the
column, because the column is renamed after the changes inside it. An option that was rewritten
because a column was renamed appears like any other changed option. Two differences are not listed:
a dropped primary key, and a changed order of the fields inside a ROW.

Pure. The result is shown in the history that users read.

Source: merge-semantics 8.3.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from braid.lake.evolution.column_tree import inner_types
from braid.lake.evolution.schema_changes import (
    AddColumn,
    DropColumn,
    Path,
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
    UpdateComment,
)
from braid.lake.format.data_types import DataField, DataType, TypeRoot
from braid.lake.format.schema import TableSchema

_Fields = tuple[DataField, ...]


def schema_differences(old: TableSchema, new: TableSchema) -> tuple[SchemaChange, ...]:
    """Return the changes from one schema to a later one, columns first.

    Args:
        old: A schema of a table.
        new: A later schema of the same table.
    """
    return (
        *_fields((), old.fields, new.fields),
        *_moves(old.fields, new.fields),
        *_options(old, new),
        *([UpdateComment(comment=new.comment)] if old.comment != new.comment else []),
    )


def _fields(path: Path, old: _Fields, new: _Fields) -> Iterator[SchemaChange]:
    kept = {field.id: field for field in new}
    # Drops come before renames: another column may have got the name of a dropped one.
    yield from (DropColumn(path=(*path, field.name)) for field in old if field.id not in kept)
    for field in old:
        if field.id in kept:
            yield from _field((*path, field.name), field, kept[field.id])
    known = {field.id for field in old}
    for index, field in enumerate(new):
        if field.id in known:
            continue
        here = (*path, field.name)
        position = _position(new, index) if index + 1 < len(new) else None
        yield AddColumn(
            path=here, type=field.type, description=field.description, position=position
        )
        if field.default_value is not None:
            yield UpdateColumnDefault(path=here, default_value=field.default_value)


def _field(path: Path, old: DataField, new: DataField) -> Iterator[SchemaChange]:
    yield from _types(path, old.type, new.type)
    if old.description != new.description:
        yield UpdateColumnComment(path=path, description=new.description)
    if old.default_value != new.default_value:
        yield UpdateColumnDefault(path=path, default_value=new.default_value)
    if old.name != new.name:
        yield RenameColumn(path=path, name=new.name)


def _types(path: Path, old: DataType, new: DataType) -> Iterator[SchemaChange]:
    if old.nullable != new.nullable:
        yield UpdateColumnNullability(path=path, nullable=new.nullable)
    if old.root is not new.root or not old.is_nested or old.key != new.key:
        if old.with_nullable(True) != new.with_nullable(True):
            yield UpdateColumnType(path=path, type=new, keep_nullability=True)
        return
    if old.root is TypeRoot.ROW:
        yield from _fields(path, old.fields, new.fields)
    for held in inner_types(path, old, new):
        yield from _types(*held)


def _moves(old: _Fields, new: _Fields) -> Iterator[SchemaChange]:
    """Yield the fewest moves that bring the columns of both schemas into the new order."""
    ids = {field.id for field in new}
    old_index = {field.id: index for index, field in enumerate(old) if field.id in ids}
    wanted = [field for field in new if field.id in old_index]
    # Columns whose old indexes ascend need no move, so the longest ascending subsequence stays.
    stay = _longest_ascending([old_index[field.id] for field in wanted])
    for index, field in enumerate(wanted):
        if index not in stay:
            yield UpdateColumnPosition(name=field.name, position=_position(wanted, index))


def _longest_ascending(numbers: Sequence[int]) -> set[int]:
    """Return the indexes of a longest ascending subsequence of distinct numbers, in O(n log n)."""
    # Of all ascending subsequences of n + 1 numbers, numbers[ends[n]] is the least number at their end.
    ends: list[int] = []
    before: list[int | None] = []
    for index, number in enumerate(numbers):
        length = bisect_left(ends, number, key=numbers.__getitem__)
        before.append(ends[length - 1] if length else None)
        ends[length : length + 1] = [index]
    found = set[int]()
    at = ends[-1] if ends else None
    while at is not None:
        found.add(at)
        at = before[at]
    return found


def _position(fields: Sequence[DataField], index: int) -> Position:
    if index == 0:
        return Position(kind=PositionKind.FIRST)
    return Position(kind=PositionKind.AFTER, neighbour=fields[index - 1].name)


def _options(old: TableSchema, new: TableSchema) -> Iterator[SchemaChange]:
    for key in sorted(old.options.keys() | new.options.keys()):
        value = new.options.get(key)
        if value is None:
            yield RemoveOption(key=key)
        elif value != old.options.get(key):
            yield SetOption(key=key, value=value)
