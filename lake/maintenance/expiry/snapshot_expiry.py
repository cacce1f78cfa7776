"""Expiry of snapshots, one at a time and the oldest first.

For snapshot i:

1. mark it, so that nobody takes a lease on it from now on;
2. look who needs it (consumers, leases); if somebody does, stop;
3. where changelogs live longer, keep its file as `changelog/changelog-i`;
4. delete `snapshot-i`;
5. look for tags once more: whoever has tagged it meanwhile keeps its files;
6. delete the data files that the delta of i + 1 takes out, the changelog files of i, and the
   metadata that i names and i + 1 does not, all without what tags and other branches need.

At the end `EARLIEST` names the first that stays. Before the start `LATEST` is mended when it names a
snapshot that goes, because readers of other engines believe a hint that has no successor.

So a snapshot that exists is whole at every moment: a process that dies leaves the table as before
or as after the step, and at most the files of one step that nothing names. The reference deletes
the files first and the snapshots last, and a reader of a half-expired table fails. Two expiries at
once, of this engine or another, do each other no harm: all that is deleted is unneeded for both.

Source: table-format 4.1, 19.
"""

from contextlib import suppress
from dataclasses import dataclass

from lake.errors import CorruptData, StorageUnavailable
from lake.format.corruption import corrupt_at
from lake.format.manifest import ManifestEntry
from lake.format.snapshot import Snapshot, parse_snapshot
from lake.maintenance.expiry.expiry_holds import consumer_holds
from lake.maintenance.expiry.file_removal import FileRemoval
from lake.maintenance.expiry.newest_state import NewestState, newest_state
from lake.maintenance.expiry.retained_snapshots import RetainedSnapshot, RetainedSnapshots
from lake.maintenance.unreferenced_files import (
    DataFileKey,
    MetadataNames,
    MetadataParts,
    added_files,
    entries_of,
    metadata_names,
    removed_files,
    without,
)
from lake.options import ChangelogProducer
from lake.snapshots.manifest_store import ManifestGone
from lake.snapshots.table_store import TableStore


@dataclass(frozen=True, slots=True, kw_only=True)
class _Released:
    """What goes with one snapshot.

    Attributes:
        data: Data files, by what they are on storage.
        changelog: Changelog files, likewise.
        metadata: All else.
    """

    data: dict[DataFileKey, ManifestEntry]
    changelog: dict[DataFileKey, ManifestEntry]
    metadata: MetadataNames


