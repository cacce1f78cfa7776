"""The mark stays for as long as the chain can have a gap."""

import pytest

from lake.files.memory import MemoryFileIO
from lake.files.paths import TablePaths
from lake.snapshots.rollback_mark import RollbackMark

PATHS = TablePaths("/warehouse/db.db/t")
LATE_MS = 4_000_000_000_000


@pytest.fixture
def mark() -> RollbackMark:
    return RollbackMark(MemoryFileIO(), PATHS)


def test_there_is_none_before_a_rollback(mark: RollbackMark) -> None:
    assert not mark.is_there()


def test_it_may_be_put_again(mark: RollbackMark) -> None:
    mark.put()
    mark.put()

    assert mark.is_there()


def test_an_old_one_goes(mark: RollbackMark) -> None:
    mark.put()

    mark.forget([7, 8, 9], now_ms=LATE_MS)

    assert not mark.is_there()


@pytest.mark.parametrize("ids", [[], [7, 9]], ids=["no chain", "a gap"])
def test_an_old_one_of_a_rollback_that_broke_off_stays(mark: RollbackMark, ids: list[int]) -> None:
    mark.put()

    mark.forget(ids, now_ms=LATE_MS)

    assert mark.is_there()


def test_a_young_one_stays(mark: RollbackMark) -> None:
    mark.put()

    mark.forget([7, 8], now_ms=0)

    assert mark.is_there()
