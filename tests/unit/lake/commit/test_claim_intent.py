"""Claims of streams: epoch, offsets, generation, and the moves that a claim makes."""

from dataclasses import replace
from typing import Any

import pytest

from braid.lake.commit.claim_intent import StreamClaim
from braid.lake.commit.intent import StreamFence
from braid.lake.commit.streams.group_order import GroupClaim, GroupOrder
from braid.lake.commit.streams.highest_read import HighestRead
from braid.lake.commit.streams.position_moves import MoveCause, PositionMove
from braid.lake.commit.streams.stream_authority import StreamAuthority
from braid.lake.commit.streams.stream_position import (
    StreamFallback,
    StreamPosition,
    move_properties,
)
from braid.lake.errors import InvalidRequest, OffsetMismatch, StreamFenced
from tests.support.committing import TOPIC, TOPIC_ID

OTHER = StreamPosition(stream="other", epoch=9, topic="o", topic_id="")
POSITION = StreamPosition(stream="s", epoch=2, topic=TOPIC, topic_id="", offsets={0: 10, 1: 20})
STREAMS = StreamAuthority(positions={"s": POSITION, "other": OTHER})
CLAIM = StreamClaim(
    stream="s",
    topic=TOPIC,
    topic_id=TOPIC_ID,
    initial_offsets={0: 5},
    fallback=None,
    is_new_assumed=False,
)


def test_a_claim_continues_where_the_table_is() -> None:
    revision = CLAIM.revise(STREAMS, time_ms=77)

    assert revision.streams.positions["s"] == replace(
        POSITION, epoch=3, topic_id=TOPIC_ID, commit_time_ms=77
    )
    assert revision.streams.positions["other"] is OTHER


def test_identifiers_of_claims_lie_between_the_epochs() -> None:
    identifier = CLAIM.revise(STREAMS, time_ms=1).identifier

    assert 2 << 32 | 0xFFFF_FFFE < identifier < 3 << 32 | 0


@pytest.mark.parametrize(
    ("streams", "claim", "epoch", "offsets"),
    [
        pytest.param(StreamAuthority(), CLAIM, 1, {0: 5}, id="new"),
        pytest.param(
            StreamAuthority(is_complete=False, lost_below=40),
            replace(
                CLAIM,
                fallback=StreamFallback(position=replace(POSITION, epoch=7), snapshot_id=39),
            ),
            8,
            {0: 10, 1: 20},
            id="from-the-progress-document",
        ),
        pytest.param(
            StreamAuthority(is_complete=False),
            replace(CLAIM, is_new_assumed=True),
            1,
            {0: 5},
            id="vouched-for",
        ),
        pytest.param(
            StreamAuthority(),
            replace(CLAIM, fallback=StreamFallback(position=POSITION, snapshot_id=39)),
            1,
            {0: 5},
            id="table-knows-better",
        ),
    ],
)
def test_a_claim_takes_the_next_epoch_and_the_offsets_to_start_at(
    streams: StreamAuthority, claim: StreamClaim, epoch: int, offsets: dict[int, int]
) -> None:
    position = claim.next_position(streams, time_ms=1)

    assert (position.epoch, position.offsets) == (epoch, offsets)


def by_other(stream: str = "other", **changes: Any) -> StreamAuthority:
    """Return the state after a stream has written the group `g`."""
    order = GroupOrder(
        group="g", generation=3, stream=stream, cluster="c", topic="o", topic_id="", partitions=1
    )
    position = replace(POSITION, topic_id=TOPIC_ID, **changes)
    return StreamAuthority(positions={"s": position, "other": OTHER}, orders={"g": order})


REGISTERED_ANEW = replace(
    CLAIM, group=GroupClaim(group="g", cluster="c", partitions=1), former_epoch=2
)


