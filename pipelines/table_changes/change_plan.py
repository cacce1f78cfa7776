"""Files between two places in the changes of a table, and their tasks.

Changes of a key are in one bucket, and a task has all files of a bucket. So of one batch a task has the changes of a key in
the order in which they came to be.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from braid.lake import InvalidRequest, ManifestEntry, Problem, Snapshot, SnapshotChanges, Table
from braid.pipelines.table_changes.change_offset import ChangeOffset
from braid.pipelines.table_changes.start_state import StartState

_NO_BOUND: Final = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketChanges:
    """The changes of one bucket: what one task reads.

    Attributes:
        parts: Snapshots, oldest first, with their files in reading order.
    """

    parts: tuple[tuple[Snapshot, tuple[ManifestEntry, ...]], ...]


def find_end(
    table: Table,
    columns: Sequence[str],
    start: ChangeOffset,
    *,
    last_id: int,
    files_max: int | None,
) -> ChangeOffset:
    """Return the end of the next batch.

    Args:
        table: The table.
        columns: The columns that are read.
        start: Where the batch starts.
        last_id: The last snapshot that it may have.
        files_max: The largest number of its files; None: no bound. A full read takes one bucket at least.

    Raises:
        ChangesExpired: The changes after `start` have expired.
        InvalidRequest: The table was rolled back behind `start`.
    """
    bound = _NO_BOUND if files_max is None else files_max
    if start.is_full:
        return _end_of_state(table, columns, start, bound)
    check_continues(table, start)
    if start.snapshot > last_id:
        return start
    changes = table.changes(start.snapshot - 1, last_id, columns=columns)
    if files_max is None:
        return _after(table, last_id)
    skipped = start.index
    for part in changes:
        files = len(part.entries)
        left = files - (skipped if part.snapshot_id == start.snapshot else 0)
        if left > bound:
            return replace(
                start,
                snapshot=part.snapshot_id,
                index=files - left + bound,
                last_uuid=_uuid(table, part.snapshot_id - 1),
            )
        bound -= left
        if bound == 0:
            return _after(table, part.snapshot_id)
    return _after(table, last_id)


def plan_changes(
    table: Table, columns: Sequence[str], start: ChangeOffset, end: ChangeOffset
) -> list[BucketChanges]:
    """Return the changes between two places, by bucket.

    Raises:
        ChangesExpired: They have expired.
    """
    last_id = end.snapshot if end.index else end.snapshot - 1
    if start.snapshot > last_id:
        return []
    by_bucket: dict[tuple[bytes, int], list[tuple[Snapshot, tuple[ManifestEntry, ...]]]]
    by_bucket = defaultdict(list)
    for part in table.changes(start.snapshot - 1, last_id, columns=columns):
        for key, entries in _buckets(_between(part, start, end)):
            by_bucket[key].append((part.snapshot, entries))
    return [BucketChanges(parts=tuple(parts)) for parts in by_bucket.values()]


def check_continues(table: Table, start: ChangeOffset) -> None:
    """Refuse a place in snapshots that were rolled back.

    Raises:
        InvalidRequest: The table was rolled back behind the place.
    """
    newest = table.latest_snapshot()
    last_id = 0 if newest is None else newest.id
    known = _uuid(table, start.snapshot - 1)
    is_other = bool(start.last_uuid and known) and known != start.last_uuid
    if start.snapshot > last_id + 1 or is_other:
        problem = Problem(
            field="checkpoint",
            value=f"snapshot {start.snapshot - 1}",
            message="the table was rolled back behind what the query has read",
            hint="start a query with a new checkpoint",
        )
        message = "the changes cannot be continued"
        raise InvalidRequest(message, problems=[problem])


def _end_of_state(
    table: Table, columns: Sequence[str], start: ChangeOffset, bound: int
) -> ChangeOffset:
    buckets = StartState(table, start.snapshot, columns).buckets
    end = start.index
    while end < len(buckets) and (end == start.index or buckets[end].files <= bound):
        bound -= buckets[end].files
        end += 1
    if end == len(buckets):
        return _after(table, start.snapshot)
    return replace(start, index=end)


def _between(
    part: SnapshotChanges, start: ChangeOffset, end: ChangeOffset
) -> tuple[ManifestEntry, ...]:
    first = start.index if part.snapshot_id == start.snapshot else 0
    last = end.index if part.snapshot_id == end.snapshot else len(part.entries)
    return part.entries[first:last]


def _buckets(
    entries: Sequence[ManifestEntry],
) -> Iterator[tuple[tuple[bytes, int], tuple[ManifestEntry, ...]]]:
    found: dict[tuple[bytes, int], list[ManifestEntry]] = {}
    for entry in entries:
        found.setdefault((entry.partition, entry.bucket), []).append(entry)
    return ((key, tuple(files)) for key, files in found.items())


def _after(table: Table, snapshot_id: int) -> ChangeOffset:
    return ChangeOffset(snapshot=snapshot_id + 1, last_uuid=_uuid(table, snapshot_id))


def _uuid(table: Table, snapshot_id: int) -> str:
    """Return the unique id of a snapshot; "" if there is no such snapshot, or it has none."""
    if snapshot_id < 1:
        return ""
    try:
        return table.snapshot(snapshot_id).uuid or ""
    except InvalidRequest:  # expired
        return ""
