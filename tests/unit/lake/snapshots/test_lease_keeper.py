"""Leases for long holds only."""

import gc
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from uuid import uuid4

import pyarrow as pa
import pytest

from braid.lake import LeaseLost, Machine, ManualClock, MemoryFileIO, Scan, Table
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.consumer import Consumer
from braid.lake.maintenance.compaction.compaction_picks import CompactionMemory
from braid.lake.snapshots.consumer_store import ConsumerFile, ConsumerStore
from braid.lake.snapshots.lease_keeper import LeaseKeeper
from braid.lake.table.opened_table import OpenedTable
from braid.lake.table.operations.compaction import compact
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.waiting import wait_until
from tests.unit.lake.maintenance.given_compactions import read
from tests.unit.lake.maintenance.given_expiries import expire_all, given_history, kept_ids

SOON_S = 0.005


def keeper_of(
    table: Table,
    clock: ManualClock,
    *,
    file_io: FileIO | None = None,
    after_s: float = SOON_S,
    lease_ms: int = 600_000,
) -> LeaseKeeper:
    """A keeper of leases of the table, over its storage or the given one."""
    return LeaseKeeper(
        file_io=file_io or table.file_io,
        paths=table.paths,
        clock=clock,
        new_uuid=uuid4,
        after_s=after_s,
        lease_ms=lease_ms,
    )


def long_scan(table: Table, keeper: LeaseKeeper, *, at: int) -> Scan:
    return replace(table.scan(at=at), keeper=keeper)


def deadline_ms(file: ConsumerFile) -> int:
    assert file.consumer is not None
    assert file.consumer.deadline_ms is not None
    return file.consumer.deadline_ms


def next_snapshot(file: ConsumerFile) -> int:
    assert file.consumer is not None
    return file.consumer.next_snapshot


def test_a_long_hold_is_leased_until_it_ends() -> None:
    table, clock = given_history()

    with keeper_of(table, clock).hold(table.snapshot(3), what="a report"):
        wait_until(table.consumers)
        result = expire_all(table)
        assert result.earliest == 3
        assert result.held_by.startswith("it is leased to a report, process ")

    assert table.consumers() == []
    assert expire_all(table).earliest == 8


def test_a_short_hold_is_not_leased() -> None:
    table, clock = given_history()
    keeper = keeper_of(table, clock, after_s=60)

    for _ in range(3):
        with keeper.hold(table.snapshot(3), what="a look"):
            assert table.consumers() == []


def test_a_lease_is_refreshed_while_it_is_needed() -> None:
    table, clock = given_history()
    keeper = keeper_of(table, clock, lease_ms=30)

    with keeper.hold(table.snapshot(3), what="a report"):
        wait_until(table.consumers)
        (first,) = table.consumers()
        clock.advance(ms=20)
        wait_until(lambda: table.consumers()[0].consumer != first.consumer)
        (second,) = table.consumers()

    assert second.id == first.id
    assert deadline_ms(second) == deadline_ms(first) + 20


def test_each_of_many_holds_has_its_own_lease() -> None:
    table, clock = given_history()
    keeper = keeper_of(table, clock)

    with ExitStack() as held:
        for number in (2, 4, 4):
            held.enter_context(keeper.hold(table.snapshot(number), what="a report"))
        wait_until(lambda: len(table.consumers()) == 3)
        needed = sorted(map(next_snapshot, table.consumers()))

    assert needed == [2, 4, 4]
    assert table.consumers() == []


def test_a_long_scan_keeps_its_snapshot() -> None:
    table, clock = given_history()
    expected = read(table, 3)
    scan = long_scan(table, keeper_of(table, clock), at=3)

    rows = 0
    for batch in scan.to_batches():
        if not rows:
            wait_until(table.consumers)
            expire_all(table)
        rows += batch.num_rows

    assert rows == len(expected)
    assert kept_ids(table)[0] == 3
    assert table.consumers() == []


def test_an_abandoned_scan_releases_its_snapshot() -> None:
    table, clock = given_history()
    batches: Iterator[object] = long_scan(table, keeper_of(table, clock), at=3).to_batches()
    next(batches)
    wait_until(table.consumers)

    del batches
    gc.collect()

    assert table.consumers() == []


