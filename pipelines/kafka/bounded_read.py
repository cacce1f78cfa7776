"""Bounded read of a topic with kafka-python: one range of offsets for each partition."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError, OffsetOutOfRangeError

from braid.lake import LakeError
from braid.pipelines.kafka.client_errors import unavailable
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.reachability import check_reachable

_POLL_MS: Final = 1_000
_STILL_POLLS_MAX: Final = 30  # polls without progress, after which the cluster counts as down


class RecordsExpired(LakeError):
    """Records of a range were deleted before they were read; a call with the topic's new bounds succeeds."""


def read_to_end(
    cluster: KafkaCluster, *, topic: str, start: Mapping[int, int], end: Mapping[int, int]
) -> Iterator[list[ConsumerRecord]]:
    """Yield the committed records of each poll, until every partition has been read to its end.

    Markers of transactions and records of aborted ones take offsets; the end is reached nevertheless.

    Args:
        cluster: Where the topic is.
        topic: The topic's name.
        start: First offset by partition.
        end: Offset after the last, for the same partitions.

    Raises:
        RecordsExpired: The topic does not have the next offset of a partition, mostly because its retention has
            deleted it meanwhile.
        StorageUnavailable: The cluster does not answer, or thirty polls in a row bring no partition further.
    """
    assert start.keys() == end.keys(), "a range has both offsets of each partition"
    starts = {TopicPartition(topic, number): first for number, first in start.items()}
    try:
        check_reachable(cluster)
        consumer = KafkaConsumer(
            isolation_level="read_committed",
            enable_auto_commit=False,
            # Any other policy continues elsewhere, so that records would be left out without an error.
            auto_offset_reset="none",
            **cluster.client_options,
        )
        try:
            consumer.assign(list(starts))
            for partition, first in starts.items():
                consumer.seek(partition, first)
            for polled in polled_to_end(consumer, end):
                # A poll may return records after the end.
                yield [record for record in polled if record.offset < end[record.partition]]
        except OffsetOutOfRangeError as error:
            raise _expired(consumer, error.args[0], end) from error
        finally:
            consumer.close()
    except (KafkaError, OSError) as error:
        raise unavailable(cluster, f"topic {topic} cannot be read", error) from error


def polled_to_end(consumer: Any, end: Mapping[int, int]) -> Iterator[list[ConsumerRecord]]:
    """Yield the records of each poll, until the positions of all partitions have reached their ends.

    Args:
        consumer: A consumer of kafka-python, with one topic's partitions assigned and positions set.
        end: Offset after the last, by partition.

    Raises:
        OSError: Thirty polls in a row bring no partition further.
    """
    still = 0
    waiting = _positions(consumer, consumer.assignment(), end)
    while waiting:
        # A partition that has been read is paused, else the consumer would fetch what comes after its end.
        consumer.pause(*(consumer.assignment() - waiting.keys() - consumer.paused()))
        polled = [one for some in consumer.poll(timeout_ms=_POLL_MS).values() for one in some]
        before, waiting = waiting, _positions(consumer, waiting, end)
        # Records of aborted transactions are no result, but positions advance over them.
        still = 0 if waiting != before else still + 1
        if still == _STILL_POLLS_MAX:
            message = f"no records came for {still * _POLL_MS // 1_000} s"
            raise OSError(message)
        yield polled


def _positions(
    consumer: Any, partitions: Iterable[TopicPartition], end: Mapping[int, int]
) -> dict[TopicPartition, int]:
    """Return the positions of those partitions that have not reached their ends."""
    positions = {one: consumer.position(one) for one in partitions}
    return {one: offset for one, offset in positions.items() if offset < end[one.partition]}


def _expired(
    consumer: Any, offsets: Mapping[TopicPartition, int], end: Mapping[int, int]
) -> RecordsExpired:
    """Return the error for offsets that the topic does not have, with what is gone and what is there."""
    earliest = consumer.beginning_offsets(list(offsets))
    latest = consumer.end_offsets(list(offsets))
    lines = []
    for one, offset in sorted(offsets.items()):
        last = end[one.partition]
        gone_to = min(last, earliest[one]) if offset < earliest[one] else last
        lines.append(
            f"topic {one.topic}, partition {one.partition}: the records of offsets {offset} to {gone_to - 1} "
            f"are gone; the topic has offsets from {earliest[one]} up to {latest[one]}"
        )
    hint = (
        "hint: the records were deleted before they were read, most likely by the topic's retention"
    )
    return RecordsExpired("\n".join([*lines, hint]))
