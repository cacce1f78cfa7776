"""Expiry of changelogs that outlived their snapshots, one at a time and the oldest first.

Together with `changelog-i` the following files are deleted:

- the changelog files in its changelog list;
- the data files that its delta removes, unless the newest snapshot, tags or other branches need them. Such files
  still exist only in a table without a changelog producer, where the appended files are the changelog;
- its manifest lists and manifests, unless the next changelog, the oldest or the newest snapshot, tags or other
  branches need them. The index files and statistics of the snapshot have expired with the snapshot.

`changelog-i` itself is deleted first, so a changelog that exists has all its files. A changelog that a consumer or
lease needs stays, and so do all later ones. The newest kept changelog always stays.

Source: table-format 17, 19.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from braid.lake.errors import CorruptData, StorageUnavailable
from braid.lake.maintenance.expiry.expiry_holds import changelog_holds
from braid.lake.maintenance.expiry.file_removal import FileRemoval
from braid.lake.maintenance.expiry.newest_state import NewestState, newest_state
from braid.lake.maintenance.expiry.retained_snapshots import RetainedSnapshots
from braid.lake.maintenance.unreferenced_files import (
    MetadataNames,
    MetadataParts,
    added_files,
    entries_of,
    metadata_names,
    removed_files,
    without,
)
from braid.lake.snapshots.manifest_store import ManifestGone
from braid.lake.snapshots.table_store import TableStore

# Index files and statistics expired with the snapshot.
_LISTS = MetadataParts(rest=False)


@dataclass(kw_only=True)
class ChangelogExpiry:
    """Removes kept changelogs of one branch of a table.

    Attributes:
        store: Store of the branch.
        removal: Deletes files and counts them.
    """

    store: TableStore
    removal: FileRemoval

    def __post_init__(self) -> None:
        self._snapshots = self.store.snapshots
        self._changelogs = self.store.changelogs
        self._consumers = self.store.consumers
        self._retained = RetainedSnapshots(store=self.store)

    def run(self, kept: Sequence[int], end: int) -> tuple[int, ...]:
        """Remove the kept changelogs below `end`.

        Args:
            kept: Ids of all kept changelogs, ascending.
            end: Id of the first changelog that stays, one of `kept`.

        Returns:
            The ids of the changelogs that this call removed.

        Raises:
            CorruptData: A snapshot, tag or changelog cannot be read, so that it is unknown which files
                may be deleted; this step has deleted nothing.
            StorageUnavailable: Storage failed; this step may have left unreferenced files.
        """
        newest = newest_state(self.store)
        assert newest is not None, "the newest snapshot never expires"
        removed = []
        for changelog_id, next_id in pairwise(kept):
            if changelog_id >= end or self._is_held(changelog_id):
                break
            if self._step(changelog_id, next_id, newest):
                removed.append(changelog_id)
                # Optional: readers without the hint list the directory.
                with suppress(OSError, StorageUnavailable):
                    self._changelogs.write_earliest_hint(next_id)
        return tuple(removed)

    def _step(self, changelog_id: int, next_id: int, newest: NewestState) -> bool:
        """Remove one changelog and the files that only it needs; return whether this call removed it."""
        changelog = self._changelogs.find(changelog_id)
        successor = self._changelogs.find(next_id)
        if changelog is None or successor is None:
            return False  # another expiry was faster
        changes = entries_of(
            changelog.changelog_manifest_list, self.store.manifests, is_partial=True
        )
        delta = entries_of(changelog.delta_manifest_list, self.store.manifests, is_partial=True)
        removed = without(removed_files(delta), newest.files)
        names = metadata_names(changelog, self.store.manifests, parts=_LISTS, is_partial=True)
        names -= metadata_names(successor, self.store.manifests, parts=_LISTS, is_partial=True)
        names -= newest.metadata | self._metadata_of_earliest()
        # The result is not used. A tag that cannot be read must fail here, before the changelog is
        # deleted, and not afterwards.
        self._retained.metadata(self._retained.needing_files_of(changelog_id))
        is_removed = self._changelogs.delete(changelog_id)
        self.store.file_io.sync_directory(self.store.paths.changelog_dir)
        retained = self._retained.needing_files_of(changelog_id)
        buckets = frozenset(entry.bucket for entry in removed.values())
        needed = self._retained.data_files(retained, buckets)
        self.removal.remove_data(added_files(changes).values())
        self.removal.remove_data(without(removed, needed).values())
        self.removal.remove_metadata(names - self._retained.metadata(retained))
        self.removal.check()
        return is_removed

    def _metadata_of_earliest(self) -> MetadataNames:
        while True:
            earliest_id = self._snapshots.earliest_id()
            earliest = None if earliest_id is None else self._snapshots.find(earliest_id)
            if earliest is None:
                continue  # expired between the two reads; ends, because the newest never expires
            try:
                return metadata_names(earliest, self.store.manifests)
            except ManifestGone as error:
                if not self._snapshots.exists(earliest.id):
                    continue
                message = (
                    f"snapshot {earliest.id} refers to a manifest that does not exist: {error}"
                )
                raise CorruptData(message) from error

    def _is_held(self, changelog_id: int) -> bool:
        holds = changelog_holds(
            self._consumers, self.store.schema.table_options, now_ms=self.store.clock.now_ms()
        )
        return any(hold.snapshot_id <= changelog_id for hold in holds)
