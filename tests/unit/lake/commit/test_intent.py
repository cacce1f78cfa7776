"""Intents are pure: the same state gives the same revision."""

from dataclasses import replace

from braid.lake.commit.commit_changes import CommitChanges
from braid.lake.commit.intent import Intent, PlainCommit, StreamCommit, StreamFence
from braid.lake.commit.streams.group_order import GroupOrder
from braid.lake.commit.streams.highest_read import HighestRead
from braid.lake.commit.streams.stream_authority import StreamAuthority
from braid.lake.commit.streams.stream_letters import (
    CommittedAttempts,
    RecentRecords,
    StreamLetters,
)
from braid.lake.commit.streams.stream_position import (
    StreamPosition,
    batch_properties,
)
from braid.lake.format.snapshot import CommitKind
from tests.support.committing import TOPIC, TOPIC_ID, stream_batch

OTHER = StreamPosition(stream="other", epoch=9, topic="o", topic_id="")
POSITION = StreamPosition(stream="s", epoch=2, topic=TOPIC, topic_id="", offsets={0: 10, 1: 20})
STREAMS = StreamAuthority(positions={"s": POSITION, "other": OTHER})
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


def stream_commit(start: int, end: int) -> StreamCommit:
    return StreamCommit(
        batch=stream_batch({0: start}, {0: end}, epoch=2, batch_id=6),
        messages=(),
        changes=CommitChanges(),
        max_sequence_number=-1,
    )


def test_a_plain_commit_leaves_streams_alone() -> None:
    intent: Intent = PlainCommit(
        user="u",
        identifier=3,
        kind=CommitKind.APPEND,
        messages=(),
        changes=CommitChanges(),
        max_sequence_number=-1,
        properties={"job": "1"},
    )

    revision = intent.revise(STREAMS, time_ms=1)

    assert revision is not None
    assert revision.streams is STREAMS
    assert (revision.identifier, revision.properties) == (3, {"job": "1"})


def test_a_batch_moves_its_own_stream_only() -> None:
    intent = stream_commit(10, 15)

    revision = intent.revise(STREAMS, time_ms=77)

    assert revision is not None
    assert revision.identifier == 2 << 32 | 6
    assert revision.properties == batch_properties(intent.batch)
    assert revision.streams.positions == {
        "other": OTHER,
        "s": replace(
            POSITION,
            offsets={0: 15, 1: 20},
            topic_id=TOPIC_ID,
            account=intent.batch.account,
            batch_id=6,
            commit_time_ms=77,
            letters=StreamLetters(
                recent=RecentRecords(records=5),
                attempts=CommittedAttempts(known_from=(2, 6)),
            ),
        ),
    }


def test_a_replay_has_no_revision() -> None:
    assert stream_commit(5, 10).revise(STREAMS, time_ms=1) is None


def test_a_fence_takes_every_stream_from_its_owner_and_no_offset_from_the_stream() -> None:
    intent = StreamFence(user="u", known_epochs={"s": 7, "gone": 3, "other": 1})

    revision = intent.revise(STREAMS, time_ms=5)

    assert revision.streams.positions == {
        "s": replace(POSITION, epoch=8, commit_time_ms=5),
        "other": replace(OTHER, epoch=10, commit_time_ms=5),
    }


def test_a_fence_of_one_stream_changes_no_other_stream() -> None:
    revision = StreamFence(user="u", only=frozenset({"s"})).revise(STREAMS, time_ms=5)

    assert revision.streams.positions == {
        "s": replace(POSITION, epoch=3, commit_time_ms=5),
        "other": OTHER,
    }


def test_a_fence_of_a_stream_fences_its_backfills() -> None:
    backfills = {
        name: StreamPosition(stream=name, epoch=4, topic="files", topic_id="")
        for name in ("s/backfill/history", "other/backfill/history")
    }
    streams = StreamAuthority(positions={**STREAMS.positions, **backfills})

    revision = StreamFence(user="u", only=frozenset({"s"})).revise(streams, time_ms=5)

    epochs = {name: position.epoch for name, position in revision.streams.positions.items()}
    assert epochs == {"s": 3, "other": 9, "s/backfill/history": 5, "other/backfill/history": 4}


def test_a_batch_carries_generations_forward() -> None:
    streams = replace(STREAMS, orders={"g": ORDER})

    revision = stream_commit(10, 15).revise(streams, time_ms=77)

    assert revision is not None
    assert revision.streams.orders == {"g": ORDER}


def test_a_batch_reads_again_up_to_the_highest_offset() -> None:
    back = replace(POSITION, highest_read={0: HighestRead(offset=15)})
    streams = replace(STREAMS, positions={"s": back})

    begun = stream_commit(10, 14).revise(streams, time_ms=7)
    passed = stream_commit(10, 15).revise(streams, time_ms=7)

    assert begun is not None
    assert begun.streams.positions["s"].highest_read == {
        0: HighestRead(offset=15, reads_again=True)
    }
    assert passed is not None
    assert passed.streams.positions["s"].highest_read == {}
