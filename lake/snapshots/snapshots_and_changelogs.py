"""Snapshots and long-lived changelogs, found by id."""

from dataclasses import dataclass

from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.snapshot import Snapshot
from braid.lake.snapshots.changelog_store import ChangelogStore
from braid.lake.snapshots.snapshot_store import SnapshotStore


@dataclass(frozen=True, slots=True)
class SnapshotsAndChangelogs:
    """Finds the snapshots whose changes can be read, expired or not; caches nothing.

    Attributes:
        file_io: Storage.
        paths: Paths of the table or branch.
    """

    file_io: FileIO
    paths: TablePaths

    def find(self, snapshot_id: int, /) -> Snapshot | None:
        """Return a snapshot, or the changelog that is kept of it; None if neither exists.

        Raises:
            CorruptData: The file cannot be read.
        """
        # In this order: expiry keeps the changelog before it deletes the snapshot.
        return self._snapshots.find(snapshot_id) or self._changelogs.find(snapshot_id)

    def commit_time_ms(self, snapshot: Snapshot) -> int:
        """Return when a snapshot was committed (see `SnapshotStore.commit_time_ms`)."""
        return self._snapshots.commit_time_ms(snapshot)

    def list_ids(self) -> list[int]:
        """Return all ids in ascending order; an id that is just expiring may occur twice."""
        return sorted([*self._changelogs.list_ids(), *self._snapshots.list_ids()])

    @property
    def _snapshots(self) -> SnapshotStore:
        return SnapshotStore(self.file_io, self.paths)

    @property
    def _changelogs(self) -> ChangelogStore:
        return ChangelogStore(self.file_io, self.paths)
