"""The marker stays for as long as the chain can have a gap."""

from dataclasses import replace

import pytest

from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.snapshots.rollback_marker import RollbackMarker
from tests.unit.lake.snapshots.test_snapshot_store import SNAPSHOT

PATHS = TablePaths("/warehouse/db.db/t")
LATE_MS = 4_000_000_000_000


@pytest.fixture
def marker() -> RollbackMarker:
    return RollbackMarker(MemoryFileIO(), PATHS)


def test_there_is_no_marker_before_a_rollback(marker: RollbackMarker) -> None:
    assert not marker.exists()
    assert marker.read() is None


def test_the_marker_describes_the_last_rollback() -> None:
    marker = RollbackMarker(MemoryFileIO(), PATHS)
    first, second, third = (replace(SNAPSHOT, id=n, delta_manifest_list=f"{n}") for n in (1, 2, 3))
    marker.put(target=second, newest=third)
    marker.put(target=first, newest=third)

    rollback = marker.read()

    assert rollback is not None
    assert rollback.target.is_of(first)
    assert rollback.newest.is_of(third)
    assert not rollback.newest.is_of(replace(third, delta_manifest_list="another"))


@pytest.mark.parametrize("data", [b"\n", b"{}", b"[]", b'{"target": 1}', b"\xff"])
def test_an_unreadable_marker_still_marks_the_table(data: bytes) -> None:
    file_io = MemoryFileIO()
    file_io.overwrite(PATHS.rollback_marker, data)
    marker = RollbackMarker(file_io, PATHS)

    assert marker.exists()
    assert marker.read() is None


def test_an_old_marker_is_removed(marker: RollbackMarker) -> None:
    marker.put(target=SNAPSHOT, newest=SNAPSHOT)

    marker.remove_if_stale([7, 8, 9], now_ms=LATE_MS)

    assert not marker.exists()


@pytest.mark.parametrize("ids", [[], [7, 9]], ids=["no chain", "a gap"])
def test_an_old_marker_of_an_interrupted_rollback_stays(
    marker: RollbackMarker, ids: list[int]
) -> None:
    marker.put(target=SNAPSHOT, newest=SNAPSHOT)

    marker.remove_if_stale(ids, now_ms=LATE_MS)

    assert marker.exists()


def test_a_young_marker_stays(marker: RollbackMarker) -> None:
    marker.put(target=SNAPSHOT, newest=SNAPSHOT)

    marker.remove_if_stale([7, 8], now_ms=0)

    assert marker.exists()
