"""Finds one row of a table, and says at which snapshot and how fresh that is.

The clock is read before the newest snapshot is looked up: the answer is at least as fresh as
`verified_at` says, never less.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from lake import Clock, LakeError, Snapshot, Table
from schemas import RowStatus, SnapshotInfo, TableDocument
from service.control.json_values import json_row
from service.control.row_status import row_status, status_columns
from service.times import iso_utc


class RowNotFound(LakeError):
    """The table has no row of that key at its newest snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRow:
    """A row as JSON has it.

    Attributes:
        values: By column, in the table's order.
        snapshot: Where it was read.
    """

    values: Mapping[str, Any]
    snapshot: SnapshotInfo


def find_row(table: Table, key: Mapping[str, object], *, clock: Clock) -> FoundRow:
    """Return the row of a key at the newest snapshot.

    Raises:
        RowNotFound: There is none; the message says the key and the snapshot.
    """
    verified_ms = clock.now_ms()
    snapshot = table.latest_snapshot()
    row = None if snapshot is None else table.get(key, snapshot_id=snapshot.id)
    if row is None:
        shown = json_row(key, [table.schema.field(name) for name in key])
        where = "it has no snapshot yet" if snapshot is None else f"at snapshot {snapshot.id}"
        message = f"{table.identifier} has no row {orjson.dumps(shown).decode()}: {where}"
        raise RowNotFound(message)
    return FoundRow(
        values=json_row(row, table.schema.fields),
        snapshot=_snapshot_info(snapshot, verified_ms),
    )


def find_row_status(
    table: Table, document: TableDocument, key: Mapping[str, object], *, clock: Clock
) -> RowStatus:
    """Return the status of the row of a key at the newest snapshot, be it there or not."""
    verified_ms = clock.now_ms()
    snapshot = table.latest_snapshot()
    columns = [*key, *status_columns(document)]
    row = None if snapshot is None else table.get(key, columns=columns, snapshot_id=snapshot.id)
    return row_status(
        document,
        table.schema,
        key=key,
        row=row,
        now_ms=verified_ms,
        snapshot=_snapshot_info(snapshot, verified_ms),
    )


def _snapshot_info(snapshot: Snapshot | None, verified_ms: int) -> SnapshotInfo:
    return SnapshotInfo(
        id=None if snapshot is None else snapshot.id,
        commit_time=None if snapshot is None else iso_utc(snapshot.time_millis),
        verified_at=iso_utc(verified_ms),
    )
