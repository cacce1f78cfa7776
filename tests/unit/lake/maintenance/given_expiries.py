"""Tables with snapshots that can expire, and readings of the files that are left."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace

from braid.lake import Catalog, ExpiryResult, FileIO, ManualClock, MemoryFileIO, Table
from braid.lake.files.paths import TablePaths
from braid.lake.format.data_file import FileSource
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.snapshot import CommitKind, Snapshot
from braid.lake.options.table_options import ChangelogProducer
from braid.lake.snapshots.changelog_store import ChangelogStore
from braid.lake.snapshots.live_files import LiveFiles
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from braid.lake.snapshots.tag_store import TagStore, list_branches
from tests.unit.lake.maintenance.given_compactions import WAREHOUSE, read, write

HOUR_MS = 3_600_000
_META = ("manifest", "index", "statistics")


def given_aging_table(
    options: Mapping[str, str] | None = None,
    *,
    file_io: FileIO | None = None,
    clock: ManualClock | None = None,
) -> tuple[Table, ManualClock]:
    """Create a table like `given_table`, and its clock."""
    clock = clock or ManualClock()
    catalog = Catalog(
        WAREHOUSE, file_io=file_io or MemoryFileIO(), clock=clock, random=random.Random(5)
    )
    table = catalog.create_table(
        "db.t",
        columns=[("p", "STRING"), ("k", "INT"), ("v", "INT"), ("w", "STRING")],
        primary_key=["p", "k"],
        options={"bucket": "1", **(options or {})},
    )
    return table, clock


def given_history(
    options: Mapping[str, str] | None = None, *, file_io: FileIO | None = None, count: int = 8
) -> tuple[Table, ManualClock]:
    """Return a table of eight snapshots, an hour between each and the next: 4 and 7 compact."""
    table, clock = given_aging_table(options, file_io=file_io)
    for number in range(1, count + 1):
        if number in (4, 7):
            assert table.compact().snapshot_id == number
        else:
            assert write(table, (number % 3, number), (10, number)) == number
        clock.advance(ms=HOUR_MS)
    return table, clock


def expire_all(table: Table) -> ExpiryResult:
    """Expire everything that is not held, whatever its age."""
    return table.expire(retain_min=1, older_than_ms=1 << 60)


def kept_ids(table: Table) -> list[int]:
    """Return the ids of all snapshots on storage."""
    return SnapshotStore(table.file_io, table.paths).list_ids()


def histories(table: Table) -> dict[int, list[tuple[object, ...]]]:
    """Return the rows of every snapshot on storage, read without any cache."""
    fresh = Table.open(table.path, file_io=table.file_io)
    return {number: read(fresh, number) for number in kept_ids(table)}


def stored(table: Table) -> set[str]:
    """Return the names of all data, changelog, manifest, index and statistics files on storage."""
    return set(_names_below(table.file_io, table.path, is_inside=False))


def needed(table: Table) -> set[str]:
    """Return the names that snapshots, tags, branches and kept changelogs reference."""
    names: set[str] = set()
    manifests = ManifestStore(table.file_io, table.paths)
    for branch in ("", *list_branches(table.file_io, table.paths)):
        paths = replace(table.paths, branch=branch)
        for snapshot in _snapshots(table.file_io, paths):
            names |= _of_state(snapshot, manifests)
            names |= _of_changelog(snapshot, manifests)
        for tag in TagStore(table.file_io, paths).list():
            names |= _of_state(tag.snapshot, manifests)
        changelogs = ChangelogStore(table.file_io, paths)
        for number in changelogs.list_ids():
            changelog = changelogs.find(number)
            assert changelog is not None
            names |= _of_changelog(changelog, manifests)
            if table.schema.table_options.changelog_producer is ChangelogProducer.NONE:
                names |= _of_appended(changelog, manifests)
                names |= _merged(next(_snapshots(table.file_io, paths)), manifests)
    return names


def states(table: Table) -> dict[int, set[str]]:
    """Return the names of the data files of every snapshot on storage, read without any cache."""
    manifests = ManifestStore(table.file_io, table.paths)
    return {
        snapshot.id: {entry.file.file_name for entry in LiveFiles(manifests).entries(snapshot)}
        for snapshot in _snapshots(table.file_io, table.paths)
    }


def _snapshots(file_io: FileIO, paths: TablePaths) -> Iterator[Snapshot]:
    store = SnapshotStore(file_io, paths)
    return map(store.get, store.list_ids())


def _of_state(snapshot: Snapshot, manifests: ManifestStore) -> set[str]:
    names = {snapshot.base_manifest_list, snapshot.delta_manifest_list}
    for name in sorted(names):
        names.update(manifest.file_name for manifest in manifests.read_list(name))
    names.update(*(_names(entry) for entry in LiveFiles(manifests).entries(snapshot)))
    if snapshot.index_manifest is not None:
        names.add(snapshot.index_manifest)
        names.update(e.file_name for e in manifests.read_index_manifest(snapshot.index_manifest))
    return names | ({snapshot.statistics} if snapshot.statistics else set())


def _of_changelog(snapshot: Snapshot, manifests: ManifestStore) -> set[str]:
    name = snapshot.changelog_manifest_list
    return set() if name is None else {name, *_added(name, manifests)}


def _of_appended(snapshot: Snapshot, manifests: ManifestStore) -> set[str]:
    base = snapshot.base_manifest_list
    lists = {base, *(manifest.file_name for manifest in manifests.read_list(base))}
    delta = snapshot.delta_manifest_list
    lists |= {delta, *(manifest.file_name for manifest in manifests.read_list(delta))}
    is_changelog = snapshot.commit_kind is CommitKind.APPEND
    return lists | (set(_added(delta, manifests)) if is_changelog else _merged(snapshot, manifests))


def _merged(snapshot: Snapshot, manifests: ManifestStore) -> set[str]:
    """Return the appended files that a compaction replaced.

    They expire with the changelog of the compaction, as in Java, whenever they were appended.
    """
    return {
        name
        for manifest in manifests.read_list(snapshot.delta_manifest_list)
        for entry in manifests.read_manifest(manifest.file_name)
        if entry.kind is FileKind.DELETE and entry.file.file_source is not FileSource.COMPACT
        for name in _names(entry)
    }


def _added(list_name: str, manifests: ManifestStore) -> Iterator[str]:
    for manifest in manifests.read_list(list_name):
        yield manifest.file_name
        for entry in manifests.read_manifest(manifest.file_name):
            if entry.kind is FileKind.ADD:
                yield from _names(entry)


def _names(entry: ManifestEntry) -> tuple[str, ...]:
    return entry.file.file_name, *entry.file.extra_files


def _names_below(file_io: FileIO, path: str, *, is_inside: bool) -> Iterator[str]:
    for status in file_io.list(path):
        if status.is_directory:
            is_ours = status.name in _META or status.name.startswith("bucket-")
            yield from _names_below(file_io, status.path, is_inside=is_inside or is_ours)
        elif is_inside:
            yield status.name
