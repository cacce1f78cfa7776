"""Overflowing timestamps: micro-batches with records whose Kafka timestamps Spark's type cannot hold.

A record's timestamp is a number that its producer chooses; the protocol says milliseconds since the epoch. A
timestamp in nanoseconds overflows Spark's type, which counts microseconds. Spark's source then raises while it
reads the record, before there is a row that could be refused. Brokers before Kafka 4.0 accept such records by
default.

So after that error the micro-batch is read once more, in three steps:

1. kafka-python reads the whole micro-batch and keeps the records whose timestamps overflow.
2. Spark reads the ranges of offsets between them.
3. The records of step 1 are added with a clamped timestamp: one that Spark can hold and no table can.

If a column is read from the timestamp, these records become dead letters (`part_reader`). If the table has tracking
columns, it refuses such a time, so the records become dead letters, too (`records.trial_writes`). The same happens to records
with timestamps in microseconds, which Spark can read. If no column holds the timestamp, both kinds of records are
accepted.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Final

from kafka.consumer.fetcher import ConsumerRecord
from pyspark.sql import DataFrame, SparkSession, functions as fn
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from braid.lake import LimitExceeded, StreamBatch
from braid.pipelines.kafka.bounded_read import read_to_end
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.source import read_ranges

_SPARK_MESSAGE: Final = "overflows when converting to Spark's microsecond-precision"
_MS_MAX: Final = (2**63 - 1) // 1_000  # as microseconds it is still an int64
_FAR_US: Final = 2**62  # in the year 148,108: Spark holds it, and no table does
_HELD_BYTES_MAX: Final = 64 * 1024 * 1024
_PIECES_MAX: Final = 200  # each is a scan of its own in Spark's plan

_HEADER: Final = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_ROW: Final = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", LongType()),
        StructField("headers", ArrayType(_HEADER)),
    ]
)


def is_timestamp_overflow(error: BaseException) -> bool:
    """Return whether an error is the one that Spark's source raises for an overflowing timestamp."""
    return _SPARK_MESSAGE in str(error)


def read_with_clamped_timestamps(
    session: SparkSession,
    *,
    cluster: KafkaCluster,
    batch: StreamBatch,
    records_max: int,
) -> DataFrame:
    """Return the records of a micro-batch, with overflowing timestamps clamped to what Spark can hold.

    Args:
        session: The session that reads them.
        cluster: The cluster of the topic.
        batch: The micro-batch.
        records_max: The largest number of records with such timestamps.

    Returns:
        The columns of Spark's Kafka source that a stream reads; the records are in no order.

    Raises:
        LimitExceeded: More records have such timestamps, or they have more than 64 MiB, or they are so scattered that
            more than 200 ranges are between them.
        StorageUnavailable: The cluster does not answer.
    """
    overflowing = _find(cluster, batch, records_max=records_max)
    found = [(record.partition, record.offset) for record in overflowing]
    pieces = pieces_between(batch.start, batch.end, found)
    # Many such records side by side make one gap: only scattered ones make many pieces.
    if len(pieces) > _PIECES_MAX:
        raise _too_many(overflowing)
    frames = [
        read_ranges(session, cluster=cluster, topic=batch.topic, start=start, end=end).select(
            *_ROW.fieldNames()
        )
        for start, end in pieces
    ]
    return reduce(DataFrame.unionByName, frames, _frame(session, overflowing))


def pieces_between(
    start: Mapping[int, int], end: Mapping[int, int], left_out: Iterable[tuple[int, int]]
) -> list[tuple[dict[int, int], dict[int, int]]]:
    """Return pieces that together have all offsets except `left_out`; each piece has a range of every partition.

    Args:
        start: First offset by partition.
        end: Offset after the last, by partition.
        left_out: (partition, offset), each within its range.

    Example:
        >>> pieces_between({0: 0, 1: 5}, {0: 4, 1: 6}, [(0, 1), (0, 2)])
        [({0: 0, 1: 5}, {0: 1, 1: 6}), ({0: 3, 1: 6}, {0: 4, 1: 6})]
    """
    ranges: dict[int, list[tuple[int, int]]] = {}
    for partition, first in start.items():
        parts, begin = [], first
        for offset in sorted(one for number, one in left_out if number == partition):
            assert begin <= offset < end[partition], "an offset that is left out is in the range"
            parts.append((begin, offset))
            begin = offset + 1
        assert begin <= end[partition], "a range ends after its start"
        parts.append((begin, end[partition]))
        ranges[partition] = [part for part in parts if part[0] < part[1]]
    # The n-th piece has the n-th range of each partition. A partition with fewer ranges has an empty one at
    # its end, because Spark wants an offset for every partition.
    pieces = []
    for index in range(max((len(parts) for parts in ranges.values()), default=0)):
        chosen = {
            partition: parts[index] if index < len(parts) else (end[partition], end[partition])
            for partition, parts in ranges.items()
        }
        pieces.append(
            (
                {partition: part[0] for partition, part in chosen.items()},
                {partition: part[1] for partition, part in chosen.items()},
            )
        )
    return pieces


def _find(cluster: KafkaCluster, batch: StreamBatch, *, records_max: int) -> list[ConsumerRecord]:
    """Return the records of a micro-batch with overflowing timestamps, read by kafka-python."""
    found: list[ConsumerRecord] = []
    held = 0
    for polled in read_to_end(cluster, topic=batch.topic, start=batch.start, end=batch.end):
        for record in polled:
            if abs(record.timestamp) > _MS_MAX:
                found.append(record)
                held += len(record.value or b"") + len(record.key or b"")
        if len(found) > records_max or held > _HELD_BYTES_MAX:
            raise _too_many(found)
    return found


def _frame(session: SparkSession, records: Sequence[ConsumerRecord]) -> DataFrame:
    rows = [
        (
            None if record.key is None else bytearray(record.key),
            None if record.value is None else bytearray(record.value),
            record.partition,
            record.offset,
            _FAR_US if record.timestamp > 0 else -_FAR_US,
            [(name, None if value is None else bytearray(value)) for name, value in record.headers],
        )
        for record in records
    ]
    frame = session.createDataFrame(rows, _ROW)
    return frame.withColumn("timestamp", fn.timestamp_micros("timestamp"))


def _too_many(found: Sequence[ConsumerRecord]) -> LimitExceeded:
    assert found, "there is a record to name"
    first = found[0]
    message = (
        f"topic {first.topic}: at least {len(found)} records of a micro-batch have timestamps that are not "
        f"in milliseconds, for example partition {first.partition}, offset {first.offset}: "
        f"{first.timestamp}\n"
        "hint: have the producer send milliseconds, or set the topic's `message.timestamp.type` to "
        "`LogAppendTime`; then start the stream after these records, or on a topic without them"
    )
    return LimitExceeded(message)
