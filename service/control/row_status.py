"""Status of one row by sequence group: pure, from the row, the table's declaration and the time.

The first line that applies decides:

| state   | condition                                                                 |
|---------|---------------------------------------------------------------------------|
| absent  | all ordering columns of the group are null, and so is `<group>__at`       |
| deleted | `<group>__op` is `clear`: the newest record has cleared the group         |
| deleted | all protected columns of a group that deletes clear are null (see below)  |
| stale   | `<group>__at` is older than the table's staleness for the group           |
| present | otherwise                                                                 |

Deletes are written as upserts of nulls. Earlier versions wrote retracts, so older tables have deleted groups in
which `<group>__at`, `<group>__op` and the group's columns are null and its ordering columns are not.

A table without tracking has the states absent and present only. A row is complete iff it exists and every group
of the completeness rule is present or stale.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from braid.formats.json_values import json_row, json_value
from braid.lake import TableSchema, split_offset
from braid.registry.layout.delete_options import deletes_of
from braid.registry.layout.physical_table import OP_CLEAR, PhysicalGroup, physical_groups
from braid.schemas import (
    Arrival,
    Deletes,
    GroupState,
    GroupStatus,
    RowStatus,
    SnapshotInfo,
    TableDocument,
)

_DELIVERED = (GroupState.PRESENT, GroupState.STALE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _GroupRules:
    """Rules of one sequence group.

    Attributes:
        group: The group.
        is_cleared: Whether deletes clear it.
        owner: The stream that owns it; None: none.
        stale_after_seconds: The age from which its part of a row is stale; None: never.
    """

    group: PhysicalGroup
    is_cleared: bool
    owner: str | None
    stale_after_seconds: int | None


class StatusRules:
    """The rules by which the status of a table's rows is computed; immutable.

    Attributes:
        columns: The columns that a status is computed from: those of the key, and those of `status_columns`.
        complete_when: The groups that make a row complete.
    """

    def __init__(self, document: TableDocument, schema: TableSchema) -> None:
        """Derive the rules from the table's declaration with its streams, and from its columns."""
        owners = {entry.spec.sequence_group: name for name, entry in document.streams.items()}
        self._schema = schema
        self._groups = [
            _GroupRules(
                group=group,
                is_cleared=is_cleared(document, group),
                owner=owners.get(group.name),
                stale_after_seconds=stale_after_seconds(document, group.name),
            )
            for group in physical_groups(document.table)
        ]
        self.complete_when = complete_when(document)
        names = {rules.group.name for rules in self._groups}
        assert names.issuperset(self.complete_when), "the rule names groups of the table"
        columns = [*schema.primary_keys, *status_columns(document, schema)]
        self.columns = tuple(dict.fromkeys(columns))

    def status(
        self,
        *,
        key: Mapping[str, object],
        row: Mapping[str, object] | None,
        now_ms: int,
        snapshot: SnapshotInfo,
        integers_as_text: bool = False,
    ) -> RowStatus:
        """Return the status of a row.

        Args:
            key: The typed primary key.
            row: The row's values, at least those of `columns` but for the key; None: no such row.
            now_ms: Time of the read, milliseconds since the epoch, UTC.
            snapshot: The snapshot that the row was read from.
            integers_as_text: Values of BIGINT are text.
        """
        schema, rule = self._schema, self.complete_when
        groups = {
            rules.group.name: _group_status(
                rules, schema, row=row or {}, now_ms=now_ms, integers_as_text=integers_as_text
            )
            for rules in self._groups
        }
        fields = [schema.field(name) for name in key]
        return RowStatus(
            key=json_row(key, fields, integers_as_text=integers_as_text),
            exists=row is not None,
            complete=row is not None and all(groups[name].state in _DELIVERED for name in rule),
            complete_when=rule,
            groups=groups,
            snapshot=snapshot,
        )


def complete_when(document: TableDocument) -> tuple[str, ...]:
    """Return the names of the groups that make a row complete."""
    rule = document.table.completeness.groups
    return tuple(group.name for group in physical_groups(document.table)) if rule == "all" else rule


def status_columns(document: TableDocument, schema: TableSchema) -> list[str]:
    """Return the columns from which the status of a row is computed.

    Args:
        document: The table's declaration.
        schema: The table's schema. A table from before every group's order ended with arrival columns
            lacks these columns until a stream is claimed.
    """
    return [
        name
        for group in physical_groups(document.table)
        for name in (
            *group.ordering,
            *group.tracking_columns,
            *(group.declared_columns if is_cleared(document, group) else ()),
        )
        if name in schema.fields_by_name
    ]


def is_cleared(document: TableDocument, group: PhysicalGroup) -> bool:
    """Return whether deletes clear the group, in a table with tracking."""
    deletes = deletes_of(document.table, group.name)
    return group.op_column is not None and deletes is Deletes.CLEAR_COLUMNS


def _group_status(
    rules: _GroupRules,
    schema: TableSchema,
    *,
    row: Mapping[str, object],
    now_ms: int,
    integers_as_text: bool,
) -> GroupStatus:
    group, stale_after_seconds = rules.group, rules.stale_after_seconds
    touched = row.get(group.at_column) if group.at_column is not None else None
    age_seconds = None
    if touched is not None:
        assert isinstance(touched, datetime)
        # Producers' clocks may be ahead of ours, but no age is negative. Whole milliseconds, which no subtraction rounds.
        age_seconds = max(0, now_ms - round(touched.timestamp() * 1_000)) / 1_000
    if touched is None and all(row.get(name) is None for name in group.ordering):
        state = GroupState.ABSENT
    elif (group.op_column is not None and row.get(group.op_column) == OP_CLEAR) or (
        rules.is_cleared and all(row.get(name) is None for name in group.protected_columns)
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
        stream=rules.owner,
        ordering={
            name: json_value(
                row.get(name), schema.field(name).type, integers_as_text=integers_as_text
            )
            for name in group.declared_ordering or group.ordering
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


def stale_after_seconds(document: TableDocument, group: str) -> int | None:
    """Return the age from which a group's part of a row is stale; None: never."""
    staleness = document.table.staleness
    return staleness.groups.get(group, staleness.default_seconds)
