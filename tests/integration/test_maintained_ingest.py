"""Three streams with a trigger of one second and the compaction run together on one table.

Forty snapshots as a test, 2,000 in `make soak`. Nothing may fail or restart, and what is held (runs, files,
snapshots) may not grow with time.
"""

import logging
import random
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.lake import Table
from braid.pipelines.pace.back_pressure import INTERVAL_MS_MAX
from braid.schemas import StreamState, TableSpec
from tests.integration.ingest_bed import IDENTIFIER, IngestBed
from tests.integration.runner_bed import Registry, has_read, running_runner

pytestmark = [pytest.mark.integration, pytest.mark.spark]

STREAMS = ("orders", "payments", "shipping")
BUCKETS = 2
KEYS = 2_000
RECORDS = 60
"""Of a stream, sent every half second."""
STOP_TRIGGER = 12
SNAPSHOTS_KEPT = 20
SNAPSHOTS_MAX = SNAPSHOTS_KEPT + 100
"""Those that come between two expiries, ten seconds apart, included."""
COMPACTED_AFTER = 10
"""Sendings between two compactions of the test itself, which may be in the way of the runner's."""

SPEC = TableSpec.model_validate(
    {
        "columns": [
            {"name": "id", "type": "BIGINT"},
            *({"name": f"{name}_value", "type": "STRING"} for name in STREAMS),
            *({"name": f"{name}_version", "type": "BIGINT"} for name in STREAMS),
        ],
        "primary_key": ["id"],
        "buckets": BUCKETS,
        "sequence_groups": [
            {"name": name, "ordering": [f"{name}_version"], "columns": [f"{name}_value"]}
            for name in STREAMS
        ],
        "options": {
            "num-sorted-run.compaction-trigger": "5",
            "num-sorted-run.stop-trigger": str(STOP_TRIGGER),
            "snapshot.num-retained.min": "5",
            "snapshot.num-retained.max": str(SNAPSHOTS_KEPT),
        },
    }
)


@dataclass(kw_only=True)
class Watch:
    """What was seen of the table while streams and compaction ran."""

    most_runs: list[int] = field(default_factory=list)
    live_files: list[int] = field(default_factory=list)
    snapshots: list[int] = field(default_factory=list)
    data_files: list[int] = field(default_factory=list)
    states: set[StreamState] = field(default_factory=set)
    factors: list[int] = field(default_factory=list)

    def look(self, table: Table, registry: Registry) -> None:
        """Note what is there now."""
        runs = table.runs_per_bucket()
        newest = table.latest_snapshot()
        if newest is None:
            return
        self.most_runs.append(max(runs.values(), default=0))
        self.live_files.append(len(table.live_files(newest)))
        root = Path(table.path)
        self.snapshots.append(len(list((root / "snapshot").glob("snapshot-*"))))
        self.data_files.append(len(list(root.glob("bucket-*/*.parquet"))))
        for runner in registry.runners():
            for progress in runner.streams.values():
                assert progress.trace is None, progress.trace
                self.states.add(progress.state)
                if progress.back_pressure is not None:
                    self.factors.append(progress.back_pressure.factor)


class Producer:
    """Sends records of random keys, and knows what the table has to hold in the end."""

    def __init__(self, bed: IngestBed, topics: dict[str, str], *, seed: int) -> None:
        self._bed = bed
        self._topics = topics
        self._random = random.Random(seed)
        self._versions: dict[str, int] = dict.fromkeys(STREAMS, 0)
        self.sent: dict[str, int] = dict.fromkeys(STREAMS, 0)
        self.rows: defaultdict[int, dict[str, Any]] = defaultdict(dict)

    def send(self) -> None:
        """Send some records of every stream, a few of them late."""
        for name, topic in self._topics.items():
            records = []
            for _ in range(RECORDS):
                key = self._random.randrange(KEYS)
                self._versions[name] += 1
                late = self._random.random() < 0.1
                number = self._versions[name]
                # No two are equal: which of those wins is the order of arrival, over two partitions.
                version = (number - (self._random.randrange(1, 500) if late else 0)) << 32 | number
                value = f"{name}-{number}"
                records.append({"id": key, f"{name}_value": value, f"{name}_version": version})
                row = self.rows[key]
                if version >= row.get(f"{name}_version", version):
                    row |= records[-1]
            self._bed.produce(topic, records, partition=None)
            self.sent[name] += len(records)


