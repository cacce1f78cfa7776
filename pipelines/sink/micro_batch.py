"""Micro-batches as ranges of Kafka offsets, read from Spark's checkpoint."""

from pathlib import Path

from braid.lake import StreamBatch, StreamPosition
from braid.pipelines.spark.checkpoint import batch_end, batch_start


def read_micro_batch(
    checkpoint: Path, batch_id: int, *, topic: str, claimed: StreamPosition
) -> StreamBatch:
    """Return a micro-batch with its offsets and the claim under which it is committed; its account is empty.

    Args:
        checkpoint: The query's checkpoint directory.
        batch_id: Spark's number of the micro-batch.
        topic: The query's only topic.
        claimed: The stream's position as claimed.

    Raises:
        CorruptData: The checkpoint does not have the offsets.
    """
    end = batch_end(checkpoint, batch_id, topic=topic)
    start = batch_start(checkpoint, batch_id, topic=topic)
    return StreamBatch(
        stream=claimed.stream,
        epoch=claimed.epoch,
        batch_id=batch_id,
        topic=topic,
        topic_id=claimed.topic_id,
        # A partition that was added since the last batch has no start: Spark reads it from 0.
        start={partition: start.get(partition, 0) for partition in end},
        end=end,
    )


def records_max(batch: StreamBatch) -> int:
    """Return how many records a micro-batch has at most: transactions leave gaps between offsets."""
    return sum(batch.end.values()) - sum(batch.start.values())


def has_several_partitions(batch: StreamBatch) -> bool:
    """Return whether a micro-batch has records of more than one partition."""
    return sum(end > batch.start[part] for part, end in batch.end.items()) > 1
