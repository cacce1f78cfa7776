"""Test bed of ingest: a warehouse, a table, topics, messages, and queries on one session."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka import KafkaProducer
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.lake import BatchAccount, Catalog, StreamBatch, StreamPosition, SystemClock, Table
from braid.lake.commit.streams.stream_position import batch_of
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.metrics import RunnerMetrics
from braid.pipelines.settings import DeadLetterBudget
from braid.pipelines.stream.ingest import Ingest, IngestContext
from braid.records.stream_plan import StreamPlan, plan_stream
from braid.registry.layout.physical_table import physical_table
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import StreamDefinition, TableSpec
from tests.support.topic_records import topic_records

IDENTIFIER = "db.wide"
# Small: tests wait for every micro-batch.
TRIGGER_MS = 50
_NO_CONFIGS: Mapping[str, str] = {}


@dataclass(kw_only=True)
class IngestBed:
    """One table in a warehouse of its own, fed from topics of its own."""

    broker: KafkaBroker
    session: SparkSession
    directory: Path
    spec: TableSpec
    budget: DeadLetterBudget = field(default_factory=DeadLetterBudget)
    schemas: SchemaSource | None = None
    metrics: RunnerMetrics = field(default_factory=RunnerMetrics)

    def __post_init__(self) -> None:
        definition = physical_table(self.spec)
        self.warehouse = str(self.directory / "warehouse")
        Path(self.warehouse).mkdir()
        Catalog(self.warehouse).create_table(
            IDENTIFIER,
            columns=definition.columns,
            primary_key=definition.primary_key,
            partition_keys=definition.partition_keys,
            options=definition.options,
        )

    def table(self) -> Table:
        """The table, opened anew."""
        return Catalog(self.warehouse).table(IDENTIFIER)

    def topic(
        self, name: str, *, partitions: int = 2, configs: Mapping[str, str] = _NO_CONFIGS
    ) -> str:
        """Create a topic whose name no other test has."""
        topic = f"{self.directory.name}-{name}".replace("_", "-")
        self.broker.create_topics({topic: partitions}, configs=configs)
        return topic

    def plan(self, name: str, *, topic: str, **stream: Any) -> StreamPlan:
        """Plan a stream of the table."""
        interval = {} if "trigger" in stream else {"trigger_ms": TRIGGER_MS}
        definition = StreamDefinition.model_validate({"topic": topic, **interval, **stream})
        return plan_stream(
            table=IDENTIFIER,
            spec=self.spec,
            stream=complete_stream(self.spec, definition, name=name),
            schema=self.table().schema,
        )

    def ingest(self, plan: StreamPlan, *, checkpoint: Path | None = None) -> Ingest:
        """Make a query that is not started yet."""
        context = IngestContext(
            session=self.session,
            cores=2,
            work_dir=self.directory / "work",
            clock=SystemClock(),
            budget=self.budget,
            # Only a supervisor lifts the bound of the first micro-batch.
            first_records_max=1_000_000,
            metrics=self.metrics,
        )
        return Ingest(
            context,
            plan=plan,
            table=self.table(),
            cluster=KafkaCluster(bootstrap_servers=self.broker.bootstrap_servers),
            schemas=self.schemas,
            checkpoint=checkpoint,
        )

    @contextmanager
    def running(self, plan: StreamPlan, *, checkpoint: Path | None = None) -> Iterator[Ingest]:
        """Start a query, and stop it at the end."""
        ingest = self.ingest(plan, checkpoint=checkpoint)
        try:
            ingest.start()
            yield ingest
        finally:
            ingest.stop()

    def ingest_available(self, plan: StreamPlan, *, checkpoint: Path | None = None) -> Ingest:
        """Run a query until it has read all there is; return it, stopped."""
        with self.running(plan, checkpoint=checkpoint) as ingest:
            ingest.process_available()
        return ingest

    def produce(
        self,
        topic: str,
        messages: Sequence[Any],
        *,
        keys: Sequence[bytes] = (),
        partition: int | None = None,
        headers: Sequence[Sequence[tuple[str, bytes]]] = (),
        timestamps_ms: Sequence[int] = (),
    ) -> None:
        """Send messages: bytes as they are, None as null, everything else as JSON.

        Without a partition the message's number decides, so that all are used. Keys, headers and timestamps
        are one for each message, or none at all.
        """
        producer = KafkaProducer(
            bootstrap_servers=self.broker.bootstrap_servers, max_request_size=64 << 20
        )
        try:
            count = len(producer.partitions_for(topic))
            for number, message in enumerate(messages):
                is_raw = message is None or isinstance(message, bytes)
                producer.send(
                    topic,
                    value=message if is_raw else json.dumps(message).encode(),
                    # The client takes a null value only with a key.
                    key=keys[number] if keys else b"key" if message is None else None,
                    partition=number % count if partition is None else partition,
                    headers=[*headers[number]] if headers else None,
                    timestamp_ms=timestamps_ms[number] if timestamps_ms else None,
                )
            producer.flush()
        finally:
            producer.close()

    def records(self, topic: str) -> list[Any]:
        """Read everything in a topic, partition by partition."""
        return topic_records(self.broker.bootstrap_servers, topic)

    def rows(self, *columns: str) -> list[dict[str, Any]]:
        """Read the table, sorted by key."""
        key = self.spec.primary_key
        rows = self.table().scan(columns=[*key, *columns] if columns else None).to_arrow()
        found: list[dict[str, Any]] = rows.sort_by(
            [(name, "ascending") for name in key]
        ).to_pylist()
        return found

    def position(self, stream: str) -> StreamPosition:
        """The stream's position in the newest snapshot."""
        return self.table().committer().stream_positions()[stream]

    def batch_accounts(self, stream: str) -> BatchAccount:
        """The sum of the accounts of all micro-batches in the table's history."""
        total = BatchAccount()
        for batch in self._batches(stream):
            total += batch.account
        return total

    def batch_ranges(self, stream: str, *, partition: int) -> list[tuple[int, int]]:
        """The offsets of a partition that each micro-batch has read, first and next."""
        return [(batch.start[partition], batch.end[partition]) for batch in self._batches(stream)]

    def _batches(self, stream: str) -> Iterator[StreamBatch]:
        """Yield the micro-batches of a stream that are in the table's history."""
        table = self.table()
        latest = table.latest_snapshot()
        assert latest is not None
        for number in range(1, latest.id + 1):
            batch = batch_of(table.snapshot(number))
            if batch is not None and batch.stream == stream:
                yield batch

    def file_rows(self) -> int:
        """Rows in all live files, superseded ones included: a record written twice shows."""
        table = self.table()
        latest = table.latest_snapshot()
        assert latest is not None
        return sum(entry.file.row_count for entry in table.live_files(latest))


def left(key: int, version: int | None, text: str | None) -> dict[str, Any]:
    """Return a message of stream `left` of the table in `conftest.py`."""
    return {"id": key, "a": text, "a_version": version}