@pytest.fixture
def bed(kafka: KafkaBroker, session: SparkSession, tmp_path: Path) -> IngestBed:
    return IngestBed(broker=kafka, session=session, directory=tmp_path, spec=SPEC)


@pytest.mark.slow
def test_streams_and_compaction_run_together(
    bed: IngestBed, caplog: pytest.LogCaptureFixture
) -> None:
    run_together(bed, caplog, snapshots=40)


@pytest.mark.soak
def test_streams_and_compaction_run_together_for_long(
    bed: IngestBed, caplog: pytest.LogCaptureFixture
) -> None:
    run_together(bed, caplog, snapshots=2_000)


def newest_id(table: Table) -> int:
    newest = table.latest_snapshot()
    return 0 if newest is None else newest.id


def has_expired(registry: Registry) -> bool:
    return any(
        IDENTIFIER in runner.tables and runner.tables[IDENTIFIER].expired > 0
        for runner in registry.runners()
    )


def run_together(bed: IngestBed, caplog: pytest.LogCaptureFixture, *, snapshots: int) -> None:
    """Run everything until there have been a number of snapshots; then nothing is missing and nothing has grown.

    They count from the first expiry, which waits for its interval: then all is under way.
    """
    registry, watch = Registry(bed), Watch()
    topics = {name: bed.topic(name) for name in STREAMS}
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    producer = Producer(bed, topics, seed=seed)
    table = bed.table()
    caplog.set_level(logging.INFO, logger="braid.lake.table.maintenance")
    lost = sendings = 0
    last: int | None = None
    with running_runner(bed):
        for name, topic in topics.items():
            registry.register(name, topic=topic, trigger_ms=1_000)
        for name in STREAMS:
            registry.wait_for(name, lambda p: p.state is StreamState.RUNNING)
        while last is None or newest_id(table) < last:
            producer.send()
            if last is None and has_expired(registry):
                last = newest_id(table) + snapshots
            if last is not None:
                watch.look(table, registry)
                sendings += 1
                if sendings % COMPACTED_AFTER == 0:
                    lost += len(table.compact().dropped)
            time.sleep(0.5)
        finished = {
            name: registry.wait_for(name, has_read(producer.sent[name])) for name in STREAMS
        }
        (runner,) = registry.runners()
        upkeep = runner.tables[IDENTIFIER]
    newest = table.latest_snapshot()
    assert newest is not None
    logged = [message for message in caplog.messages if message.startswith("dropped ")]
    print(f"{lost} lost by the test, {logged}")
    print(f"{newest.id} snapshots, {sum(producer.sent.values())} records, {upkeep}")
    for what in ("most_runs", "live_files", "snapshots", "data_files", "factors"):
        seen = getattr(watch, what)
        print(f"{what}: most {max(seen)}, mean {sum(seen) / len(seen):.1f}, last {seen[-1]}")

    # No error, no restart: each stream was claimed once.
    assert watch.states == {StreamState.RUNNING}
    assert {progress.epoch for progress in finished.values()} == {1}
    assert (upkeep.failures, upkeep.error) == (0, None)
    assert upkeep.compactions > 0
    assert upkeep.expired > 0
    # Lost races are counted, and each of them is logged.
    assert upkeep.dropped == len(logged)
    assert (
        max(
            progress.back_pressure.interval_ms
            for progress in finished.values()
            if progress.back_pressure is not None
        )
        <= INTERVAL_MS_MAX
    )
    # Bounded, however long it runs. A single look may find more, where the machine has kept the compaction waiting: back
    # pressure slows the streams down after that.
    assert median(watch.most_runs) <= STOP_TRIGGER
    assert median(watch.live_files) <= BUCKETS * STOP_TRIGGER
    assert max(watch.snapshots) <= SNAPSHOTS_MAX
    assert max(watch.data_files) <= 3 * SNAPSHOTS_MAX
    # Right.
    for name in STREAMS:
        assert finished[name].account.records == producer.sent[name]
    columns = [f"{name}_{what}" for name in STREAMS for what in ("value", "version")]
    nothing = dict.fromkeys(columns)
    expected = [{"id": key} | nothing | row for key, row in sorted(producer.rows.items())]
    assert bed.rows(*columns) == expected
