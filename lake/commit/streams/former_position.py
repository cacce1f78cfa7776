"""Positions left by a former stream of the same name, and when a newly registered stream discards them.

The table keeps the position of a stream that was deleted. A stream that is registered again under
the same name continues at this position, so that no record is lost or read twice. The position is
discarded only if the registration gave a start, and one of these conditions holds:

1. another stream has written the sequence group since: the records from the position to the given
   start are in the group already, or are not wanted;
2. the position's offsets are of another topic, or, if no claim followed the registration, of an earlier topic of the
   same name.

Neither condition holds for the position after a claim, so the next claim continues there.
"""

from braid.lake.commit.streams.exactly_once import is_same_topic
from braid.lake.commit.streams.group_order import GroupOrder
from braid.lake.commit.streams.stream_position import StreamPosition


def discards_former_position(
    position: StreamPosition,
    *,
    order: GroupOrder | None,
    topic: str,
    topic_id: str,
    former_epoch: int | None,
) -> bool:
    """Return whether a claim starts at the registered start instead of the table's position.

    Args:
        position: The stream's position in the table.
        order: Order of the stream's group; None: the group was never claimed, or the stream has none.
        topic: Name of the topic that is read from now on.
        topic_id: Kafka's id of that topic, "" when unknown.
        former_epoch: Epoch of the position when the stream was registered with a start; None: the stream
            was registered without a start, or there was no position.

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
        ...     position, order=None, topic="t", topic_id="created again", former_epoch=3
        ... )
        True
    """
    if former_epoch is None:
        return False
    if position.topic != topic or (order is not None and order.stream != position.stream):
        return True
    # A topic that was created again after the registration stops the stream instead (OffsetMismatch):
    # the user did not choose a start for it.
    is_former = position.epoch <= former_epoch
    return is_former and not is_same_topic(position, topic=topic, topic_id=topic_id)
