"""Added partitions: which partitions of its topic a stream reads now, and which ones it reads later. Pure.

When a topic gets more partitions, keys move to other partitions, and the offsets of the new partitions begin with 0. A
stream that is ordered by arrival alone and declares `on_partitions_added: continue` therefore reads the topic in steps.
Each step is a separate query:

    growth noticed ── partitions_settle ──► ends of the known partitions are taken
                                             └── all read up to there ──► next generation: all of them

Producers notice new partitions some minutes later, so records of a key may still arrive in its former partition.
`partitions_settle` of the stream declares how long to wait for them. The step is stored with the group's order in the
table, so a restart does not begin the wait again.

With `on_partitions_added: stop`, a stream that is ordered by arrival alone is refused when it starts after its topic has got
more partitions. It is always refused if its topic has several partitions and the records of a row may be in more than one of
them. All other streams read every partition at once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from braid.lake import (
    GroupOrder,
    InvalidRequest,
    PartitionGrowth,
    Problem,
    StreamPosition,
    parse_duration,
)
from braid.pipelines.kafka.topic import Topic
from braid.records.stream_plan import StreamPlan
from braid.schemas import OnPartitionsAdded


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionAssignment:
    """The partitions that a query is assigned.

    Attributes:
        partitions: The partitions that it reads, ascending.
        growth: The growth of the topic whose new partitions wait; None: no partitions wait.
    """

    partitions: tuple[int, ...]
    growth: PartitionGrowth | None = None

    @property
    def partitions_seen(self) -> int:
        """Number of partitions that the topic had at the assignment."""
        return len(self.partitions) if self.growth is None else self.growth.partitions


def plan_assignment(
    plan: StreamPlan,
    topic: Topic,
    *,
    position: StreamPosition | None,
    order: GroupOrder | None,
    end: Callable[[], Mapping[int, int]],
    now_ms: int,
) -> PartitionAssignment:
    """Return the partitions that a stream is to read when it starts now.

    Args:
        plan: The stream.
        topic: The topic as it is now.
        position: The stream's position in the table; None: the stream is new.
        order: The order of the stream's group; None: the group was never claimed.
        end: Returns the offset after the last record, by partition.
        now_ms: Milliseconds since the epoch.

    Raises:
        InvalidRequest: Arrival alone cannot order what is in the topic.
    """
    if not plan.needs_keyed_partitions:
        return PartitionAssignment(partitions=topic.partitions)
    if len(topic.partitions) > 1 and not plan.is_keyed:
        _refuse_unkeyed(plan, topic)
    # Records were read from exactly the partitions that the table has offsets of.
    known = () if position is None else tuple(sorted(position.offsets))
    if not known or set(known) >= set(topic.partitions):
        return PartitionAssignment(partitions=topic.partitions)
    if plan.spec.on_partitions_added is OnPartitionsAdded.STOP:
        _refuse_added(plan, topic, known)
    growth = None if order is None else order.growth
    # A second growth during the wait begins it anew: producers have yet to learn of it.
    if growth is None or growth.partitions != len(topic.partitions):
        growth = PartitionGrowth(partitions=len(topic.partitions), noticed_ms=now_ms)
    if not is_settled(plan, growth, now_ms=now_ms):
        return PartitionAssignment(partitions=known, growth=growth)
    # The ends are read once: records that arrive in a known partition after them belong to the next step.
    if not growth.ends:
        found = end()
        growth = replace(growth, ends={number: found[number] for number in known})
    if position is not None and is_read_to_ends(growth, position):
        return PartitionAssignment(partitions=topic.partitions)
    return PartitionAssignment(partitions=known, growth=growth)


def is_step_complete(
    plan: StreamPlan, assigned: PartitionAssignment, position: StreamPosition, *, now_ms: int
) -> bool:
    """Return whether a query has read all that belongs to its step."""
    growth = assigned.growth
    if growth is None:
        return False
    return (
        is_read_to_ends(growth, position)
        if growth.ends
        else is_settled(plan, growth, now_ms=now_ms)
    )


def is_settled(plan: StreamPlan, growth: PartitionGrowth, *, now_ms: int) -> bool:
    """Return whether producers have had enough time to learn of the new partitions."""
    settle_ms = parse_duration(plan.spec.partitions_settle)
    assert settle_ms is not None, "checked at registration"
    return now_ms >= growth.noticed_ms + settle_ms


def is_read_to_ends(growth: PartitionGrowth, position: StreamPosition) -> bool:
    """Return whether the known partitions have been read up to the ends of the growth."""
    return all(position.offsets.get(part, 0) >= end for part, end in growth.ends.items())


def _refuse_unkeyed(plan: StreamPlan, topic: Topic) -> NoReturn:
    problem = Problem(
        field="partitioned_by_key",
        value=str(plan.spec.partitioned_by_key).lower(),
        message=f"topic {topic.name} has {len(topic.partitions)} partitions, and the stream's "
        "records are ordered by arrival alone: it is not known which of two records of a row "
        "is newer if they are in different partitions",
        hint='read the primary key from the Kafka key (`"source": "key"` of its columns); or declare '
        "`partitioned_by_key: true` if producers keep all records of a row in one partition; or "
        "declare ordering columns; or declare `unordered: allowed` for the table",
    )
    message = f"the records of stream {plan.key} cannot be ordered"
    raise InvalidRequest(message, problems=[problem])


def _refuse_added(plan: StreamPlan, topic: Topic, known: tuple[int, ...]) -> NoReturn:
    problem = Problem(
        field="on_partitions_added",
        value=plan.spec.on_partitions_added.value,
        message=f"topic {topic.name} had {len(known)} partitions and has {len(topic.partitions)}: "
        "keys have moved to other partitions, and the stream's records are ordered by arrival "
        "alone",
        hint="declare `on_partitions_added: continue`: the stream then reads the known partitions "
        f"until producers have learned of the new ones (`partitions_settle`, now "
        f"{plan.spec.partitions_settle}). Then it reads all partitions, and records that it reads "
        "from then on count as newer than all earlier ones",
    )
    message = f"stream {plan.key} has stopped: partitions were added to its topic"
    raise InvalidRequest(message, problems=[problem])
