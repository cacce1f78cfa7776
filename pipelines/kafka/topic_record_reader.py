"""Reader of single records by partition and offset, in bounded time: a connection for each reading, which is rare.

A client of kafka-python cannot be interrupted. So topics are read in threads, and an answer does not wait for a thread that
is late; it ends by the timeouts of its own client.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError, OffsetOutOfRangeError

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import LakeError, StorageUnavailable
from braid.pipelines.kafka.client_errors import unavailable
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.reachability import check_reachable
from braid.pipelines.kafka.stream_cluster import resolve_cluster
from braid.pipelines.kafka.topic import Topic, TopicReader
from braid.records.topic_records import RecordPosition, TopicRecord, WantedRecords

_SECONDS: Final = 4.0
_THREADS: Final = 4
_POLL_MS: Final = 500
_FETCH_BYTES: Final = 1 << 20
"""Largest answer of a broker, unless a single batch of records is larger."""


class KafkaTopicRecords:
    """Reads single records of the topics of streams; a `TopicRecordReader`."""

    def __init__(self, clusters: KafkaClusters, *, seconds: float = _SECONDS) -> None:
        """Connect to no cluster yet.

        Args:
            clusters: The clusters that streams may name.
            seconds: The longest time of a call.
        """
        self._clusters = clusters
        self._seconds = seconds
        self._pool = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="topic-records")

    def read(
        self, wanted: Sequence[WantedRecords]
    ) -> list[Mapping[RecordPosition, TopicRecord] | LakeError]:
        """Return for each topic the records that it still has, or an error; see `TopicRecordReader`."""
        end_s = time.monotonic() + self._seconds
        readings = [self._pool.submit(self._read, one, end_s) for one in wanted]
        return [
            self._result(reading, one, end_s) for reading, one in zip(readings, wanted, strict=True)
        ]

    def close(self) -> None:
        """Begin no reading any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _result(
        self,
        reading: Future[dict[RecordPosition, TopicRecord]],
        wanted: WantedRecords,
        end_s: float,
    ) -> Mapping[RecordPosition, TopicRecord] | LakeError:
        try:
            return reading.result(timeout=max(0.0, end_s - time.monotonic()))
        except TimeoutError:
            reading.cancel()
            topic = wanted.stream.topic
            message = f"topic {topic} cannot be read: no answer within {self._seconds:g} seconds"
            return StorageUnavailable(message)
        except LakeError as error:
            return error

    def _read(self, wanted: WantedRecords, end_s: float) -> dict[RecordPosition, TopicRecord]:
        cluster = resolve_cluster(wanted.stream, self._clusters)
        with TopicReader(cluster) as topics:
            topic = topics.describe(wanted.stream.topic)
        if topic is None or wanted.topic_id not in ("", topic.topic_id):
            return {}
        return dict(_records(cluster, topic, wanted.positions, end_s, self._seconds))


def _records(
    cluster: KafkaCluster,
    topic: Topic,
    positions: Sequence[RecordPosition],
    end_s: float,
    seconds: float,
) -> Iterator[tuple[RecordPosition, TopicRecord]]:
    """Yield the records that a topic has at some positions.

    Raises:
        StorageUnavailable: The cluster does not answer in time, or refuses.
    """
    offsets: dict[int, list[int]] = {}
    for partition, offset in sorted(positions):
        offsets.setdefault(partition, []).append(offset)
    try:
        check_reachable(cluster, seconds=seconds)
        consumer = KafkaConsumer(
            isolation_level="read_committed",
            enable_auto_commit=False,
            # Any other policy continues elsewhere.
            auto_offset_reset="none",
            request_timeout_ms=int(seconds * 1_000),
            fetch_max_bytes=_FETCH_BYTES,
            max_partition_fetch_bytes=_FETCH_BYTES,
            **cluster.client_options,
        )
        try:
            for partition in sorted(offsets.keys() & set(topic.partitions)):
                one = TopicPartition(topic.name, partition)
                for record in records_at(consumer, one, offsets[partition], end_s):
                    yield (partition, record.offset), _topic_record(record)
        finally:
            consumer.close()
    except (KafkaError, OSError) as error:
        raise unavailable(cluster, f"topic {topic.name} cannot be read", error) from error


def records_at(
    consumer: Any, partition: TopicPartition, offsets: Sequence[int], end_s: float
) -> Iterator[ConsumerRecord]:
    """Yield the records of a partition that it still has at some offsets.

    Args:
        consumer: A consumer of kafka-python.
        partition: The partition.
        offsets: The offsets, ascending.
        end_s: When the time is over, by `time.monotonic`.

    Raises:
        TimeoutError: The time is over.
    """
    consumer.assign([partition])
    first, end = (
        bounds([partition])[partition]
        for bounds in (consumer.beginning_offsets, consumer.end_offsets)
    )
    read_to = first  # one fetch often has several of them
    for offset in offsets:
        if not max(first, read_to) <= offset < end:
            continue
        consumer.seek(partition, offset)
        try:
            while consumer.position(partition) <= offset:
                if time.monotonic() >= end_s:
                    message = "timed out"
                    raise TimeoutError(message)
                polled = consumer.poll(timeout_ms=_POLL_MS).get(partition, ())
                yield from (record for record in polled if record.offset in offsets)
        except OffsetOutOfRangeError:
            continue  # the topic's retention has deleted it meanwhile
        read_to = consumer.position(partition)


def _topic_record(record: ConsumerRecord) -> TopicRecord:
    return TopicRecord(
        key=record.key,
        value=record.value,
        headers=tuple(record.headers),
        timestamp_ms=record.timestamp,
    )
