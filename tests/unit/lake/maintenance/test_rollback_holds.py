"""Consumers and leases beside a rollback: those that are reset, and what is kept for it."""

from dataclasses import replace

import pytest

from braid.lake import ChangesExpired, MemoryFileIO, StorageUnavailable, Table
from braid.lake.format.consumer import Consumer
from braid.lake.maintenance.rollback import plan_rollback
from braid.lake.snapshots.consumer_store import ConsumerFile
from tests.support.faulty_file_io import FaultyFileIO
from tests.unit.lake.maintenance.given_compactions import write
from tests.unit.lake.maintenance.given_histories import expire_all_but, given_history, late
from tests.unit.lake.maintenance.test_rollback import ids, keys

DAY_MS = 86_400_000


def positions(table: Table) -> dict[str, int]:
    return {
        file.id: file.consumer.next_snapshot
        for file in table.consumers()
        if file.consumer is not None
    }


def broken_off(file_io: MemoryFileIO, *, to: int) -> None:
    """Interrupt a rollback before the newest snapshot is deleted; storage fails from then on."""
    storage = FaultyFileIO(file_io)
    table = late(storage)
    newest = table.paths.snapshot(max(ids(file_io, table)))

    def fail(_number: int, method: str, path: str) -> None:
        if method == "delete" and path == newest:
            message = "storage is gone"
            storage.before = _always_fail
            raise StorageUnavailable(message)

    storage.before = fail
    with pytest.raises(StorageUnavailable):
        table.rollback(snapshot_id=to)


def _always_fail(_number: int, method: str, path: str) -> None:
    message = f"{method} {path}: storage is gone"
    raise StorageUnavailable(message)


@pytest.mark.parametrize(
    ("next_snapshot", "is_reset"), [(1, False), (3, False), (4, True), (6, True), (99, True)]
)
def test_consumers_past_the_target_continue_after_it(next_snapshot: int, is_reset: bool) -> None:
    table = given_history(MemoryFileIO())
    table.reset_consumer("billing", next_snapshot)

    done = table.rollback(snapshot_id=2)

    assert done.reset_consumers == (("billing",) if is_reset else ())
    assert positions(table) == {"billing": 3 if is_reset else next_snapshot}


def test_a_consumer_misses_nothing_of_the_history_that_follows() -> None:
    table = given_history(MemoryFileIO())
    table.reset_consumer("billing", 6)
    table.rollback(snapshot_id=2)
    for number in range(5):
        write(table, (number + 50, number))

    start = positions(table)["billing"]

    found = table.changes(start - 1).to_arrow().column("k").to_pylist()
    assert found == [50, 51, 52, 53, 54]


def test_a_rollback_to_the_newest_snapshot_resets_no_consumer() -> None:
    table = given_history(MemoryFileIO())
    table.reset_consumer("billing", 99)

    assert table.rollback(snapshot_id=5).reset_consumers == ()
    assert positions(table) == {"billing": 99}


def test_leases_are_not_taken_back_but_lost() -> None:
    table = given_history(MemoryFileIO())
    target = table.snapshot(2)
    lease = ConsumerFile(id="x", consumer=Consumer(next_snapshot=5, deadline_ms=9), modified_ms=1)
    consumer = replace(lease, id="y", consumer=Consumer(next_snapshot=5))

    assert plan_rollback(target, [1, 2, 3], consumers=[lease, consumer]).consumers == ("y",)


def test_a_rollback_lets_its_target_go_at_the_end() -> None:
    table = given_history(MemoryFileIO())

    table.rollback(snapshot_id=2)

    assert table.consumers() == []


def test_the_target_of_a_rollback_that_broke_off_does_not_expire() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    broken_off(file_io, to=2)
    assert ids(file_io, table) == [1, 2, 5]

    expire_all_but(late(file_io), 1)
    assert ids(file_io, table) == [2, 5]
    done = late(file_io).rollback(snapshot_id=2)

    assert (done.target_id, keys(late(file_io))) == (2, [1, 2])
    assert late(file_io).consumers() == []


def test_a_rollback_that_broke_off_is_forgotten_after_a_day() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    broken_off(file_io, to=2)
    later = late(file_io)
    write(later, (9, 9))

    held = later.expire(retain_min=1, retain_max=1, dry_run=True)
    (lease,) = later.consumers()
    later.delete_consumer(lease.id)
    expire_all_but(later, 1)

    assert (
        held.held_by == "it is leased to a rollback to snapshot 2, which is under way or broke off"
    )
    assert lease.is_lease
    assert ids(file_io, table) == [6]


def test_a_consumer_reset_by_an_interrupted_rollback_gets_an_error() -> None:
    file_io = MemoryFileIO()
    given_history(file_io).reset_consumer("billing", 6)
    broken_off(file_io, to=2)

    table = late(file_io)

    start = positions(table)["billing"]
    assert start == 3
    with pytest.raises(ChangesExpired, match="snapshot 3 are not kept"):
        table.changes(start - 1)


def test_an_unreadable_consumer_does_not_stop_a_rollback() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    file_io.overwrite(table.paths.consumer("torn"), b"")
    table.reset_consumer("whole", 6)

    table.rollback(snapshot_id=2)

    assert ids(file_io, table) == [1, 2]
    assert positions(table) == {"whole": 3}
