"""Lookup of rows and of their status by key, with the snapshot that was read and its freshness.

`verified_at` is the time just before the snapshot is determined: an answer from the newest snapshot contains
everything that was committed until then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from braid.formats.json_values import json_row
from braid.formats.key_values import parse_key, parse_keys
from braid.lake import Clock, LakeError, ReadAt, Snapshot, Table
from braid.registry.layout.physical_table import shown_fields
from braid.schemas import RowStatus, SnapshotInfo, TableDocument
from braid.service.control.row_status import row_status, status_columns
from braid.service.times import iso_utc


class RowNotFound(LakeError):
    """The table has no row of that key in the requested state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRow:
    """A row as JSON values.

    Attributes:
        values: Values by column, in the table's order.
        snapshot: The snapshot that the row was read from.
    """

    values: Mapping[str, Any]
    snapshot: SnapshotInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRows:
    """Rows as JSON values.

    Attributes:
        values: One row per key, in the keys' order; None where the table has no row of the key.
        snapshot: The snapshot that all rows were read from.
    """

    values: Sequence[Mapping[str, Any] | None]
    snapshot: SnapshotInfo


def find_row(
    table: Table,
    parameters: Sequence[tuple[str, str]],
    *,
    at: ReadAt,
    clock: Clock,
) -> FoundRow:
    """Return the row of a key in a state of the table.

    Args:
        table: The table.
        parameters: The key's columns and their texts.
        at: The state.
        clock: Gives the time of the read.

    Raises:
        RowNotFound: The row does not exist; the message has the key and the snapshot.
        KeyRefused: The parameters are not a key of the table.
        InvalidRequest: There is no such state.
    """
    verified_ms = clock.now_ms()
    found = table.lookup_at(at)
    key = parse_key(found.schema, parameters)
    row = found.get(key)
    if row is None:
        shown = json_row(key, [found.schema.field(name) for name in key])
        snapshot = found.snapshot
        where = ": it has no snapshot yet" if snapshot is None else f" at snapshot {snapshot.id}"
        message = f"{table.identifier} has no row {orjson.dumps(shown).decode()}{where}"
        raise RowNotFound(message)
    return FoundRow(
        values=json_row(row, shown_fields(found.schema)),
        snapshot=_snapshot_info(found.snapshot, verified_ms),
    )


def find_rows(
    table: Table,
    keys: Sequence[Mapping[str, str | int | float]],
    *,
    at: ReadAt,
    clock: Clock,
) -> FoundRows:
    """Return the rows of several keys, all of one state of the table; see `find_row`."""
    verified_ms = clock.now_ms()
    found = table.lookup_at(at)
    fields = shown_fields(found.schema)
    rows = found.get_many(parse_keys(found.schema, keys))
    return FoundRows(
        values=[None if row is None else json_row(row, fields) for row in rows],
        snapshot=_snapshot_info(found.snapshot, verified_ms),
    )


def find_row_status(
    table: Table,
    document: TableDocument,
    key: Mapping[str, object],
    *,
    clock: Clock,
) -> RowStatus:
    """Return the status of the row of a key at the newest snapshot, whether it exists or not."""
    verified_ms = clock.now_ms()
    found = table.lookup_at()
    columns = list(dict.fromkeys([*key, *status_columns(document, found.schema)]))
    row = found.get(key, columns=columns)
    return row_status(
        document,
        found.schema,
        key=key,
        row=row,
        now_ms=verified_ms,
        snapshot=_snapshot_info(found.snapshot, verified_ms),
    )


def _snapshot_info(snapshot: Snapshot | None, verified_ms: int) -> SnapshotInfo:
    return SnapshotInfo(
        id=None if snapshot is None else snapshot.id,
        commit_time=None if snapshot is None else iso_utc(snapshot.time_millis),
        verified_at=iso_utc(verified_ms),
    )
