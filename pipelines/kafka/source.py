"""Kafka source of a stream: a topic, or ranges of a topic, as Spark DataFrames.

The module also has the offsets at which a query starts, and the checks of its topic.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from pyspark.sql import DataFrame, SparkSession, functions

from braid.lake import InvalidRequest, OffsetMismatch, Problem, StreamPosition
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.topic import Topic
from braid.records.record_columns import HEADERS, RECORD_COLUMNS
from braid.records.stream_plan import StreamPlan
from braid.schemas import StartingOffsets

# Kafka's default of 500 ms delays every micro-batch that reaches the end of a partition.
_FETCH_WAIT_MS = 5
# Kafka's default. The consumer decompresses all of them at once, whatever a micro-batch may hold.
_POLLED_RECORDS = 500
_ANEW = (
    "stop and delete the stream, and register it anew with `starting_offsets`: `earliest` reads "
    "all that the topic holds, `latest` only the records that are produced from then on"
)

_HINT_LOST: Final = (
    "the topic's retention was shorter than the stream's pause; to continue without the lost records, stop the stream, and set its "
    "position to an offset that the topic has: PUT .../streams/<name>/offsets; with `on_offsets_expired: skip` the stream does so by "
    "itself from then on"
)
_HINT_BEYOND: Final = (
    "the position was set beyond the end, or the topic has lost records or partitions; start the stream again when the topic has "
    "reached the position, or stop it and set its position to an offset that the topic has: PUT .../streams/<name>/offsets"
)


def read_topic(
    session: SparkSession,
    *,
    plan: StreamPlan,
    cluster: KafkaCluster,
    start: Mapping[int, int],
    records_max: int,
    is_fixed: bool = False,
) -> DataFrame:
    """Return the stream's topic as a streaming DataFrame: committed records only, with headers.

    Args:
        session: The session that the query runs in.
        plan: The stream.
        cluster: Where the topic is.
        start: Next offset by partition, for every partition that is read. Spark ignores these offsets
            when the query's checkpoint has offsets.
        records_max: The largest number of records in one micro-batch.
        is_fixed: Whether only the partitions of `start` are read; else partitions added to the topic, too.
    """
    topic = plan.spec.topic
    options = {
        "kafka.fetch.max.wait.ms": str(_FETCH_WAIT_MS),
        **bounded_options(cluster, records_max=records_max),
        **(_assigned(topic, start) if is_fixed else {"subscribe": topic}),
        "startingOffsets": _offsets(topic, start),
    }
    return session.readStream.format("kafka").options(**options).load()


def bounded_options(cluster: KafkaCluster, *, records_max: int) -> dict[str, str]:
    """Return Spark's options for a cluster and for micro-batches of a size.

    Args:
        cluster: The cluster; its own size of a poll takes precedence.
        records_max: The largest number of records in one micro-batch.
    """
    return {
        "kafka.max.poll.records": str(min(_POLLED_RECORDS, records_max)),
        **_options(cluster),
        "maxOffsetsPerTrigger": str(records_max),
    }


def read_ranges(
    session: SparkSession,
    *,
    cluster: KafkaCluster,
    topic: str,
    start: Mapping[int, int],
    end: Mapping[int, int],
) -> DataFrame:
    """Return the committed records of a topic in a range of each partition, with headers.

    Args:
        session: The session that reads them.
        cluster: Where the topic is.
        topic: The topic's name.
        start: First offset by partition.
        end: Offset after the last, for the same partitions.
    """
    assert start.keys() == end.keys(), "a range has both offsets of each partition"
    options = {
        **_options(cluster),
        **_assigned(topic, start),
        "startingOffsets": _offsets(topic, start),
        "endingOffsets": _offsets(topic, end),
    }
    return session.read.format("kafka").options(**options).load()


def record_columns(records: DataFrame) -> DataFrame:
    """Return the columns of Spark's Kafka source that tasks receive (`records.record_columns`).

    Records without headers get an empty list: the Arrow vector of a list looks for its end from the last row that is
    not null, whenever Spark asks for its size, which is after every row. In batches of 16,384 rows null lists took 15.2
    of the 16.6 s of processor time in which a million records crossed to Python.

    Args:
        records: Of `read_topic` or `read_ranges`.
    """
    without = functions.array().cast(records.schema[HEADERS].dataType)
    headers = functions.coalesce(HEADERS, without).alias(HEADERS)
    return records.select(*(headers if name == HEADERS else name for name in RECORD_COLUMNS))


def _options(cluster: KafkaCluster) -> dict[str, str]:
    return {
        **cluster.spark_options,
        "kafka.isolation.level": "read_committed",
        "failOnDataLoss": "true",
        "includeHeaders": "true",
    }


def _assigned(topic: str, partitions: Iterable[int]) -> dict[str, str]:
    return {"assign": json.dumps({topic: sorted(partitions)})}


def _offsets(topic: str, offsets: Mapping[int, int]) -> str:
    return json.dumps({topic: {str(partition): offset for partition, offset in offsets.items()}})


def initial_offsets(
    plan: StreamPlan, *, earliest: Mapping[int, int], end: Mapping[int, int]
) -> dict[int, int]:
    """Return the offsets at which a stream without a position in its table starts."""
    is_latest = plan.spec.starting_offsets is StartingOffsets.LATEST
    return dict(end if is_latest else earliest)


def start_offsets(
    position: StreamPosition, *, earliest: Mapping[int, int], end: Mapping[int, int]
) -> dict[int, int]:
    """Return the offsets at which the query starts: the table's offsets, and the first ones of new partitions.

    Args:
        position: The claimed position.
        earliest: First offset that is kept, by partition, of the partitions that are read.
        end: Offset after the last record, by partition, of the same partitions.

    Raises:
        InvalidRequest: Records after the table's offsets are gone from the topic, or the topic
            ends before them. Continuing would lose them without an error.
    """
    # An offset equal to the end is fine: the stream has read everything, and waits for the next record.
    start = {**earliest, **position.offsets}
    problems = []
    for partition, offset in sorted(start.items()):
        first, last = earliest.get(partition, 0), end.get(partition, -1)
        if first <= offset <= last:
            continue
        has = f"offsets from {first} up to {last}" if partition in earliest else "no such partition"
        problems.append(
            Problem(
                field=f"topic.{position.topic}.{partition}",
                value=None,
                message=f"the stream continues at offset {offset}, but the topic has {has}",
                hint=_HINT_LOST if offset < first else _HINT_BEYOND,
            )
        )
    if problems:
        message = (
            f"topic {position.topic} lacks the offset at which stream {position.stream} continues"
        )
        raise InvalidRequest(message, problems=problems)
    return start


def check_topic_id(topic: Topic) -> None:
    """Refuse a topic without an id.

    Raises:
        InvalidRequest: The cluster gives topics no ids. A topic that was deleted and made again could not be
            distinguished from the one before, and its records would be read from the middle, or
            mistaken for older ones.
    """
    if topic.topic_id:
        return
    problem = Problem(
        field="topic",
        value=topic.name,
        message="the cluster gives topics no ids, so a topic that was deleted and made again "
        "cannot be distinguished from the one before",
        hint="use Kafka 2.8 or newer, or another broker that has topic ids (KIP-516)",
    )
    message = f"topic {topic.name} has no id"
    raise InvalidRequest(message, problems=[problem])


def check_topic(position: StreamPosition | None, topic: Topic) -> None:
    """Refuse to continue on a topic other than that of the table's offsets.

    Raises:
        OffsetMismatch: The topic has another name, or was deleted and made again.
    """
    if position is None:
        return
    if position.topic != topic.name:
        message = (
            f"stream {position.stream}: the table's offsets are of topic {position.topic}, "
            f"found {topic.name}\nhint: {_ANEW}"
        )
        raise OffsetMismatch(message, stream=position.stream)
    # A position from before topics had ids has only a name to compare.
    is_same = not position.topic_id or not topic.topic_id or position.topic_id == topic.topic_id
    if not is_same:
        message = (
            f"stream {position.stream}: topic {topic.name} was deleted and made again: its id is "
            f"{topic.topic_id}, expected {position.topic_id}, so the table's offsets mean "
            f"nothing in it\nhint: {_ANEW}"
        )
        raise OffsetMismatch(message, stream=position.stream)
