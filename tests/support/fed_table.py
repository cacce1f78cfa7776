"""A table over HTTP whose streams commit micro-batches of records, with the code of running streams but Spark."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import orjson
import pyarrow as pa
from httpx import Response

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import (
    BatchAccount,
    Catalog,
    GroupClaim,
    ManualClock,
    MemoryFileIO,
    StreamBatch,
    Table,
)
from braid.records.accepted_rows import accepted_rows, write_rows
from braid.records.record_columns import HEADERS, KEY, OFFSET, PARTITION, TIMESTAMP, VALUE
from braid.records.record_reader import RecordReader
from braid.records.stream_plan import StreamPlan, plan_stream
from braid.records.topic_records import TopicRecord
from braid.schemas import TableDocument
from braid.service.app import create_app
from braid.service.limits import RequestLimits
from braid.service.settings import ServiceSettings
from tests.support.memory_topics import MemoryTopics
from tests.support.waiting import wait_until
from tests.unit.service.http_client import HttpClient

DATABASE, NAME = "shop", "orders"
TABLE = f"/v1/tables/{DATABASE}/{NAME}"
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A record of a topic; `value` is written as JSON, and None is a tombstone, which needs a key."""

    value: Mapping[str, Any] | None
    key: bytes | None = None
    partition: int = 0

    @property
    def text(self) -> str | None:
        """The value as it is produced."""
        return None if self.value is None else orjson.dumps(self.value).decode()


@dataclass(slots=True, kw_only=True)
class _Feed:
    plan: StreamPlan
    epoch: int
    generation: int
    offsets: dict[int, int]
    batches: int = 0