@pytest.mark.parametrize(
    ("streams", "claim", "offsets"),
    [
        pytest.param(by_other(), REGISTERED_ANEW, {0: 5}, id="another-stream-has-written"),
        pytest.param(
            by_other(epoch=4), REGISTERED_ANEW, {0: 5}, id="and-the-table-was-rolled-back"
        ),
        pytest.param(
            by_other("s"), REGISTERED_ANEW, {0: 10, 1: 20}, id="no-other-stream-has-written"
        ),
        pytest.param(
            by_other(),
            replace(REGISTERED_ANEW, former_epoch=None),
            {0: 10, 1: 20},
            id="no-start-was-given",
        ),
        pytest.param(by_other("s", topic="older"), REGISTERED_ANEW, {0: 5}, id="of-another-topic"),
        pytest.param(
            by_other("s"), replace(REGISTERED_ANEW, topic_id="new"), {0: 5}, id="topic-made-again"
        ),
        pytest.param(
            by_other("s", topic="older"),
            replace(CLAIM, former_epoch=2),
            {0: 5},
            id="without-a-group",
        ),
    ],
)
def test_a_newly_registered_stream_discards_a_position_that_no_longer_fits(
    streams: StreamAuthority, claim: StreamClaim, offsets: dict[int, int]
) -> None:
    before = streams.positions["s"]
    after = claim.revise(streams, time_ms=1).streams

    assert after.positions["s"].offsets == offsets
    assert after.positions["s"].epoch == before.epoch + 1
    # A start at other offsets raises the generation, and does so once.
    assert after.positions["s"].generation == (0 if claim.group is None else 4)
    moved = {**after.positions, "s": replace(after.positions["s"], offsets={0: 77})}
    again = replace(claim, initial_offsets={0: 99}).revise(
        replace(after, positions=moved), time_ms=2
    )
    assert again.streams.positions["s"].offsets == {0: 77}


def test_a_topic_made_again_after_the_claim_stops_a_stream_registered_with_a_start() -> None:
    after = REGISTERED_ANEW.revise(by_other(), time_ms=1).streams

    with pytest.raises(OffsetMismatch):
        replace(REGISTERED_ANEW, topic_id="new").revise(after, time_ms=2)


def test_a_stream_of_unknown_position_does_not_start() -> None:
    with pytest.raises(InvalidRequest, match="its position is not known") as caught:
        CLAIM.next_position(StreamAuthority(is_complete=False), time_ms=1)

    assert "initial_offsets" in (caught.value.problems[0].hint or "")


@pytest.mark.parametrize(
    ("lost_below", "noted_at"),
    [(40, 38), (40, None), (None, 39)],
    ids=["older", "unknown-snapshot", "unknown-loss"],
)
def test_a_position_that_may_be_older_than_the_last_commit_is_not_continued(
    lost_below: int | None, noted_at: int | None
) -> None:
    """Records committed after it would be read twice."""
    claim = replace(CLAIM, fallback=StreamFallback(position=POSITION, snapshot_id=noted_at))

    with pytest.raises(InvalidRequest, match="may be older than the last commit"):
        claim.next_position(StreamAuthority(is_complete=False, lost_below=lost_below), time_ms=1)


def test_a_stream_that_was_fenced_before_its_first_claim_starts_as_a_new_one() -> None:
    fenced = StreamFence(user="u", only=frozenset({"s"})).revise(StreamAuthority(), time_ms=5)

    position = CLAIM.next_position(fenced.streams, time_ms=6)

    assert (position.epoch, position.topic, position.offsets) == (2, TOPIC, {0: 5})


def test_a_claim_that_was_begun_before_the_end_of_its_stream_comes_too_late() -> None:
    late = replace(CLAIM, expected_epoch=0)
    ended = StreamFence(user="u", only=frozenset({"s"})).revise(StreamAuthority(), time_ms=5)

    assert late.revise(StreamAuthority(), time_ms=6).streams.positions["s"].epoch == 1
    with pytest.raises(StreamFenced, match="claimed or deleted meanwhile"):
        late.revise(ended.streams, time_ms=6)


ORDER = GroupOrder(
    group="g",
    generation=0,
    stream="s",
    cluster="c",
    topic=TOPIC,
    topic_id=TOPIC_ID,
    partitions=2,
    began={},
)
GROUP_CLAIM = replace(CLAIM, group=GroupClaim(group="g", cluster="c", partitions=2))


