"""Manifests are read once, and an absent one is an error of its own."""

import errno
from dataclasses import replace

import pytest

from braid.lake.commit.commit_changes import changes_of
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.binary_row import EMPTY_ROW
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.snapshot import CommitKind
from braid.lake.format.statistics import SimpleStats
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


def test_of_a_sorted_manifest_blocks_are_read_once() -> None:
    file_io = FaultyFileIO(MemoryFileIO())
    store = ManifestStore(file_io, PATHS)
    name = PATHS.new_manifest_part_name("u", 0)
    wide = SimpleStats(min_values=bytes(40_000), max_values=bytes(40_000), null_counts=())
    sorted_entries = [
        replace(entry, bucket=number, file=replace(entry.file, value_stats=wide))
        for number, entry in enumerate(entries("a", "b", "c", "d"))
    ]
    store.write_manifest(name, sorted_entries, partition_fields=(), compression="null")

    def calls_for(bucket: int) -> list[str]:
        file_io.calls.clear()
        found = store.read_some([name], {(EMPTY_ROW, bucket)}, is_reduced=True)
        assert [[e.file.file_name for e in part] for part in found] == [["abcd"[bucket]]]
        return [method for method, _ in file_io.calls]

    assert calls_for(1) == ["read_bytes"]
    assert calls_for(1) == []
    assert calls_for(3) == ["read_range"], "consecutive blocks are read at once"
    assert calls_for(3) == []
    whole = store.read_uncached(name, {(EMPTY_ROW, 3)})
    assert whole == sorted_entries[3:]

    file_io.delete(PATHS.manifest(name))
    with pytest.raises(ManifestGone, match="has expired"):
        list(store.read_some([name], {(EMPTY_ROW, 0)}, is_reduced=False))
    store.delete(name)
    with pytest.raises(ManifestGone, match="has expired"):
        list(store.read_some([name], {(EMPTY_ROW, 3)}, is_reduced=True))


def test_storage_that_fails_within_a_search_is_no_damage() -> None:
    file_io = FaultyFileIO(MemoryFileIO())
    store = ManifestStore(file_io, PATHS)
    name = PATHS.new_manifest_part_name("u", 0)
    wide = SimpleStats(min_values=bytes(40_000), max_values=bytes(40_000), null_counts=())
    (entry,) = entries("a")
    sorted_entries = [
        replace(entry, bucket=number, file=replace(entry.file, value_stats=wide))
        for number in range(16)
    ]
    store.write_manifest(name, sorted_entries, partition_fields=(), compression="null")
    list(store.read_some([name], {(EMPTY_ROW, 0)}, is_reduced=True))

    def fail(_at: int, method: str, path: str) -> None:
        raise OSError(errno.EIO, f"{method} {path} failed on purpose")

    file_io.before = fail

    with pytest.raises(OSError, match="failed on purpose"):
        list(store.read_some([name], {(EMPTY_ROW, 9)}, is_reduced=True))

    assert [method for method, _ in file_io.calls][-1] == "read_range"
