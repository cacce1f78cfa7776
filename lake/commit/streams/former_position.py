"""Positions that a stream of the same name has left behind, which a stream registered anew may not go on at.

A position outlives its stream. A stream that is registered again under the name goes on there, so
that nothing is lost or repeated; unless a start was given with the registration, and the position
leads elsewhere:

1. another stream has written the group since: the records of that time are in the group already, or
   are not wanted;
2. the offsets are of another topic, or of one that was made again since.

The claim itself makes both untrue, so every later claim goes on at the position that it leaves.
"""

from lake.commit.streams.exactly_once import is_same_topic
from lake.commit.streams.group_order import GroupOrder
from lake.commit.streams.stream_position import StreamPosition


def discards_former_position(
    position: StreamPosition,
    *,
    order: GroupOrder | None,
    topic: str,
    topic_id: str,
    former_epoch: int | None,
) -> bool:
    """Return whether a claim starts where the registration says, and not at the table's position.

    Args:
        position: As the table knows it.
        order: Of the stream's group; None: it was never claimed, or the stream has none.
        topic: Name of the topic that is read from now on.
        topic_id: Kafka's id of it, "" when unknown.
        former_epoch: Of the position when the stream was registered with a start; None: it was
            registered without one, or there was no position.

    Example:
        >>> position = StreamPosition(stream="s", epoch=3, topic="t", topic_id="i", offsets={0: 9})
        >>> order = GroupOrder(
        ...     group="g",
        ...     generation=1,
        ...     stream="other",
        ...     cluster="c",
        ...     topic="u",
        ...     topic_id="j",
        ...     partitions=1,
        ... )
        >>> discards_former_position(position, order=order, topic="t", topic_id="i", former_epoch=3)
        True
        >>> discards_former_position(position, order=None, topic="t", topic_id="i", former_epoch=3)
        False
        >>> discards_former_position(
        ...     position, order=None, topic="t", topic_id="made again", former_epoch=3
        ... )
        True
    """
    if former_epoch is None:
        return False
    if position.topic != topic or (order is not None and order.stream != position.stream):
        return True
    # A topic that is made again under the stream's own eyes stops it: that was nobody's wish.
    is_former = position.epoch <= former_epoch
    return is_former and not is_same_topic(position, topic=topic, topic_id=topic_id)
