"""Tables of one process share one bound, and equal files are cached once."""

import pickle
from pathlib import Path

import pyarrow as pa

from braid.lake import Catalog, LocalFileIO, MemoryFileIO, Table
from braid.lake.commit.commit_changes import changes_of
from braid.lake.files.object_store.settings import StoreSettings
from braid.lake.files.object_store.store import ObjectStoreFileIO
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.disk import SystemDisk
from braid.lake.format.snapshot import CommitKind
from braid.lake.snapshots.lru_cache import LruCache
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.metadata_cache import MetadataCache, entries_bytes, metadata_cache_for
from tests.support.committing import appended, data_file
from tests.support.faulty_file_io import FaultyFileIO

ROWS = pa.table({"k": pa.array([1], pa.int32())})


class _CountingDisk(SystemDisk):
    """The system's disk, which records the manifests that are read."""

    def __init__(self) -> None:
        self.reads: list[str] = []

    def read(self, path: str, offset: int = 0, length: int = -1) -> bytes:
        if "/manifest/" in path:
            self.reads.append(path)
        return super().read(path, offset, length)


def given_table(catalog: Catalog) -> Table:
    return catalog.create_table(
        "db.t", columns=[("k", "INT")], primary_key=["k"], options={"bucket": "1"}
    )


def test_a_table_that_is_opened_again_reads_no_manifest_again(tmp_path: Path) -> None:
    given_table(Catalog(str(tmp_path))).write_and_commit(ROWS)
    first = Catalog(str(tmp_path)).table("db.t")
    second = Catalog(str(tmp_path)).table("db.t")

    one = first._opened.store.live.by_identity(first.snapshot(1))
    other = second._opened.store.live.by_identity(second.snapshot(1))

    assert one is other


def test_storage_without_a_common_identity_has_a_cache_of_its_own(tmp_path: Path) -> None:
    disk = _CountingDisk()
    given_table(Catalog(str(tmp_path))).write_and_commit(ROWS)
    for _ in range(2):
        Catalog(str(tmp_path), file_io=LocalFileIO(disk)).table("db.t").runs_per_bucket()

    assert len(disk.reads) == 2 * len(set(disk.reads))
    assert metadata_cache_for(MemoryFileIO()) is not metadata_cache_for(MemoryFileIO())


def test_different_storage_has_different_caches() -> None:
    local = LocalFileIO()
    ours = ObjectStoreFileIO(StoreSettings(endpoint="http://one"))
    theirs = ObjectStoreFileIO(StoreSettings(endpoint="http://two"))
    metadata_cache_for(local).put("/a", "local", 1)
    metadata_cache_for(ours).put("/a", "ours", 1)

    assert metadata_cache_for(LocalFileIO()).get("/a") == "local"
    assert metadata_cache_for(ours).get("/a") == "ours"
    assert metadata_cache_for(theirs).get("/a") is None
    metadata_cache_for(local).remove("/a")
    assert metadata_cache_for(LocalFileIO()).get("/a") is None


def test_all_tables_share_one_bound() -> None:
    cache = LruCache(50_000)
    storage = FaultyFileIO(MemoryFileIO())
    for number in range(20):
        shared = MetadataCache(cache, storage="s")
        store = ManifestStore(storage, TablePaths(f"/t{number}"), cache=shared)
        changes = changes_of([appended(*map(data_file, "abcd"))], CommitKind.APPEND)
        store.write_manifest("m", changes.delta, partition_fields=(), compression="null")

    assert 0 < cache.bytes <= 50_000


def test_what_entries_take_grows_with_their_keys() -> None:
    changes = changes_of([appended(*map(data_file, "abcd"))], CommitKind.APPEND)

    one, four = entries_bytes(changes.delta[:1]), entries_bytes(changes.delta)

    assert entries_bytes(()) == 0
    assert four == 4 * one
    assert entries_bytes(changes.delta * 1_000) == 4_000 * one


def test_a_memory_travels_as_what_the_other_process_has() -> None:
    shared = metadata_cache_for(LocalFileIO())
    shared.put("/travelled", 1, 1)

    assert pickle.loads(pickle.dumps(shared)).get("/travelled") == 1
    own = MetadataCache()
    own.put("/travelled", 1, 1)
    assert pickle.loads(pickle.dumps(own)).get("/travelled") is None
    shared.remove("/travelled")
