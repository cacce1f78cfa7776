"""Many processes commit to one table on a real disk, some of them asleep at the worst moment."""

import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.managers import SyncManager
from pathlib import Path
from typing import Any

import pytest

from braid.lake.commit.commit_result import Outcome
from braid.lake.commit.committer import TableCommitter
from braid.lake.errors import OffsetMismatch, StreamFenced
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.local import LocalFileIO
from braid.lake.format.snapshot import CommitKind
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.support.committing import (
    TOPIC,
    TOPIC_ID,
    appended,
    compacted,
    data_file,
    given_table,
    live_names,
    stream_batch,
)
from tests.support.committing_beside import commit_beside
from tests.support.foreign_engine import expire
from tests.support.waiting import PATIENCE_S

pytestmark = [pytest.mark.integration, pytest.mark.slow]

COMMITS = 50
# One process imports the engine, and the others are forked from it before they do anything.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["tests.support.committing_beside", __name__])


@pytest.mark.parametrize("writers", [2, 6])
def test_every_acknowledged_commit_is_one_snapshot(tmp_path: Path, writers: int) -> None:
    file_io, root = LocalFileIO(), f"{tmp_path}/t"

    acknowledged = commit_beside(
        file_io, root, writers=writers, commits=COMMITS, processes=_PROCESSES
    )

    snapshots = SnapshotStore(file_io, TablePaths(root))
    newest = snapshots.latest()
    assert newest is not None
    assert newest.total_record_count == 10 * len(acknowledged)
    times = [snapshots.get(number).time_millis for number in snapshots.list_ids()]
    assert times == sorted(times)


def _commit_and_sleep(root: str, asleep: Any, awake: Any) -> int:
    """Plan a commit, fall asleep right before publishing, and continue when woken."""

    def on_step(name: str) -> None:
        if name == "before create-snapshot" and not asleep.is_set():
            asleep.set()
            assert awake.wait(PATIENCE_S)

    committer = TableCommitter(LocalFileIO(), TablePaths(root), on_step=on_step)
    result = committer.commit([appended(data_file("sleeper"))], commit_user="sleeper")
    return result.attempts


@pytest.mark.parametrize("others", [1, 2, 20])
def test_a_process_that_slept_through_an_expiry_loses_nothing(tmp_path: Path, others: int) -> None:
    file_io, paths = LocalFileIO(), given_table(LocalFileIO(), f"{tmp_path}/t")
    committer = TableCommitter(file_io, paths)
    committer.commit([appended(data_file("first"))], commit_user="other")

    with _manager() as manager, _pool(1) as pool:
        asleep, awake = manager.Event(), manager.Event()
        task = pool.submit(_commit_and_sleep, paths.root, asleep, awake)
        assert asleep.wait(PATIENCE_S)
        for number in range(others):
            committer.commit([appended(data_file(f"other-{number}"))], commit_user="other")
        expire(file_io, paths, keep_from=1 + others)
        awake.set()
        attempts = task.result()

    assert attempts == 2
    assert live_names(file_io, paths) == sorted(
        ["first", "sleeper", *(f"other-{number}" for number in range(others))]
    )
    assert SnapshotStore(file_io, paths).list_ids() == [1 + others, 2 + others]


def _run_stream(root: str, seed: int, barrier: Any) -> list[tuple[int, int]]:
    """Own a stream for a while: claim it, commit batches; return the ranges acknowledged."""
    source = random.Random(seed)
    committer = TableCommitter(LocalFileIO(), TablePaths(root), random=source)
    barrier.wait()
    acknowledged: list[tuple[int, int]] = []
    for _ in range(4):
        position = committer.claim_stream(
            "s", topic=TOPIC, topic_id=TOPIC_ID, initial_offsets={0: 0}
        )
        start = position.offsets[0]
        for batch_id in range(10):
            end = start + source.randint(1, 5)
            name = f"{start:05}-{end:05}-{seed}-{position.epoch}-{batch_id}"
            batch = stream_batch({0: start}, {0: end}, epoch=position.epoch, batch_id=batch_id)
            try:
                result = committer.commit_stream_batch([appended(data_file(name))], batch)
            except StreamFenced:
                break
            assert result.outcome is Outcome.COMMITTED
            acknowledged.append((start, end))
            start = end
    return acknowledged


def test_owners_that_fence_each_other_apply_each_offset_once(tmp_path: Path) -> None:
    file_io, paths = LocalFileIO(), given_table(LocalFileIO(), f"{tmp_path}/t")

    with _manager() as manager, _pool(4) as pool:
        barrier = manager.Barrier(4)
        tasks = [pool.submit(_run_stream, paths.root, seed, barrier) for seed in range(4)]
        acknowledged = sorted(item for task in tasks for item in task.result())

    position = TableCommitter(file_io, paths).stream_positions()["s"]
    ranges = [tuple(map(int, name.split("-")[:2])) for name in live_names(file_io, paths)]
    assert ranges == acknowledged
    assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])]
    assert position.offsets == {0: ranges[-1][1]}
    assert position.account.records == ranges[-1][1]
    assert position.epoch == 16


def _append_and_compact(root: str, writer: int, barrier: Any) -> None:
    """Append twenty files and move each to the top level, beside others who do the same."""
    file_io, paths = LocalFileIO(), TablePaths(root)
    committer = TableCommitter(file_io, paths, random=random.Random(writer))
    barrier.wait()
    for number in range(20):
        low = (writer * 20 + number) * 10
        file = data_file(f"{writer}-{number}", low=low, high=low + 9)
        committer.commit([appended(file)], commit_user=f"w{writer}", commit_identifier=2 * number)
        moved = data_file(f"{writer}-{number}", level=5, low=low, high=low + 9)
        committer.commit(
            [compacted((file,), (moved,))],
            commit_user=f"w{writer}",
            commit_identifier=2 * number + 1,
            kind=CommitKind.COMPACT,
        )


def test_appends_and_compactions_of_many_processes_keep_every_file_once(tmp_path: Path) -> None:
    file_io, paths = LocalFileIO(), given_table(LocalFileIO(), f"{tmp_path}/t")

    with _manager() as manager, _pool(4) as pool:
        barrier = manager.Barrier(4)
        tasks = [pool.submit(_append_and_compact, paths.root, n, barrier) for n in range(4)]
        for task in tasks:
            task.result()

    newest = SnapshotStore(file_io, paths).latest()
    assert newest is not None
    assert newest.id == 4 * 40
    assert len(live_names(file_io, paths)) == len(set(live_names(file_io, paths))) == 80
    assert newest.total_record_count == 800


def test_a_batch_that_skips_offsets_stops_the_stream(tmp_path: Path) -> None:
    paths = given_table(LocalFileIO(), f"{tmp_path}/t")
    committer = TableCommitter(LocalFileIO(), paths)
    committer.claim_stream("s", topic=TOPIC, topic_id=TOPIC_ID, initial_offsets={0: 0})

    with pytest.raises(OffsetMismatch):
        committer.commit_stream_batch([], stream_batch({0: 1}, {0: 2}))


def _manager() -> SyncManager:
    return _PROCESSES.Manager()


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=_PROCESSES)
