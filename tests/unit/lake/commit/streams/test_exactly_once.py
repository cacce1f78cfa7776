"""The exactly-once rule: case by case, and as a law over random histories."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from braid.lake.commit.streams.exactly_once import BatchDecision, decide_batch
from braid.lake.commit.streams.stream_position import StreamPosition
from braid.lake.errors import OffsetMismatch, StreamFenced
from tests.support.committing import TOPIC, TOPIC_ID, stream_batch

POSITION = StreamPosition(
    stream="s", epoch=2, topic=TOPIC, topic_id=TOPIC_ID, offsets={0: 10, 1: 20}
)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        pytest.param({0: 10, 1: 20}, {0: 15, 1: 20}, BatchDecision.COMMIT, id="continues"),
        pytest.param({0: 10}, {0: 11}, BatchDecision.COMMIT, id="leaves-a-partition-alone"),
        pytest.param({0: 10, 2: 7}, {0: 10, 2: 9}, BatchDecision.COMMIT, id="topic-grew"),
        pytest.param(
            {0: 5, 1: 15}, {0: 10, 1: 20}, BatchDecision.REPLAY, id="the-last-batch-again"
        ),
        pytest.param({0: 0, 1: 0}, {0: 5, 1: 5}, BatchDecision.REPLAY, id="an-old-batch-again"),
        pytest.param({0: 10, 1: 20}, {0: 10, 1: 20}, BatchDecision.REPLAY, id="nothing-new"),
        pytest.param({}, {}, BatchDecision.REPLAY, id="no-partitions"),
        pytest.param({2: 7}, {2: 7}, BatchDecision.REPLAY, id="nothing-of-a-new-partition"),
    ],
)
def test_batches_are_committed_or_replays(
    start: dict[int, int], end: dict[int, int], expected: BatchDecision
) -> None:
    assert decide_batch(POSITION, stream_batch(start, end, epoch=2)) is expected


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [
        pytest.param({0: 12}, {0: 15}, "partition 0: 12, expected 10", id="gap"),
        pytest.param({0: 5}, {0: 15}, "partition 0: 5, expected 10", id="overlap"),
        pytest.param(
            {0: 5, 1: 20}, {0: 10, 1: 25}, "partition 0: 5, expected 10", id="half-a-replay"
        ),
    ],
)
def test_a_batch_that_does_not_continue_stops_the_stream(
    start: dict[int, int], end: dict[int, int], found: str
) -> None:
    with pytest.raises(OffsetMismatch, match=found) as caught:
        decide_batch(POSITION, stream_batch(start, end, epoch=2))

    assert caught.value.stream == "s"


def test_a_lower_epoch_is_fenced_even_for_a_replay() -> None:
    with pytest.raises(StreamFenced, match="the table has epoch 2, expected 1") as caught:
        decide_batch(POSITION, stream_batch({0: 0}, {0: 1}, epoch=1))

    assert (caught.value.epoch, caught.value.table_epoch) == (1, 2)


def test_a_higher_epoch_means_the_claim_is_gone() -> None:
    with pytest.raises(OffsetMismatch, match="the claim is gone"):
        decide_batch(POSITION, stream_batch({0: 10}, {0: 11}, epoch=3))


def test_a_stream_that_was_never_claimed_cannot_commit() -> None:
    with pytest.raises(OffsetMismatch, match="claim it first"):
        decide_batch(None, stream_batch({0: 0}, {0: 1}))


def test_offsets_of_another_topic_mean_nothing() -> None:
    with pytest.raises(OffsetMismatch, match="found `payments`"):
        decide_batch(POSITION, stream_batch({0: 10}, {0: 11}, epoch=2, topic="payments"))
    with pytest.raises(OffsetMismatch, match="created-again"):
        decide_batch(POSITION, stream_batch({0: 10}, {0: 11}, epoch=2, topic_id="created-again"))


def test_an_unknown_topic_id_is_no_other_topic() -> None:
    batch = stream_batch({0: 10}, {0: 11}, epoch=2)

    assert decide_batch(POSITION, replace(batch, topic_id="")) is BatchDecision.COMMIT
    assert decide_batch(replace(POSITION, topic_id=""), batch) is BatchDecision.COMMIT


@given(
    ends=st.lists(st.integers(min_value=0, max_value=3), min_size=1, max_size=6),
    order=st.data(),
)
def test_any_order_of_deliveries_applies_each_record_once(
    ends: list[int], order: st.DataObject
) -> None:
    """Batches cut from one partition arrive repeatedly and in any order; offsets decide."""
    cuts = [0]
    for length in ends:
        cuts.append(cuts[-1] + length)
    batches = [
        stream_batch({0: low}, {0: high}, epoch=2, batch_id=number)
        for number, (low, high) in enumerate(pairwise(cuts))
    ]
    position = replace(POSITION, offsets={0: 0})
    applied: list[int] = []

    for batch in order.draw(st.lists(st.sampled_from(batches), max_size=20)) + batches:
        try:
            decision = decide_batch(position, batch)
        except OffsetMismatch:
            assert batch.start[0] > position.offsets[0]
            continue
        if decision is BatchDecision.COMMIT:
            applied.extend(range(batch.start[0], batch.end[0]))
            position = replace(position, offsets=dict(batch.end))

    assert applied == list(range(cuts[-1]))