def test_a_group_that_was_never_written_begins_with_generation_0() -> None:
    revision = GROUP_CLAIM.revise(StreamAuthority(), time_ms=1)

    assert revision.streams.orders == {"g": ORDER}
    assert revision.streams.positions["s"].generation == 0


@pytest.mark.parametrize(
    ("streams", "claim", "generation"),
    [
        pytest.param(STREAMS, GROUP_CLAIM, 1, id="streams-of-an-earlier-version"),
        pytest.param(
            StreamAuthority(is_complete=False, lost_below=40),
            replace(
                GROUP_CLAIM,
                fallback=StreamFallback(position=replace(POSITION, generation=4), snapshot_id=39),
            ),
            5,
            id="from-the-progress-document",
        ),
        pytest.param(
            StreamAuthority(is_complete=False),
            replace(GROUP_CLAIM, is_new_assumed=True),
            1,
            id="vouched-for",
        ),
    ],
)
def test_a_group_that_may_have_been_written_begins_above_that(
    streams: StreamAuthority, claim: StreamClaim, generation: int
) -> None:
    revision = claim.revise(streams, time_ms=1)

    assert revision.streams.orders["g"].generation == generation
    assert revision.streams.positions["s"].generation == generation


def test_taking_over_a_group_raises_its_generation_and_fences_the_former_owner() -> None:
    streams = StreamAuthority(
        positions={"s": POSITION, "other": OTHER}, orders={"g": replace(ORDER, generation=2)}
    )

    after = replace(GROUP_CLAIM, stream="s2", topic="u").revise(streams, time_ms=9).streams

    assert (after.orders["g"].generation, after.orders["g"].stream) == (3, "s2")
    assert after.positions["s2"].generation == 3
    assert after.positions["s"] == replace(POSITION, epoch=3, commit_time_ms=9)
    assert after.positions["other"] == OTHER


def test_taking_over_a_group_fences_the_backfills_of_the_former_owner() -> None:
    backfills = {
        name: StreamPosition(stream=name, epoch=4, topic="files", topic_id="")
        for name in ("s/backfill/history", "other/backfill/history")
    }
    streams = StreamAuthority(
        positions={"s": POSITION, "other": OTHER, **backfills},
        orders={"g": replace(ORDER, stream="other")},
    )
    claim = replace(CLAIM, group=GroupClaim(group="g", cluster="c", partitions=2))

    after = claim.revise(streams, time_ms=5).streams.positions

    assert {name: position.epoch for name, position in after.items()} == {
        "s": 3,
        "other": 10,
        "s/backfill/history": 4,
        "other/backfill/history": 5,
    }


def test_a_claim_skips_records_that_have_expired_and_says_so() -> None:
    claim = replace(CLAIM, skipped_to={0: 15, 1: 12})

    revision = claim.revise(STREAMS, time_ms=5)

    position = revision.streams.positions["s"]
    expired = PositionMove(time_ms=5, cause=MoveCause.EXPIRED, offsets={0: (10, 15)})
    assert position.offsets == {0: 15, 1: 20}
    assert position.moves == (expired,)
    assert revision.properties == move_properties("s", [expired])


def test_a_claim_without_expired_records_has_no_move() -> None:
    revision = replace(CLAIM, skipped_to={0: 10, 1: 0}).revise(STREAMS, time_ms=5)

    assert revision.streams.positions["s"].moves == ()
    assert revision.properties == {}


def test_a_generation_begins_at_the_position_of_its_claim() -> None:
    def claim(streams: StreamAuthority, partitions: int) -> StreamAuthority:
        group = GroupClaim(group="g", cluster="c", partitions=partitions)
        added = dict.fromkeys(range(partitions), 0)
        wanted = replace(CLAIM, group=group, added_offsets=added)
        return wanted.revise(streams, time_ms=1).streams

    first = claim(StreamAuthority(), 1)
    reached = replace(first.positions["s"], offsets={0: 30})
    again = claim(replace(first, positions={"s": reached}), 1)
    grown = claim(again, 2)

    assert [one.orders["g"].generation for one in (first, again, grown)] == [0, 0, 1]
    assert [one.orders["g"].began for one in (first, again, grown)] == [{}, {}, {0: 30, 1: 0}]


