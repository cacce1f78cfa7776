"""Snapshots, and what is kept of expired ones for their changes."""

from dataclasses import dataclass

from lake.files.paths import TablePaths
from lake.files.storage.file_io import FileIO
from lake.format.snapshot import Snapshot
from lake.snapshots.changelog_store import ChangelogStore
from lake.snapshots.snapshot_store import SnapshotStore


@dataclass(frozen=True, slots=True)
class SnapshotsAndChangelogs:
    """Finds the snapshots whose changes can be read, expired or not; never remembers.

    Attributes:
        file_io: Storage.
        paths: Of the table or branch.
    """

    file_io: FileIO
    paths: TablePaths

    def find(self, snapshot_id: int, /) -> Snapshot | None:
        """Return a snapshot, or what is kept of it; None when neither is there.

        Raises:
            CorruptData: The file cannot be read.
        """
        # An expiring snapshot is kept before it goes, so it is found in this order.
        return self._snapshots.find(snapshot_id) or self._changelogs.find(snapshot_id)

    def commit_time_ms(self, snapshot: Snapshot) -> int:
        """Return when a snapshot was committed (see `SnapshotStore.commit_time_ms`)."""
        return self._snapshots.commit_time_ms(snapshot)

    def list_ids(self) -> list[int]:
        """Return all ids in ascending order; one that is just expiring may be there twice."""
        return sorted([*self._changelogs.list_ids(), *self._snapshots.list_ids()])

    @property
    def _snapshots(self) -> SnapshotStore:
        return SnapshotStore(self.file_io, self.paths)

    @property
    def _changelogs(self) -> ChangelogStore:
        return ChangelogStore(self.file_io, self.paths)
