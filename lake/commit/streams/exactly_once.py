"""The exactly-once rule: whether a batch is committed or is a replay, decided from epoch, topic and offsets.

Each attempt to commit compares the batch with the stream's position in the newest snapshot:

1. the table has no position of the stream: the stream stops, and has to be claimed first;
2. the batch has another epoch than the table: the stream stops. If the batch's epoch is lower, a newer
   claim, a fence or a move came between; if it is higher, a rollback or an overwrite has removed the claim
   from the table;
3. the batch is of another topic: the stream stops;
4. the batch ends at or before the table's offsets: a replay, nothing is committed;
5. the batch starts at the table's offsets: it is committed;
6. anything else is a gap or an overlap; the stream stops.

The decision reads no checkpoint. "The stream stops" means that the decision raises an error.
"""

from enum import StrEnum

from braid.lake.commit.streams.stream_position import StreamBatch, StreamPosition
from braid.lake.errors import OffsetMismatch, StreamFenced


class BatchDecision(StrEnum):
    """What to do with a batch."""

    COMMIT = "commit"
    REPLAY = "replay"


def decide_batch(position: StreamPosition | None, batch: StreamBatch) -> BatchDecision:
    """Return whether a batch is to be committed or is in the table already.

    Args:
        position: The stream's position in the newest snapshot; None when it has none.
        batch: A batch of the same stream. A partition that the table does not know, because the topic
            grew, starts where the batch starts; a partition that the batch lacks keeps its offset.

    Raises:
        StreamFenced: The table's epoch is higher than the batch's.
        OffsetMismatch: The stream was never claimed, the claim is gone, the topic is another one,
            or the batch neither starts at the table's offsets nor ends at or before them.
    """
    stream = batch.stream
    if position is None:
        message = f"stream `{stream}` has no position in the table\nhint: claim it first"
        raise OffsetMismatch(message, stream=stream)
    assert position.stream == stream, "a batch is compared with its own stream"
    if batch.epoch < position.epoch:
        message = (
            f"stream `{stream}`: the table has epoch {position.epoch}, expected {batch.epoch}: "
            "the stream was claimed, moved or deleted meanwhile"
        )
        raise StreamFenced(message, stream=stream, epoch=batch.epoch, table_epoch=position.epoch)
    if batch.epoch > position.epoch:
        message = (
            f"stream `{stream}`: the table has epoch {position.epoch}, expected {batch.epoch}: "
            "the claim is gone, because the table was rolled back or overwritten"
        )
        raise OffsetMismatch(message, stream=stream)
    check_same_topic(position, topic=batch.topic, topic_id=batch.topic_id)
    # A partition without an offset in the table has no commit to conflict with.
    expected = {part: position.offsets.get(part, start) for part, start in batch.start.items()}
    # Before the check for gaps: a replay of an old batch starts below the table's offsets, and an
    # empty batch is a replay wherever it starts.
    if all(end <= expected[part] for part, end in batch.end.items()):
        return BatchDecision.REPLAY
    wrong = [part for part, start in sorted(batch.start.items()) if start != expected[part]]
    if not wrong:
        return BatchDecision.COMMIT
    found = ", ".join(
        f"partition {part}: {batch.start[part]}, expected {expected[part]}" for part in wrong
    )
    message = f"stream `{stream}`: the batch does not start at the table's offsets ({found})"
    raise OffsetMismatch(message, stream=stream)


def is_same_topic(position: StreamPosition, *, topic: str, topic_id: str) -> bool:
    """Return whether a position's offsets belong to a topic; an unknown id ("") equals every id."""
    is_same_id = not position.topic_id or not topic_id or position.topic_id == topic_id
    return position.topic == topic and is_same_id


def check_same_topic(position: StreamPosition, *, topic: str, topic_id: str) -> None:
    """Refuse offsets of another topic than the table's, because they would mean other records.

    If either id is unknown (""), only the names are compared.

    Raises:
        OffsetMismatch: The topic is another one, or was created again under the same name.
    """
    if not is_same_topic(position, topic=topic, topic_id=topic_id):
        message = (
            f"stream `{position.stream}`: offsets in the table are of topic `{position.topic}` "
            f"({position.topic_id or 'id unknown'}), found `{topic}` ({topic_id or 'id unknown'})"
        )
        raise OffsetMismatch(message, stream=position.stream)
