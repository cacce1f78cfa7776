"""Expiry of snapshots, one at a time and the oldest first.

For snapshot i:

1. mark it, so that no lease on it is granted from now on;
2. stop if a consumer or a lease needs it;
3. where changelogs are kept longer, keep its file as `changelog/changelog-i`;
4. delete `snapshot-i`;
5. read the tags again: a tag of snapshot i that was created meanwhile keeps the snapshot's files;
6. delete the data files that the delta of the next snapshot removes, the changelog files of i, and the metadata files
   that i needs and the next snapshot does not. Files that tags, other branches, the newest snapshot or a kept
   changelog need are left out.

At the end `EARLIEST` is set to the first snapshot that stays. Before the start `LATEST` is corrected if it names a
snapshot that expires, because readers of other engines trust a hint whose snapshot has no successor.

So at every moment all files of an existing snapshot exist. If a process dies, snapshot i either exists with all its
files, or has expired and leaves behind some files that nothing references. The reference deletes the files first and
the snapshots last, so its readers fail on a half-expired table. Two expiries that run at the same time, of this
engine or another, do not harm each other: each deletes only files that no remaining snapshot needs.

Source: table-format 4.1, 19.
"""

from contextlib import suppress
from dataclasses import dataclass

from braid.lake.errors import CorruptData, StorageUnavailable
from braid.lake.format.corruption import corrupt_at
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.snapshot import Snapshot, parse_snapshot
from braid.lake.maintenance.expiry.expiry_holds import consumer_holds
from braid.lake.maintenance.expiry.file_removal import FileRemoval
from braid.lake.maintenance.expiry.newest_state import NewestState, newest_state
from braid.lake.maintenance.expiry.retained_snapshots import RetainedSnapshot, RetainedSnapshots
from braid.lake.maintenance.unreferenced_files import (
    DataFileKey,
    MetadataNames,
    MetadataParts,
    added_files,
    entries_of,
    metadata_names,
    removed_files,
    without,
)
from braid.lake.options.table_options import ChangelogProducer
from braid.lake.snapshots.manifest_store import ManifestGone
from braid.lake.snapshots.table_store import TableStore


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unreferenced:
    """Files that the chain no longer references once a snapshot is gone.

    Attributes:
        data: Data files.
        changelog: Changelog files.
        metadata: All other files.
    """

    data: dict[DataFileKey, ManifestEntry]
    changelog: dict[DataFileKey, ManifestEntry]
    metadata: MetadataNames


