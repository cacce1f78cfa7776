"""Reachable files of a table, by name, which orphan cleaning must not delete.

A file is reachable if a snapshot, a tag or a kept changelog of any branch names it. Names without directories are
enough, because writers make them unique within the table. `ReachableFileScan` collects the names of the whole table;
there a tag keeps only the files of its state, not those of its changelog. The deletion of a tag uses `ReachableFiles`
alone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from braid.lake.errors import CorruptData
from braid.lake.files.paths import (
    CHANGELOG_PREFIX,
    SNAPSHOT_PREFIX,
    TAG_PREFIX,
    TablePaths,
    numbered,
)
from braid.lake.files.storage.file_io import FileIO, FileStatus
from braid.lake.format.corruption import corrupt_at
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.snapshot import Snapshot, parse_snapshot
from braid.lake.maintenance.unreferenced_files import MetadataParts, entries_of, metadata_names
from braid.lake.snapshots.live_files import LiveFiles
from braid.lake.snapshots.manifest_store import ManifestGone, ManifestStore
from braid.lake.snapshots.tag_store import list_branches

_STATE_PARTS = MetadataParts(changelog=False)
_CHANGELOG_PARTS = MetadataParts(data=False, rest=False)
_KEPT_CHANGELOG_PARTS = MetadataParts(rest=False)


@dataclass(kw_only=True)
class ReachableFiles:
    """Names of reachable files, collected snapshot by snapshot.

    Attributes:
        manifests: Reads manifests; its cache saves reading again those that snapshots share.
        live: Finds live files.
        names: Names of manifests, lists, index, statistics, data and changelog files.
    """

    manifests: ManifestStore
    live: LiveFiles
    names: set[str] = field(default_factory=set)

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Add the files of a snapshot's state and of its changelog.

        The changelog may be absent: if only a tag keeps the snapshot, its changelog has expired.

        Raises:
            ManifestGone: A manifest of the state is absent.
            CorruptData: A manifest cannot be read.
        """
        self.add_tagged(snapshot)
        self._add_metadata(snapshot, _CHANGELOG_PARTS, is_partial=True)
        self._add_added(snapshot.changelog_manifest_list)

    def add_tagged(self, snapshot: Snapshot) -> None:
        """Add the files that a tag keeps of its snapshot: files of the state, not of the changelog.

        Raises:
            ManifestGone: A manifest of the state is absent.
            CorruptData: A manifest cannot be read.
        """
        self._add_metadata(snapshot, _STATE_PARTS)
        self._add_files(self.live.by_identity(snapshot).values())

    def add_partly_expired(self, snapshot: Snapshot) -> None:
        """Add the files that can still be found of a snapshot whose expiry was interrupted.

        Raises:
            CorruptData: An existing manifest cannot be read.
        """
        self._add_metadata(snapshot, MetadataParts(), is_partial=True)
        self._add_added(snapshot.base_manifest_list)
        self.add_changelog(snapshot)

    def add_changelog(self, snapshot: Snapshot) -> None:
        """Add the remaining files of an expired snapshot that is kept for its changelog.

        Where there are no changelog files, the data files that the commit appended are the changelog.

        Raises:
            CorruptData: An existing manifest cannot be read.
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
    """Collects the reachable files of a whole table, while other processes commit and expire.

    Attributes:
        file_io: Storage.
        paths: Paths of any branch of the table.
        reachable: The names collected so far.
    """

    file_io: FileIO
    paths: TablePaths
    reachable: ReachableFiles
    _seen: set[tuple[str, int, int]] = field(default_factory=set)

    def collect(self) -> set[str]:
        """Read new snapshots, changelogs and tags until a listing has none, and return all names.

        No file that stays reachable is missed: when a snapshot expires between two listings, a tag or a
        kept changelog takes over its files, and those are listed after snapshots.

        Raises:
            CorruptData: A snapshot or tag file, or a manifest that such a file names, cannot be read, so
                that it is unknown which files are reachable.
        """
        while True:
            statuses = [status for status in self._list_all() if _version(status) not in self._seen]
            if not statuses:
                return self.reachable.names
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
            # The file of a tag has the content of a snapshot's file, and perhaps some further keys.
            snapshot = parse_snapshot(data)
        if status.name.startswith(CHANGELOG_PREFIX):
            self.reachable.add_changelog(snapshot)
            return
        is_tag = status.name.startswith(TAG_PREFIX)
        try:
            if is_tag:
                self.reachable.add_tagged(snapshot)
            else:
                self.reachable.add_snapshot(snapshot)
        except ManifestGone as error:
            if not self.file_io.exists(status.path):
                return  # it has expired or was deleted since it was listed
            if is_tag or not self._has_successor(status):
                message = (
                    f"{status.path} refers to a manifest that does not exist, so Braid cannot tell which files "
                    f"this snapshot or tag needs: {error}"
                )
                raise CorruptData(message) from error
            # The format's own engine deletes manifests before the snapshot, so its interrupted expiry
            # leaves a snapshot without some of its manifests.
            self.reachable.add_partly_expired(snapshot)

    def _has_successor(self, status: FileStatus) -> bool:
        directory = status.path.rpartition("/")[0]
        own = numbered(status.name, SNAPSHOT_PREFIX)
        found = (numbered(other.name, SNAPSHOT_PREFIX) for other in self.file_io.list(directory))
        return own is not None and any(number is not None and number > own for number in found)


def _by_number(statuses: Iterable[FileStatus], prefix: str) -> list[FileStatus]:
    """Return numbered files, ascending: live files are found fastest from one snapshot to the next."""
    found = [(numbered(status.name, prefix), status) for status in statuses]
    known = [(number, status) for number, status in found if number is not None]
    return [status for _, status in sorted(known, key=lambda pair: pair[0])]


def _version(status: FileStatus) -> tuple[str, int, int]:
    # A path alone is not enough: after a rollback other snapshots get the same ids.
    return status.path, status.modified_ms, status.size
