"""Telling a snapshot that was built on what a rollback has removed.

A writer that was planned on a snapshot, and sleeps while a rollback removes that, publishes above what the
rollback leaves. Its snapshot has the highest id then, so whoever plans meanwhile is planned on it: the
removed history would come back. It shows in the chain. Walking down from a snapshot, each of which says what
it was built on (`lake.snapshots.lineage`), one comes to the target of the rollback, or to what was the newest
before it (as long as that is there, the rollback has not taken place), or to the end of the chain, below
which everything has expired. One of the removed history stands above a gap instead, or on a snapshot that
is not the one it was built on.

Only the rollback that was made last is looked at, and only while its mark is there, a day at least.
"""

from dataclasses import dataclass

from lake.files.paths import TablePaths
from lake.files.storage.file_io import FileIO
from lake.format.snapshot import Snapshot
from lake.snapshots.lineage import follows
from lake.snapshots.rollback_marker import RollbackMarker, RollbackRecord, SnapshotName, name_of
from lake.snapshots.snapshot_store import SnapshotStore


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A snapshot that is of the table's history, as was found.

    Attributes:
        snapshot: The snapshot.
        note: Of the rollback that it was compared with.
        is_undecided: It was built on what the rollback removes last, and goes with that.
    """

    snapshot: SnapshotName
    note: RollbackRecord
    is_undecided: bool


class RemovedHistory:
    """Tells which snapshots of one table are of a history that was removed.

    Remembers where it has looked, so that one that lives on reads each snapshot once.
    """

    def __init__(self, file_io: FileIO, paths: TablePaths) -> None:
        self._marker = RollbackMarker(file_io, paths)
        self._snapshots = SnapshotStore(file_io, paths)
        self._known: _Known | None = None

    def holds(self, snapshot: Snapshot) -> bool:
        """Return whether a snapshot was built on what a rollback has removed.

        Args:
            snapshot: That is there, or was a moment ago.

        Raises:
            CorruptData: A snapshot below it cannot be read.
            StorageUnavailable: Storage does not answer.
        """
        note = self._marker.read()
        if note is None:
            return False
        known = self._known if self._known is not None and self._known.note == note else None
        if known is not None and known.is_undecided and not self._is_there(note.newest):
            known = None
        current = snapshot
        is_undecided = False
        while not note.target.is_of(current):
            if known is not None and known.snapshot.is_of(current):
                is_undecided = known.is_undecided
                break
            if note.newest.is_of(current):
                is_undecided = True
                break
            below = self._snapshots.find(current.id - 1)
            if below is None:
                lower = self._next_lower(current.id)
                if lower is None:
                    break
                if lower == current.id - 1:
                    continue  # a rollback has given it its file back in this moment
                return True
            link = follows(current, below)
            if link is None:
                return False  # another engine's, which does not say
            if not link:
                return True
            current = below
        self._known = _Known(snapshot=name_of(snapshot), note=note, is_undecided=is_undecided)
        return False

    def _is_there(self, name: SnapshotName) -> bool:
        return name.is_of(self._snapshots.find(name.id))

    def _next_lower(self, snapshot_id: int) -> int | None:
        """Return the next lower snapshot that there is, None when all below have expired.

        Expiry removes from the low end. One that is there still, when another above it is known to be
        missing, is not about to expire together with that.
        """
        lower = max((n for n in self._snapshots.list_ids() if n < snapshot_id), default=None)
        return None if lower is None or not self._snapshots.exists(lower) else lower
