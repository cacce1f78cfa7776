"""The mark stays for as long as the chain can have a gap."""

from dataclasses import replace

import pytest

from lake.files.paths import TablePaths
from lake.files.storage.memory import MemoryFileIO
from lake.snapshots.rollback_mark import RollbackMark
from tests.unit.lake.snapshots.test_snapshot_store import SNAPSHOT

PATHS = TablePaths("/warehouse/db.db/t")
LATE_MS = 4_000_000_000_000


@pytest.fixture
def mark() -> RollbackMark:
    return RollbackMark(MemoryFileIO(), PATHS)


def test_there_is_none_before_a_rollback(mark: RollbackMark) -> None:
    assert not mark.is_there()
    assert mark.note() is None


def test_it_says_what_the_last_rollback_removes() -> None:
    mark = RollbackMark(MemoryFileIO(), PATHS)
    first, second, third = (replace(SNAPSHOT, id=n, delta_manifest_list=f"{n}") for n in (1, 2, 3))
    mark.put(target=second, newest=third)
    mark.put(target=first, newest=third)

    note = mark.note()

    assert note is not None
    assert note.target.is_of(first)
    assert note.newest.is_of(third)
    assert not note.newest.is_of(replace(third, delta_manifest_list="another"))


@pytest.mark.parametrize("data", [b"\n", b"{}", b"[]", b'{"target": 1}', b"\xff"])
def test_one_that_says_nothing_is_one_all_the_same(data: bytes) -> None:
    file_io = MemoryFileIO()
    file_io.overwrite(PATHS.rollback_mark, data)
    mark = RollbackMark(file_io, PATHS)

    assert mark.is_there()
    assert mark.note() is None


def test_an_old_one_goes(mark: RollbackMark) -> None:
    mark.put(target=SNAPSHOT, newest=SNAPSHOT)

    mark.forget([7, 8, 9], now_ms=LATE_MS)

    assert not mark.is_there()


@pytest.mark.parametrize("ids", [[], [7, 9]], ids=["no chain", "a gap"])
def test_an_old_one_of_a_rollback_that_broke_off_stays(mark: RollbackMark, ids: list[int]) -> None:
    mark.put(target=SNAPSHOT, newest=SNAPSHOT)

    mark.forget(ids, now_ms=LATE_MS)

    assert mark.is_there()


def test_a_young_one_stays(mark: RollbackMark) -> None:
    mark.put(target=SNAPSHOT, newest=SNAPSHOT)

    mark.forget([7, 8], now_ms=0)

    assert mark.is_there()
