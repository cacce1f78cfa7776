"""Long-lived changelogs: expired snapshots that are kept for their changelog alone.

Where changelogs are retained longer than snapshots, the file of an expired snapshot is kept as
`changelog/changelog-N`, with the same JSON. The directory has hints of its own, which are written here for other
engines and never read. The data of such a snapshot can no longer be read, but its changes can.

Source: table-format 17, 19.
"""

from braid.lake.errors import CorruptData
from braid.lake.files.paths import CHANGELOG_PREFIX, TablePaths, listed_ids
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.corruption import corrupt_at
from braid.lake.format.snapshot import Snapshot, parse_snapshot


class ChangelogStore:
    """Reads and writes long-lived changelogs, and writes their hints; caches nothing."""

    def __init__(self, file_io: FileIO, paths: TablePaths) -> None:
        self._file_io = file_io
        self._paths = paths

    def list_ids(self) -> list[int]:
        """Return all ids in ascending order. One listing."""
        return listed_ids(self._file_io, self._paths.changelog_dir, CHANGELOG_PREFIX)

    def find(self, snapshot_id: int) -> Snapshot | None:
        """Return the expired snapshot of an id, or None if it is not kept.

        Raises:
            CorruptData: The file cannot be read.
        """
        path = self._paths.changelog(snapshot_id)
        try:
            data = self._file_io.read_bytes(path)
        except FileNotFoundError:
            return None
        with corrupt_at(path):
            snapshot = parse_snapshot(data)
        if snapshot.id != snapshot_id:
            message = (
                f"{path}: the file contains snapshot {snapshot.id}, expected snapshot {snapshot_id}"
            )
            raise CorruptData(message)
        return snapshot

    def keep(self, snapshot_id: int, data: bytes) -> None:
        """Keep a snapshot that is about to expire; does no harm if it is kept already.

        An existing file is replaced. Every process that expires the snapshot writes the same bytes; and a
        changelog of the same id, left from before a rollback, has to be replaced.

        Args:
            snapshot_id: Id of the snapshot.
            data: Content of the snapshot's file, byte for byte.
        """
        self._file_io.overwrite(self._paths.changelog(snapshot_id), data)

    def delete(self, snapshot_id: int) -> bool:
        """Delete a changelog; return whether it existed."""
        return self._file_io.delete(self._paths.changelog(snapshot_id))

    def write_latest_hint(self, snapshot_id: int) -> None:
        """Write `LATEST`; only after the file exists."""
        self._file_io.overwrite(self._paths.latest_changelog_hint, str(snapshot_id).encode())

    def write_earliest_hint(self, snapshot_id: int) -> None:
        """Write `EARLIEST`."""
        self._file_io.overwrite(self._paths.earliest_changelog_hint, str(snapshot_id).encode())
