"""A chain of two tables whose processes are killed: the second table has what follows from the first one's input."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Process
from pathlib import Path
from subprocess import Popen

import pytest
from pyspark.sql import SparkSession

from braid.pipelines.batch_source.source import register
from tests.support.spark_chain import SparkChain, kill_group, start_query
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.spark]

_ROUNDS = 5
_BATCHES = 60
_WRITERS = ("ordered", "paid")


@contextmanager
def writing(chain: SparkChain, *, until: int) -> Iterator[list[Process]]:
    """Run the writers until each has written so many batches; what still runs at the end is killed."""
    writers = [chain.writer(name, until=until) for name in _WRITERS]
    try:
        yield writers
    finally:
        for writer in writers:
            writer.kill()
            writer.join()


@contextmanager
def running(chain: SparkChain, work: Path) -> Iterator[Popen[bytes]]:
    """Run the query in a process of its own, which is killed at the end."""
    process = chain.query_process(work)
    try:
        yield process
    finally:
        if process.poll() is None:
            kill_group(process)


def commits_of(chain: SparkChain) -> int:
    """Return the id of the newest snapshot of the second table."""
    newest = chain.b.table.latest_snapshot()
    return 0 if newest is None else newest.id


def await_commit(chain: SparkChain, process: Popen[bytes], *, compacts: bool = False) -> None:
    """Wait until the query has committed something, and meanwhile let compactions bring changes that it reads."""
    before = commits_of(chain)

    def has_committed() -> bool:
        assert process.poll() is None, "the query has ended by itself"
        if compacts:
            chain.a.table.compact(full=False)
        return commits_of(chain) > before

    wait_until(has_committed, every_s=0.2, what=lambda: f"the query commits nothing after {before}")


def await_batches(chain: SparkChain, count: int) -> None:
    """Wait until the writers have written so many batches."""
    wait_until(lambda: chain.written() >= count, every_s=0.05)


def killed_writer(writer: Process, delay_s: float) -> None:
    """Kill a writer some time after its start."""
    time.sleep(delay_s)
    writer.kill()
    writer.join()


def end_chain(chain: SparkChain, session: SparkSession) -> None:
    """Let writers and query come to their end."""
    for name in _WRITERS:
        writer = chain.writer(name)
        writer.join()
        assert writer.exitcode == 0
    assert chain.is_written()
    chain.a.table.compact()
    start_query(session, chain.a.warehouse, chain.directory, availableNow=True).awaitTermination()
    assert chain.found() == chain.expected()


def test_a_chain_whose_processes_are_killed(spark: SparkSession, tmp_path: Path) -> None:
    chain = SparkChain(directory=tmp_path, batches=12)
    draws = random.Random(19)
    register(spark)

    killed_writer(chain.writer("ordered"), draws.uniform(0.1, 0.4))
    chain.writer("paid").join()
    chain.a.table.compact(full=False)
    with running(chain, tmp_path / "work") as process:
        await_commit(chain, process)
        time.sleep(draws.uniform(0, 0.3))
        kill_group(process)

    end_chain(chain, spark)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_chain_of_thirty_kills(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Ten kills for each seed: of the query at a random moment of its start or its work, each with one of a writer.

    Every round has batches of its own, so that there is always something to write and to read.
    """
    chain = SparkChain(directory=tmp_path, batches=_ROUNDS * _BATCHES)
    draws = random.Random(seed)
    print(f"seed {seed}")
    register(spark)

    for number in range(1, _ROUNDS + 1):
        goal = chain.written() + draws.randint(1, _BATCHES - 1)
        with (
            writing(chain, until=number * _BATCHES) as writers,
            running(chain, tmp_path / "work") as process,
        ):
            await_batches(chain, goal)
            killed_writer(draws.choice(writers), draws.uniform(0, 0.05))
            if draws.random() < 0.7:
                await_commit(chain, process, compacts=True)
            chain.a.table.compact(full=draws.random() < 0.3)
            time.sleep(draws.uniform(0, 3))
            kill_group(process)

    end_chain(chain, spark)
