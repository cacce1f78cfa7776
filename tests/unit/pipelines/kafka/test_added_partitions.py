"""Added partitions wait until the known ones are read and producers know of them."""

from dataclasses import replace
from typing import Any

import pytest

from braid.lake import GroupOrder, InvalidRequest, PartitionGrowth, StreamPosition
from braid.pipelines.kafka.added_partitions import (
    PartitionAssignment,
    is_step_complete,
    plan_assignment,
)
from braid.pipelines.kafka.topic import Topic
from braid.records.stream_plan import StreamPlan
from tests.unit.records.given_streams import given_plan, given_spec

ARRIVAL = given_spec({"id": "INT", "a": "INT"}, ordering=None)
DECLARED = given_spec({"id": "INT", "a": "INT", "version": "INT"})
UNORDERED = given_spec({"id": "INT", "a": "INT"}, ordering=None, unordered="allowed")
WAITING: dict[str, Any] = {
    "partitioned_by_key": True,
    "on_partitions_added": "continue",
    "partitions_settle": "2 s",
}
ENDS = {0: 10, 1: 20, 2: 5}
GROWTH = PartitionGrowth(partitions=3, noticed_ms=1_000)
ORDER = GroupOrder(
    group="s", generation=0, stream="s", cluster="c", topic="topic", topic_id="i", partitions=2
)


def topic(count: int) -> Topic:
    return Topic(name="topic", topic_id="i", partitions=tuple(range(count)))


def position(*offsets: int) -> StreamPosition:
    known = dict(enumerate(offsets))
    return StreamPosition(stream="s", epoch=1, topic="topic", topic_id="i", offsets=known)


def assigned(
    plan: StreamPlan,
    *offsets: int,
    count: int = 3,
    growth: PartitionGrowth | None = None,
    now_ms: int = 1_000,
) -> PartitionAssignment:
    return plan_assignment(
        plan,
        topic(count),
        position=position(*offsets) if offsets else None,
        order=replace(ORDER, growth=growth),
        end=lambda: ENDS,
        now_ms=now_ms,
    )


@pytest.mark.parametrize(
    "plan",
    [given_plan(DECLARED), given_plan(UNORDERED)],
    ids=["declared-ordering", "unordered-allowed"],
)
def test_streams_that_need_no_keyed_partitions_read_all_partitions(plan: StreamPlan) -> None:
    assert assigned(plan) == PartitionAssignment(partitions=(0, 1, 2))
    assert assigned(plan, 1, 1) == PartitionAssignment(partitions=(0, 1, 2))


def test_arrival_alone_orders_no_records_that_are_spread_over_partitions() -> None:
    plan = given_plan(ARRIVAL)

    assert assigned(plan, count=1) == PartitionAssignment(partitions=(0,))
    with pytest.raises(InvalidRequest, match="has 3 partitions") as caught:
        assigned(plan)

    [problem] = caught.value.problems
    assert problem.field == "partitioned_by_key"
    assert problem.hint is not None
    for way in ('"source": "key"', "partitioned_by_key", "ordering columns", "unordered: allowed"):
        assert way in problem.hint


def test_a_stream_stops_at_added_partitions_unless_declared_otherwise() -> None:
    plan = given_plan(ARRIVAL, partitioned_by_key=True)

    assert assigned(plan) == PartitionAssignment(partitions=(0, 1, 2))
    assert assigned(plan, 1, 1, 1) == PartitionAssignment(partitions=(0, 1, 2))
    with pytest.raises(InvalidRequest, match="had 2 partitions and has 3") as caught:
        assigned(plan, 1, 1)

    assert "on_partitions_added: continue" in str(caught.value.problems[0].hint)


def test_added_partitions_wait_step_by_step() -> None:
    plan = given_plan(ARRIVAL, **WAITING)

    noticed = assigned(plan, 10, 19)
    assert noticed == PartitionAssignment(partitions=(0, 1), growth=GROWTH)
    assert not is_step_complete(plan, noticed, position(10, 19), now_ms=2_999)
    assert is_step_complete(plan, noticed, position(10, 19), now_ms=3_000)

    # A restart continues the wait.
    assert assigned(plan, 10, 19, growth=GROWTH, now_ms=2_999) == noticed

    settled = assigned(plan, 10, 19, growth=GROWTH, now_ms=3_000)
    assert settled.growth is not None
    assert (settled.partitions, settled.growth.ends) == ((0, 1), {0: 10, 1: 20})
    assert not is_step_complete(plan, settled, position(11, 19), now_ms=9_000)
    assert is_step_complete(plan, settled, position(11, 20), now_ms=9_000)

    done = assigned(plan, 11, 20, growth=settled.growth, now_ms=9_000)
    assert done == PartitionAssignment(partitions=(0, 1, 2))
    assert not is_step_complete(plan, done, position(11, 20, 0), now_ms=9_000)


def test_known_partitions_that_are_read_already_need_no_second_step() -> None:
    plan = given_plan(ARRIVAL, **WAITING)

    assert assigned(plan, 10, 20, growth=GROWTH, now_ms=3_000) == PartitionAssignment(
        partitions=(0, 1, 2)
    )


def test_partitions_that_are_added_meanwhile_begin_the_wait_anew() -> None:
    plan = given_plan(ARRIVAL, **WAITING)

    again = assigned(plan, 10, 20, growth=GROWTH, count=4, now_ms=3_000)

    assert again == PartitionAssignment(
        partitions=(0, 1), growth=PartitionGrowth(partitions=4, noticed_ms=3_000)
    )
    assert again.partitions_seen == 4
