"""Generations of a sequence group's arrival order, in snapshot properties and in stored values.

Arrival order is (generation, Kafka offset, partition). Offsets are comparable only within one
topic, and only while keys keep their partitions. So the generation rises when another stream,
cluster, topic or topic id feeds the group, and when the number of partitions that are read changes.
The generation belongs to the group and stays when the group's streams are deleted. Negative
generations are those of backfills (`backfill_position`). Generation and offset are stored as one
BIGINT, whose order is that of the pairs.

Snapshot property, JSON, carried forward by every snapshot of this engine:

```
braid.group.<name>    GroupOrder
```
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import orjson

from braid.lake.commit.streams.stream_position import parse_offsets
from braid.lake.errors import CorruptData, LimitExceeded
from braid.lake.format.snapshot import Snapshot

GROUP_PREFIX = "braid.group."
OFFSET_BITS = 48
"""Number of the lower bits of the BIGINT, which hold the offset: 2.8e14 records of one partition."""
OFFSET_MAX = (1 << OFFSET_BITS) - 1
GENERATION_MAX = (1 << 63 - OFFSET_BITS) - 1
"""The largest number in the other bits, without the sign bit: 32,767."""
GENERATION_MIN = -GENERATION_MAX - 1
"""The smallest one, -32,768: negative generations are those of backfills."""
WHOLE_ROWS = ""
"""The group name of tables without sequence groups, whose rows are ordered as a whole."""


def stored_offset(generation: int, offset: int) -> int:
    """Return the BIGINT that stores a generation and an offset.

    Example:
        >>> stored_offset(0, 17), stored_offset(1, 17), split_offset(stored_offset(1, 17))
        (17, 281474976710673, (1, 17))
        >>> stored_offset(-1, 17) < stored_offset(0, 0), split_offset(stored_offset(-1, 17))
        (True, (-1, 17))
    """
    assert GENERATION_MIN <= generation <= GENERATION_MAX, generation
    assert 0 <= offset <= OFFSET_MAX, offset
    return generation << OFFSET_BITS | offset


def split_offset(stored: int) -> tuple[int, int]:
    """Return generation and offset of a stored BIGINT."""
    return stored >> OFFSET_BITS, stored & OFFSET_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionGrowth:
    """Partitions that were added to a topic and are not read yet.

    Attributes:
        partitions: The topic's number of partitions now.
        noticed_ms: When the growth was noticed, milliseconds since 1970 UTC.
        ends: For each known partition the offset up to which it is read before the next generation
            begins; empty until producers have had the time to learn of the new partitions.
    """

    partitions: int
    noticed_ms: int
    ends: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOrder:
    """Generation of a group, and the source of its records.

    Attributes:
        group: Name of the sequence group, or `WHOLE_ROWS`.
        generation: Number of the generation, from 0; the records of a higher one are newer.
        stream: The stream that writes in this generation.
        cluster: Name of the Kafka cluster.
        topic: Name of the Kafka topic.
        topic_id: Kafka's id of the topic, "" when unknown.
        partitions: The number of the topic's partitions that are read in this generation.
        growth: Partitions that wait for the next generation; None without any.
        began: The stream's position when the generation rose, by partition: its records below are of
            earlier generations, and would be newer than they are if they were read again. Empty where the
            stream started anew in this generation; None: not known, because an earlier version has
            written the order.
    """

    group: str
    generation: int
    stream: str
    cluster: str
    topic: str
    topic_id: str
    partitions: int
    growth: PartitionGrowth | None = None
    began: Mapping[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupClaim:
    """The group of a stream that is claimed, and the source of its records.

    Attributes:
        group: Name of the sequence group, or `WHOLE_ROWS`.
        cluster: Name of the Kafka cluster.
        partitions: The number of the topic's partitions that are read from now on.
        growth: Partitions that wait for the next generation; None without any.
    """

    group: str
    cluster: str
    partitions: int
    growth: PartitionGrowth | None = None


def next_order(
    known: GroupOrder | None,
    claim: GroupClaim,
    *,
    stream: str,
    topic: str,
    topic_id: str,
    generation_min: int = 0,
) -> GroupOrder:
    """Return the order of a group after a claim.

    Args:
        known: The group's order in the newest snapshot; None when the group was never claimed.
        claim: The claim of the group.
        stream: Name of the claiming stream.
        topic: Kafka topic of that stream.
        topic_id: Kafka's id of the topic.
        generation_min: The first generation of a group that was never claimed. It is above every
            generation in which the group may have been written without a record in the table.

    Example:
        >>> claim = GroupClaim(group="g", cluster="c", partitions=2)
        >>> first = next_order(None, claim, stream="s", topic="t", topic_id="i")
        >>> again = next_order(first, claim, stream="s", topic="t", topic_id="i")
        >>> other = next_order(first, claim, stream="s2", topic="t", topic_id="i")
        >>> first.generation, again.generation, other.generation
        (0, 0, 1)

    Raises:
        LimitExceeded: The generation is above `GENERATION_MAX`.
    """
    order = GroupOrder(
        group=claim.group,
        generation=generation_min if known is None else known.generation + 1,
        stream=stream,
        cluster=claim.cluster,
        topic=topic,
        topic_id=topic_id,
        partitions=claim.partitions,
        growth=claim.growth,
    )
    is_same = known is not None and is_same_source(
        known, stream=stream, cluster=claim.cluster, topic=topic, topic_id=topic_id
    )
    if known is not None and is_same and known.partitions == claim.partitions:
        # The same topic with the same partitions: offsets continue, so the generation stays.
        return replace(known, growth=claim.growth)
    if order.generation > GENERATION_MAX:
        message = (
            f"group `{claim.group}` has had {GENERATION_MAX} generations, which is the limit"
            "\nhint: create a table of another name"
        )
        raise LimitExceeded(message)
    return order


def is_same_source(
    known: GroupOrder, *, stream: str, cluster: str, topic: str, topic_id: str
) -> bool:
    """Return whether a stream continues the offsets of the group's generation."""
    source = (known.stream, known.cluster, known.topic, known.topic_id)
    return source == (stream, cluster, topic, topic_id)


