"""Leases: taken, refreshed, lost, released."""

import threading
from collections.abc import Callable

import pytest

from braid.lake import (
    InvalidRequest,
    Lease,
    LeaseLost,
    ManualClock,
    MemoryFileIO,
    StorageUnavailable,
    Table,
)
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.waiting import PATIENCE_S
from tests.unit.lake.maintenance.given_compactions import read, reopened
from tests.unit.lake.maintenance.given_expiries import (
    expire_all,
    given_aging_table,
    given_history,
    kept_ids,
)

MINUTE_MS = 60_000


def test_a_leased_snapshot_stays_until_it_is_released() -> None:
    table, _ = given_history()

    with table.lease(3, holder="report") as lease:
        result = expire_all(table)
        assert (result.earliest, result.held_by) == (3, "it is leased to report")
        assert read(table, lease.snapshot_id)

    assert table.consumers() == []
    assert expire_all(table).earliest == 8


def test_the_newest_snapshot_is_leased_by_default() -> None:
    table, _ = given_history()

    lease = table.lease()

    assert lease.snapshot_id == 8
    assert lease.snapshot == table.latest_snapshot()


def test_a_lease_without_refresh_ends() -> None:
    table, clock = given_history()
    lease = table.lease(3, lease_ms=MINUTE_MS)

    clock.advance(ms=MINUTE_MS)
    assert expire_all(table).earliest == 3
    clock.advance(ms=1)
    result = expire_all(table)

    assert (result.earliest, result.consumers) == (8, (lease.id,))
    with pytest.raises(LeaseLost, match="snapshot 3 was removed"):
        lease.check()
    with pytest.raises(LeaseLost):
        lease.refresh()
    assert table.consumers() == []


def test_a_refresh_moves_the_deadline() -> None:
    table, clock = given_history()
    lease = table.lease(3, lease_ms=MINUTE_MS)
    name = lease.id

    for _ in range(3):
        clock.advance(ms=MINUTE_MS)
        lease.refresh()
        assert lease.deadline_ms == clock.now_ms() + MINUTE_MS
        assert expire_all(table).earliest == 3
    assert [file.id for file in table.consumers()] == [name]


def test_a_late_refresh_takes_the_lease_anew_under_another_name() -> None:
    """An expiry that saw the old file run out may be about to delete it."""
    table, clock = given_history()
    lease = table.lease(3, lease_ms=MINUTE_MS)
    old = lease.id
    clock.advance(ms=MINUTE_MS + 1)

    lease.refresh()

    assert [file.id for file in table.consumers()] == [lease.id]
    assert lease.id != old
    assert expire_all(table).earliest == 3


def test_a_refresh_restores_the_deleted_file_of_a_lease() -> None:
    table, _ = given_history()
    lease = table.lease(3)
    table.delete_consumer(lease.id)

    lease.refresh()

    assert expire_all(table).earliest == 3


def test_the_snapshot_of_a_rollback_is_another_one() -> None:
    table, _ = given_history()
    lease = table.lease(8)
    path = table.paths.snapshot(8)
    data = table.file_io.read_bytes(path)
    table.file_io.overwrite(
        path, data.replace(b'"deltaManifestList": "', b'"deltaManifestList": "other-')
    )

    with pytest.raises(LeaseLost):
        lease.check()


def test_an_absent_snapshot_cannot_be_leased() -> None:
    table, _ = given_history()
    table.expire(retain_max=2)

    with pytest.raises(InvalidRequest, match="snapshots 7 to 8 are kept"):
        table.lease(3)
    assert table.consumers() == []


def test_a_table_without_snapshots_has_nothing_to_lease() -> None:
    table, _ = given_aging_table()

    with pytest.raises(InvalidRequest, match="no snapshot to lease"):
        table.lease()


def test_a_lease_lasts_longer_than_a_moment() -> None:
    table, _ = given_history()

    with pytest.raises(InvalidRequest, match="lease_ms"):
        table.lease(lease_ms=0)


def test_a_lease_is_no_longer_than_other_engines_keep_a_consumer() -> None:
    table, clock = given_history({"consumer.expiration-time": "2 min"})

    assert table.lease().deadline_ms == clock.now_ms() + 2 * MINUTE_MS


def test_a_released_lease_cannot_be_refreshed() -> None:
    table, _ = given_history()
    lease = table.lease()
    lease.release()
    lease.release()

    with pytest.raises(InvalidRequest, match="was released"):
        lease.refresh()
    assert table.consumers() == []


def read_while_it_is_lost(
    table: Table, lease: Lease, read_on: Callable[[], object] = lambda: None
) -> None:
    with lease:
        table.delete_consumer(lease.id)
        expire_all(table)
        read_on()


def test_losing_the_lease_raises_at_the_end() -> None:
    table, _ = given_history()

    with pytest.raises(LeaseLost, match="snapshot 3 was removed"):
        read_while_it_is_lost(table, table.lease(3))


def test_losing_the_lease_is_the_cause_of_read_errors() -> None:
    table, _ = given_history()
    fresh = Table.open(table.path, file_io=table.file_io)

    with pytest.raises(LeaseLost) as lost:
        read_while_it_is_lost(table, fresh.lease(3), fresh.scan(at=3).to_arrow)

    assert "snapshot 3 has expired while it was read" in str(lost.value.__cause__)


def test_an_error_of_the_reader_itself_is_not_replaced() -> None:
    table, _ = given_history()

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        read_while_it_is_lost(table, table.lease(3), fail)
    assert table.consumers() == []


def test_a_context_refreshes_by_itself() -> None:
    inner = MemoryFileIO()
    given_history(file_io=inner)
    file_io = FaultyFileIO(inner)
    table = reopened(file_io)
    refreshed = threading.Semaphore(0)

    with table.lease(3, lease_ms=30) as lease:
        path = table.paths.consumer(lease.id)
        file_io.after = lambda _, method, called: (
            refreshed.release() if (method, called) == ("overwrite", path) else None
        )
        for _ in range(3):
            assert refreshed.acquire(timeout=PATIENCE_S)
        assert expire_all(table).earliest == 3

    assert inner.list(table.paths.consumer_dir) == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("lease-")]


def test_storage_that_fails_once_does_not_end_a_lease() -> None:
    inner = MemoryFileIO()
    given_history(file_io=inner)
    file_io = FaultyFileIO(inner)
    table = reopened(file_io)
    refreshed = threading.Semaphore(0)
    failures = [2]

    def fail(_: int, method: str, called: str) -> None:
        if method == "overwrite" and "consumer" in called:
            failures[0] -= 1
            if failures[0] >= 0:
                raise StorageUnavailable(called)
            refreshed.release()

    with table.lease(3, lease_ms=30):
        file_io.before = fail
        assert refreshed.acquire(timeout=PATIENCE_S)

    assert kept_ids(table) == list(range(1, 9))


def test_a_lease_that_cannot_be_written_is_not_taken() -> None:
    inner = MemoryFileIO()
    given_history(file_io=inner)
    file_io = FaultyFileIO(inner)
    table = Table.open("/wh/db.db/t", file_io=file_io, clock=ManualClock())
    file_io.fail_calls(len(file_io.calls) + 1, is_done=False, is_lasting=True)

    with pytest.raises(StorageUnavailable):
        table.lease(3)
