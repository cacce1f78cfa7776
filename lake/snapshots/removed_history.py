"""Detection of snapshots that were built on history which a rollback has removed.

A writer may plan a commit on a snapshot, pause while a rollback removes that snapshot, and then publish above
what the rollback has left. Its snapshot then has the highest id, so later commits would be planned on it, and
the removed history would come back. Walking down the chain detects this. The snapshots of this engine name
the snapshot that they were built on (`braid.lake.snapshots.lineage`), so walking down from a valid one leads to

- the target of the rollback, or
- the snapshot that was the newest before the rollback (while it exists, the rollback has not taken effect), or
- the end of the chain, below which everything has expired.

Walking down from a snapshot of the removed history leads to a gap instead, or to a snapshot that the one above it was
not built on. Snapshots of other engines do not name the snapshot that they were built on: there the walk ends, and no
removed history is found.

Only the latest rollback is considered, and only while its marker exists, which is at least a day.
"""

from dataclasses import dataclass

from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.snapshot import Snapshot
from braid.lake.snapshots.lineage import follows
from braid.lake.snapshots.rollback_marker import (
    RollbackMarker,
    RollbackRecord,
    SnapshotIdentity,
    identity_of,
)
from braid.lake.snapshots.snapshot_store import SnapshotStore


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A snapshot that was found to belong to the table's history.

    Attributes:
        snapshot: The snapshot.
        rollback: The rollback that the snapshot was compared with.
        is_undecided: The snapshot was built on the one that the rollback removes last. It belongs to
            the history only as long as that one exists.
    """

    snapshot: SnapshotIdentity
    rollback: RollbackRecord
    is_undecided: bool


class RemovedHistory:
    """Decides which snapshots of one table belong to removed history.

    Caches the last snapshot found valid, so that a long-lived instance reads each snapshot once.
    """

    def __init__(self, file_io: FileIO, paths: TablePaths) -> None:
        self._marker = RollbackMarker(file_io, paths)
        self._snapshots = SnapshotStore(file_io, paths)
        self._known: _Known | None = None

    def holds(self, snapshot: Snapshot) -> bool:
        """Return whether a snapshot was built on history that a rollback has removed.

        Args:
            snapshot: A snapshot that exists, or existed a moment ago.

        Raises:
            CorruptData: A snapshot below it cannot be read.
            StorageUnavailable: Storage does not answer.
        """
        rollback = self._marker.read()
        if rollback is None:
            return False
        known = (
            self._known if self._known is not None and self._known.rollback == rollback else None
        )
        if known is not None and known.is_undecided and not self._exists(rollback.newest):
            # Since then the rollback has removed the snapshot that `known` was built on.
            known = None
        current = snapshot
        is_undecided = False
        while not rollback.target.is_of(current):
            if known is not None and known.snapshot.is_of(current):
                is_undecided = known.is_undecided
                break
            if rollback.newest.is_of(current):
                # The rollback deletes this snapshot last, so it has not ended. It may yet be abandoned,
                # and then this snapshot stays.
                is_undecided = True
                break
            below = self._snapshots.find(current.id - 1)
            if below is None:
                lower = self._next_lower(current.id)
                if lower is None:
                    break  # everything below has expired
                if lower == current.id - 1:
                    continue  # a rollback has restored the file since `find`
                return True
            link = follows(current, below)
            if link is None:
                return False  # of another engine, without the property
            if not link:
                return True
            assert below.id < current.id, "the walk goes down"
            current = below
        self._known = _Known(
            snapshot=identity_of(snapshot), rollback=rollback, is_undecided=is_undecided
        )
        return False

    def _exists(self, name: SnapshotIdentity) -> bool:
        return name.is_of(self._snapshots.find(name.id))

    def _next_lower(self, snapshot_id: int) -> int | None:
        """Return the next lower existing id, or None if all below have expired.

        Expiry removes from the low end. So if a snapshot still exists after a higher id is known to be
        missing, expiry did not remove that higher one.
        """
        lower = max((n for n in self._snapshots.list_ids() if n < snapshot_id), default=None)
        return None if lower is None or not self._snapshots.exists(lower) else lower
