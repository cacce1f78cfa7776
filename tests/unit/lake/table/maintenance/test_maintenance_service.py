"""The maintenance service: due compactions and expiries, and failures that stay with their table."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future
from pathlib import Path

import pyarrow as pa
import pytest

from braid.lake import (
    BucketOutcome,
    BucketWork,
    Catalog,
    CompactionPool,
    ManualClock,
    StorageUnavailable,
    Table,
)
from braid.lake.files.storage.local import LocalFileIO
from braid.lake.table.maintenance.expiry_scheduler import EXPIRY_INTERVAL_MS
from braid.lake.table.maintenance.maintenance_service import MaintenanceService
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.waiting import PATIENCE_S, wait_until

OPTIONS = {
    "bucket": "2",
    "num-sorted-run.compaction-trigger": "3",
    "merge-engine": "aggregation",
    "fields.v.aggregate-function": "sum",
    "snapshot.num-retained.min": "1",
    "snapshot.num-retained.max": "2",
}


def given_table(warehouse: Path, identifier: str = "shop.orders", **options: str) -> Table:
    return Catalog(str(warehouse)).create_table(
        identifier,
        columns=[("k", "INT"), ("v", "TINYINT")],
        primary_key=["k"],
        options={**OPTIONS, **options},
    )


def write(table: Table, *, commits: int, value: int = 1) -> None:
    for _ in range(commits):
        rows = {"k": pa.array(range(20), pa.int32()), "v": pa.array([value] * 20, pa.int8())}
        table.write_and_commit(pa.table(rows))


def values(table: Table) -> set[int]:
    return set(table.scan(columns=["v"]).to_arrow()["v"].to_pylist())


def service(
    warehouse: Path,
    *identifiers: str,
    names: Callable[[], Collection[str]] | None = None,
    clock: ManualClock | None = None,
    workers: int = 1,
) -> MaintenanceService:
    named = identifiers or ("shop.orders",)
    catalog = Catalog(str(warehouse))
    return MaintenanceService(catalog, names or (lambda: named), workers=workers, clock=clock)


def test_a_round_compacts_what_is_due_expires_and_counts(tmp_path: Path) -> None:
    table = given_table(tmp_path)
    write(table, commits=4)

    with service(tmp_path) as maintenance:
        maintenance.round()
        stats = maintenance.stats["shop.orders"]
        assert (stats.polls, stats.buckets, stats.most_runs) == (1, 2, 4)
        assert (stats.files, stats.snapshot_id) == (8, 4)
        newest = table.snapshot(4)
        assert stats.file_bytes == sum(one.file.file_size for one in table.live_files(newest))
        assert (stats.compactions, stats.dropped, stats.failures) == (2, 0, 0)
        assert (stats.rows_in, stats.rows_out) == (80, 20)
        assert stats.expired > 0
        maintenance.round()
        assert (stats.polls, stats.most_runs, stats.compactions) == (2, 1, 2)

    assert values(table) == {4}
    assert set(table.runs_per_bucket().values()) == {1}


def test_tables_come_and_go(tmp_path: Path) -> None:
    first, second = given_table(tmp_path, "a.t"), given_table(tmp_path, "b.t")
    for table in (first, second):
        write(table, commits=3)
    wanted = ["a.t"]

    with service(tmp_path, names=lambda: tuple(wanted)) as maintenance:
        maintenance.round()
        assert maintenance.stats.keys() == {"a.t"}
        wanted[:] = ["b.t"]
        maintenance.round()
        assert maintenance.stats.keys() == {"b.t"}

    assert set(first.runs_per_bucket().values()) == {1}
    assert set(second.runs_per_bucket().values()) == {1}


def test_a_table_that_is_created_anew_under_its_name_begins_with_new_counts(tmp_path: Path) -> None:
    write(given_table(tmp_path), commits=3)

    with service(tmp_path) as maintenance:
        maintenance.round()
        Catalog(str(tmp_path)).drop_table("shop.orders")
        again = given_table(tmp_path, bucket="1")
        write(again, commits=3)
        maintenance.round()
        stats = maintenance.stats["shop.orders"]
        assert (stats.polls, stats.compactions, stats.error) == (1, 1, None)

    assert list(again.runs_per_bucket().values()) == [1]


def test_a_failure_is_logged_once_and_retried_after_a_pause(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    clock = ManualClock()
    broken, healthy = given_table(tmp_path, "a.broken"), given_table(tmp_path, "b.healthy")
    for table in (broken, healthy):
        write(table, commits=3)
    files = list((tmp_path / "a.db" / "broken").rglob("bucket-*/*.parquet"))
    for file in files:
        file.rename(file.with_suffix(".hidden"))

    with service(tmp_path, "a.broken", "b.healthy", "c.absent", clock=clock) as maintenance:
        maintenance.round()
        stats = maintenance.stats["a.broken"]
        assert stats.failures == 2
        error = stats.error or ""
        assert error.startswith("bucket-")
        assert "a.broken" in error
        assert maintenance.stats["b.healthy"].compactions == 2
        assert (maintenance.stats["c.absent"].error or "").startswith("poll: no table")
        logged = len(caplog.messages)
        assert logged == 3
        maintenance.round()
        assert stats.failures == 2
        clock.advance(ms=1_000)
        maintenance.round()
        assert stats.failures == 4
        assert len(caplog.messages) == logged
        for file in files:
            file.with_suffix(".hidden").rename(file)
        clock.advance(ms=2_000)
        maintenance.round()
        assert stats.error is None

    assert values(broken) == {3}


def test_a_failing_list_of_tables_is_retried_after_pauses_and_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="braid.lake.table.maintenance.maintenance_service")
    clock = ManualClock()
    asked: list[int] = []
    causes = ["EROFS"] * 5 + ["EIO"] * 2

    def names() -> Collection[str]:
        asked.append(clock.now_ms())
        if len(asked) <= len(causes):
            raise StorageUnavailable(causes[len(asked) - 1])
        return ()

    begin_ms = clock.now_ms()
    with service(tmp_path, names=names, clock=clock) as maintenance:
        for _ in range(300):
            maintenance.round()
            clock.advance(ms=1_000)

    assert [(at - begin_ms) // 1_000 for at in asked[:9]] == [0, 1, 3, 7, 15, 31, 63, 127, 128]
    waits = "maintenance waits: the list of tables cannot be read error="
    assert caplog.messages == [
        waits + "EROFS",
        waits + "EIO",
        "maintenance continues: the list of tables is known again",
    ]


def test_a_table_that_cannot_be_compacted_still_expires(tmp_path: Path) -> None:
    table = given_table(tmp_path, **{"chain-table.enabled": "true"})
    write(table, commits=4)

    with service(tmp_path) as maintenance:
        maintenance.round()
        stats = maintenance.stats["shop.orders"]

    assert stats.expired == 2
    assert "chain-table.enabled" in (stats.error or "")


def test_expiry_waits_for_its_interval(tmp_path: Path) -> None:
    clock = ManualClock()
    table = given_table(tmp_path)
    write(table, commits=3)

    with service(tmp_path, clock=clock) as maintenance:
        maintenance.round()
        stats = maintenance.stats["shop.orders"]
        before = stats.expired
        write(table, commits=2)
        maintenance.round()
        assert stats.expired == before
        clock.advance(ms=EXPIRY_INTERVAL_MS)
        maintenance.round()
        assert stats.expired > before


def test_a_failure_ends_when_another_process_compacts_the_bucket(tmp_path: Path) -> None:
    table = given_table(tmp_path)
    write(table, commits=3)
    files = list(tmp_path.rglob("bucket-*/*.parquet"))
    for file in files:
        file.rename(file.with_suffix(".hidden"))

    with service(tmp_path, clock=ManualClock()) as maintenance:
        maintenance.round()
        stats = maintenance.stats["shop.orders"]
        assert len(stats.active_failures) == 2
        for file in files:
            file.with_suffix(".hidden").rename(file)
        table.compact()
        maintenance.round()
        assert stats.error is None


def test_a_defect_in_one_table_is_logged_with_its_trace_and_the_others_continue(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a.bad", "b.good"):
        write(given_table(tmp_path, name), commits=1)
    file_io = FaultyFileIO(LocalFileIO())
    catalog = Catalog(str(tmp_path), file_io=file_io)
    clock = ManualClock()

    def fault(_: int, method: str, path: str) -> None:
        if "a.db" in path and "/manifest/" in path:
            message = f"{method} has a mistake"
            raise ZeroDivisionError(message)

    with MaintenanceService(catalog, lambda: ("a.bad", "b.good"), clock=clock) as maintenance:
        file_io.before = fault
        maintenance.round()
        maintenance.round()
        bad, good = maintenance.stats["a.bad"], maintenance.stats["b.good"]
        assert bad.failures == 1
        assert (bad.error or "").startswith("poll: ZeroDivisionError: ")
        assert (good.polls, good.failures) == (2, 0)
        traces = [record for record in caplog.records if record.exc_info]
        assert [record.exc_info[0] for record in traces if record.exc_info] == [ZeroDivisionError]
        file_io.before = lambda *_: None
        clock.advance(ms=1_000)
        maintenance.round()
        assert bad.error is None


class HeldPool:
    """Takes work, and does it at the end."""

    def __init__(self) -> None:
        self.taken: list[tuple[BucketWork, Future[BucketOutcome]]] = []

    def submit(self, work: BucketWork) -> Future[BucketOutcome]:
        self.taken.append((work, Future()))
        return self.taken[-1][1]

    def close(self, *, grace_s: float | None = None) -> None:
        del grace_s
        for work, future in self.taken:
            future.set_result(work.run())


def test_a_bucket_that_is_compacted_is_not_submitted_again(tmp_path: Path) -> None:
    write(given_table(tmp_path), commits=3)
    pool = HeldPool()
    maintenance = MaintenanceService(
        Catalog(str(tmp_path)), lambda: ("shop.orders",), workers=5, new_pool=lambda: pool
    )
    thread = threading.Thread(target=lambda: maintenance.run(interval_s=0.01))
    thread.start()
    wait_until(lambda: bool(maintenance.stats) and maintenance.stats["shop.orders"].polls >= 4)
    maintenance.stop()
    thread.join(PATIENCE_S)
    maintenance.close()

    assert sorted(work.bucket_id[1] for work, _ in pool.taken) == [0, 1]
    stats = maintenance.stats["shop.orders"]
    assert (stats.compactions, stats.dropped) == (2, 0)


class ScriptedWake(threading.Event):
    """Wakes the service at once, after the next of some steps."""

    def __init__(self, *steps: Callable[[], None]) -> None:
        super().__init__()
        self._steps = iter(steps)

    def wait(self, timeout: float | None = None) -> bool:
        del timeout
        next(self._steps)()
        return True


def test_a_clock_that_is_set_back_does_not_delay_the_next_poll(tmp_path: Path) -> None:
    clock = ManualClock()
    polls: list[int] = []

    def names() -> Collection[str]:
        polls.append(clock.now_ms())
        return ()

    with service(tmp_path, names=names, clock=clock) as maintenance:
        maintenance._wake = ScriptedWake(
            lambda: clock.advance(ms=-3_600_000),
            lambda: clock.advance(ms=60_000),
            maintenance.stop,
        )
        maintenance.run(interval_s=60)

    assert [at - polls[0] for at in polls] == [0, -3_540_000]


def test_a_poll_that_is_asked_for_comes_before_the_interval_ends(tmp_path: Path) -> None:
    clock = ManualClock()
    polls: list[int] = []

    def names() -> Collection[str]:
        polls.append(clock.now_ms())
        return ()

    with service(tmp_path, names=names, clock=clock) as maintenance:

        def ask() -> None:
            clock.advance(ms=10)
            maintenance.poll_soon()

        maintenance._wake = ScriptedWake(ask, lambda: clock.advance(ms=10), ask, maintenance.stop)
        maintenance.run(interval_s=60)

    assert [at - polls[0] for at in polls] == [0, 10, 30]


@pytest.mark.slow
def test_it_runs_until_it_is_stopped(tmp_path: Path) -> None:
    table = given_table(tmp_path)
    maintenance = service(tmp_path, workers=2)
    thread = threading.Thread(target=lambda: maintenance.run(interval_s=0.05))
    thread.start()
    for _ in range(5):
        write(table, commits=2)
        time.sleep(0.05)
    wait_until(lambda: max(table.runs_per_bucket().values()) < 3)
    maintenance.stop()
    thread.join(PATIENCE_S)
    maintenance.close()

    assert not thread.is_alive()
    assert maintenance.stats["shop.orders"].compactions >= 2
    assert maintenance.stats["shop.orders"].error is None
    assert values(table) == {10}


@pytest.mark.slow
def test_a_killed_process_is_replaced(tmp_path: Path) -> None:
    clock = ManualClock()
    table = given_table(tmp_path)
    write(table, commits=3)

    with service(tmp_path, clock=clock) as maintenance:
        maintenance.round()
        pool = maintenance._compaction._pool
        assert isinstance(pool, CompactionPool)
        for process in list(pool._pool._processes):
            os.kill(process, signal.SIGKILL)
        write(table, commits=3)
        maintenance.round()
        clock.advance(ms=1_000)
        maintenance.round()
        stats = maintenance.stats["shop.orders"]
        assert stats.error is None
        assert stats.failures > 0
        assert stats.compactions == 4

    assert values(table) == {6}


@pytest.mark.slow
def test_work_that_two_services_do_at_once_is_dropped_and_counted(tmp_path: Path) -> None:
    table = given_table(tmp_path)
    services = [service(tmp_path, workers=2), service(tmp_path, workers=2)]
    threads = [
        threading.Thread(target=lambda one=one: one.run(interval_s=0.01)) for one in services
    ]
    for thread in threads:
        thread.start()
    for _ in range(15):
        write(table, commits=1)
    wait_until(lambda: max(table.runs_per_bucket().values()) < 3)
    for one in services:
        one.stop()
    for thread in threads:
        thread.join(PATIENCE_S)
    for one in services:
        one.close()

    assert [one.stats["shop.orders"].failures for one in services] == [0, 0]
    assert values(table) == {15}
