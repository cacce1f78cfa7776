"""Streams slow down while their table is not compacted, lose nothing, and speed up again."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.pipelines.sink.sink_progress import SinkProgress
from braid.pipelines.stream.ingest import Ingest
from tests.integration.conftest import WIDE
from tests.integration.ingest_bed import IngestBed, left
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.spark]

BATCH = 5
HOURS_MS = 4 * 3_600_000


@pytest.fixture
def bed(kafka: KafkaBroker, session: SparkSession, tmp_path: Path) -> IngestBed:
    """A table with one bucket and little patience."""
    options = {"num-sorted-run.compaction-trigger": "2", "num-sorted-run.stop-trigger": "3"}
    spec = WIDE.model_copy(update={"buckets": 1, "options": options})
    return IngestBed(broker=kafka, session=session, directory=tmp_path, spec=spec)


def follow(ingest: Ingest, condition: Callable[[SinkProgress], bool]) -> SinkProgress:
    """Do what a supervisor does until the query's progress is as expected."""

    def is_so() -> bool:
        ingest.apply_back_pressure()
        assert ingest.failure is None
        return ingest.progress is not None and condition(ingest.progress)

    wait_until(is_so, every_s=0.1, what=lambda: f"the query is not as expected: {ingest.progress}")
    assert ingest.progress is not None
    return ingest.progress


def has_read(records: int) -> Callable[[SinkProgress], bool]:
    return lambda progress: progress.position.account.records == records


def factor(progress: SinkProgress) -> int:
    return 0 if progress.pace is None else progress.pace.factor


@pytest.mark.slow
def test_a_stream_slows_down_without_compaction_and_speeds_up_again(bed: IngestBed) -> None:
    topic = bed.topic("left", partitions=1)
    plan = bed.plan("left", topic=topic, trigger_ms=100, max_records_per_batch=BATCH)
    count = 60 * BATCH
    bed.produce(topic, [left(key % 40, key, f"v{key}") for key in range(count)])

    with bed.running(plan) as ingest:
        epoch = bed.position("left").epoch
        pressed = follow(ingest, lambda p: factor(p) == 8)
        assert pressed.pace is not None
        assert pressed.pace.runs is not None
        assert pressed.pace.runs > 4 * 3
        assert pressed.pace.records_max == 8 * BATCH
        assert pressed.pace.interval_ms >= 800
        follow(ingest, lambda p: (p.batch_records or 0) == 8 * BATCH)
        follow(ingest, lambda p: p.position.account.records == count)
        bed.table().compact()
        for number in range(count, count + 4):
            bed.produce(topic, [left(number % 40, number, f"v{number}")])
            follow(ingest, has_read(number + 1))
            bed.table().compact()
        relaxed = follow(ingest, lambda p: factor(p) == 1)
        assert relaxed.pace is not None
        assert (relaxed.pace.interval_ms, relaxed.pace.records_max) == (100, BATCH)
        bed.produce(topic, [left(key % 40, 1_000 + key, f"w{key}") for key in range(2 * BATCH)])
        last = follow(ingest, lambda p: p.position.account.records == count + 4 + 2 * BATCH)
        assert (last.batch_records or 0) <= BATCH
        assert bed.position("left").epoch == epoch, "the stream was claimed once"

    assert bed.batch_accounts("left").records == count + 4 + 2 * BATCH
    newest = {key % 40: f"v{key}" for key in range(count + 4)}
    newest |= {key: f"w{key}" for key in range(2 * BATCH)}
    assert {row["id"]: row["a"] for row in bed.rows("a")} == newest


def test_a_query_that_is_held_back_does_not_wait_when_it_is_stopped(bed: IngestBed) -> None:
    """It would wait for longer than a test may take."""
    topic = bed.topic("left", partitions=1)
    plan = bed.plan("left", topic=topic, trigger_ms=HOURS_MS)
    for _ in range(4):
        bed.produce(topic, [left(1, 1, "x")])
        with bed.running(bed.plan("left", topic=topic)) as ingest:
            follow(ingest, lambda p: p.commits == 1)
    bed.produce(topic, [left(1, 2, "y")])
    with bed.running(plan) as ingest:
        follow(ingest, lambda p: factor(p) > 1)
        ingest.stop()

    assert [row["a"] for row in bed.rows("a")] == ["y"]


def test_micro_batches_have_the_declared_size_but_for_one_where_records_grow(
    bed: IngestBed,
) -> None:
    size, growth = 64 << 10, 10
    topic = bed.topic("left", partitions=1)
    small = [left(key, 1, "x" * 1_000) for key in range(100)]
    bed.produce(topic, small + [left(key, 2, "y" * 1_000 * growth) for key in range(40)])
    plan = bed.plan(
        "left",
        topic=topic,
        trigger={"type": "available_now"},
        max_records_per_batch=1_000,
        max_bytes_per_batch=size,
        max_message_bytes=16 << 10,
    )

    with bed.running(plan) as ingest:
        follow(ingest, lambda _: ingest.is_completed)

    sizes = [len(record.value) for record in bed.records(topic)]
    read = [sum(sizes[start:end]) for start, end in bed.batch_ranges("left", partition=0)]
    assert sum(read) == sum(sizes)
    assert read[0] <= size
    larger = [count for count in read if count > size]
    assert len(larger) <= 1
    assert all(count <= size * growth for count in larger)
    assert max(read) > 3 * 1_000, "no more than the first micro-batch: nothing was measured"
    assert len(bed.rows("a")) == 100
