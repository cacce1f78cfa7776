"""The compaction pool: buckets compacted in processes of their own."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children
from pathlib import Path

import pyarrow as pa
import pytest

from braid.lake import Catalog, SchemaMismatch, Table
from braid.lake.lsm.compaction_pick import PickState
from braid.lake.maintenance.compaction.compaction_picks import CompactionMemory
from braid.lake.table.maintenance.compaction_pool import CompactionPool

OPTIONS = {"bucket": "2", "num-sorted-run.compaction-trigger": "3"}


@pytest.fixture(scope="module")
def pool() -> Iterator[CompactionPool]:
    with CompactionPool(workers=2, niceness=3) as started:
        yield started


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Catalog(str(tmp_path)).create_table(
        "shop.orders",
        columns=[("k", "INT"), ("v", "TINYINT")],
        primary_key=["k"],
        options={
            **OPTIONS,
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "sum",
        },
    )


def write(table: Table, *, commits: int, value: int = 1) -> None:
    for _ in range(commits):
        rows = {"k": pa.array(range(20), pa.int32()), "v": pa.array([value] * 20, pa.int8())}
        table.write_and_commit(pa.table(rows))


def runs(table: Table) -> dict[int, int]:
    """Return the number of files of each bucket."""
    newest = table.latest_snapshot()
    assert newest is not None
    counts: dict[int, int] = {}
    for entry in table.live_files(newest):
        counts[entry.bucket] = counts.get(entry.bucket, 0) + 1
    return counts


def values(table: Table) -> set[int]:
    return set(table.scan(columns=["v"]).to_arrow()["v"].to_pylist())


def test_each_bucket_is_compacted_and_committed_by_itself(
    pool: CompactionPool, table: Table
) -> None:
    write(table, commits=3)

    outcomes = list(pool.compact(table, full=True))

    assert {outcome.bucket_id[1] for outcome in outcomes} == {0, 1}
    results = [outcome.result for outcome in outcomes if outcome.result is not None]
    assert [result.buckets for result in results] == [1, 1]
    assert len({result.snapshot_id for result in results}) == 2
    assert runs(table) == {0: 1, 1: 1}
    assert values(table) == {3}
    assert list(pool.compact(table, full=True)) == []


def test_only_due_buckets_are_compacted_and_the_memory_is_updated(
    pool: CompactionPool, table: Table
) -> None:
    memory = CompactionMemory()
    write(table, commits=2)

    assert list(pool.compact(table, full=False, memory=memory)) == []
    write(table, commits=2)
    outcomes = list(pool.compact(table, full=False, memory=memory))

    assert len(outcomes) == 2
    assert runs(table) == {0: 1, 1: 1}
    assert all(state.last_full_ms is not None for state in memory.states.values())
    assert memory.states.keys() == {outcome.bucket_id for outcome in outcomes}


def test_the_memory_forgets_buckets_that_are_gone(table: Table) -> None:
    write(table, commits=1)
    memory = CompactionMemory(states={(b"gone", 7): PickState(last_full_ms=1)})

    assert table.buckets_to_compact(memory=memory) == {}
    assert (b"gone", 7) not in memory.states


def test_a_failed_bucket_is_reported_and_nothing_is_committed(
    pool: CompactionPool, table: Table
) -> None:
    write(table, commits=3, value=100)
    before = table.latest_snapshot()

    outcomes = list(pool.compact(table, full=True))

    assert len(outcomes) == 2
    assert all(isinstance(outcome.error, SchemaMismatch) for outcome in outcomes)
    assert "shop.orders" in str(outcomes[0].error)
    assert table.latest_snapshot() == before


def test_a_table_that_was_dropped_and_created_again_is_opened_anew(
    pool: CompactionPool, table: Table, tmp_path: Path
) -> None:
    catalog = Catalog(str(tmp_path))
    write(table, commits=2)
    assert len(list(pool.compact(table, full=True))) == 2
    catalog.drop_table("shop.orders")
    again = catalog.create_table(
        "shop.orders", columns=[("k", "STRING")], primary_key=["k"], options=OPTIONS
    )
    for _ in range(2):
        again.write_and_commit(pa.table({"k": ["a", "b", "c", "d"]}))

    outcomes = list(pool.compact(again, full=True))

    assert [outcome.error for outcome in outcomes] == [None] * len(outcomes)
    assert sorted(again.scan().to_arrow()["k"].to_pylist()) == ["a", "b", "c", "d"]


def test_a_killed_process_loses_nothing(table: Table) -> None:
    write(table, commits=3)
    with CompactionPool(workers=1) as doomed:
        (first, *_) = doomed.compact(table, full=False, memory=CompactionMemory())
        assert first.result is not None
        write(table, commits=3)
        for process in list(doomed._pool._processes):
            os.kill(process, signal.SIGKILL)
        with pytest.raises(BrokenProcessPool):
            list(doomed.compact(table, full=True))

    assert values(table) == {6}
    table.compact()
    assert values(table) == {6}


def test_its_processes_have_a_lower_priority(pool: CompactionPool, table: Table) -> None:
    write(table, commits=3)
    list(pool.compact(table, full=True))
    nices = {os.getpriority(os.PRIO_PROCESS, child.pid) for child in active_children() if child.pid}
    assert nices == {os.getpriority(os.PRIO_PROCESS, 0) + 3}
