"""The names of all files that a table needs: the other side of what orphan cleaning removes.

Needed is what a snapshot, a tag or a kept changelog names, of the main branch and of every other
one. Names are enough: writers make them unique, wherever in the table a file lies.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from lake.errors import CorruptData
from lake.files.paths import (
    CHANGELOG_PREFIX,
    SNAPSHOT_PREFIX,
    TAG_PREFIX,
    TablePaths,
    numbered,
)
from lake.files.storage.file_io import FileIO, FileStatus
from lake.format.corruption import corrupt_at
from lake.format.manifest import FileKind, ManifestEntry
from lake.format.snapshot import Snapshot, parse_snapshot
from lake.maintenance.unreferenced_files import MetadataParts, entries_of, metadata_names
from lake.snapshots.live_files import LiveFiles
from lake.snapshots.manifest_store import ManifestGone, ManifestStore
from lake.snapshots.tag_store import list_branches

_STATE_PARTS = MetadataParts(changelog=False)
_CHANGELOG_PARTS = MetadataParts(data=False, rest=False)
_KEPT_CHANGELOG_PARTS = MetadataParts(rest=False)


@dataclass(kw_only=True)
class ReachableFiles:
    """Names of needed files, as collected so far; what has been read once is not read again.

    Attributes:
        manifests: Reads manifests.
        live: Finds live files.
        names: Of manifests, lists, index, statistics, data and changelog files.
    """

    manifests: ManifestStore
    live: LiveFiles
    names: set[str] = field(default_factory=set)

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Add all that a snapshot needs to be read, and its changelog.

        The changelog may be absent: where only a tag kept the snapshot, it has expired.

        Raises:
            ManifestGone: A manifest of its state is absent.
            CorruptData: A manifest cannot be read.
        """
        self.add_tagged(snapshot)
        self._add_metadata(snapshot, _CHANGELOG_PARTS, is_partial=True)
        self._add_added(snapshot.changelog_manifest_list)

    def add_tagged(self, snapshot: Snapshot) -> None:
        """Add what a tag keeps of its snapshot: the rows, and not how they came about.

        Raises:
            ManifestGone: A manifest of its state is absent.
            CorruptData: A manifest cannot be read.
        """
        self._add_metadata(snapshot, _STATE_PARTS)
        self._add_files(self.live.by_identity(snapshot).values())

    def add_partly_expired(self, snapshot: Snapshot) -> None:
        """Add all that can still be read of a snapshot whose expiry was broken off.

        Raises:
            CorruptData: A manifest is there and cannot be read.
        """
        self._add_metadata(snapshot, MetadataParts(), is_partial=True)
        self._add_added(snapshot.base_manifest_list)
        self.add_changelog(snapshot)

    def add_changelog(self, snapshot: Snapshot) -> None:
        """Add what is there of an expired snapshot that is kept for its changelog.

        Without changelog files the changelog is what the commit appended.

        Raises:
            CorruptData: A manifest is there and cannot be read.
        """
        self._add_metadata(snapshot, _KEPT_CHANGELOG_PARTS, is_partial=True)
        self._add_added(snapshot.delta_manifest_list)
        self._add_added(snapshot.changelog_manifest_list)

    def _add_metadata(
        self, snapshot: Snapshot, parts: MetadataParts, *, is_partial: bool = False
    ) -> None:
        found = metadata_names(snapshot, self.manifests, parts=parts, is_partial=is_partial)
        self.names |= found.manifests | found.indexes | found.statistics

    def _add_added(self, list_name: str | None) -> None:
        entries = entries_of(list_name, self.manifests, is_partial=True)
        self._add_files(entry for entry in entries if entry.kind is FileKind.ADD)

    def _add_files(self, entries: Iterable[ManifestEntry]) -> None:
        for entry in entries:
            self.names.add(entry.file.file_name)
            self.names.update(entry.file.extra_files)


@dataclass(kw_only=True)
class ReachableFileScan:
    """Collects what a whole table needs, while others go on committing and expiring.

    Attributes:
        file_io: Storage.
        paths: Of any branch of the table.
        needed: What has been collected.
    """

    file_io: FileIO
    paths: TablePaths
    needed: ReachableFiles
    _seen: set[tuple[str, int, int]] = field(default_factory=set)

    def collect(self) -> set[str]:
        """Add what is not known yet until nothing new appears, and return all names.

        Nothing that is needed all the while is missed: a snapshot that expires between two
        listings hands its files to a tag or a kept changelog, and those are listed after it.

        Raises:
            CorruptData: A snapshot or tag file, or a manifest of one that is in use, cannot be
                read: nobody can say what it needs.
        """
        while True:
            statuses = [status for status in self._list_all() if _version(status) not in self._seen]
            if not statuses:
                return self.needed.names
            for status in statuses:
                self._add(status)
                self._seen.add(_version(status))

    def _list_all(self) -> Iterator[FileStatus]:
        for branch in ("", *list_branches(self.file_io, self.paths)):
            paths = replace(self.paths, branch=branch)
            for directory, prefix in (
                (paths.snapshot_dir, SNAPSHOT_PREFIX),
                (paths.changelog_dir, CHANGELOG_PREFIX),
            ):
                yield from _by_number(self.file_io.list(directory), prefix)
            for status in self.file_io.list(paths.tag_dir):
                if status.name.startswith(TAG_PREFIX) and not status.is_directory:
                    yield status

    def _add(self, status: FileStatus) -> None:
        try:
            data = self.file_io.read_bytes(status.path)
        except FileNotFoundError:
            return
        with corrupt_at(status.path):
            # A tag's file is a snapshot's with, at most, more keys.
            snapshot = parse_snapshot(data)
        if status.name.startswith(CHANGELOG_PREFIX):
            self.needed.add_changelog(snapshot)
            return
        is_tag = status.name.startswith(TAG_PREFIX)
        try:
            if is_tag:
                self.needed.add_tagged(snapshot)
            else:
                self.needed.add_snapshot(snapshot)
        except ManifestGone as error:
            if not self.file_io.exists(status.path):
                return
            if is_tag or not self._has_successor(status):
                message = (
                    f"{status.path} names a missing manifest, so nobody can say which files it "
                    f"keeps: {error}"
                )
                raise CorruptData(message) from error
            # The format's own engine expires manifests first and the snapshot afterwards.
            self.needed.add_partly_expired(snapshot)

    def _has_successor(self, status: FileStatus) -> bool:
        directory = status.path.rpartition("/")[0]
        own = numbered(status.name, SNAPSHOT_PREFIX)
        found = (numbered(other.name, SNAPSHOT_PREFIX) for other in self.file_io.list(directory))
        return own is not None and any(number is not None and number > own for number in found)


def _by_number(statuses: Iterable[FileStatus], prefix: str) -> list[FileStatus]:
    """Return numbered files, ascending: what is live is found faster from one snapshot to the next."""
    found = [(numbered(status.name, prefix), status) for status in statuses]
    known = [(number, status) for number, status in found if number is not None]
    return [status for _, status in sorted(known, key=lambda pair: pair[0])]


def _version(status: FileStatus) -> tuple[str, int, int]:
    # A rollback makes ids free for other snapshots.
    return status.path, status.modified_ms, status.size