def test_a_scan_whose_snapshot_has_expired_raises_lease_lost() -> None:
    table, clock = given_history()
    scan = long_scan(table, keeper_of(table, clock), at=3)
    expire_all(table)

    with pytest.raises(LeaseLost, match="snapshot 3 has expired while it was read") as raised:
        scan.to_arrow()

    assert "hint: " in str(raised.value)


def test_an_expired_snapshot_is_not_leased_and_stops_no_read() -> None:
    table, clock = given_history()
    snapshot = table.snapshot(3)
    expire_all(table)
    observed = FaultyFileIO(table.file_io)
    keeper = keeper_of(table, clock, file_io=observed)

    with keeper.hold(snapshot, what="a report"):
        # The keeper calls storage only to lease; the end of the block waits for an attempt under way.
        wait_until(lambda: observed.calls)

    assert table.consumers() == []


def test_a_lease_is_continued_in_another_process() -> None:
    table, clock = given_history()
    keeper = keeper_of(table, clock)
    first = keeper.lease(table.snapshot(3), what="a page")

    second = keeper.lease(table.snapshot(5), what="a page", lease_id=first.id)

    (file,) = table.consumers()
    assert (second.id, file.id) == (first.id, first.id)
    assert next_snapshot(file) == 5


def test_a_lease_that_became_unreadable_is_taken_anew() -> None:
    table, clock = given_history()
    keeper = keeper_of(table, clock)
    first = keeper.lease(table.snapshot(3), what="a page")
    table.file_io.overwrite(table.paths.consumer(first.id), b"")

    second = keeper.lease(table.snapshot(5), what="a page", lease_id=first.id)

    assert second.id != first.id
    assert [next_snapshot(file) for file in table.consumers() if file.consumer] == [5]


def test_an_absent_lease_is_taken_anew() -> None:
    table, clock = given_history()
    keeper = keeper_of(table, clock)
    first = keeper.lease(table.snapshot(3), what="a page")
    table.delete_consumer(first.id)

    second = keeper.lease(table.snapshot(3), what="a page", lease_id=first.id)

    assert second.id != first.id
    assert [file.id for file in table.consumers()] == [second.id]


def test_a_consumer_without_deadline_is_not_continued_as_a_lease() -> None:
    table, clock = given_history()
    ConsumerStore(table.file_io, table.paths).put("billing", Consumer(next_snapshot=4))

    lease = keeper_of(table, clock).lease(table.snapshot(3), what="a page", lease_id="billing")

    assert lease.id != "billing"
    assert sorted(file.id for file in table.consumers()) == ["billing", lease.id]


def test_a_reader_of_changes_keeps_the_rest_of_its_range() -> None:
    table, clock = given_history()
    changes = replace(table.changes(2), keeper=keeper_of(table, clock))
    expected = changes.to_arrow()

    parts = iter(changes)
    found = [next(parts).to_arrow()]
    wait_until(table.consumers)
    expire_all(table)
    found += [part.to_arrow() for part in parts]

    assert pa.concat_tables(found).equals(expected.combine_chunks())
    assert kept_ids(table)[0] == 3
    assert table.consumers() == []


def test_a_long_compaction_leases_its_snapshot() -> None:
    storage = FaultyFileIO(MemoryFileIO())
    table, clock = given_history(file_io=storage, count=6)
    opened = OpenedTable(
        file_io=storage,
        paths=table.paths,
        identifier=table.identifier,
        schema=table.schema,
        clock=clock,
        random=None,
    )
    opened.keeper.after_s = SOON_S
    holders = []

    def wait_until_leased(_number: int, method: str, path: str) -> None:
        if method == "open_output":
            storage.before = lambda *_: None
            wait_until(table.consumers)
            holders.extend(table.consumers())

    storage.before = wait_until_leased
    done = compact(
        opened,
        full=True,
        buckets=None,
        memory=CompactionMemory(),
        commit_user="c",
        machine=Machine.COLUMN,
    )

    (holder,) = holders
    assert done.snapshot_id == 7
    assert next_snapshot(holder) == 6
    assert holder.consumer is not None
    assert str(holder.consumer.holder).startswith("a compaction, process ")
    assert table.consumers() == []
