"""The schema changes that make one declaration of a table another. Pure.

Renamed columns are not told from a dropped and an added one: `braid table alter` renames. What no change can do, such as another
primary key, is left for the caller to find by comparing the result.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from braid.schemas import (
    AddColumnChange,
    AddSequenceGroupChange,
    ColumnPlace,
    ColumnPosition,
    ColumnSpec,
    DropColumnChange,
    RemoveOptionChange,
    SequenceGroupSpec,
    SetOptionChange,
    TableChange,
    TableSpec,
    UpdateColumnAggregateChange,
    UpdateColumnCommentChange,
    UpdateColumnDefaultChange,
    UpdateColumnNullabilityChange,
    UpdateColumnTypeChange,
    UpdateCommentChange,
    UpdateRowTtlChange,
)

_NOT_NULL: Final = " NOT NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """Changes of a table, and its declaration after them.

    Attributes:
        changes: The changes, in order; empty: none is needed.
        table: The declaration after them; it differs from the wanted one where no change helps.
    """

    changes: tuple[TableChange, ...]
    table: TableSpec

    @property
    def dropped(self) -> tuple[str, ...]:
        """Names of the columns that lose their values."""
        return tuple(
            ".".join(change.path) for change in self.changes if isinstance(change, DropColumnChange)
        )


def derive_changes(before: TableSpec, after: TableSpec) -> Derived:
    """Return the changes of a registered table that give it the wanted declaration, as far as changes can.

    Args:
        before: The registered declaration.
        after: The wanted one.
    """
    changes: list[TableChange] = []
    kept = [column for column in before.columns if column.name in after.column_names]
    changes += [
        DropColumnChange(change="drop_column", column=column.name)
        for column in before.columns
        if column not in kept
    ]
    groups = [_without(group, after.column_names) for group in before.sequence_groups]
    columns = kept
    for place, column in enumerate(after.columns):
        if column.name in before.column_names:
            continue
        group = _group_of(after, column.name, {group.name for group in groups})
        neighbour = after.columns[place - 1].name if place else None
        changes.append(_added(column, group, after, _position(columns, neighbour)))
        columns = _inserted(columns, column, neighbour)
        groups = [_with_column(one, column.name, group) for one in groups]
    added = [g for g in after.sequence_groups if before.sequence_group(g.name) is None]
    changes += [
        AddSequenceGroupChange(change="add_sequence_group", **dict(group)) for group in added
    ]
    wanted = {column.name: column for column in after.columns}
    for old in kept:
        changes += _column_changes(old, wanted[old.name])
        # No change sets whether a column may be unordered.
        wanted[old.name] = wanted[old.name].model_copy(update={"unordered": old.unordered})
    changes += _table_changes(before, after)
    declared = {
        "columns": tuple(wanted[column.name] for column in columns),
        "sequence_groups": (*groups, *added),
        "comment": after.comment,
        "row_ttl": after.row_ttl,
        "options": after.options,
    }
    return Derived(changes=tuple(changes), table=before.model_copy(update=declared))


def _without(group: SequenceGroupSpec, names: Sequence[str]) -> SequenceGroupSpec:
    """Return a group without the columns that are dropped."""
    kept = {
        name: tuple(column for column in getattr(group, name) if column in names)
        for name in ("columns", "keep")
    }
    return group.model_copy(update=kept)


def _group_of(spec: TableSpec, column: str, known: set[str]) -> SequenceGroupSpec | None:
    """Return the group that protects a column, if it is one of the known ones."""
    found = (group for group in spec.sequence_groups if column in group.columns)
    return next((group for group in found if group.name in known), None)


def _added(
    column: ColumnSpec,
    group: SequenceGroupSpec | None,
    spec: TableSpec,
    position: ColumnPosition | None,
) -> AddColumnChange:
    return AddColumnChange(
        change="add_column",
        column=column.name,
        type=column.type,
        description=column.description,
        position=position,
        default=column.default,
        aggregate=column.aggregate,
        sequence_group=None if group is None else group.name,
        keep=group is not None and column.name in group.keep,
        unordered=column.unordered,
    )


def _position(columns: Sequence[ColumnSpec], neighbour: str | None) -> ColumnPosition | None:
    """Return the position of a column that is added behind another; None: at the end."""
    if neighbour is None:
        return ColumnPosition(place=ColumnPlace.FIRST)
    if columns and columns[-1].name == neighbour:
        return None
    return ColumnPosition(place=ColumnPlace.AFTER, neighbour=neighbour)


def _inserted(
    columns: Sequence[ColumnSpec], column: ColumnSpec, neighbour: str | None
) -> list[ColumnSpec]:
    names = [one.name for one in columns]
    place = 0 if neighbour is None else names.index(neighbour) + 1
    return [*columns[:place], column, *columns[place:]]


def _with_column(
    group: SequenceGroupSpec, column: str, owner: SequenceGroupSpec | None
) -> SequenceGroupSpec:
    if owner is None or group.name != owner.name:
        return group
    keep = (*group.keep, column) if column in owner.keep else group.keep
    return group.model_copy(update={"columns": (*group.columns, column), "keep": keep})


def _column_changes(old: ColumnSpec, new: ColumnSpec) -> Iterator[TableChange]:
    column = new.name
    if _base(old.type) != _base(new.type):
        yield UpdateColumnTypeChange(
            change="update_column_type", column=column, type=_base(new.type)
        )
    if _is_nullable(old.type) != _is_nullable(new.type):
        yield UpdateColumnNullabilityChange(
            change="update_column_nullability", column=column, nullable=_is_nullable(new.type)
        )
    if old.description != new.description:
        yield UpdateColumnCommentChange(
            change="update_column_comment", column=column, description=new.description
        )
    if old.default != new.default:
        yield UpdateColumnDefaultChange(
            change="update_column_default", column=column, default=new.default
        )
    if old.aggregate != new.aggregate:
        yield UpdateColumnAggregateChange(
            change="update_column_aggregate", column=column, aggregate=new.aggregate
        )


def _table_changes(before: TableSpec, after: TableSpec) -> Iterator[TableChange]:
    if before.comment != after.comment:
        yield UpdateCommentChange(change="update_comment", comment=after.comment)
    if before.row_ttl != after.row_ttl:
        yield UpdateRowTtlChange(change="update_row_ttl", row_ttl=after.row_ttl)
    yield from _option_changes(before.options, after.options)


def _option_changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[TableChange]:
    for key, value in after.items():
        if before.get(key) != value:
            yield SetOptionChange(change="set_option", key=key, value=value)
    for key in sorted(before.keys() - after.keys()):
        yield RemoveOptionChange(change="remove_option", key=key)


def _base(type_text: str) -> str:
    return type_text[: -len(_NOT_NULL)] if not _is_nullable(type_text) else type_text


def _is_nullable(type_text: str) -> bool:
    return not type_text.upper().endswith(_NOT_NULL)