READING_AGAIN = replace(
    POSITION,
    topic_id=TOPIC_ID,
    offsets={0: 60, 1: 20},
    highest_read={0: HighestRead(offset=100, reads_again=True)},
)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"stream": "b"}, id="another stream has written the group since"),
        pytest.param({"partitions": 1}, id="partitions were added"),
        pytest.param(None, id="an earlier version kept no orders"),
    ],
)
def test_a_generation_begins_at_the_highest_offset_that_was_read(
    change: dict[str, Any] | None,
) -> None:
    orders = {} if change is None else {"g": replace(ORDER, generation=1, **change)}
    streams = StreamAuthority(positions={"s": READING_AGAIN, "other": OTHER}, orders=orders)

    revision = GROUP_CLAIM.revise(streams, time_ms=7)

    after = revision.streams
    move = PositionMove(time_ms=7, cause=MoveCause.GENERATION, offsets={0: (60, 100)})
    assert after.orders["g"].generation == (1 if change is None else 2)
    assert after.positions["s"].offsets == after.orders["g"].began == {0: 100, 1: 20}
    assert after.positions["s"].moves == (move,)
    assert revision.properties == move_properties("s", [move])


def test_a_claim_in_the_same_generation_goes_on_reading_again() -> None:
    streams = StreamAuthority(positions={"s": READING_AGAIN}, orders={"g": ORDER})

    after = GROUP_CLAIM.revise(streams, time_ms=7).streams.positions["s"]

    assert after.offsets == READING_AGAIN.offsets
    assert after.highest_read == READING_AGAIN.highest_read


def test_a_new_generation_does_not_take_back_records_that_were_skipped() -> None:
    skipping = replace(
        POSITION, topic_id=TOPIC_ID, offsets={0: 200}, highest_read={0: HighestRead(offset=100)}
    )
    orders = {"g": replace(ORDER, stream="b")}
    streams = StreamAuthority(positions={"s": skipping}, orders=orders)

    assert GROUP_CLAIM.revise(streams, time_ms=7).streams.positions["s"].offsets == {0: 200}


def test_a_claim_does_not_leave_rows_older_than_they_were() -> None:
    streams = StreamAuthority(
        positions={"s": READING_AGAIN}, orders={"g": replace(ORDER, stream="b")}
    )
    skipping = replace(CLAIM, skipped_to={0: 80}, shows_older_rows=True)
    unread = replace(READING_AGAIN, highest_read={0: HighestRead(offset=100)})

    with pytest.raises(InvalidRequest, match="cannot continue at offset 60") as expired:
        skipping.revise(streams, time_ms=7)
    with pytest.raises(InvalidRequest, match="cannot continue at offset 60") as generation:
        replace(GROUP_CLAIM, shows_older_rows=True).revise(streams, time_ms=7)

    assert (
        "cannot read 20 of the offsets that it had read before" in expired.value.problems[0].message
    )
    assert "records before 80 have expired" in expired.value.problems[0].message
    assert "new generation of its group begins at 100" in generation.value.problems[0].message
    # Before anything was read again, and where the order is stored, no row is older.
    for claim, position in (
        (skipping, unread),
        (replace(skipping, shows_older_rows=False), READING_AGAIN),
    ):
        after = claim.revise(replace(streams, positions={"s": position}), time_ms=7).streams
        assert after.positions["s"].offsets == {0: 80, 1: 20}


def test_a_claim_that_moves_twice_names_both_moves() -> None:
    orders = {"g": replace(ORDER, stream="b")}
    streams = StreamAuthority(positions={"s": READING_AGAIN}, orders=orders)

    revision = replace(GROUP_CLAIM, skipped_to={0: 150}).revise(streams, time_ms=7)

    moves = revision.streams.positions["s"].moves
    assert [(move.cause, move.offsets) for move in moves] == [
        (MoveCause.GENERATION, {0: (60, 100)}),
        (MoveCause.EXPIRED, {0: (100, 150)}),
    ]
    assert revision.properties == move_properties("s", moves)
