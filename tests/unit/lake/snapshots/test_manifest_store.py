"""Manifests are read once, and an absent one is an error of its own."""

import pytest

from braid.lake.commit.commit_changes import changes_of
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.snapshot import CommitKind
from braid.lake.snapshots.lru_cache import LruCache
from braid.lake.snapshots.manifest_store import ManifestGone, ManifestStore
from braid.lake.snapshots.metadata_cache import MetadataCache
from tests.support.committing import appended, data_file
from tests.support.faulty_file_io import FaultyFileIO

PATHS = TablePaths("/t")


def entries(*names: str) -> tuple[ManifestEntry, ...]:
    return changes_of([appended(*map(data_file, names))], CommitKind.APPEND).delta


def write(store: ManifestStore, name: str, *files: str) -> None:
    store.write_manifest(name, entries(*files), partition_fields=(), compression="zstandard")


def test_manifests_and_lists_come_back() -> None:
    file_io = MemoryFileIO()
    store = ManifestStore(file_io, PATHS)
    meta = store.write_manifest("m", entries("a", "b"), partition_fields=(), compression="null")
    size = store.write_list("l", [meta], compression="zstandard")

    fresh = ManifestStore(file_io, PATHS)

    assert fresh.read_manifest("m") == entries("a", "b")
    assert fresh.read_list("l") == (meta,)
    assert size == file_io.size(PATHS.manifest("l"))
    assert meta.file_size == file_io.size(PATHS.manifest("m"))
    assert (meta.num_added_files, meta.num_deleted_files) == (2, 0)


def test_written_and_read_files_are_cached() -> None:
    file_io = FaultyFileIO(MemoryFileIO())
    store = ManifestStore(file_io, PATHS)
    write(store, "m", "a")
    store.read_manifest("m")
    fresh = ManifestStore(file_io, PATHS)
    for _ in range(3):
        fresh.read_manifest("m")

    assert [method for method, _ in file_io.calls].count("read_bytes") == 1


def test_the_cache_is_bounded() -> None:
    file_io = FaultyFileIO(MemoryFileIO())
    store = ManifestStore(file_io, PATHS, cache=MetadataCache(LruCache(1)))
    write(store, "m", "a")
    write(store, "n", "b")

    assert store.read_manifest("m") == entries("a")
    assert store.read_manifest("n") == entries("b")
    assert [method for method, _ in file_io.calls].count("read_bytes") == 2


def test_a_missing_manifest_means_an_expired_snapshot() -> None:
    store = ManifestStore(MemoryFileIO(), PATHS)
    write(store, "m", "a")
    assert store.delete("m")

    with pytest.raises(ManifestGone, match="has expired"):
        store.read_manifest("m")
    assert not store.delete("m")
