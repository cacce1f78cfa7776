"""Reading of a range of each partition of a topic with kafka-python, to its end and no further."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError

from braid.pipelines.kafka.client_errors import unavailable
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.reachability import check_reachable

_POLL_MS: Final = 1_000
_EMPTY_POLLS_MAX: Final = 30  # polls without a record, after which the cluster counts as down


def read_to_end(
    cluster: KafkaCluster, *, topic: str, start: Mapping[int, int], end: Mapping[int, int]
) -> Iterator[list[ConsumerRecord]]:
    """Yield the committed records of each poll, until every partition has been read to its end.

    Markers of transactions take offsets without records; the end is reached nevertheless.

    Args:
        cluster: Where the topic is.
        topic: The topic's name.
        start: First offset by partition.
        end: Offset after the last, for the same partitions.

    Raises:
        StorageUnavailable: The cluster does not answer, or thirty polls in a row bring no record.
    """
    assert start.keys() == end.keys(), "a range has both offsets of each partition"
    starts = {TopicPartition(topic, number): first for number, first in start.items()}
    try:
        check_reachable(cluster)
        consumer = KafkaConsumer(
            isolation_level="read_committed", enable_auto_commit=False, **cluster.client_options
        )
        try:
            consumer.assign(list(starts))
            for partition, first in starts.items():
                consumer.seek(partition, first)
            for polled in _polls(consumer, end):
                # A poll may return records after the end.
                yield [record for record in polled if record.offset < end[record.partition]]
        finally:
            consumer.close()
    except (KafkaError, OSError) as error:
        raise unavailable(cluster, f"topic {topic} cannot be read", error) from error


def _polls(consumer: Any, end: Mapping[int, int]) -> Iterator[list[ConsumerRecord]]:
    empty = 0
    waiting = set(consumer.assignment())
    while waiting := {one for one in waiting if consumer.position(one) < end[one.partition]}:
        # A partition that has been read is paused, else the consumer would fetch what comes after its end.
        consumer.pause(*(set(consumer.assignment()) - waiting - consumer.paused()))
        polled = [one for some in consumer.poll(timeout_ms=_POLL_MS).values() for one in some]
        empty = 0 if polled else empty + 1
        if empty == _EMPTY_POLLS_MAX:
            message = f"no record came for {empty * _POLL_MS // 1_000} s"
            raise OSError(message)
        yield polled
