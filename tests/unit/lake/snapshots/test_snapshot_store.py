"""The newest snapshot is found with right, wrong and missing hints."""

from dataclasses import replace

import pytest

from braid.lake.errors import CorruptData, InvalidRequest, StorageUnavailable
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.snapshot import serialize_snapshot
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.snapshots import given_snapshot

PATHS = TablePaths("/t")
SNAPSHOT = given_snapshot(1)


def given_snapshots(file_io: MemoryFileIO, *ids: int) -> SnapshotStore:
    for snapshot_id in ids:
        data = serialize_snapshot(replace(SNAPSHOT, id=snapshot_id))
        file_io.write_new(PATHS.snapshot(snapshot_id), data)
    return SnapshotStore(file_io, PATHS)


def test_a_table_without_snapshots_has_none() -> None:
    store = SnapshotStore(MemoryFileIO(), PATHS)

    assert store.latest() is None
    assert store.latest_id() is None
    assert store.earliest_id() is None
    assert store.list_ids() == []


@pytest.mark.parametrize(
    "hint",
    [
        pytest.param(None, id="absent"),
        pytest.param(b"", id="torn"),
        pytest.param(b"x", id="no-number"),
        pytest.param(b"12", id="right"),
        pytest.param(b"10", id="a-little-old"),
        pytest.param(b"1", id="expired"),
        pytest.param(b"99", id="ahead"),
    ],
)
def test_the_newest_is_found_under_any_hint(hint: bytes | None) -> None:
    file_io = MemoryFileIO()
    store = given_snapshots(file_io, *range(5, 13))
    if hint is not None:
        file_io.overwrite(PATHS.latest_hint, hint)

    assert store.latest_id() == 12
    assert store.latest() == replace(SNAPSHOT, id=12)


def test_a_very_old_hint_costs_one_listing_instead_of_many_reads() -> None:
    inner = MemoryFileIO()
    given_snapshots(inner, *range(1, 200))
    inner.overwrite(PATHS.latest_hint, b"1")
    file_io = FaultyFileIO(inner)
    store = SnapshotStore(file_io, PATHS)

    assert store.latest_id() == 199
    assert len(file_io.calls) < 25


def test_a_fresh_hint_costs_no_listing() -> None:
    inner = MemoryFileIO()
    given_snapshots(inner, *range(1, 5)).write_latest_hint(4)
    file_io = FaultyFileIO(inner)

    assert SnapshotStore(file_io, PATHS).latest() == replace(SNAPSHOT, id=4)
    assert "list" not in {method for method, _ in file_io.calls}


@pytest.mark.parametrize(
    ("hint", "expected"), [(None, 5), (b"5", 5), (b"1", 5), (b"x", 5), (b"7", 7)]
)
def test_the_oldest_is_the_hinted_one_if_it_is_there(hint: bytes | None, expected: int) -> None:
    file_io = MemoryFileIO()
    store = given_snapshots(file_io, 5, 6, 7)
    if hint is not None:
        file_io.overwrite(PATHS.earliest_hint, hint)

    assert store.earliest_id() == expected


def test_hints_are_decimal_text() -> None:
    file_io = MemoryFileIO()
    store = SnapshotStore(file_io, PATHS)
    store.write_latest_hint(12)
    store.write_earliest_hint(3)

    assert file_io.read_bytes(PATHS.latest_hint) == b"12"
    assert file_io.read_bytes(PATHS.earliest_hint) == b"3"


def test_temporary_files_are_no_snapshots() -> None:
    file_io = MemoryFileIO()
    store = given_snapshots(file_io, 1)
    file_io.write_new(PATHS.snapshot_dir + "/.snapshot-2.0b6f.tmp", b"")
    file_io.write_new(PATHS.snapshot_dir + "/snapshot-3.bak", b"")

    assert store.list_ids() == [1]
    assert store.latest_id() == 1


def test_the_next_snapshot_above_costs_a_listing_only_after_a_gap() -> None:
    inner = MemoryFileIO()
    given_snapshots(inner, 5, 8, 9)
    file_io = FaultyFileIO(inner)
    store = SnapshotStore(file_io, PATHS)

    assert store.find_above(8) == replace(SNAPSHOT, id=9)
    assert "list" not in [method for method, _ in file_io.calls]
    assert store.find_above(5) == replace(SNAPSHOT, id=8)
    assert store.find_above(1) == replace(SNAPSHOT, id=5)
    assert store.find_above(9) is None


def test_an_expired_snapshot_is_refused_with_those_that_are_kept() -> None:
    store = given_snapshots(MemoryFileIO(), 5, 6)

    with pytest.raises(InvalidRequest, match="no snapshot 2; snapshots 5 to 6 are kept"):
        store.get(2)
    with pytest.raises(InvalidRequest, match="there are none"):
        SnapshotStore(MemoryFileIO(), PATHS).get(1)


def test_an_unreadable_snapshot_is_corrupt() -> None:
    file_io = MemoryFileIO()
    file_io.write_new(PATHS.snapshot(1), b"{")

    with pytest.raises(CorruptData):
        SnapshotStore(file_io, PATHS).latest()


def test_a_snapshot_that_expires_while_it_is_looked_for_is_looked_for_again() -> None:
    inner = MemoryFileIO()
    given_snapshots(inner, 1).write_latest_hint(1)
    file_io = FaultyFileIO(inner)

    def expire(number: int, method: str, path: str) -> None:
        if (method, path) == ("read_bytes", PATHS.snapshot(1)):
            given_snapshots(inner, 9)
            inner.delete(path)

    file_io.before = expire

    assert SnapshotStore(file_io, PATHS).latest() == replace(SNAPSHOT, id=9)


def test_snapshots_that_always_vanish_are_a_failure_of_storage() -> None:
    inner = MemoryFileIO()
    given_snapshots(inner, 1)
    file_io = FaultyFileIO(inner)

    def vanish(number: int, method: str, path: str) -> None:
        if method == "read_bytes":
            raise FileNotFoundError(path)

    file_io.before = vanish

    with pytest.raises(StorageUnavailable, match="is removed each time"):
        SnapshotStore(file_io, PATHS).latest()
