"""Creation, deletion and expiry of tags; a deletion also deletes the files that only the tag kept.

There are no locks. The order of the steps makes creations and deletions safe while an expiry, a rollback or another
of them is running:

- a creation writes the tag's file, then checks that the snapshot still exists. An expiry deletes a snapshot, then
  reads the tags, then deletes files;
- a deletion deletes the tag's file, then collects the files that are still needed, then deletes the other files of
  the tag.

Source:
    Table-format 19, 20.
"""

import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from braid.lake.errors import CorruptData, InvalidRequest, Problem, StorageUnavailable
from braid.lake.files.data_file_path import data_file_path
from braid.lake.format.snapshot import Snapshot
from braid.lake.format.tag import Tag, local_time
from braid.lake.iceberg.publication import publish
from braid.lake.maintenance.reachable_files import ReachableFiles
from braid.lake.maintenance.unreferenced_files import MetadataNames, MetadataParts, metadata_names
from braid.lake.snapshots.manifest_store import ManifestGone
from braid.lake.snapshots.snapshot_store import SnapshotStore
from braid.lake.snapshots.table_store import TableStore
from braid.lake.snapshots.tag_store import list_branches

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TagDeletion:
    """Result of the deletion of a tag.

    Attributes:
        name: Name of the tag.
        tag: The deleted tag; None if its file could not be read.
        deleted_files: The number of files that only the tag needed, and that were deleted.
        left_over: Why the tag's files were left to orphan cleaning; None where they were deleted.
    """

    name: str
    tag: Tag | None
    deleted_files: int
    left_over: str | None = None


class TableTags:
    """The tags of one table's main branch."""

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._tags = store.tags
        self._snapshots = store.snapshots

    def create(self, name: str, snapshot: Snapshot, *, retained_ms: int | None) -> Tag:
        """Create a tag of a snapshot.

        Args:
            name: Name of the tag, unique within the table.
            snapshot: A snapshot of the table's chain.
            retained_ms: Time to live, milliseconds; None for ever.

        Raises:
            InvalidRequest: The name is taken or not valid, or the snapshot has expired meanwhile.
            StorageUnavailable: The tag may or may not exist; list the tags.
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
            # Unchecked, the tag might name files that expiry has deleted.
            with suppress(StorageUnavailable):
                self._tags.delete(name)
            raise
        if not snapshot.is_same(found):
            self._tags.delete(name)
            message = f"snapshot {snapshot.id} has expired meanwhile, so nothing was tagged"
            raise InvalidRequest(message)
        return tag

    def delete(self, name: str) -> TagDeletion:
        """Delete a tag, and the files that only it needed.

        A tag that cannot be read is deleted too, because it stops expiry; its files are left to orphan cleaning.

        Raises:
            InvalidRequest: There is no such tag.
            StorageUnavailable: The tag may be deleted; files that are left are found by orphan
                cleaning.
        """
        # Before its files go: the Iceberg metadata may name them for the tag alone.
        publish(self._store, without_tag=name)
        tag: Tag | None = None
        try:
            tag = self._tags.get(name)
            self._tags.delete(name)
            return TagDeletion(name=name, tag=tag, deleted_files=self._delete_files(tag.snapshot))
        except (CorruptData, ManifestGone) as error:
            if tag is None:
                self._tags.delete(name)
            # The tag is deleted, as requested. It is unknown which files only the tag needed, so they stay.
            _LOG.warning("files of tag %s are left to orphan cleaning: %s", name, error)
            return TagDeletion(name=name, tag=tag, deleted_files=0, left_over=str(error))

    def expire(self) -> list[TagDeletion]:
        """Delete the tags whose time to live is over.

        Raises:
            CorruptData: A tag cannot be read.
            StorageUnavailable: Expire again.
        """
        now_ms = self._store.clock.now_ms()
        expired = [tag.name for tag in self._tags.list() if tag.is_expired(now_ms=now_ms)]
        done = []
        for name in expired:
            # Another process may have deleted it in the meantime.
            with suppress(InvalidRequest):
                done.append(self.delete(name))
        return done

    def _delete_files(self, snapshot: Snapshot) -> int:
        """Delete the files that only a deleted tag needed; return their number."""
        # If the snapshot exists, it still needs all files, and its expiry will delete them.
        if snapshot.is_same(self._snapshots.find(snapshot.id)):
            return 0
        reachable = self._reachable_without(snapshot)
        entries = self._store.live.by_identity(snapshot).values()
        data_paths = [
            data_file_path(
                self._store.paths,
                self._store.schema,
                entry.partition,
                entry.bucket,
                name,
            )
            for entry in entries
            if entry.file.file_name not in reachable and entry.file.external_path is None
            for name in (entry.file.file_name, *entry.file.extra_files)
        ]
        # The changelog has expired with the snapshot, or is kept as a long-lived changelog.
        metadata = metadata_names(
            snapshot, self._store.manifests, parts=MetadataParts(changelog=False)
        )
        # Data first: if this is interrupted, the manifests still show which files were of the tag.
        paths = [*data_paths, *self._metadata_paths(metadata, reachable)]
        for path in paths:
            self._store.file_io.delete(path)
        return len(paths)

    def _metadata_paths(self, names: MetadataNames, reachable: set[str]) -> Iterator[str]:
        yield from (self._store.paths.index(name) for name in names.indexes - reachable)
        yield from (self._store.paths.statistics(name) for name in names.statistics - reachable)
        yield from (self._store.paths.manifest(name) for name in names.manifests - reachable)

    def _reachable_without(self, tagged: Snapshot) -> set[str]:
        """Return the names of the files that a snapshot, changelog or tag other than a deleted one needs.

        Args:
            tagged: The snapshot of the deleted tag.
        """
        reachable = ReachableFiles(manifests=self._store.manifests, live=self._store.live)
        for branch in ("", *list_branches(self._store.file_io, self._store.paths)):
            of_branch = replace(self._store, paths=replace(self._store.paths, branch=branch))
            snapshots = of_branch.snapshots
            is_older = not branch and tagged.id < (snapshots.earliest_id() or 0)
            self._add_chain(reachable, snapshots, is_oldest_enough=is_older)
            for tag in of_branch.tags.list():
                reachable.add_snapshot(tag.snapshot)
            changelogs = of_branch.changelogs
            for number in changelogs.list_ids():
                changelog = changelogs.find(number)
                if changelog is not None:
                    reachable.add_changelog(changelog)
        return reachable.names

    def _add_chain(
        self, reachable: ReachableFiles, snapshots: SnapshotStore, *, is_oldest_enough: bool
    ) -> None:
        """Add the files of a chain of snapshots.

        Args:
            reachable: The files are added to it.
            snapshots: Snapshots of the chain.
            is_oldest_enough: The tag is of this chain and older than all its snapshots. Then the oldest
                snapshot needs every file of the tag that a later snapshot needs, because a deleted file
                does not come back. This is not true for other branches, nor for a tag of removed
                history.
        """
        for number in snapshots.list_ids():
            snapshot = snapshots.find(number)
            try:
                if snapshot is not None:
                    reachable.add_snapshot(snapshot)
                    if is_oldest_enough:
                        return
            except ManifestGone:
                # It has just expired or is expiring, and the next one is the oldest. The newest snapshot
                # never expires.
                if number == snapshots.latest_id():
                    raise
