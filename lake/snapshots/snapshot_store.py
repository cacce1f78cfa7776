"""Store of the chain of snapshots of a table and its hints: it reads snapshots, and reads and writes hints.

`braid.lake.commit.publisher` creates snapshots. The files are `snapshot-1`, `snapshot-2`, …, without a gap; expiry
removes from the low end, in order. Only a rollback makes a gap, until it ends
(`braid.lake.snapshots.rollback_marker`). The state of the table is the snapshot with the highest id. `LATEST` and
`EARLIEST` are hints: they may be absent, torn or old, and only save listings.

A hint is a safe point to start from: it is written after its snapshot was published, and expiry removes
from the low end. So while the hinted snapshot exists and the chain has no gap, every later one up to the newest
exists as well, and walking up finds the newest.

`commit_time_ms` returns when a snapshot was committed; if the writer's clock was ahead, the file's time counts.
"""

from typing import Final

from braid.lake.errors import CorruptData, InvalidRequest, Problem, StorageUnavailable
from braid.lake.files.paths import SNAPSHOT_PREFIX, TablePaths, listed_ids
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.corruption import corrupt_at
from braid.lake.format.snapshot import Snapshot, parse_snapshot

CLOCK_AHEAD_MAX_MS: Final = 300_000
"""A writer's clock is wrong if it is ahead of storage's by more than this; milliseconds."""

# After this many checks for the next id, a listing is cheaper.
_PROBES_MAX = 16
_ID_DIGITS_MAX = 19


class SnapshotStore:
    """Reads snapshot files, and reads and writes hints; caches nothing, because a rollback reuses ids."""

    def __init__(self, file_io: FileIO, paths: TablePaths) -> None:
        self._file_io = file_io
        self._paths = paths

    def latest(self) -> Snapshot | None:
        """Return the newest snapshot, or None if the table has none.

        Costs two small reads and one check for existence when the hint is fresh.

        Raises:
            CorruptData: The file cannot be read.
            StorageUnavailable: Snapshots vanish faster than they can be read.
        """
        hint = self.read_hint(self._paths.latest_hint)
        hinted = None if hint is None else self.find(hint)
        # The usual case: the hint is fresh.
        if hinted is not None and not self.exists(hinted.id + 1):
            return hinted
        newest = self._latest_id_from(None if hinted is None else hinted.id + 1)
        # The snapshot may be removed before it is read, by a rollback or by expiry.
        for _ in range(_PROBES_MAX):
            if newest is None:
                return None
            snapshot = self.find(newest)
            if snapshot is not None:
                return snapshot
            newest = max(self.list_ids(), default=None)
        message = f"table {self._paths.root}: the newest snapshot is removed each time before it can be read"
        raise StorageUnavailable(message)

    def latest_id(self) -> int | None:
        """Return the id of the newest snapshot, or None if the table has none."""
        hint = self.read_hint(self._paths.latest_hint)
        return self._latest_id_from(hint if hint is not None and self.exists(hint) else None)

    def earliest_id(self) -> int | None:
        """Return the id of the oldest existing snapshot, or None if the table has none."""
        hint = self.read_hint(self._paths.earliest_hint)
        if hint is not None and self.exists(hint):
            return hint
        return min(self.list_ids(), default=None)

    def get(self, snapshot_id: int) -> Snapshot:
        """Return one snapshot.

        Raises:
            InvalidRequest: The snapshot has expired or never existed; the message gives the existing range.
            CorruptData: The file cannot be read.
        """
        snapshot = self.find(snapshot_id)
        if snapshot is None:
            ids = self.list_ids()
            kept = f"snapshots {min(ids)} to {max(ids)} are kept" if ids else "there are none"
            message = f"table {self._paths.identifier} has no snapshot {snapshot_id}; {kept}"
            problem = Problem(
                field="snapshot_id", value=str(snapshot_id), message="there is no such snapshot"
            )
            raise InvalidRequest(message, problems=[problem])
        return snapshot

    def find(self, snapshot_id: int) -> Snapshot | None:
        """Return one snapshot, or None if its file is absent.

        Raises:
            CorruptData: The file cannot be read.
        """
        try:
            data = self._file_io.read_bytes(self._paths.snapshot(snapshot_id))
        except FileNotFoundError:
            return None
        path = self._paths.snapshot(snapshot_id)
        with corrupt_at(path):
            snapshot = parse_snapshot(data)
        if snapshot.id != snapshot_id:
            message = (
                f"{path}: the file contains snapshot {snapshot.id}, expected snapshot {snapshot_id}"
            )
            raise CorruptData(message)
        return snapshot

    def find_above(self, snapshot_id: int) -> Snapshot | None:
        """Return the next existing snapshot above an id, or None if there is none.

        Raises:
            CorruptData: Its file cannot be read.
        """
        # A listing may have a later snapshot without this one, if both came while it ran.
        found = self.find(snapshot_id + 1)
        if found is not None:
            return found
        above = (number for number in self.list_ids() if number > snapshot_id)
        listed = (self.find(number) for number in above)
        return next((snapshot for snapshot in listed if snapshot is not None), None)

    def commit_time_ms(self, snapshot: Snapshot) -> int:
        """Return when a snapshot was committed, milliseconds since 1970 UTC, even if its time is wrong.

        The result is `time_millis` of the snapshot, unless its file is older than that by more than
        `CLOCK_AHEAD_MAX_MS`: then the writer's clock was wrong, and the file's time counts. Costs one
        request to storage.
        """
        try:
            stored_ms = self._file_io.modified_ms(self._paths.snapshot(snapshot.id))
        except FileNotFoundError:
            return snapshot.time_millis
        if stored_ms is None or snapshot.time_millis <= stored_ms + CLOCK_AHEAD_MAX_MS:
            return snapshot.time_millis
        return stored_ms

    def exists(self, snapshot_id: int) -> bool:
        """Return whether the file of a snapshot exists."""
        return self._file_io.exists(self._paths.snapshot(snapshot_id))

    def list_ids(self) -> list[int]:
        """Return all ids in ascending order. Costs one listing, so a commit avoids it.

        Of snapshots that come while the listing runs any may be absent, so a missing id is no proof of a gap:
        `exists` is.
        """
        return listed_ids(self._file_io, self._paths.snapshot_dir, SNAPSHOT_PREFIX)

    def _latest_id_from(self, known: int | None) -> int | None:
        """Return the id of the newest snapshot, searching upwards from one that exists."""
        if known is not None:
            for newest in range(known, known + _PROBES_MAX):
                if not self.exists(newest + 1):
                    return newest
        return max(self.list_ids(), default=None)

    def write_latest_hint(self, snapshot_id: int) -> None:
        """Write `LATEST`.

        Requires:
            The snapshot exists, or readers of other engines fail.

        Raises:
            StorageUnavailable: The hint is unchanged; no commit depends on it.
        """
        self._file_io.overwrite(self._paths.latest_hint, str(snapshot_id).encode())

    def write_earliest_hint(self, snapshot_id: int) -> None:
        """Write `EARLIEST`.

        Raises:
            StorageUnavailable: The hint is unchanged; nothing depends on it.
        """
        self._file_io.overwrite(self._paths.earliest_hint, str(snapshot_id).encode())

    def read_hint(self, path: str) -> int | None:
        """Return the number in a hint file, or None if it is absent or torn, or no file."""
        try:
            text = self._file_io.read_bytes(path)
        except (FileNotFoundError, CorruptData):
            return None
        # Longer numbers are not ids, and Python refuses to convert very long ones.
        return int(text) if text.isdigit() and len(text) <= _ID_DIGITS_MAX else None
