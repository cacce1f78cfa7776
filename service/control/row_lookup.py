"""Finds rows of a table, and says at which snapshot and how fresh that is.

The clock is read before the newest snapshot is looked up: the answer is at least as fresh as
`verified_at` says, never less.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from lake import Clock, LakeError, Snapshot, SnapshotLookup, Table
from schemas import RowStatus, SnapshotInfo, TableDocument
from service.control.json_values import json_row
from service.control.row_status import row_status, status_columns
from service.control.row_warmer import RowWarmer
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRows:
    """Rows as JSON has them.

    Attributes:
        values: One per key, in the keys' order; None where the table has no row of the key.
        snapshot: Where all were read.
    """

    values: Sequence[Mapping[str, Any] | None]
    snapshot: SnapshotInfo


class RowFinder:
    """Finds rows at the newest snapshot; what it has read once is kept by the table.

    A request never waits for a large file to be made ready: until it is, its rows are scanned for.
    """

    def __init__(self, warmer: RowWarmer) -> None:
        """Take what makes files ready meanwhile."""
        self._warmer = warmer

    def find(
        self, table: Table, keys: Sequence[Mapping[str, object]], columns: Sequence[str] | None
    ) -> tuple[Snapshot | None, list[Mapping[str, object] | None]]:
        """Return the newest snapshot and the keys' rows there; None where there is none.

        Raises:
            LakeError: As `Table.get`.
        """
        at = table.lookup_at()
        found = at.rows_of_each_at_hand(keys, columns=columns)
        if found is None or any(len(rows) > 1 for rows in found):
            # One by one: those at hand are given, others are scanned for.
            return at.snapshot, [self._row(table, at, key, columns) for key in keys]
        return at.snapshot, [rows[0] if rows else None for rows in found]

    def _row(
        self,
        table: Table,
        at: SnapshotLookup,
        key: Mapping[str, object],
        columns: Sequence[str] | None,
    ) -> Mapping[str, object] | None:
        rows = at.rows_at_hand(key, columns=columns)
        if rows is not None and len(rows) <= 1:
            return rows[0] if rows else None
        if at.snapshot is None:
            return None
        if rows is None:
            self._warmer.missed(at, key, columns)
        return table.get(key, columns=columns, snapshot_id=at.snapshot.id)


def find_row(
    finder: RowFinder, table: Table, key: Mapping[str, object], *, clock: Clock
) -> FoundRow:
    """Return the row of a key at the newest snapshot.

    Raises:
        RowNotFound: There is none; the message says the key and the snapshot.
    """
    verified_ms = clock.now_ms()
    snapshot, [row] = finder.find(table, [key], None)
    if row is None:
        shown = json_row(key, [table.schema.field(name) for name in key])
        where = "it has no snapshot yet" if snapshot is None else f"at snapshot {snapshot.id}"
        message = f"{table.identifier} has no row {orjson.dumps(shown).decode()}: {where}"
        raise RowNotFound(message)
    return FoundRow(
        values=json_row(row, table.schema.fields),
        snapshot=_snapshot_info(snapshot, verified_ms),
    )


def find_rows(
    finder: RowFinder, table: Table, keys: Sequence[Mapping[str, object]], *, clock: Clock
) -> FoundRows:
    """Return the rows of keys, all at the snapshot that is the newest now."""
    verified_ms = clock.now_ms()
    snapshot, rows = finder.find(table, keys, None)
    fields = table.schema.fields
    return FoundRows(
        values=[None if row is None else json_row(row, fields) for row in rows],
        snapshot=_snapshot_info(snapshot, verified_ms),
    )


def find_row_status(
    finder: RowFinder,
    table: Table,
    document: TableDocument,
    key: Mapping[str, object],
    *,
    clock: Clock,
) -> RowStatus:
    """Return the status of the row of a key at the newest snapshot, be it there or not."""
    verified_ms = clock.now_ms()
    snapshot, [row] = finder.find(
        table, [key], list(dict.fromkeys([*key, *status_columns(document)]))
    )
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
