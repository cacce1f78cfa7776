"""Options of the table format for the declared deletes and their retention, and the effect of deletes of a stream or group.

Pure. The rules for the declarations are in `braid.registry.rules.tables.delete_rules` and
`braid.registry.rules.tables.delete_retention`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from braid.registry.layout.column_functions import column_functions
from braid.schemas import Deletes, MergeEngine, TableSpec

REMOVE_ON_GROUP: Final = "partial-update.remove-record-on-sequence-group"
NULL_DELETES: Final = "braid.null-deletes"
NULL_DELETES_KEPT: Final = "braid.null-deletes.kept-fields"
NULL_DELETES_MARKS: Final = "braid.null-deletes.mark-fields"
DELETE_RETENTION: Final = "braid.delete-retention"
DELETE_TIME_FIELDS: Final = "braid.delete-retention.time-fields"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsAtDelete:
    """The columns of a sequence group by what a delete does to them.

    Attributes:
        name: The group's name.
        ordering: The group's ordering columns; a delete sets them to the values of the deleting record.
        own_orders: Ordering columns of the group's columns that have an order of their own.
        kept: Protected columns that get the values of the deleting record too, such as its time.
        marks: Protected columns that mark the group as cleared.
    """

    name: str
    ordering: tuple[str, ...]
    own_orders: tuple[str, ...]
    kept: tuple[str, ...]
    marks: tuple[str, ...]


def deletes_of(spec: TableSpec, group: str | None) -> Deletes | None:
    """Return the declared deletes of a group (of the whole table if `group` is None); None: not declared."""
    declared = None if group is None else spec.sequence_group(group)
    return spec.deletes if declared is None or declared.deletes is None else declared.deletes


def deletes_of_stream(spec: TableSpec, group: str | None) -> Deletes | None:
    """Return what the deletes of a stream do to the row.

    Args:
        spec: The table.
        group: The group that the stream owns; None: it owns none.

    Returns:
        None where the table does not declare it, or has groups and the stream owns none of them.
    """
    match spec.merge_engine:
        case MergeEngine.FIRST_ROW:
            return Deletes.IGNORE
        case MergeEngine.DEDUPLICATE:
            return Deletes.REMOVE_ROW if spec.deletes is None else spec.deletes
        case MergeEngine.PARTIAL_UPDATE if spec.sequence_groups and group is None:
            return None
        case _:
            return deletes_of(spec, group)


def deletes_by_group(spec: TableSpec) -> dict[str, Deletes | None]:
    """Return the declared deletes by sequence group; None for a group without a declaration."""
    return {
        group.name: spec.deletes if group.deletes is None else group.deletes
        for group in spec.sequence_groups
    }


def delete_options(spec: TableSpec, groups: Sequence[ColumnsAtDelete]) -> dict[str, str]:
    """Return the options of the table format for the declared deletes.

    Args:
        spec: The table.
        groups: The columns of each sequence group, in the table's order.

    Requires:
        `check_deletes` finds no problem in the table.
    """
    assert [group.name for group in groups] == [group.name for group in spec.sequence_groups]
    deletes = deletes_by_group(spec)
    # Ignoring is all or nothing (`delete_rules`, 1), so one group that ignores deletes decides.
    if Deletes.IGNORE in ({deletes[group.name] for group in groups} or {spec.deletes}):
        return {"ignore-delete": "true"}
    if groups:
        removing = [group for group in groups if deletes[group.name] is Deletes.REMOVE_ROW]
        options = {REMOVE_ON_GROUP: _columns(group.ordering for group in removing)}
        carrying = _groups_with_null_deletes(spec, deletes)
        bare = [group for group in groups if group.name in carrying]
        options[NULL_DELETES] = _columns((*group.ordering, *group.own_orders) for group in bare)
        options[NULL_DELETES_KEPT] = _columns(group.kept for group in bare)
        options[NULL_DELETES_MARKS] = _columns(group.marks for group in bare)
        return {key: value for key, value in options.items() if value}
    engine = spec.merge_engine
    if spec.deletes is not Deletes.REMOVE_ROW or engine is MergeEngine.DEDUPLICATE:
        return {}
    return {f"{engine.value}.remove-record-on-delete": "true"}


def removing_groups(spec: TableSpec) -> set[str | None]:
    """Return the groups whose deletes remove rows; None stands for a table without groups."""
    groups: list[str | None] = [group.name for group in spec.sequence_groups]
    removing = {one for one in groups or [None] if deletes_of(spec, one) is Deletes.REMOVE_ROW}
    if spec.merge_engine is MergeEngine.DEDUPLICATE and spec.deletes is None:
        removing.add(None)
    return removing


def retention_options(spec: TableSpec, at_columns: Mapping[str, str | None]) -> dict[str, str]:
    """Return the options of the table format for the declared retention of deletes.

    Args:
        spec: The table.
        at_columns: By sequence group, in the table's order, the column with the time of the newest
            record; None without tracking.

    Requires:
        `check_delete_retention` finds no problem in the table.
    """
    retention = spec.delete_retention
    if retention is None:
        return {}
    columns = retention.columns
    if columns is None:
        removing = removing_groups(spec)
        columns = tuple(
            at for group, at in at_columns.items() if at is not None and group in removing
        )
    return {DELETE_RETENTION: f"{retention.seconds} s", DELETE_TIME_FIELDS: ",".join(columns)}


def _groups_with_null_deletes(
    spec: TableSpec, deletes: Mapping[str, Deletes | None]
) -> frozenset[str]:
    """Return the groups whose deletes are written without values.

    A function that retracts needs the values. New tables with `clear_columns` have no functions.
    """
    combined = column_functions(spec).keys()
    return frozenset(
        group.name
        for group in spec.sequence_groups
        if deletes[group.name] in (Deletes.CLEAR_COLUMNS, Deletes.REMOVE_ROW)
        and combined.isdisjoint(group.columns)
    )


def _columns(lists: Iterable[Iterable[str]]) -> str:
    return ",".join(name for names in lists for name in names)
