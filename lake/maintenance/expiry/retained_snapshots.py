"""Snapshots outside a branch's chain that need files all the same: tags, and other branches.

A file that a tag needs and the chain has deleted is live in every snapshot between the two, so it
is live in the nearest older tag, too. Only that one, and those newer than the step, are asked. That
holds because no file comes back once it is deleted, and rollbacks take newer tags with them.

Other branches share manifests and data files with this one, in any order: all of theirs are asked.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lake.errors import CorruptData
from lake.files.paths import SNAPSHOT_PREFIX, TAG_PREFIX, TablePaths, numbered
from lake.files.storage.file_io import FileStatus
from lake.format.corruption import corrupt_at
from lake.format.snapshot import Snapshot, parse_snapshot
from lake.maintenance.unreferenced_files import (
    DataFileKey,
    MetadataNames,
    MetadataParts,
    data_file_key,
    metadata_names,
)
from lake.snapshots.manifest_store import ManifestGone
from lake.snapshots.table_store import TableStore
from lake.snapshots.tag_store import list_branches


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedSnapshot:
    """A tag, or a snapshot of another branch.

    Attributes:
        path: Of its file.
        snapshot: What it says.
    """

    path: str
    snapshot: Snapshot


@dataclass(kw_only=True)
class RetainedSnapshots:
    """Finds the protectors of a branch; a file that has not changed is read once.

    Attributes:
        store: Of the branch whose snapshots expire.
    """

    store: TableStore
    _read: dict[tuple[str, int, int], Snapshot] = field(default_factory=dict)

    def needing_files_of(self, snapshot_id: int) -> list[RetainedSnapshot]:
        """Return who may need files that go with a snapshot, as things are now.

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

    def metadata(self, protectors: list[RetainedSnapshot]) -> MetadataNames:
        """Return the names of all metadata that they need.

        A changelog is none of it: what is tagged or branched off is a state, and how it came about
        goes with the snapshot.

        Raises:
            CorruptData: One names a missing manifest.
        """
        names = MetadataNames()
        for protector in protectors:
            try:
                names |= metadata_names(
                    protector.snapshot, self.store.manifests, parts=MetadataParts(changelog=False)
                )
            except ManifestGone as error:
                self._refuse_damaged(protector, error)
        return names

    def data_files(
        self, protectors: list[RetainedSnapshot], buckets: frozenset[int]
    ) -> set[DataFileKey]:
        """Return the data files of some buckets that they need.

        Raises:
            CorruptData: One names a missing manifest.
        """
        keys: set[DataFileKey] = set()
        for protector in protectors if buckets else ():
            try:
                entries = self.store.live.entries(protector.snapshot, buckets=buckets)
            except ManifestGone as error:
                self._refuse_damaged(protector, error)
                continue
            keys.update(map(data_file_key, entries))
        return keys

    def _refuse_damaged(self, protector: RetainedSnapshot, error: ManifestGone) -> None:
        # One that is gone as well was deleted, or has expired, while its manifests were read.
        if self.store.file_io.exists(protector.path):
            message = (
                f"{protector.path} names a missing manifest, so nobody can say which files it "
                f"keeps: {error}"
            )
            raise CorruptData(message) from error

    def _tags(self, paths: TablePaths) -> Iterator[RetainedSnapshot]:
        for status in self.store.file_io.list(paths.tag_dir):
            if status.name.startswith(TAG_PREFIX) and not status.is_directory:
                yield from self._protector(status)

    def _snapshots(self, paths: TablePaths) -> Iterator[RetainedSnapshot]:
        for status in self.store.file_io.list(paths.snapshot_dir):
            if numbered(status.name, SNAPSHOT_PREFIX) is not None:
                yield from self._protector(status)

    def _protector(self, status: FileStatus) -> Iterator[RetainedSnapshot]:
        version = status.path, status.modified_ms, status.size
        if version not in self._read:
            try:
                data = self.store.file_io.read_bytes(status.path)
            except FileNotFoundError:
                return
            with corrupt_at(status.path):
                # A tag's file is a snapshot's with, at most, more keys.
                self._read[version] = parse_snapshot(data)
        yield RetainedSnapshot(path=status.path, snapshot=self._read[version])
