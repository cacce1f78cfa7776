"""All records of a Kafka topic."""

from collections.abc import Mapping
from typing import Any

from kafka import KafkaConsumer, TopicPartition

_FETCH_BYTES = 64 << 20


def topic_records(servers: str, topic: str, *, is_committed: bool = False) -> list[Any]:
    """Return everything in a topic at this moment, by partition, then by offset; or only what was not aborted."""
    consumer = KafkaConsumer(
        bootstrap_servers=servers,
        isolation_level="read_committed" if is_committed else "read_uncommitted",
        max_partition_fetch_bytes=_FETCH_BYTES,
        fetch_max_bytes=_FETCH_BYTES,
    )
    try:
        numbers = sorted(consumer.partitions_for_topic(topic) or ())
        partitions = [TopicPartition(topic, number) for number in numbers]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions)
        found: list[Any] = []
        while any(consumer.position(part) < ends[part] for part in partitions):
            polled: Mapping[Any, list[Any]] = consumer.poll(timeout_ms=1_000)
            found += [record for part in polled for record in polled[part]]
        return sorted(found, key=lambda record: (record.partition, record.offset))
    finally:
        consumer.close()
