"""Snapshots outside a branch's chain that keep files: those of tags and of other branches.

A file that a tag needs and that the chain has deleted since is live in every snapshot between the two, so
it is live in the nearest older tag, too. So only that tag and those above the expired snapshot are read.
This holds because no file comes back once it is deleted, and because a rollback deletes the tags above it.

Other branches share manifests and data files with this one in any order, so all of their snapshots are
read.
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
        path: Of its file.
        snapshot: Its content.
    """

    path: str
    snapshot: Snapshot


@dataclass(kw_only=True)
class RetainedSnapshots:
    """Finds the retained snapshots of a branch; a file that has not changed is read once.

    Attributes:
        store: Of the branch whose snapshots expire.
    """

    store: TableStore
    _read: dict[tuple[str, int, int], Snapshot] = field(default_factory=dict)

    def needing_files_of(self, snapshot_id: int) -> list[RetainedSnapshot]:
        """Return the snapshots that may need files which expire with a snapshot, as of now.

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

        Changelogs are not among it: a tag or branch keeps a state, and its changelog expires with the
        snapshot.

        Raises:
            CorruptData: One of them names a missing manifest.
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
            CorruptData: One of them names a missing manifest.
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
        # If its own file is gone too, it was deleted or has expired while its manifests were read.
        if self.store.file_io.exists(one.path):
            message = f"{one.path} names a missing manifest, so the files that it keeps are unknown: {error}"
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
        # A path alone is not enough: a tag may be deleted and made again, a rollback reuses ids.
        version = status.path, status.modified_ms, status.size
        if version not in self._read:
            try:
                data = self.store.file_io.read_bytes(status.path)
            except FileNotFoundError:
                return
            with corrupt_at(status.path):
                # The file of a tag is that of a snapshot, with at most some keys more.
                self._read[version] = parse_snapshot(data)
        yield RetainedSnapshot(path=status.path, snapshot=self._read[version])
