"""Making and deleting tags, and the files that only a deleted tag kept.

Nobody locks anything. Two orders make it safe beside expiry, rollback and each other:

- who makes a tag writes its file, then looks whether the snapshot is still there. Expiry deletes a
  snapshot, then looks for tags, then deletes files;
- who deletes a tag deletes its file, then looks who else needs what it kept, then deletes files.

Source:
    Table-format 19, 20.
"""

import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from lake.errors import CorruptData, InvalidRequest, Problem, StorageUnavailable
from lake.files.data_file_path import data_file_path
from lake.format.snapshot import Snapshot
from lake.format.tag import Tag, local_time
from lake.maintenance.reachable_files import ReachableFiles
from lake.maintenance.unreferenced_files import MetadataNames, MetadataParts, metadata_names
from lake.snapshots.manifest_store import ManifestGone
from lake.snapshots.snapshot_store import SnapshotStore
from lake.snapshots.table_store import TableStore
from lake.snapshots.tag_store import list_branches

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TagDeletion:
    """What became of a deleted tag's files.

    Attributes:
        tag: That was deleted.
        deleted_files: How many files only it needed.
        left_over: Why its files were left to orphan cleaning; None where they were not.
    """

    tag: Tag
    deleted_files: int
    left_over: str | None = None


class TableTags:
    """The tags of one table's main branch."""

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._tags = store.tags
        self._snapshots = store.snapshots

    def create(self, name: str, snapshot: Snapshot, *, retained_ms: int | None) -> Tag:
        """Make a tag of a snapshot.

        Args:
            name: Unique within the table.
            snapshot: Of the table's chain.
            retained_ms: Time to live, milliseconds; None for ever.

        Raises:
            InvalidRequest: The name is taken or none at all, or the snapshot has expired meanwhile.
            StorageUnavailable: Nobody knows whether the tag was made; look for it.
        """
        created = None if retained_ms is None else local_time(self._store.clock.now_ms())
        tag = Tag(name=name, snapshot=snapshot, created=created, retained_ms=retained_ms)
        if not self._tags.create(tag):
            problem = Problem(field="tag", value=name, message="there is a tag of that name")
            message = f"tag `{name}` exists already"
            raise InvalidRequest(message, problems=[problem])
        try:
            found = self._snapshots.find(snapshot.id)
        except StorageUnavailable:
            # Without the look the tag may be one of files that are gone.
            with suppress(StorageUnavailable):
                self._tags.delete(name)
            raise
        if not snapshot.is_same(found):
            self._tags.delete(name)
            message = f"snapshot {snapshot.id} has expired meanwhile, nothing was tagged"
            raise InvalidRequest(message)
        return tag

    def delete(self, name: str) -> TagDeletion:
        """Delete a tag, and the files that nobody else needs.

        Raises:
            InvalidRequest: There is no such tag.
            StorageUnavailable: The tag may be deleted; files that are left are found by orphan
                cleaning.
        """
        tag = self._tags.get(name)
        self._tags.delete(name)
        try:
            return TagDeletion(tag=tag, deleted_files=self._delete_files(tag.snapshot))
        except (CorruptData, ManifestGone) as error:
            # The tag is deleted, which is what was asked for. Nothing says what its files are, or
            # who else needs them, so they stay.
            _LOG.warning("files of tag %s are left to orphan cleaning: %s", name, error)
            return TagDeletion(tag=tag, deleted_files=0, left_over=str(error))

    def expire(self) -> list[TagDeletion]:
        """Delete the tags whose time to live is over.

        Raises:
            CorruptData: A tag cannot be read.
            StorageUnavailable: Expire again.
        """
        now_ms = self._store.clock.now_ms()
        over = [tag.name for tag in self._tags.list() if tag.is_expired(now_ms=now_ms)]
        done = []
        for name in over:
            # Somebody else may be expiring tags, too.
            with suppress(InvalidRequest):
                done.append(self.delete(name))
        return done

    def _delete_files(self, snapshot: Snapshot) -> int:
        if snapshot.is_same(self._snapshots.find(snapshot.id)):
            return 0
        needed = self._needed(snapshot)
        entries = self._store.live.by_identity(snapshot).values()
        released = [
            data_file_path(
                self._store.paths,
                self._store.schema,
                entry.partition,
                entry.bucket,
                name,
            )
            for entry in entries
            if entry.file.file_name not in needed and entry.file.external_path is None
            for name in (entry.file.file_name, *entry.file.extra_files)
        ]
        # Its changelog went with the snapshot, or is kept as such.
        metadata = metadata_names(
            snapshot, self._store.manifests, parts=MetadataParts(changelog=False)
        )
        # Data first: while the manifests are there somebody can still say what it was.
        paths = [*released, *self._metadata_paths(metadata, needed)]
        for path in paths:
            self._store.file_io.delete(path)
        return len(paths)

    def _metadata_paths(self, names: MetadataNames, needed: set[str]) -> Iterator[str]:
        yield from (self._store.paths.index(name) for name in names.indexes - needed)
        yield from (self._store.paths.statistics(name) for name in names.statistics - needed)
        yield from (self._store.paths.manifest(name) for name in names.manifests - needed)

    def _needed(self, tagged: Snapshot) -> set[str]:
        """Return the names of all that everybody but a deleted tag needs.

        Args:
            tagged: The snapshot of the deleted tag.
        """
        needed = ReachableFiles(manifests=self._store.manifests, live=self._store.live)
        for branch in ("", *list_branches(self._store.file_io, self._store.paths)):
            of_branch = replace(self._store, paths=replace(self._store.paths, branch=branch))
            snapshots = of_branch.snapshots
            is_older = not branch and tagged.id < (snapshots.earliest_id() or 0)
            self._add_chain(needed, snapshots, is_oldest_enough=is_older)
            for tag in of_branch.tags.list():
                needed.add_snapshot(tag.snapshot)
            changelogs = of_branch.changelogs
            for number in changelogs.list_ids():
                changelog = changelogs.find(number)
                if changelog is not None:
                    needed.add_changelog(changelog)
        return needed.names

    def _add_chain(
        self, needed: ReachableFiles, snapshots: SnapshotStore, *, is_oldest_enough: bool
    ) -> None:
        """Add what a chain of snapshots needs.

        What a later snapshot of the same chain needs of an older tag's files, the oldest snapshot
        needs as well: a file that was deleted does not come back. Nothing of the kind holds for
        other branches, nor for a tag of what was rolled back.
        """
        for number in snapshots.list_ids():
            snapshot = snapshots.find(number)
            try:
                if snapshot is not None:
                    needed.add_snapshot(snapshot)
                    if is_oldest_enough:
                        return
            except ManifestGone:
                # It has expired, or is about to; the next one is the oldest.
                if number == snapshots.latest_id():
                    raise