@dataclass(kw_only=True)
class SnapshotExpiry:
    """Removes snapshots of one branch of a table.

    Attributes:
        store: Of the branch.
        removal: Deletes files and counts them.
        keeps_changelogs: Snapshots go on as changelogs.
        name: Of this run, unique.
    """

    store: TableStore
    removal: FileRemoval
    keeps_changelogs: bool
    name: str

    def __post_init__(self) -> None:
        self._snapshots = self.store.snapshots
        self._changelogs = self.store.changelogs
        self._consumers = self.store.consumers
        self._protectors = RetainedSnapshots(store=self.store)

    def run(self, begin: int, end: int) -> tuple[int, ...]:
        """Remove the snapshots from `begin` up to `end`, which stays.

        Stops at one that somebody has come to need meanwhile, or without its successor.

        Returns:
            The ids of those that this call removed.

        Raises:
            CorruptData: What stays or a tag cannot be read, so that nobody can say what may be
                deleted; nothing of that step was.
            StorageUnavailable: Storage failed; the step before is done, this one may have left
                files that nothing names.
        """
        newest = newest_state(self.store)
        assert newest is not None, "snapshots were found, and the newest never expires"
        if self._snapshots.read_hint(self.store.paths.latest_hint) in range(end):
            self._snapshots.write_latest_hint(newest.snapshot.id)
        try:
            return self._remove(begin, end, newest)
        finally:
            # One that stays behind keeps nobody from leasing anything but the snapshot it names.
            with suppress(OSError, StorageUnavailable):
                self._consumers.unmark_expiring(self.name)

    def _remove(self, begin: int, end: int, newest: NewestState) -> tuple[int, ...]:
        removed = []
        earliest = end
        for snapshot_id in range(begin, end):
            is_removed = self._step(snapshot_id, newest)
            if is_removed is None:
                earliest = snapshot_id
                break
            if is_removed:
                removed.append(snapshot_id)
        if removed:
            # Only a hint: readers that find none list the directory.
            with suppress(OSError, StorageUnavailable):
                self._snapshots.write_earliest_hint(earliest)
        return tuple(removed)

    def _step(self, snapshot_id: int, newest: NewestState) -> bool | None:
        """Remove one snapshot and what only it needs.

        Returns:
            Whether this call removed it; None when it has to stay.
        """
        path = self.store.paths.snapshot(snapshot_id)
        try:
            data = self.store.file_io.read_bytes(path)
        except FileNotFoundError:
            return False  # another expiry was faster
        with corrupt_at(path):
            snapshot = parse_snapshot(data)
        successor = self._successor(snapshot_id)
        if successor is None:
            return None
        self._consumers.mark_expiring(self.name, snapshot)
        if self._is_held(snapshot_id):
            return None
        try:
            released = self._released(snapshot, successor, newest)
        except ManifestGone as error:
            if self._snapshots.exists(successor.id):
                message = f"snapshot {successor.id} names a missing manifest: {error}"
                raise CorruptData(message) from error
            # Another expiry has come past it meanwhile; look again at what is there.
            return self._step(snapshot_id, newest)
        # Before anything is deleted: what cannot be read now must not be found out afterwards.
        self._unprotected(released, self._protectors.needing_files_of(snapshot_id))
        if self.keeps_changelogs:
            self._changelogs.keep(snapshot_id, data)
            self._changelogs.write_latest_hint(snapshot_id)
        is_removed = self.store.file_io.delete(path)
        # A snapshot that came back after a power failure would be one without its files.
        self.store.file_io.sync_directory(self.store.paths.snapshot_dir)
        released = self._unprotected(released, self._protectors.needing_files_of(snapshot_id))
        self.removal.remove_data(released.data.values())
        self.removal.remove_data(released.changelog.values())
        self.removal.remove_metadata(released.metadata)
        self.removal.check()
        return is_removed

    def _successor(self, snapshot_id: int) -> Snapshot | None:
        """Return the next snapshot that there is; None when this is the newest.

        A rollback that was broken off leaves a gap; what its snapshots deleted is left to orphan
        cleaning.
        """
        successor = self._snapshots.find(snapshot_id + 1)
        if successor is not None:
            return successor
        above = (number for number in self._snapshots.list_ids() if number > snapshot_id)
        found = (self._snapshots.find(number) for number in above)
        return next((snapshot for snapshot in found if snapshot is not None), None)

    def _released(self, snapshot: Snapshot, successor: Snapshot, newest: NewestState) -> _Released:
        """Return what goes with a snapshot; ManifestGone when its successor went meanwhile."""
        is_appended = self.store.schema.table_options.changelog_producer is ChangelogProducer.NONE
        spares_appended = self.keeps_changelogs and is_appended
        delta = entries_of(successor.delta_manifest_list, self.store.manifests)
        kept = metadata_names(successor, self.store.manifests)
        changelog = {}
        if not self.keeps_changelogs:
            changes = snapshot.changelog_manifest_list
            changelog = added_files(entries_of(changes, self.store.manifests, is_partial=True))
        parts = MetadataParts(data=not spares_appended, changelog=not self.keeps_changelogs)
        names = metadata_names(snapshot, self.store.manifests, parts=parts, is_partial=True)
        removed = removed_files(delta, spares_appended=spares_appended)
        return _Released(
            data=without(removed, newest.files),
            changelog=changelog,
            metadata=names - kept - newest.metadata,
        )

    def _unprotected(self, released: _Released, protectors: list[RetainedSnapshot]) -> _Released:
        if not protectors:
            return released
        buckets = frozenset(entry.bucket for entry in released.data.values())
        needed = self._protectors.data_files(protectors, buckets)
        return _Released(
            data=without(released.data, needed),
            # A tag keeps a state and not how it came about; the changelog goes with the snapshot.
            changelog=released.changelog,
            metadata=released.metadata - self._protectors.metadata(protectors),
        )

    def _is_held(self, snapshot_id: int) -> bool:
        holds = consumer_holds(
            self._consumers, self.store.schema.table_options, now_ms=self.store.clock.now_ms()
        )
        return any(hold.snapshot_id <= snapshot_id for hold in holds)
