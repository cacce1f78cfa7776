"""A runner maintains the tables whose streams it hosts, and no two runners maintain one table."""

from pathlib import Path

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    ManualClock,
    MemoryFileIO,
    StorageUnavailable,
    SystemClock,
    Table,
    file_io_for,
)
from braid.pipelines.hosted_tables import HostedTables
from braid.registry.store.leases import MAINTENANCE, LeaseStore
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.waiting import wait_until

TTL_MS = 60_000


def given_table(warehouse: Path, identifier: str = "shop.orders") -> Table:
    return Catalog(str(warehouse)).create_table(
        identifier,
        columns=[("k", "INT")],
        primary_key=["k"],
        options={"bucket": "1", "num-sorted-run.compaction-trigger": "3"},
    )


def write(table: Table, *, commits: int) -> None:
    for _ in range(commits):
        table.write_and_commit(pa.table({"k": pa.array([1, 2], pa.int32())}))


def leases_of(warehouse: Path) -> LeaseStore:
    return LeaseStore(file_io_for(str(warehouse)), str(warehouse), SystemClock())


def hosted(warehouse: Path, owner: str) -> HostedTables:
    return HostedTables(
        Catalog(str(warehouse)),
        leases=leases_of(warehouse),
        owner=owner,
        lease_ttl_ms=TTL_MS,
        workers=1,
        clock=SystemClock(),
    )


def test_a_lease_that_cannot_be_written_is_reported_as_such() -> None:
    file_io, clock = FaultyFileIO(MemoryFileIO()), ManualClock()
    tables = HostedTables(
        Catalog("/w", file_io=file_io, clock=clock),
        leases=LeaseStore(file_io, "/w", clock),
        owner="me",
        lease_ttl_ms=TTL_MS,
        workers=1,
        clock=clock,
    )
    tables.set_tables({"shop.orders"})

    def fault(_: int, method: str, path: str) -> None:
        if method == "create_exclusive":
            message = f"storage failed at {path}: Read-only file system (EROFS)"
            raise StorageUnavailable(message)

    file_io.before = fault
    with pytest.raises(StorageUnavailable, match=r"lease of maintenance.*shop\.orders.*EROFS"):
        tables._leased()


@pytest.mark.slow
def test_tables_are_compacted_while_their_streams_are_here(tmp_path: Path) -> None:
    table, other = given_table(tmp_path), given_table(tmp_path, "shop.others")
    write(table, commits=3)
    write(other, commits=3)
    leases = leases_of(tmp_path)
    tables = hosted(tmp_path, "me")
    tables.set_tables({"shop.orders"})
    tables.start(interval_ms=20)
    try:
        wait_until(lambda: max(table.runs_per_bucket().values()) == 1)
        # What a compaction did is counted after its commit: a poll may see the commit first.
        wait_until(lambda: tables.progress()["shop.orders"].compactions == 1)
        wait_until(lambda: tables.progress()["shop.orders"].most_runs == 1)
        progress = tables.progress()["shop.orders"]
        assert (progress.compactions, progress.rows_in, progress.rows_out) == (1, 6, 2)
        assert (progress.failures, progress.error) == (0, None)
        assert progress.looks > 1
        assert leases.holder("shop.orders", MAINTENANCE) is not None
        tables.set_tables({"shop.others"})
        wait_until(lambda: max(other.runs_per_bucket().values()) == 1)
        assert tables.progress().keys() == {"shop.others"}
        assert leases.holder("shop.orders", MAINTENANCE) is None
    finally:
        tables.close()

    assert leases.holder("shop.others", MAINTENANCE) is None
    assert tables.progress()["shop.others"].error is None


@pytest.mark.slow
def test_the_second_runner_waits_for_the_first(tmp_path: Path) -> None:
    table = given_table(tmp_path)
    first, second = hosted(tmp_path, "first"), hosted(tmp_path, "second")
    for tables in (first, second):
        tables.set_tables({"shop.orders"})
    first.start(interval_ms=20)
    try:
        wait_until(lambda: "shop.orders" in first.progress())
        second.start(interval_ms=20)
        write(table, commits=3)
        wait_until(lambda: max(table.runs_per_bucket().values()) == 1)
        assert second.progress() == {}
        first.close()
        write(table, commits=3)
        wait_until(lambda: second.progress()["shop.orders"].compactions == 1)
        assert max(table.runs_per_bucket().values()) == 1
    finally:
        first.close()
        second.close()
