"""A range of a topic as the source of a backfill: its committed records, read as the live stream reads them.

One difference: fields that the stream does not declare never add columns to the table.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import orjson
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from braid.backfill.read_chunk import PartBound, ReadChunk, SourcePart
from braid.backfill.topic.consumed_records import described_record, record_batch
from braid.backfill.topic.offset_range import TopicRange
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.lake import Clock, StorageUnavailable, TableSchema
from braid.pipelines.kafka.client_errors import unavailable
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.records.record_reader import RecordReader
from braid.records.stream_plan import StreamPlan
from braid.schemas import OnNewField

_POLL_MS: Final = 500
_RECORDS_MAX: Final = 20_000
_SILENCE_MS_MAX: Final = 60_000
"""Longest wait for a record, or for a position behind markers of transactions, that the topic is known to have."""


class TopicSource:
    """Records of a range of a topic."""

    def __init__(
        self,
        wanted: TopicRange,
        *,
        plan: StreamPlan,
        schema: TableSchema,
        cluster: KafkaCluster,
        schemas: SchemaSource | None,
        topic_id: str,
        clock: Clock,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Prepare to read.

        Args:
            wanted: The range, which the topic has.
            plan: The stream, with the range's topic as its own.
            schema: The table's schema.
            cluster: Where the topic is.
            schemas: The schemas that messages name; None where the stream's format names no registry.
            topic_id: Id of the topic.
            clock: The clock.
            tell: Not used: there is nothing to tell.
        """
        del tell
        self._range = wanted
        # New fields of old records are no reason to change the table.
        evolves = plan.spec.on_new_field is OnNewField.EVOLVE
        spec = plan.spec.model_copy(update={"on_new_field": OnNewField.IGNORE})
        self._plan = replace(plan, spec=spec) if evolves else plan
        self._schema = schema
        self._schemas = schemas
        self._reader = RecordReader(self._plan, schema, schemas=schemas)
        self._cluster = cluster
        self._clock = clock
        self._consumer: Any = None
        self._topic_id = topic_id

    @property
    def name(self) -> str:
        """The topic, with the number of offsets in the range."""
        count = sum(self._range.end.values()) - sum(self._range.start.values())
        return f"{count} offsets of the topic {self._range.topic}"

    @property
    def digest(self) -> str:
        """Digest of the topic's name and id, and of the range."""
        ranges = [sorted(self._range.start.items()), sorted(self._range.end.items())]
        content = orjson.dumps([self._range.topic, self._topic_id, ranges])
        return hashlib.sha256(content).hexdigest()[:32]

    @property
    def start(self) -> Mapping[int, int]:
        """The first offsets of the range."""
        return self._range.start

    @property
    def end(self) -> Mapping[int, int]:
        """The offsets after its last ones."""
        return self._range.end

    def chunks(self, offsets: Mapping[int, int]) -> Iterator[ReadChunk]:
        """Yield the records from some offsets on (see `Source`)."""
        position = dict(offsets)
        left = {part for part, end in self._range.end.items() if position[part] < end}
        if not left:
            return
        try:
            consumer = self._open({part: position[part] for part in sorted(left)})
            heard_ms = self._clock.now_ms()
            while left:
                chunk = self._poll(consumer, left, position)
                if chunk is not None:
                    heard_ms = self._clock.now_ms()
                    yield chunk
                elif self._clock.now_ms() - heard_ms > _SILENCE_MS_MAX:
                    waiting = ", ".join(f"{part}: {position[part]}" for part in sorted(left))
                    message = f"no records came from the topic {self._range.topic} at these positions (partition: offset): {waiting}"
                    raise StorageUnavailable(message)
                left = {part for part in left if position[part] < self._range.end[part]}
        except (KafkaError, OSError) as error:
            raise unavailable(
                self._cluster, f"topic {self._range.topic} cannot be read", error
            ) from error

    def parts(self, offsets: Mapping[int, int], bound: PartBound) -> Iterator[SourcePart]:
        """Yield parts of one partition each, those of all partitions by turns (see `Source`)."""
        position = dict(offsets)
        while left := [part for part, end in self._range.end.items() if position[part] < end]:
            for part in sorted(left):
                start = {part: position[part]}
                position[part] = min(position[part] + bound.records, self._range.end[part])
                end = {part: position[part]}
                yield SourcePart(
                    open=partial(
                        TopicSource,
                        TopicRange(topic=self._range.topic, start=start, end=end),
                        plan=self._plan,
                        schema=self._schema,
                        cluster=self._cluster,
                        schemas=self._schemas,
                        topic_id=self._topic_id,
                        clock=self._clock,
                    ),
                    start=start,
                    end=end,
                    done=self._done(position),
                )

    def described(self, records: Any, row: int) -> dict[str, Any]:
        """Return a record with its place (see `Source`)."""
        return described_record(self._range.topic, records, row)

    def close(self) -> None:
        """Close the connection."""
        if self._consumer is not None:
            self._consumer.close(autocommit=False)
            self._consumer = None

    def _open(self, offsets: Mapping[int, int]) -> Any:
        self.close()
        self._consumer = KafkaConsumer(
            **self._cluster.client_options,
            group_id=None,
            enable_auto_commit=False,
            isolation_level="read_committed",
            auto_offset_reset="none",
            max_poll_records=_RECORDS_MAX,
        )
        self._consumer.assign([self._partition(part) for part in offsets])
        for part, offset in offsets.items():
            self._consumer.seek(self._partition(part), offset)
        return self._consumer

    def _poll(self, consumer: Any, left: set[int], position: dict[int, int]) -> ReadChunk | None:
        """Read on; return what came, None for nothing. `position` is advanced."""
        found = consumer.poll(timeout_ms=_POLL_MS, max_records=_RECORDS_MAX)
        records, end = [], {}
        for part in sorted(left):
            # Behind the last record there may be markers of transactions, which only the position shows.
            reached = min(consumer.position(self._partition(part)), self._range.end[part])
            records += [
                one
                for one in found.get(self._partition(part), ())
                if position[part] <= one.offset < self._range.end[part]
            ]
            if reached > position[part]:
                end[part] = position[part] = reached
            if reached == self._range.end[part]:
                consumer.pause(self._partition(part))
        if not end:
            return None
        return ReadChunk(
            plan=self._plan,
            found=self._reader.read(record_batch(records)) if records else None,
            records=len(records),
            end=end,
            done=self._done(position),
        )

    def _done(self, position: Mapping[int, int]) -> float:
        total = sum(self._range.end.values()) - sum(self._range.start.values())
        return (sum(position.values()) - sum(self._range.start.values())) / max(1, total)

    def _partition(self, number: int) -> TopicPartition:
        return TopicPartition(self._range.topic, number)