@dataclass(kw_only=True)
class FedTable:
    """The table `shop.orders` in memory.

    Attributes:
        declaration: The body of its registration.
        streams: The bodies of the registrations of its streams, by name.
        partitions: The number of partitions of every topic.
        clusters: The Kafka clusters of the service.
        topics: What the topics have; the service reads it.
        limits: The bounds of requests.
        follow_ms: The pause of the service's followers.
        storage: Makes the storage.
        operation_workers: Operations that the service carries out at once, if it is served.
    """

    declaration: Mapping[str, Any]
    streams: Mapping[str, Mapping[str, Any]]
    partitions: int = 2
    clock: ManualClock = field(default_factory=ManualClock)
    clusters: KafkaClusters = field(default_factory=KafkaClusters)
    topics: MemoryTopics = field(default_factory=MemoryTopics)
    limits: RequestLimits = field(default_factory=RequestLimits)
    follow_ms: int = 0
    storage: Callable[[ManualClock], MemoryFileIO] = lambda clock: MemoryFileIO(clock=clock)
    operation_workers: int = 2

    def __post_init__(self) -> None:
        self.file_io = self.storage(self.clock)
        self.catalog = Catalog("/w", file_io=self.file_io, clock=self.clock)
        settings = ServiceSettings(
            warehouse="/w",
            clusters=self.clusters,
            limits=self.limits,
            follow_ms=self.follow_ms,
            operation_workers=self.operation_workers,
        )
        app = create_app(
            settings,
            catalog=self.catalog,
            file_io=self.file_io,
            clock=self.clock,
            topic_records=self.topics,
        )
        self.client = HttpClient(app)
        self.client.put(TABLE, json=self.declaration).raise_for_status()
        for name, body in self.streams.items():
            self.client.put(f"{TABLE}/streams/{name}", json=body).raise_for_status()
        self.table: Table = self.catalog.table(f"{DATABASE}.{NAME}")
        self._feeds = {name: self._claimed(name) for name in self.streams}

    @property
    def document(self) -> TableDocument:
        """The declaration."""
        found = self.client.app.state.components.registrar.document(f"{DATABASE}.{NAME}")
        assert isinstance(found, TableDocument)
        return found

    def feed(self, stream: str, *messages: Message, dead_letters: int = 0) -> list[int]:
        """Commit a micro-batch of records, of which so many are dead letters; return the offsets of all."""
        feed = self._feeds[stream]
        start = dict(feed.offsets)
        offsets = []
        for message in messages:
            offset = feed.offsets[message.partition]
            offsets.append(offset)
            feed.offsets[message.partition] += 1
            record = TopicRecord(
                key=message.key,
                value=None if message.text is None else message.text.encode(),
                headers=(),
                timestamp_ms=self.clock.now_ms(),
            )
            self.topics.add(feed.plan.spec.topic, (message.partition, offset), record)
        found = RecordReader(feed.plan, self.table.schema).read(self._records(messages, offsets))
        faults = {row: found.faults[row] for row in found.faults.rows}
        assert len(faults) == dead_letters, faults
        rows = accepted_rows(found, ~found.faults.is_faulty, feed.plan, generation=feed.generation)
        writer = self.table.writer()
        if rows.num_rows:
            write_rows(writer, rows)
        result = writer.prepare_commit()
        batch = StreamBatch(
            stream=stream,
            epoch=feed.epoch,
            batch_id=feed.batches,
            topic=feed.plan.spec.topic,
            topic_id=feed.plan.spec.topic,
            start=start,
            end=dict(feed.offsets),
            account=BatchAccount(
                accepted=result.rows_accepted,
                folded=result.rows_folded,
                ignored=result.rows_ignored + found.left_out,
                dead_lettered=dead_letters,
            ),
            dead_letters=Counter(fault.reason.value for fault in faults.values()),
        )
        self.table.committer().commit_stream_batch(
            result.messages, batch, max_sequence_number=result.max_sequence_number
        )
        feed.batches += 1
        return offsets

    def get(self, path: str) -> Any:
        """Return the answer to a request below the table's address, which succeeds, if not the first time that it is asked for."""
        answers: list[Response] = []

        def is_ready() -> bool:
            answers[:] = [self.client.get(f"{TABLE}/{path}")]
            # What takes longer than a moment is worked out while the client waits.
            return answers[0].status_code != HTTPStatus.ACCEPTED

        wait_until(is_ready, what=lambda: answers[0].text)
        assert answers[0].status_code == 200, answers[0].text
        return answers[0].json()

    def suppose(self, key: Mapping[str, Any], **hypothesis: Any) -> Any:
        """Return the row of a key as it would be."""
        answer = self.client.post(f"{TABLE}/rows/explain", json={"key": key, **hypothesis})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def _claimed(self, name: str) -> _Feed:
        document = self.document
        spec = document.streams[name].spec
        plan = plan_stream(
            table=document.identifier,
            spec=document.table,
            stream=spec,
            schema=self.table.schema,
            other_streams=[entry.spec for entry in document.streams.values()],
        )
        offsets = dict.fromkeys(range(self.partitions), 0)
        claim = None
        if plan.order_group is not None:
            claim = GroupClaim(group=plan.order_group, cluster="c", partitions=self.partitions)
        position = self.table.committer().claim_stream(
            name,
            topic=spec.topic,
            topic_id=spec.topic,
            initial_offsets=offsets,
            added_offsets=offsets,
            group=claim,
        )
        return _Feed(
            plan=plan, epoch=position.epoch, generation=position.generation, offsets=offsets
        )

    def _records(self, messages: Sequence[Message], offsets: Sequence[int]) -> pa.RecordBatch:
        now_us = self.clock.now_ms() * 1_000
        values = [None if one.text is None else one.text.encode() for one in messages]
        columns = {
            KEY: pa.array([one.key for one in messages], pa.binary()),
            VALUE: pa.array(values, pa.binary()),
            HEADERS: pa.array([None] * len(messages), _HEADERS),
            PARTITION: pa.array([one.partition for one in messages], pa.int32()),
            OFFSET: pa.array(offsets, pa.int64()),
            TIMESTAMP: pa.array([now_us] * len(messages), pa.timestamp("us", tz="UTC")),
        }
        return pa.RecordBatch.from_pydict(columns)
