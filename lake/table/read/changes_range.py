"""Range of snapshots whose changes are read: after one state, up to another; and the error for expired changes."""

from typing import Final

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.format.snapshot import Snapshot
from braid.lake.snapshots.snapshot_times import newest_until
from braid.lake.snapshots.snapshots_and_changelogs import SnapshotsAndChangelogs
from braid.lake.table.opened_table import OpenedTable
from braid.lake.table.read_at import ReadAt, SnapshotRef

_SHOWN_MAX: Final = 40


class ChangesExpired(InvalidRequest):
    """The changes of a snapshot have expired: start again, from a scan of the newest snapshot."""


def find_range(
    table: OpenedTable, after: SnapshotRef, until: SnapshotRef | None, *, newest: Snapshot | None
) -> tuple[int, int]:
    """Return the ids of the last snapshot before a range, 0 for none, and of the last one in it.

    A tag stands for its snapshot, and a time for the newest snapshot committed then or before, 0 if
    there was none yet. Snapshots of which only the changelog is kept count, too.

    Args:
        table: The table.
        after: The range begins after this state; the id 0 is before the first snapshot.
        until: The range ends with this state; None means the newest.
        newest: The newest snapshot.

    Raises:
        InvalidRequest: A bound does not exist or was not made yet, or the bounds are in the wrong
            order.
        ChangesExpired: The snapshots of the time that a bound names have expired.
    """
    last_id = 0 if newest is None else newest.id
    first = _check("after_snapshot_id", _id_of(table, after, last_id), low=0, newest=last_id)
    if until is None:
        return first, last_id
    end = _id_of(table, until, last_id)
    return first, _check("until_snapshot_id", end, low=first, newest=last_id)


def _id_of(table: OpenedTable, bound: object, newest: int) -> object:
    """Return the id of a bound, or the bound itself, to be checked later, if it is no `ReadAt`."""
    if not isinstance(bound, ReadAt):
        return bound
    if bound.tag is not None:
        return table.store.tags.get(bound.tag).snapshot.id
    if bound.time_ms is not None:
        return _id_until(table, bound.time_ms)
    return newest if bound.snapshot_id is None else bound.snapshot_id


def _id_until(table: OpenedTable, time_ms: int) -> int:
    kept = SnapshotsAndChangelogs(table.store.file_io, table.store.paths)

    def bounds() -> tuple[int, int] | None:
        ids = kept.list_ids()
        return (ids[0], ids[-1]) if ids else None

    found = newest_until(time_ms, bounds=bounds, find=kept.find, commit_time_ms=kept.commit_time_ms)
    if found is not None:
        return found.id
    oldest = min(kept.list_ids(), default=1)
    if oldest > 1:
        message = (
            f"the changes of that time are not kept; the oldest that are kept are those of snapshot {oldest}\n"
            "hint: start anew: read the newest snapshot, then the changes after it"
        )
        raise ChangesExpired(message)
    return 0


def _check(name: str, value: object, *, low: int, newest: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= newest:
        return value
    problem = Problem(
        field=name,
        value=repr(value)[:_SHOWN_MAX],
        message=f"expected the id of a snapshot from {low} to {newest}, the newest",
    )
    message = "there is no such range of snapshots"
    raise InvalidRequest(message, problems=[problem])