def orders_of(snapshot: Snapshot) -> dict[str, GroupOrder]:
    """Return the orders that a snapshot carries, by group; empty when it carries none.

    Raises:
        CorruptData: A property of this engine cannot be read.
    """
    return {
        key.removeprefix(GROUP_PREFIX): _parse_order(key, value, snapshot)
        for key, value in snapshot.properties.items()
        if key.startswith(GROUP_PREFIX)
    }


def order_properties(orders: Mapping[str, GroupOrder]) -> dict[str, str]:
    """Return the snapshot properties that carry the orders."""
    options = orjson.OPT_NON_STR_KEYS | orjson.OPT_SORT_KEYS
    return {
        GROUP_PREFIX + name: orjson.dumps(order, option=options, default=dict).decode()
        for name, order in sorted(orders.items())
    }


def _parse_order(key: str, text: str, snapshot: Snapshot) -> GroupOrder:
    try:
        value = orjson.loads(text)
        return GroupOrder(
            group=value["group"],
            generation=int(value["generation"]),
            stream=value["stream"],
            cluster=value["cluster"],
            topic=value["topic"],
            topic_id=value["topic_id"],
            partitions=int(value["partitions"]),
            growth=_parse_growth(value["growth"]),
            began=None if (began := value.get("began")) is None else parse_offsets(began),
        )
    except (ValueError, TypeError, LookupError, AttributeError, AssertionError) as error:
        message = f"snapshot {snapshot.id} has a property `{key}` that cannot be read"
        raise CorruptData(message) from error


def _parse_growth(value: Mapping[str, object] | None) -> PartitionGrowth | None:
    if value is None:
        return None
    ends = value["ends"]
    assert isinstance(ends, dict), "an object of offsets"
    return PartitionGrowth(
        partitions=int(str(value["partitions"])),
        noticed_ms=int(str(value["noticed_ms"])),
        ends=parse_offsets(ends),
    )
