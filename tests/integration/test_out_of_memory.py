"""Memory runs out: in Spark's Python workers, which are killed or get no more, and in the heap of its JVM.

A stream says so in words, tries again, and loses, repeats and refuses nothing.
"""

import itertools
import logging
import os
import random
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest
from kafka import KafkaProducer
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.pipelines.runner_process import EXIT_TRY_AGAIN
from braid.pipelines.spark.session import jvm_process_id
from braid.pipelines.spark.target import WORKER_DAEMON
from braid.schemas import DesiredState, StreamProgress, StreamState
from tests.integration.conftest import WIDE
from tests.integration.ingest_bed import IngestBed, left
from tests.integration.runner_bed import (
    Registry,
    has_read,
    is_state,
    runner_process,
    running_runner,
)
from tests.support.waiting import PATIENCE_S, wait_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]

_MEGABYTE: Final = 1 << 20
_MORE_BYTES: Final = 128 * _MEGABYTE
"""What a worker gets from the system besides what it has once it is ready."""


def _children(process_id: int) -> list[int]:
    found: list[int] = []
    for path in Path(f"/proc/{process_id}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, path.read_text().split())
    return found


def _daemons(session: SparkSession) -> list[int]:
    """The processes that fork Python workers."""
    found: list[int] = []
    for child in _children(jvm_process_id(session)):
        with suppress(OSError):
            if WORKER_DAEMON.encode() in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(child)
    return found


def _workers(session: SparkSession) -> list[int]:
    return [worker for daemon in _daemons(session) for worker in _children(daemon)]


def _writes(process_id: int, folder: str) -> bool:
    """Return whether a process has a file below a folder open."""
    with suppress(OSError):
        for link in Path(f"/proc/{process_id}/fd").iterdir():
            with suppress(OSError):
                if link.readlink().is_relative_to(folder):
                    return True
    return False


@contextmanager
def _limited(session: SparkSession) -> Iterator[None]:
    """Bound the address space of all Python workers, also of those to come."""
    processes = [*_daemons(session), *_workers(session)]
    pages = (int(Path(f"/proc/{one}/statm").read_text().split()[0]) for one in processes)
    bound = max(pages) * resource.getpagesize() + _MORE_BYTES
    _set_limit(processes, bound)
    try:
        yield
    finally:
        _set_limit([*_daemons(session), *_workers(session)], resource.RLIM_INFINITY)


def _set_limit(processes: list[int], bound: int) -> None:
    for one in processes:
        with suppress(ProcessLookupError):
            resource.prlimit(one, resource.RLIMIT_AS, (bound, resource.RLIM_INFINITY))


def _produce_large(
    bed: IngestBed, topic: str, *, count: int, megabytes: int, field: str = "a"
) -> None:
    """Send messages that are small until they are decompressed, for the size of one field."""
    producer = KafkaProducer(
        bootstrap_servers=bed.broker.bootstrap_servers,
        compression_type="gzip",
        max_request_size=64 * _MEGABYTE,
    )
    try:
        name, text = field.encode(), b"a" * (megabytes * _MEGABYTE)
        for key in range(count):
            producer.send(topic, b'{"id": %d, "a_version": 1, "%s": "%s"}' % (key, name, text))
        producer.flush()
    finally:
        producer.close()


def _assert_complete(bed: IngestBed, *, records: int, rows: int) -> None:
    """Every record is in the table, once, and none is a dead letter."""
    account = bed.position("left").account
    assert (account.records, account.accepted) == (records, records)
    assert bed.batch_accounts("left") == account
    ranges = bed.batch_ranges("left", partition=0)
    assert [first for first, _ in ranges] == [0, *(end for _, end in ranges[:-1])]
    assert ranges[-1][1] == records
    assert [row["id"] for row in bed.rows("a_version")] == list(range(rows))


@pytest.mark.slow
def test_a_worker_that_is_killed_within_a_micro_batch_costs_an_attempt(
    bed: IngestBed, session: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    """As the kernel does when memory runs out: once as the worker begins, twice while it writes a file."""
    caplog.set_level(logging.WARNING)
    registry, topic = Registry(bed), bed.topic("left", partitions=1)
    registry.register("left", topic=topic)
    data = f"{bed.warehouse}/db.db/wide"
    produced = 0

    def produce() -> None:
        nonlocal produced
        # Texts that do not compress: the worker is found at a file because it takes a while to write it.
        texts = (
            random.Random(key).randbytes(25_000).hex() for key in range(produced, produced + 300)
        )
        bed.produce(topic, [left(key, 1, text) for key, text in enumerate(texts, produced)])
        produced += 300

    def failures() -> list[str]:
        found = [record.getMessage() for record in caplog.records]
        return [line for line in found if line.startswith("retrying stream=db.wide/left")]

    def is_all_read() -> bool:
        position = bed.table().committer().stream_positions().get("left")
        return position is not None and position.account.records == produced

    def is_killed(is_doomed: Callable[[int], bool]) -> bool:
        """Kill workers in a certain state; return whether that has cost an attempt."""
        doomed: list[int] = []

        def kill() -> bool:
            doomed[:] = filter(is_doomed, _workers(session))
            for worker in doomed:
                os.kill(worker, signal.SIGKILL)
            # To open the table costs more than many looks at processes.
            return bool(doomed) or (next(looks) % 40 == 0 and is_all_read())

        looks = itertools.count(1)
        before = len(failures())
        wait_until(kill, every_s=0.004)
        wait_until(lambda: len(failures()) > before or is_all_read())
        return len(failures()) > before

    states = [lambda _: True, *[lambda worker: _writes(worker, data)] * 2]
    with running_runner(bed):
        produce()
        while states:
            if is_killed(states[0]):
                del states[0]
            elif is_all_read():
                # The micro-batch was committed before the worker was found.
                produce()
        registry.wait_for("left", has_read(produced))

    assert len(failures()) >= 3
    for line in failures():
        assert "a Python worker of Spark ended" in line
        assert "max_bytes_per_batch" in line
    _assert_complete(bed, records=produced, rows=produced)


@pytest.mark.slow
def test_a_worker_without_memory_for_a_micro_batch_is_retried_until_batches_are_smaller(
    bed: IngestBed, session: SparkSession
) -> None:
    registry, topic = Registry(bed), bed.topic("left", partitions=1)
    registry.register("left", topic=topic, max_message_bytes=16 * _MEGABYTE)
    with running_runner(bed):
        bed.produce(topic, [left(0, 0, "a worker that is ready")])
        registry.wait_for("left", has_read(1))
        with _limited(session):
            # Paused, so that all of them are one micro-batch, however slowly they are produced.
            registry.want("left", DesiredState.PAUSED)
            registry.wait_for("left", is_state(StreamState.PAUSED))
            _produce_large(bed, topic, count=20, megabytes=8)
            registry.want("left", DesiredState.RUNNING)
            waiting = registry.wait_for("left", _has_failed_twice)
            registry.register(
                "left",
                topic=topic,
                max_message_bytes=16 * _MEGABYTE,
                max_bytes_per_batch=16 * _MEGABYTE,
            )
            after = registry.wait_for("left", has_read(21))

    assert waiting.failure is not None
    assert "max_bytes_per_batch" in waiting.failure.cause
    assert (after.state, after.failure) == (StreamState.RUNNING, None)
    _assert_complete(bed, records=21, rows=20)


def _has_failed_twice(progress: StreamProgress) -> bool:
    failure = progress.failure
    return progress.state is StreamState.RETRYING and failure is not None and failure.attempts >= 2


# Two JVMs, and half a gigabyte through each.
@pytest.mark.soak
def test_a_full_heap_ends_the_runner_and_smaller_batches_fit_into_it(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path
) -> None:
    # Nothing is compacted here, and back-pressure would make larger batches than declared.
    spec = WIDE.model_copy(update={"options": {"num-sorted-run.compaction-trigger": "100"}})
    bed = IngestBed(broker=kafka, session=session, directory=tmp_path, spec=spec)
    registry, topic = Registry(bed), bed.topic("left", partitions=1)
    registry.register("left", topic=topic, max_message_bytes=32 * _MEGABYTE)
    # More than the 512 MB of the heap, and less than Kafka's consumer fetches at once.
    _produce_large(bed, topic, count=24, megabytes=24, field="of_no_column")

    with runner_process(bed, "full") as process:
        assert process.wait(PATIENCE_S) == EXIT_TRY_AGAIN
    registry.register(
        "left",
        topic=topic,
        max_message_bytes=32 * _MEGABYTE,
        max_bytes_per_batch=64 * _MEGABYTE,
    )
    with runner_process(bed, "again") as process:
        registry.wait_for("left", has_read(24), runner="again")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0

    log = (bed.directory / "full.log").read_text()
    assert (
        "the heap of Spark's JVM was full; hint: start the runner with a larger `--memory`" in log
    )
    _assert_complete(bed, records=24, rows=24)
