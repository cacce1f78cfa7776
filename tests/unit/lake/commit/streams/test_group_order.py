"""The generation of a group rises when offsets are no longer comparable, and stays otherwise."""

from dataclasses import replace
from typing import TypedDict

import pytest

from braid.lake.commit.streams.group_order import (
    GENERATION_MAX,
    OFFSET_MAX,
    GroupClaim,
    GroupOrder,
    PartitionGrowth,
    next_order,
    order_properties,
    orders_of,
    split_offset,
    stored_offset,
)
from braid.lake.errors import CorruptData, LimitExceeded
from tests.support.snapshots import given_snapshot

ORDER = GroupOrder(
    group="g", generation=3, stream="s", cluster="c", topic="t", topic_id="i", partitions=2
)
GROWTH = PartitionGrowth(partitions=3, noticed_ms=7, ends={0: 5, 1: 6})
CLAIM = GroupClaim(group="g", cluster="c", partitions=2)
SNAPSHOT = given_snapshot(4)


class Source(TypedDict):
    stream: str
    topic: str
    topic_id: str


SOURCE: Source = {"stream": "s", "topic": "t", "topic_id": "i"}


@pytest.mark.parametrize(
    ("claim", "source", "expected"),
    [
        pytest.param(CLAIM, SOURCE, ORDER, id="the-same-again"),
        pytest.param(
            replace(CLAIM, cluster="d"),
            SOURCE,
            replace(ORDER, generation=4, cluster="d"),
            id="another-cluster",
        ),
        pytest.param(
            CLAIM,
            {**SOURCE, "topic": "u"},
            replace(ORDER, generation=4, topic="u"),
            id="another-topic",
        ),
        pytest.param(
            CLAIM,
            {**SOURCE, "topic_id": "j"},
            replace(ORDER, generation=4, topic_id="j"),
            id="a-topic-made-again",
        ),
        pytest.param(
            CLAIM,
            {**SOURCE, "stream": "s2"},
            replace(ORDER, generation=4, stream="s2"),
            id="another-stream",
        ),
        pytest.param(
            replace(CLAIM, partitions=3),
            SOURCE,
            replace(ORDER, generation=4, partitions=3),
            id="more-partitions",
        ),
        pytest.param(
            replace(CLAIM, growth=GROWTH),
            SOURCE,
            replace(ORDER, growth=GROWTH),
            id="partitions-that-wait",
        ),
    ],
)
def test_another_source_or_more_partitions_raise_the_generation(
    claim: GroupClaim, source: Source, expected: GroupOrder
) -> None:
    assert next_order(ORDER, claim, **source) == expected


def test_partitions_that_have_waited_are_read_in_the_next_generation() -> None:
    waiting = replace(ORDER, growth=GROWTH)

    after = next_order(waiting, replace(CLAIM, partitions=3), **SOURCE)

    assert after == replace(ORDER, generation=4, partitions=3)


def test_a_group_without_a_claim_begins_at_the_given_generation() -> None:
    assert next_order(None, CLAIM, **SOURCE, generation_min=5).generation == 5


def test_more_generations_than_are_stored_are_refused() -> None:
    last = replace(ORDER, generation=GENERATION_MAX)

    assert next_order(last, CLAIM, **SOURCE) == last
    with pytest.raises(LimitExceeded, match="32767 generations"):
        next_order(last, replace(CLAIM, cluster="d"), **SOURCE)


def test_stored_offsets_compare_as_generation_and_offset() -> None:
    pairs = [(0, 0), (0, OFFSET_MAX), (1, 0), (1, 9), (GENERATION_MAX, OFFSET_MAX)]
    stored = [stored_offset(*pair) for pair in pairs]

    assert stored == sorted(stored)
    assert [split_offset(value) for value in stored] == pairs
    assert stored[-1] < 1 << 63


def test_orders_are_carried_by_snapshots() -> None:
    orders = {"g": replace(ORDER, growth=GROWTH), "": replace(ORDER, group="")}

    assert orders_of(replace(SNAPSHOT, properties=order_properties(orders))) == orders


@pytest.mark.parametrize("text", ["{", "[]", '{"group": "g"}'])
def test_an_order_that_cannot_be_read_is_corrupt(text: str) -> None:
    with pytest.raises(CorruptData, match=r"braid\.group\.g"):
        orders_of(replace(SNAPSHOT, properties={"braid.group.g": text}))
