"""Resolution of the state to read: its snapshot, and the schema to read it with.

The newest state is read with the newest schema. Any other state is read with the schema of its snapshot, so that
columns have the names that they had then (table-format 2.3).
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NoReturn

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import Snapshot
from braid.lake.snapshots.live_table import LiveTable
from braid.lake.snapshots.snapshot_times import newest_until
from braid.lake.table.opened_table import OpenedTable
from braid.lake.table.read_at import ReadAt

_TAGS_SHOWN: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadableState:
    """One state of a table.

    Attributes:
        snapshot: The snapshot; None for a table without one.
        schema: The schema to read the snapshot with.
    """

    snapshot: Snapshot | None
    schema: TableSchema


def find_state(table: OpenedTable, at: ReadAt) -> ReadableState:
    """Return the state that is named.

    Raises:
        InvalidRequest: The state does not exist: the snapshot has expired or was never made, the
            time is before the oldest snapshot that is kept, or there is no such tag; the error
            lists what exists.
        TableNotFound: The table was dropped, or created anew.
        UnsupportedFeature: The table's schema needs what this version does not have.
    """
    snapshot = find_snapshot(table, at)
    assert snapshot is not None or at.is_newest, "an absent state is refused"
    schema = table.schema_of(snapshot, is_newest=at.is_newest)
    return ReadableState(snapshot=snapshot, schema=schema)


def live_at(table: OpenedTable, at: ReadAt) -> LiveTable:
    """Return what is live in the state that is named.

    Raises:
        InvalidRequest: As `find_state`.
        CorruptData: A manifest is damaged, or absent although the snapshot is there.
    """
    snapshot = find_snapshot(table, at)
    if snapshot is None:
        return LiveTable(entries=(), vectors={})
    return table.live_of(snapshot)


def find_snapshot(table: OpenedTable, at: ReadAt) -> Snapshot | None:
    """Return the snapshot of the state that is named; None for the newest if there is none.

    Raises:
        InvalidRequest: As `find_state`.
        TableNotFound: As `find_state`.
    """
    if at.tag is not None:
        return table.store.tags.get(at.tag).snapshot
    if at.snapshot_id is not None:
        # Confirmed: a table that was created anew may have a snapshot of the same id.
        return table.confirmed(table.store.snapshots.find(at.snapshot_id)) or _refuse_id(
            table, at.snapshot_id
        )
    if at.time_ms is None:
        return table.latest_snapshot()
    snapshots = table.store.snapshots
    found = newest_until(
        at.time_ms,
        bounds=lambda: _bounds(table),
        find=snapshots.find,
        commit_time_ms=snapshots.commit_time_ms,
    )
    return table.confirmed(found) or _refuse_time(table, at.time_ms)


def _refuse_id(table: OpenedTable, snapshot_id: int) -> NoReturn:
    between = _bounds(table)
    reason, kept = "was not made yet", "there are none"
    if between is not None:
        reason = "has expired" if snapshot_id < between[0] else reason
        kept = f"snapshots {between[0]} to {between[1]} are kept"
    message = f"table {table.identifier} has no snapshot {snapshot_id}; {kept}"
    problem = Problem(
        field="snapshot_id",
        value=str(snapshot_id),
        message=f"there is no such snapshot: it {reason}",
        hint=_tags(table),
    )
    raise InvalidRequest(message, problems=[problem])


def _refuse_time(table: OpenedTable, time_ms: int) -> NoReturn:
    between = _bounds(table)
    reason = "it has none yet"
    if between is not None:
        oldest = table.store.snapshots.find(between[0])
        when = "" if oldest is None else f", was committed at {_iso(oldest.time_millis)}"
        first = "the first one" if between[0] == 1 else "the oldest that has not expired"
        reason = f"{first}, snapshot {between[0]}{when}"
    message = f"table {table.identifier} has no snapshot of {_iso(time_ms)} or before: {reason}"
    problem = Problem(
        field="timestamp",
        value=_iso(time_ms),
        message="there is no such snapshot",
        hint=_tags(table),
    )
    raise InvalidRequest(message, problems=[problem])


def _bounds(table: OpenedTable) -> tuple[int, int] | None:
    """Return the ids of the oldest and the newest snapshot; None where there are none."""
    snapshots = table.store.snapshots
    newest = snapshots.latest_id()
    oldest = None if newest is None else snapshots.earliest_id()
    return None if newest is None or oldest is None else (oldest, newest)


def _tags(table: OpenedTable) -> str | None:
    """Return the tags, as a hint of what else can be read; None without tags."""
    tags = [f"{tag.name} (snapshot {tag.snapshot.id})" for tag in table.store.tags.list()]
    if not tags:
        return None
    more = f" and {len(tags) - _TAGS_SHOWN} more" if len(tags) > _TAGS_SHOWN else ""
    return f"tags can be read: {', '.join(tags[:_TAGS_SHOWN])}{more}"


def _iso(time_ms: int) -> str:
    """Return milliseconds since 1970 as ISO 8601 in UTC; as a number beyond the years 1 to 9999."""
    try:
        moment = datetime.fromtimestamp(time_ms // 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return f"{time_ms} ms"
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03d}Z"
