"""Snapshots outside a branch's chain that keep files: those of tags and of other branches.

When a snapshot expires, an older tag may need a file that would expire with the snapshot. Such a file is live in
every snapshot from the tagged one to the expired one, so it is also live in the newest of the older tags. So among
the tags of this branch, manifests are read only of that tag and of the tags above the expired snapshot. This relies
on two facts: a deleted file does not come back, and a rollback deletes the tags above its target.

Any snapshot of another branch may share manifests and data files with this branch, so all snapshots and tags of
other branches are read.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from braid.lake.errors import CorruptData
from braid.lake.files.paths import SNAPSHOT_PREFIX, TAG_PREFIX, TablePaths, numbered
from braid.lake.files.storage.file_io import FileStatus
from braid.lake.format.corruption import corrupt_at
from braid.lake.format.snapshot import Snapshot, parse_snapshot
from braid.lake.maintenance.unreferenced_files import (
    DataFileKey,
    MetadataNames,
    MetadataParts,
    data_file_key,
    metadata_names,
)
from braid.lake.snapshots.manifest_store import ManifestGone
from braid.lake.snapshots.table_store import TableStore
from braid.lake.snapshots.tag_store import list_branches


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedSnapshot:
    """A snapshot of a tag or of another branch.

    Attributes:
        path: Path of the file of the snapshot or tag.
        snapshot: The snapshot in that file.
    """

    path: str
    snapshot: Snapshot


@dataclass(kw_only=True)
class RetainedSnapshots:
    """Finds the retained snapshots of a branch; a file that has not changed is read once.

    Attributes:
        store: Store of the branch whose snapshots expire.
    """

    store: TableStore
    _read: dict[tuple[str, int, int], Snapshot] = field(default_factory=dict)

    def needing_files_of(self, snapshot_id: int) -> list[RetainedSnapshot]:
        """Return the retained snapshots that may need files which expire with a snapshot, as of now.

        Raises:
            CorruptData: A tag or snapshot file cannot be read.
        """
        tags = sorted(self._tags(self.store.paths), key=lambda tag: tag.snapshot.id)
        newer = [tag for tag in tags if tag.snapshot.id > snapshot_id]
        older = [tag for tag in tags if tag.snapshot.id <= snapshot_id]
        nearest = [tag for tag in older if tag.snapshot.id == older[-1].snapshot.id]
        found = [*nearest, *newer]
        for branch in ("", *list_branches(self.store.file_io, self.store.paths)):
            if branch != self.store.paths.branch:
                paths = replace(self.store.paths, branch=branch)
                found += [*self._snapshots(paths), *self._tags(paths)]
        return found

    def metadata(self, retained: list[RetainedSnapshot]) -> MetadataNames:
        """Return the names of all metadata that retained snapshots need.

        Manifests of changelogs are not included: a tag or branch keeps a state, and the changelog expires
        with the snapshot.

        Raises:
            CorruptData: A retained snapshot names a missing manifest.
        """
        names = MetadataNames()
        for one in retained:
            try:
                names |= metadata_names(
                    one.snapshot, self.store.manifests, parts=MetadataParts(changelog=False)
                )
            except ManifestGone as error:
                self._refuse_damaged(one, error)
        return names

    def data_files(
        self, retained: list[RetainedSnapshot], buckets: frozenset[int]
    ) -> set[DataFileKey]:
        """Return the data files of some buckets that retained snapshots need.

        Raises:
            CorruptData: A retained snapshot names a missing manifest.
        """
        keys: set[DataFileKey] = set()
        for one in retained if buckets else ():
            try:
                entries = self.store.live.entries(one.snapshot, buckets=buckets)
            except ManifestGone as error:
                self._refuse_damaged(one, error)
                continue
            keys.update(map(data_file_key, entries))
        return keys

    def _refuse_damaged(self, one: RetainedSnapshot, error: ManifestGone) -> None:
        # If the snapshot's own file is gone too, the snapshot was deleted or expired during the read.
        if self.store.file_io.exists(one.path):
            message = (
                f"{one.path} refers to a manifest that does not exist, so Braid cannot tell which files this "
                f"snapshot or tag needs: {error}"
            )
            raise CorruptData(message) from error

    def _tags(self, paths: TablePaths) -> Iterator[RetainedSnapshot]:
        for status in self.store.file_io.list(paths.tag_dir):
            if status.name.startswith(TAG_PREFIX) and not status.is_directory:
                yield from self._parsed(status)

    def _snapshots(self, paths: TablePaths) -> Iterator[RetainedSnapshot]:
        for status in self.store.file_io.list(paths.snapshot_dir):
            if numbered(status.name, SNAPSHOT_PREFIX) is not None:
                yield from self._parsed(status)

    def _parsed(self, status: FileStatus) -> Iterator[RetainedSnapshot]:
        # A path alone is not enough: a tag may be deleted and created again, and ids are reused after a
        # rollback.
        version = status.path, status.modified_ms, status.size
        if version not in self._read:
            try:
                data = self.store.file_io.read_bytes(status.path)
            except FileNotFoundError:
                return
            with corrupt_at(status.path):
                # The file of a tag has the content of a snapshot's file, and perhaps some further keys.
                self._read[version] = parse_snapshot(data)
        yield RetainedSnapshot(path=status.path, snapshot=self._read[version])
