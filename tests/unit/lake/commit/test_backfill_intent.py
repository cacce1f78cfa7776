"""Claims of backfills: a generation below every stream's, one source for good, one owner at a time."""

from dataclasses import replace

import pytest

from braid.lake.commit.backfill_intent import BackfillClaim
from braid.lake.commit.streams.backfill_position import BACKFILLS_MAX
from braid.lake.commit.streams.stream_authority import StreamAuthority
from braid.lake.commit.streams.stream_position import BatchAccount, StreamPosition
from braid.lake.errors import InvalidRequest, LimitExceeded

CLAIM = BackfillClaim(name="s/backfill/history", source="2 csv files", source_id="d1", start={0: 0})
LIVE = StreamPosition(stream="s", epoch=4, topic="t", topic_id="i", offsets={0: 9}, generation=2)


def test_each_backfill_has_the_next_generation_below_those_of_streams() -> None:
    first = CLAIM.revise(StreamAuthority(positions={"s": LIVE}), time_ms=5).streams
    second = replace(CLAIM, name="other/backfill/history").revise(first, time_ms=6).streams

    assert first.positions["s"] == LIVE
    assert first.positions[CLAIM.name] == StreamPosition(
        stream=CLAIM.name,
        epoch=1,
        topic="2 csv files",
        topic_id="d1",
        offsets={0: 0},
        commit_time_ms=5,
        generation=-32_768,
    )
    assert second.positions["other/backfill/history"].generation == -32_767


def test_a_claim_continues_under_the_next_epoch_and_keeps_the_generation() -> None:
    begun = CLAIM.revise(StreamAuthority(), time_ms=5).streams.positions[CLAIM.name]
    reached = replace(begun, offsets={0: 7}, batch_id=3, account=BatchAccount(accepted=7))
    revision = CLAIM.revise(StreamAuthority(positions={CLAIM.name: reached}), time_ms=8)

    assert revision.streams.positions[CLAIM.name] == replace(
        reached, epoch=2, batch_id=-1, commit_time_ms=8
    )
    assert revision.identifier == (2 << 32) - 1


@pytest.mark.parametrize(
    "other", [replace(CLAIM, source_id="d2"), replace(CLAIM, source="3 csv files")]
)
def test_another_source_is_refused(other: BackfillClaim) -> None:
    begun = CLAIM.revise(StreamAuthority(), time_ms=5).streams

    with pytest.raises(InvalidRequest, match="cannot continue"):
        other.revise(begun, time_ms=6)


def test_a_table_that_has_lost_its_positions_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="cannot begin"):
        CLAIM.revise(StreamAuthority(is_complete=False), time_ms=5)


def test_the_number_of_backfills_is_bounded() -> None:
    streams = StreamAuthority()
    for number in range(BACKFILLS_MAX):
        streams = replace(CLAIM, name=f"s/backfill/{number}").revise(streams, time_ms=5).streams

    with pytest.raises(LimitExceeded, match="100 backfills"):
        CLAIM.revise(streams, time_ms=5)
    # One that is there already continues.
    replace(CLAIM, name="s/backfill/7").revise(streams, time_ms=6)