@dataclass(kw_only=True)
class SnapshotExpiry:
    """Removes snapshots of one branch of a table.

    Attributes:
        store: Store of the branch.
        removal: Deletes files and counts them.
        keeps_changelogs: The file of an expired snapshot is kept as a changelog.
        name: Name of this run, unique.
    """

    store: TableStore
    removal: FileRemoval
    keeps_changelogs: bool
    name: str

    def __post_init__(self) -> None:
        self._snapshots = self.store.snapshots
        self._changelogs = self.store.changelogs
        self._consumers = self.store.consumers
        self._retained = RetainedSnapshots(store=self.store)

    def run(self, begin: int, end: int) -> tuple[int, ...]:
        """Remove the snapshots from `begin` up to `end`, which stays.

        Stops at a snapshot that a consumer or lease needs by now, and at a snapshot without a successor.

        Returns:
            The ids of the snapshots that this call removed.

        Raises:
            CorruptData: A remaining snapshot or a tag cannot be read, so that it is unknown which files
                may be deleted; this step has deleted nothing.
            StorageUnavailable: Storage failed; earlier steps are done, and this step may have left
                unreferenced files.
        """
        newest = newest_state(self.store)
        assert newest is not None, "snapshots were found, and the newest never expires"
        if self._snapshots.read_hint(self.store.paths.latest_hint) in range(end):
            self._snapshots.write_latest_hint(newest.snapshot.id)
        try:
            return self._remove(begin, end, newest)
        finally:
            # A mark that stays behind only prevents leases of the snapshot that it names.
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
            # Optional: readers without the hint list the directory.
            with suppress(OSError, StorageUnavailable):
                self._snapshots.write_earliest_hint(earliest)
        return tuple(removed)

    def _step(self, snapshot_id: int, newest: NewestState) -> bool | None:
        """Remove one snapshot and the files that only it needs.

        Returns:
            True if this call removed the snapshot, False if another expiry did; None if it has to stay.
        """
        path = self.store.paths.snapshot(snapshot_id)
        try:
            data = self.store.file_io.read_bytes(path)
        except FileNotFoundError:
            return False  # another expiry was faster
        with corrupt_at(path):
            snapshot = parse_snapshot(data)
        # The next id may be missing, because an interrupted rollback leaves a gap. Files that the missing
        # snapshots deleted are left to orphan cleaning.
        successor = self._snapshots.find_above(snapshot_id)
        if successor is None:
            return None
        assert successor.id > snapshot_id, "a successor is above"
        # In this order: a lease is granted only if no mark exists after it was written, so every lease is
        # either seen below or refused.
        self._consumers.mark_expiring(self.name, snapshot)
        if self._is_held(snapshot_id):
            return None
        try:
            unreferenced = self._unreferenced_without(snapshot, successor, newest)
        except ManifestGone as error:
            if self._snapshots.exists(successor.id):
                message = (
                    f"snapshot {successor.id} refers to a manifest that does not exist: {error}"
                )
                raise CorruptData(message) from error
            # Another expiry has removed the successor meanwhile; the next one is the successor now.
            return self._step(snapshot_id, newest)
        # The result is not used. A tag that cannot be read must fail here, before the snapshot is
        # deleted, and not in step 5.
        self._without_retained(unreferenced, self._retained.needing_files_of(snapshot_id))
        if self.keeps_changelogs:
            self._changelogs.keep(snapshot_id, data)
            self._changelogs.write_latest_hint(snapshot_id)
        is_removed = self.store.file_io.delete(path)
        # Durable before any file is deleted: a power failure must not bring the snapshot back without
        # its files.
        self.store.file_io.sync_directory(self.store.paths.snapshot_dir)
        retained = self._retained.needing_files_of(snapshot_id)
        removable = self._without_retained(unreferenced, retained)
        self.removal.remove_data(removable.data.values())
        self.removal.remove_data(removable.changelog.values())
        self.removal.remove_metadata(removable.metadata)
        self.removal.check()
        return is_removed

    def _unreferenced_without(
        self, snapshot: Snapshot, successor: Snapshot, newest: NewestState
    ) -> _Unreferenced:
        """Return the files that the chain no longer references once a snapshot is gone.

        Raises:
            ManifestGone: The successor has expired meanwhile.
        """
        # Without a changelog producer the appended files are the changelog, and are kept as long as it.
        is_appended = self.store.schema.table_options.changelog_producer is ChangelogProducer.NONE
        keeps_appended = self.keeps_changelogs and is_appended
        delta = entries_of(successor.delta_manifest_list, self.store.manifests)
        kept = metadata_names(successor, self.store.manifests)
        changelog = {}
        if not self.keeps_changelogs:
            changes = snapshot.changelog_manifest_list
            changelog = added_files(entries_of(changes, self.store.manifests, is_partial=True))
        parts = MetadataParts(data=not keeps_appended, changelog=not self.keeps_changelogs)
        names = metadata_names(snapshot, self.store.manifests, parts=parts, is_partial=True)
        removed = removed_files(delta, keeps_appended=keeps_appended)
        return _Unreferenced(
            # Files of the newest snapshot stay in any case (see the module `newest_state`).
            data=without(removed, newest.files),
            changelog=changelog,
            metadata=names - kept - newest.metadata,
        )

    def _without_retained(
        self, files: _Unreferenced, retained: list[RetainedSnapshot]
    ) -> _Unreferenced:
        """Return the files that retained snapshots do not need either."""
        if not retained:
            return files
        buckets = frozenset(entry.bucket for entry in files.data.values())
        return _Unreferenced(
            data=without(files.data, self._retained.data_files(retained, buckets)),
            # A tag keeps a state; the changelog expires with the snapshot.
            changelog=files.changelog,
            metadata=files.metadata - self._retained.metadata(retained),
        )

    def _is_held(self, snapshot_id: int) -> bool:
        holds = consumer_holds(
            self._consumers, self.store.schema.table_options, now_ms=self.store.clock.now_ms()
        )
        return any(hold.snapshot_id <= snapshot_id for hold in holds)
