"""The deletion vectors of buckets: changed without side effects, written once, read once."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from pyroaring import BitMap, FrozenBitMap

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.binary_row import EMPTY_ROW
from braid.lake.format.indexes.index_manifest import HASH_INDEX, IndexManifestEntry
from braid.lake.snapshots.deletion_vectors import (
    NO_VECTORS,
    BucketVectors,
    VectorStore,
    change_vectors,
    vector_entries,
)
from tests.support.faulty_file_io import FaultyFileIO

PATHS = TablePaths("/t")
BEFORE = {"a": FrozenBitMap([1, 2]), "b": FrozenBitMap([3])}

positions = st.frozensets(st.integers(0, 20), max_size=6)
vectors = st.dictionaries(st.sampled_from("abcd"), positions)


def written(store: VectorStore, name: str = "index-0", *, bucket: int = 0) -> IndexManifestEntry:
    return store.write(BEFORE, partition=EMPTY_ROW, bucket=bucket, name=name, is_64_bit=False)


def test_marks_are_added_and_files_that_go_take_theirs_along() -> None:
    after = change_vectors(BEFORE, {"a": BitMap([2, 9]), "c": BitMap([0])}, {"b"})

    assert after == {"a": BitMap([1, 2, 9]), "c": BitMap([0])}


@given(before=vectors, deleted=vectors, removed=st.frozensets(st.sampled_from("abcd")))
def test_a_change_is_a_union_less_the_files_that_went(
    before: dict[str, frozenset[int]],
    deleted: dict[str, frozenset[int]],
    removed: frozenset[str],
) -> None:
    expected = {
        name: before.get(name, frozenset()) | deleted.get(name, frozenset())
        for name in before.keys() | deleted.keys()
        if name not in removed
    }
    seen = {name: FrozenBitMap(marks) for name, marks in before.items() if marks}
    new = {name: BitMap(marks) for name, marks in deleted.items()}
    copies = dict(seen), {name: BitMap(marks) for name, marks in new.items()}

    after = change_vectors(seen, new, removed)

    assert {name: set(marks) for name, marks in after.items()} == {
        name: set(marks) for name, marks in expected.items() if marks
    }
    assert (seen, new) == copies, "the arguments were changed"


@pytest.mark.parametrize("is_64_bit", [False, True])
def test_what_was_written_is_read(is_64_bit: bool) -> None:
    file_io = MemoryFileIO()
    entry = VectorStore(file_io, PATHS).write(
        BEFORE, partition=EMPTY_ROW, bucket=3, name="index-0", is_64_bit=is_64_bit
    )

    read = VectorStore(file_io, PATHS).read(entry)

    assert read == BucketVectors(entry=entry, vectors=BEFORE)
    assert read.base == "index-0"
    assert entry.file_size == file_io.size(PATHS.index("index-0"))
    assert (entry.row_count, entry.bucket) == (2, 3)
    assert [place.cardinality for place in entry.deletion_vector_ranges or ()] == [2, 1]


def test_a_bucket_without_an_entry_has_no_vectors() -> None:
    read = VectorStore(MemoryFileIO(), PATHS).read(None)

    assert read == NO_VECTORS
    assert read.base is None


def test_a_file_is_read_once() -> None:
    file_io = FaultyFileIO(MemoryFileIO())
    entry = written(VectorStore(file_io, PATHS))
    store = VectorStore(file_io, PATHS)

    for _ in range(3):
        store.read(entry)

    assert [method for method, _ in file_io.calls].count("read_bytes") == 1


def test_vectors_beyond_the_bound_of_the_cache_are_read_again() -> None:
    file_io = FaultyFileIO(MemoryFileIO())
    store = VectorStore(file_io, PATHS, cache_bytes=1)
    entries = [written(store, "index-0"), written(store, "index-1")]

    for entry in (*entries, *entries):
        store.read(entry)

    assert [method for method, _ in file_io.calls].count("read_bytes") == 4


def test_an_absent_file_is_an_honest_error() -> None:
    file_io = MemoryFileIO()
    entry = written(VectorStore(file_io, PATHS))
    file_io.delete(PATHS.index("index-0"))

    with pytest.raises(
        CorruptData, match="/t/index/index-0 does not exist, although a manifest lists it"
    ):
        VectorStore(file_io, PATHS).read(entry)


def test_a_damaged_file_is_named() -> None:
    file_io = MemoryFileIO()
    entry = written(VectorStore(file_io, PATHS))
    file_io.overwrite(PATHS.index("index-0"), b"\x01 nothing of the kind")

    with pytest.raises(CorruptData, match="/t/index/index-0: the deletion vector of a"):
        VectorStore(file_io, PATHS).read(entry)


def test_an_entry_without_ranges_is_corrupt() -> None:
    store = VectorStore(MemoryFileIO(), PATHS)
    entry = replace(written(store), deletion_vector_ranges=None)

    with pytest.raises(CorruptData, match="index-0 has no ranges"):
        store.read(entry)


def test_a_file_outside_of_the_table_is_found() -> None:
    file_io = MemoryFileIO()
    entry = replace(written(VectorStore(file_io, PATHS)), external_path="/elsewhere/index-0")
    file_io.write_new("/elsewhere/index-0", file_io.read_bytes(PATHS.index("index-0")))
    file_io.delete(PATHS.index("index-0"))

    assert VectorStore(file_io, PATHS).read(entry).vectors == BEFORE


def test_entries_are_found_by_bucket() -> None:
    store = VectorStore(MemoryFileIO(), PATHS)
    first, second = written(store, "index-0", bucket=0), written(store, "index-1", bucket=1)
    other = replace(first, index_type=HASH_INDEX)

    assert vector_entries([first, other, second]) == {
        (EMPTY_ROW, 0): first,
        (EMPTY_ROW, 1): second,
    }


def test_a_bucket_with_two_files_of_vectors_is_refused() -> None:
    store = VectorStore(MemoryFileIO(), PATHS)

    with pytest.raises(UnsupportedFeature, match="in index-0 and in index-1, expected one file"):
        vector_entries([written(store, "index-0"), written(store, "index-1")])


class TestWriteChange:
    """The change of vectors that a compaction gives to the committer."""

    def change(self, after: dict[str, FrozenBitMap]) -> tuple[object, object, list[str], list[str]]:
        file_io = FaultyFileIO(MemoryFileIO())
        store = VectorStore(file_io, PATHS)
        before = store.read(written(store))
        told: list[str] = []
        file_io.calls.clear()
        change = store.write_change(
            before,
            after,
            partition=EMPTY_ROW,
            bucket=0,
            new_name=lambda: "index-1",
            on_new_file=told.append,
            is_64_bit=False,
        )
        writes = [path for method, path in file_io.calls if method == "write_new"]
        assert change.base == "index-0"
        return change.new, before.entry, told, writes

    def test_nothing_is_written_when_nothing_changed(self) -> None:
        new, old, told, writes = self.change(dict(BEFORE))

        assert new == old
        assert (told, writes) == ([], [])

    def test_no_file_stays_when_no_row_is_marked(self) -> None:
        new, _, told, writes = self.change({})

        assert new is None
        assert (told, writes) == ([], [])

    def test_all_vectors_go_into_one_new_file(self) -> None:
        new, _, told, writes = self.change({**BEFORE, "a": FrozenBitMap([1, 2, 3])})

        assert isinstance(new, IndexManifestEntry)
        assert (new.file_name, new.row_count) == ("index-1", 2)
        assert told == writes == ["/t/index/index-1"]
