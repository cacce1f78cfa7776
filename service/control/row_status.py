"""Which stream has delivered what of one row: pure, from the row and the table's rules.

| state   | when                                                                            |
|---------|---------------------------------------------------------------------------------|
| absent  | all ordering columns of the group are null, and so is `<group>__at`             |
| deleted | else, and `<group>__op` is `clear`: the stream's newest touch emptied the group |
| deleted | else, and a retract left nothing of a group that deletes clear (see below)      |
| stale   | else, and `<group>__at` is older than the table's staleness for the group       |
| present | else                                                                            |

Tables from before deletes were written as upserts of nulls hold retracts: these took `<group>__at` and
`<group>__op` along with the group's columns and left its order.

A table that declines tracking knows absent and present only. A row is complete when every group
of the completeness rule is present or stale.
"""

from collections.abc import Mapping
from datetime import datetime

from formats.json_values import json_row, json_value
from lake import TableSchema, split_offset
from registry.layout.delete_options import deletes_of
from registry.layout.physical_table import OP_CLEAR, PhysicalGroup, physical_groups
from schemas import (
    Arrival,
    Deletes,
    GroupState,
    GroupStatus,
    RowStatus,
    SnapshotInfo,
    TableDocument,
)

_DELIVERED = (GroupState.PRESENT, GroupState.STALE)


def row_status(
    document: TableDocument,
    schema: TableSchema,
    *,
    key: Mapping[str, object],
    row: Mapping[str, object] | None,
    now_ms: int,
    snapshot: SnapshotInfo,
) -> RowStatus:
    """Return the status of a row.

    Args:
        document: The table's rules and streams.
        schema: The table's columns.
        key: The typed primary key.
        row: Its values, at least those of the ordering and tracking columns; None: no such row.
        now_ms: When the row was read, milliseconds since the epoch, UTC.
        snapshot: Where it was read.
    """
    owners = {entry.spec.sequence_group: name for name, entry in document.streams.items()}
    groups = {
        group.name: _group_status(
            group,
            schema,
            row=row or {},
            is_cleared=_is_cleared(document, group),
            owner=owners.get(group.name),
            stale_after_seconds=_stale_after_seconds(document, group.name),
            now_ms=now_ms,
        )
        for group in physical_groups(document.table)
    }
    rule = document.table.completeness.groups
    complete_when = tuple(groups) if rule == "all" else rule
    return RowStatus(
        key=json_row(key, [schema.field(name) for name in key]),
        exists=row is not None,
        complete=row is not None
        and all(groups[name].state in _DELIVERED for name in complete_when),
        complete_when=complete_when,
        groups=groups,
        snapshot=snapshot,
    )


def status_columns(document: TableDocument, schema: TableSchema) -> list[str]:
    """Return the columns that status rests on: reading a row's status needs no others.

    Args:
        document: The table's rules.
        schema: The table's columns: one that is from before arrival completed every order lacks
            those of arrival until a stream is claimed.
    """
    return [
        name
        for group in physical_groups(document.table)
        for name in (
            *group.ordering,
            *group.tracking_columns,
            *(group.columns if _is_cleared(document, group) else ()),
        )
        if name in schema.fields_by_name
    ]


def _is_cleared(document: TableDocument, group: PhysicalGroup) -> bool:
    """Return whether deletes clear the group, in a table that knows when it was touched."""
    deletes = deletes_of(document.table, group.name)
    return group.op_column is not None and deletes is Deletes.CLEAR_COLUMNS


def _group_status(
    group: PhysicalGroup,
    schema: TableSchema,
    *,
    row: Mapping[str, object],
    is_cleared: bool,
    owner: str | None,
    stale_after_seconds: int | None,
    now_ms: int,
) -> GroupStatus:
    touched = row.get(group.at_column) if group.at_column is not None else None
    age_seconds = None
    if touched is not None:
        assert isinstance(touched, datetime)
        age_seconds = max(0.0, now_ms / 1000 - touched.timestamp())
    if touched is None and all(row.get(name) is None for name in group.ordering):
        state = GroupState.ABSENT
    elif (group.op_column is not None and row.get(group.op_column) == OP_CLEAR) or (
        is_cleared and all(row.get(name) is None for name in group.protected)
    ):
        state = GroupState.DELETED
    elif (
        age_seconds is not None
        and stale_after_seconds is not None
        and age_seconds > stale_after_seconds
    ):
        state = GroupState.STALE
    else:
        state = GroupState.PRESENT
    return GroupStatus(
        state=state,
        stream=owner,
        ordering={
            name: json_value(row.get(name), schema.field(name).type)
            for name in group.declared or group.ordering
        },
        arrival=_arrival(group, row),
        last_touched=None
        if group.at_column is None
        else json_value(touched, schema.field(group.at_column).type),
        age_seconds=None if age_seconds is None else round(age_seconds, 3),
        stale_after_seconds=stale_after_seconds,
    )


def _arrival(group: PhysicalGroup, row: Mapping[str, object]) -> Arrival | None:
    stored, partition = row.get(group.offset_column), row.get(group.partition_column)
    if not isinstance(stored, int) or not isinstance(partition, int):
        return None
    generation, offset = split_offset(stored)
    return Arrival(generation=generation, partition=partition, offset=offset)


def _stale_after_seconds(document: TableDocument, group: str) -> int | None:
    staleness = document.table.staleness
    return staleness.groups.get(group, staleness.default_seconds)
