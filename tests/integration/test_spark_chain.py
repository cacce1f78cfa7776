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

pytestmark = [pytest.mark.integration, pytest.mark.spark]

_WAIT_SECONDS = 240
_WRITERS = ("ordered", "paid")


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


def await_commit(chain: SparkChain, process: Popen[bytes]) -> None:
    """Wait until the query has committed something."""
    before, end = commits_of(chain), time.monotonic() + _WAIT_SECONDS
    while commits_of(chain) <= before:
        assert process.poll() is None, "the query has ended by itself"
        assert time.monotonic() < end, "the query commits nothing"
        time.sleep(0.05)


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
    """Ten kills for each seed: of the query at a random moment of its start or its work, each with one of a writer."""
    chain = SparkChain(directory=tmp_path, batches=400)
    draws = random.Random(seed)
    print(f"seed {seed}")
    register(spark)

    for _ in range(5):
        writers = [chain.writer(name) for name in _WRITERS]
        with running(chain, tmp_path / "work") as process:
            if draws.random() < 0.7:
                await_commit(chain, process)
            killed_writer(draws.choice(writers), draws.uniform(0, 2))
            chain.a.table.compact(full=draws.random() < 0.3)
            time.sleep(draws.uniform(0, 3))
            kill_group(process)
        for writer in writers:
            writer.kill()
            writer.join()

    end_chain(chain, spark)
