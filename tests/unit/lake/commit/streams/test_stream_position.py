"""Positions survive the trip through snapshot properties."""

from dataclasses import replace

import orjson
import pytest

from braid.lake.commit.streams.highest_read import HighestRead
from braid.lake.commit.streams.position_moves import MoveCause, PositionMove
from braid.lake.commit.streams.stream_position import (
    BATCH_PROPERTY,
    BatchAccount,
    StreamBatch,
    StreamPosition,
    batch_of,
    batch_properties,
    position_properties,
    positions_of,
)
from braid.lake.errors import CorruptData
from tests.support.snapshots import given_snapshot

POSITION = StreamPosition(
    stream="s",
    epoch=3,
    topic="orders",
    topic_id="abc",
    offsets={0: 5, 11: 2**62},
    account=BatchAccount(accepted=1, folded=2, ignored=3, dead_lettered=4),
    batch_id=7,
    commit_time_ms=1_700_000_000_000,
    moves=(
        PositionMove(time_ms=4, cause=MoveCause.REQUESTED, offsets={0: (9, 5), 11: (0, 7)}),
        PositionMove(time_ms=5, cause=MoveCause.EXPIRED, offsets={11: (7, 2**40)}),
    ),
    highest_read={0: HighestRead(offset=9, reads_again=True), 11: HighestRead(offset=0)},
)
BATCH = StreamBatch(
    stream="s",
    epoch=3,
    batch_id=7,
    topic="orders",
    topic_id="abc",
    start={0: 1, 11: 4},
    end={0: 5, 11: 4},
    account=BatchAccount(accepted=3, dead_lettered=1),
)
SNAPSHOT = given_snapshot(4)


def test_positions_come_back_from_properties() -> None:
    other = replace(POSITION, stream="other.stream", offsets={})
    properties = position_properties({"s": POSITION, "other.stream": other})

    assert positions_of(replace(SNAPSHOT, properties=properties)) == {
        "s": POSITION,
        "other.stream": other,
    }


def test_a_position_of_a_version_without_moves_has_none() -> None:
    (key, text), *_ = position_properties({"s": POSITION}).items()
    stored = orjson.loads(text)
    del stored["moves"], stored["highest_read"]
    properties = {key: orjson.dumps(stored).decode()}

    assert positions_of(replace(SNAPSHOT, properties=properties)) == {
        "s": replace(POSITION, moves=(), highest_read={})
    }


def test_a_batch_comes_back_from_its_property() -> None:
    assert batch_of(replace(SNAPSHOT, properties=batch_properties(BATCH))) == BATCH


def test_a_snapshot_without_our_properties_has_neither() -> None:
    assert positions_of(SNAPSHOT) == {}
    assert batch_of(SNAPSHOT) is None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"stream": "s"}', "null"])
def test_unreadable_properties_are_corrupt(text: str) -> None:
    with pytest.raises(CorruptData, match="snapshot 4"):
        positions_of(replace(SNAPSHOT, properties={"braid.stream.s": text}))
    with pytest.raises(CorruptData, match="snapshot 4"):
        batch_of(replace(SNAPSHOT, properties={BATCH_PROPERTY: text}))


def test_accounts_add_up() -> None:
    total = BatchAccount(accepted=1, folded=2) + BatchAccount(ignored=3, dead_lettered=4)

    assert total == BatchAccount(accepted=1, folded=2, ignored=3, dead_lettered=4)
    assert total.records == 10


def test_contradictions_are_our_own_mistakes() -> None:
    with pytest.raises(AssertionError, match="same partitions"):
        replace(BATCH, end={0: 5})
    with pytest.raises(AssertionError, match="go forward"):
        replace(BATCH, end={0: 0, 11: 4})
    with pytest.raises(AssertionError, match="no more records"):
        replace(BATCH, account=BatchAccount(accepted=5))
    with pytest.raises(AssertionError, match="32 bits"):
        replace(BATCH, batch_id=2**32)
    with pytest.raises(AssertionError, match="counts records"):
        BatchAccount(accepted=-1)
