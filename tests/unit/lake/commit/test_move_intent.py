"""Moves of a stream are pure, and only of the position that was decided on."""

from dataclasses import replace

import pytest

from braid.lake.commit.claim_intent import StreamClaim
from braid.lake.commit.move_intent import StreamMove
from braid.lake.commit.streams.exactly_once import decide_batch
from braid.lake.commit.streams.highest_read import HighestRead
from braid.lake.commit.streams.position_moves import MoveCause, PositionMove
from braid.lake.commit.streams.stream_authority import StreamAuthority
from braid.lake.commit.streams.stream_letters import StreamLetters
from braid.lake.commit.streams.stream_position import (
    BatchAccount,
    StreamPosition,
    move_properties,
)
from braid.lake.errors import OffsetMismatch, StreamFenced
from tests.support.committing import TOPIC, TOPIC_ID, stream_batch

POSITION = StreamPosition(
    stream="s",
    epoch=2,
    topic=TOPIC,
    topic_id=TOPIC_ID,
    offsets={0: 10, 1: 20},
    account=BatchAccount(accepted=30),
    batch_id=4,
    generation=3,
)
STREAMS = StreamAuthority(positions={"s": POSITION})
MOVE = StreamMove(user="registry", expected=POSITION, offsets={0: 4, 1: 20})


def test_a_move_changes_offsets_and_epoch_and_keeps_account_and_generation() -> None:
    revision = MOVE.revise(STREAMS, time_ms=9)

    move = PositionMove(time_ms=9, cause=MoveCause.REQUESTED, offsets={0: (10, 4)})
    assert revision.streams.positions["s"] == replace(
        POSITION,
        epoch=3,
        offsets={0: 4, 1: 20},
        batch_id=-1,
        commit_time_ms=9,
        moves=(move,),
        highest_read={0: HighestRead(offset=10)},
    )
    assert revision.properties == move_properties("s", [move])


def test_replayed_records_that_are_read_again_may_become_letters_again() -> None:
    replayed = {0: ((1, 6), (8, 9)), 1: ((3, 20),)}
    position = replace(POSITION, letters=StreamLetters(replayed=replayed, accepted=4))
    move = replace(MOVE, expected=position, offsets={0: 4, 1: 25})

    after = move.revise(StreamAuthority(positions={"s": position}), time_ms=9)

    letters = after.streams.positions["s"].letters
    assert letters == StreamLetters(replayed={0: ((1, 4),), 1: ((3, 20),)}, accepted=4)


def test_a_query_from_before_a_move_is_fenced() -> None:
    after = MOVE.revise(STREAMS, time_ms=9).streams.positions["s"]

    with pytest.raises(StreamFenced, match="the table has epoch 3, expected 2"):
        decide_batch(after, stream_batch({0: 10}, {0: 11}, epoch=2, batch_id=5))


def test_a_claim_continues_at_the_new_offsets_and_keeps_the_moves() -> None:
    after = MOVE.revise(STREAMS, time_ms=9).streams
    claim = StreamClaim(
        stream="s",
        topic=TOPIC,
        topic_id=TOPIC_ID,
        initial_offsets={0: 0, 1: 0},
        fallback=None,
        is_new_assumed=False,
    )

    claimed = claim.revise(after, time_ms=10).streams.positions["s"]

    assert (claimed.epoch, claimed.offsets) == (4, {0: 4, 1: 20})
    assert claimed.moves == after.positions["s"].moves


def test_a_claim_under_way_during_a_move_is_refused() -> None:
    after = MOVE.revise(STREAMS, time_ms=9).streams
    claim = StreamClaim(
        stream="s",
        topic=TOPIC,
        topic_id=TOPIC_ID,
        initial_offsets={0: 0},
        fallback=None,
        is_new_assumed=False,
        expected_epoch=2,
    )

    with pytest.raises(StreamFenced, match="the table has epoch 3, expected 2"):
        claim.revise(after, time_ms=10)


def test_a_stream_that_was_claimed_meanwhile_is_not_moved() -> None:
    streams = StreamAuthority(positions={"s": replace(POSITION, epoch=3)})

    with pytest.raises(StreamFenced, match="the table has epoch 3, expected 2"):
        MOVE.revise(streams, time_ms=9)


def test_a_stream_that_has_committed_meanwhile_is_not_moved() -> None:
    streams = StreamAuthority(positions={"s": replace(POSITION, offsets={0: 11, 1: 20})})

    with pytest.raises(OffsetMismatch, match="committed meanwhile"):
        MOVE.revise(streams, time_ms=9)


def test_a_stream_without_a_position_is_not_moved() -> None:
    with pytest.raises(OffsetMismatch, match="no position"):
        MOVE.revise(StreamAuthority(), time_ms=9)
