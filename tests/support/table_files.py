"""Files of a table on storage, and those of them that are needed.

Counted apart from the engine's own cleaning, of which this is the judge. Paths are relative to the
table's directory.
"""

from collections.abc import Collection, Iterator
from contextlib import suppress

from braid.lake import FileIO, MemoryFileIO, Table
from braid.lake.files.data_file_path import data_file_path
from braid.lake.format.snapshot import Snapshot, parse_snapshot
from braid.lake.snapshots.live_files import LiveFiles
from braid.lake.snapshots.manifest_store import ManifestGone, ManifestStore

_NEEDED_ANYWAY = ("schema/", "snapshot/", "tag/", "changelog/", "consumer/", "branch/")
"""Directories whose files are needed: they are what needs the others."""


def stored_files(file_io: FileIO, root: str) -> set[str]:
    """Return the paths of all files below a table's directory."""
    return {path.removeprefix(f"{root}/") for path in paths_below(file_io, root)}


def paths_below(file_io: FileIO, directory: str = "/") -> Iterator[str]:
    """Yield the paths of all files below a directory."""
    for status in file_io.list(directory):
        if status.is_directory:
            yield from paths_below(file_io, status.path)
        else:
            yield status.path


def copied(file_io: MemoryFileIO) -> MemoryFileIO:
    """Return storage of its own with the same files: what takes long to make is made once."""
    copy = MemoryFileIO()
    for path in paths_below(file_io):
        copy.write_new(path, file_io.read_bytes(path))
    return copy


def unneeded_files(file_io: FileIO, table: Table, *, restored: Collection[str] = ()) -> set[str]:
    """Return the files that no snapshot, tag or changelog names, and halves of any others."""
    needed = needed_files(file_io, table, restored=restored)
    return _removable(stored_files(file_io, table.path)) - needed


def missing_files(file_io: FileIO, table: Table, *, restored: Collection[str] = ()) -> set[str]:
    """Return the files that a snapshot, tag or changelog names but storage lacks."""
    return needed_files(file_io, table, restored=restored) - stored_files(file_io, table.path)


def assert_orphans_found(file_io: FileIO, table: Table, place: str = "") -> None:
    """Check that no file is missing, that cleaning finds those that nothing names, and removes them.

    Args:
        file_io: Storage.
        table: Opened there, at a time at which every file is old.
        place: What happened before, for people.
    """
    stored, needed = stored_files(file_io, table.path), needed_files(file_io, table)
    assert needed - stored == set(), place
    unneeded = _removable(stored) - needed
    listed = table.clean_orphans(min_age_ms=0)
    assert {file.path.removeprefix(f"{table.path}/") for file in listed.files} == unneeded, place
    assert table.clean_orphans(min_age_ms=0, delete=True).is_deleted
    assert stored_files(file_io, table.path) == stored - unneeded, place


def _removable(stored: set[str]) -> set[str]:
    """Return the files that have to be needed by something, else they are orphans."""
    halves = {path for path in stored if path.rpartition("/")[2].startswith(".")}
    return halves | {path for path in stored if not path.startswith(_NEEDED_ANYWAY)}


def needed_files(file_io: FileIO, table: Table, *, restored: Collection[str] = ()) -> set[str]:
    """Return the manifests, data files and index files that anything names.

    Args:
        file_io: Storage.
        table: On it.
        restored: The `uuid` of snapshots that a rollback has brought back from their tags: what a
            tag keeps is the rows, and the changelog went if the snapshot had expired.
    """
    return _Needed(file_io, table).all(restored)


class _Needed:
    """Follows every state of a table to its files."""

    def __init__(self, file_io: FileIO, table: Table) -> None:
        self._file_io = file_io
        self._table = table
        self._store = ManifestStore(file_io, table.paths)

    def all(self, restored: Collection[str]) -> set[str]:
        paths = self._table.paths
        needed: set[str] = set()
        for snapshot in self._states(paths.snapshot_dir, "snapshot-"):
            needed |= self._live(snapshot)
            if snapshot.uuid in restored:
                needed |= self._left_of_changelog(snapshot)
            else:
                needed |= self._changelog(snapshot)
        for tag in self._states(paths.tag_dir, "tag-"):
            needed |= self._live(tag)
        for changelog in self._states(paths.changelog_dir, "changelog-"):
            needed |= self._changelog(changelog)
        return needed

    def _states(self, directory: str, prefix: str) -> Iterator[Snapshot]:
        for status in self._file_io.list(directory):
            if status.name.startswith(prefix):
                yield parse_snapshot(self._file_io.read_bytes(status.path))

    def _live(self, snapshot: Snapshot) -> set[str]:
        """Return a state's manifests, live data files and index files."""
        needed = self._manifests(snapshot.base_manifest_list)
        needed |= self._manifests(snapshot.delta_manifest_list)
        for entry in LiveFiles(self._store).entries(snapshot):
            names = (entry.file.file_name, *entry.file.extra_files)
            needed |= {self._data_file(entry.partition, entry.bucket, name) for name in names}
        if snapshot.index_manifest is not None:
            needed.add(f"manifest/{snapshot.index_manifest}")
            indexes = self._store.read_index_manifest(snapshot.index_manifest)
            needed |= {f"index/{index.file_name}" for index in indexes}
        if snapshot.statistics is not None:
            needed.add(f"statistics/{snapshot.statistics}")
        return needed

    def _changelog(self, snapshot: Snapshot) -> set[str]:
        if snapshot.changelog_manifest_list is None:
            return set()
        needed = self._manifests(snapshot.changelog_manifest_list)
        for manifest in self._store.read_list(snapshot.changelog_manifest_list):
            for entry in self._store.read_manifest(manifest.file_name):
                name = entry.file.file_name
                needed.add(self._data_file(entry.partition, entry.bucket, name))
        return needed

    def _left_of_changelog(self, snapshot: Snapshot) -> set[str]:
        """Return what is still there of a changelog that may have expired, wholly or in part."""
        name = snapshot.changelog_manifest_list
        if name is None:
            return set()
        needed = {f"manifest/{name}"}
        with suppress(ManifestGone):
            for manifest in self._store.read_list(name):
                needed.add(f"manifest/{manifest.file_name}")
                with suppress(ManifestGone):
                    for entry in self._store.read_manifest(manifest.file_name):
                        needed.add(
                            self._data_file(entry.partition, entry.bucket, entry.file.file_name)
                        )
        return needed & stored_files(self._file_io, self._table.path)

    def _manifests(self, list_name: str) -> set[str]:
        manifests = self._store.read_list(list_name)
        return {f"manifest/{name}" for name in (list_name, *(m.file_name for m in manifests))}

    def _data_file(self, partition: bytes, bucket: int, name: str) -> str:
        table = self._table
        path = data_file_path(table.paths, table.schema, partition, bucket, name)
        return path.removeprefix(f"{table.path}/")
