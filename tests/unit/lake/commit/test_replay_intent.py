"""A replay is committed on the position that its letters were chosen by, once, beside the stream's batches."""

from dataclasses import replace

import pytest

from braid.lake.commit.commit_result import Outcome
from braid.lake.commit.replay_intent import LetterReplay, ReplayedLetters
from braid.lake.commit.streams.stream_authority import StreamAuthority
from braid.lake.commit.streams.stream_letters import RANGES_MAX, StreamLetters
from braid.lake.commit.streams.stream_position import BatchAccount, StreamPosition
from braid.lake.errors import CommitConflict, LimitExceeded, OffsetMismatch, StreamFenced
from braid.lake.files.storage.memory import MemoryFileIO
from tests.support.committing import (
    TOPIC,
    TOPIC_ID,
    appended,
    data_file,
    given_table,
    new_committer,
    stream_batch,
)

POSITION = StreamPosition(
    stream="s",
    epoch=2,
    topic=TOPIC,
    topic_id=TOPIC_ID,
    offsets={0: 10},
    account=BatchAccount(accepted=7, dead_lettered=3),
    letters=StreamLetters(
        by_reason={"malformed": 3},
        replayed={0: ((1, 2),)},
        accepted=1,
        replayed_by_reason={"malformed": 1},
    ),
)
STREAMS = StreamAuthority(positions={"s": POSITION})
LETTERS = ReplayedLetters(
    replayed={0: ((1, 6),)}, accepted=1, ignored=1, by_reason={"malformed": 2}
)
REPLAY = LetterReplay(expected=POSITION, letters=LETTERS)


def test_the_memory_and_the_counts_change_and_neither_offsets_nor_epoch() -> None:
    revision = REPLAY.revise(STREAMS, time_ms=9)

    assert revision is not None
    assert revision.streams.positions["s"] == replace(
        POSITION,
        commit_time_ms=9,
        letters=StreamLetters(
            by_reason={"malformed": 3},
            replayed={0: ((1, 6),)},
            accepted=2,
            ignored=1,
            replayed_by_reason={"malformed": 3},
        ),
    )
    assert revision.properties == {"braid.replay": '{"s":{"malformed":2}}'}


def test_batches_that_were_committed_meanwhile_stay() -> None:
    later = replace(
        POSITION, offsets={0: 12}, letters=replace(POSITION.letters, by_reason={"malformed": 4})
    )

    revision = REPLAY.revise(StreamAuthority(positions={"s": later}), time_ms=9)

    assert revision is not None
    after = revision.streams.positions["s"]
    assert (after.offsets, after.letters.by_reason) == ({0: 12}, {"malformed": 4})


def test_the_same_replay_again_is_nothing() -> None:
    first = REPLAY.revise(STREAMS, time_ms=9)

    assert first is not None
    assert REPLAY.revise(first.streams, time_ms=10) is None


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"epoch": 3}, StreamFenced),
        ({"letters": replace(POSITION.letters, replayed={0: ((1, 3),)})}, CommitConflict),
    ],
)
def test_another_position_has_the_letters_chosen_again(
    changed: dict[str, object], error: type[Exception]
) -> None:
    other = replace(POSITION, **changed)  # type: ignore[arg-type]

    with pytest.raises(error, match="meanwhile"):
        REPLAY.revise(StreamAuthority(positions={"s": other}), time_ms=9)


def test_a_stream_without_a_position_has_no_letters() -> None:
    with pytest.raises(OffsetMismatch, match="has no position"):
        REPLAY.revise(StreamAuthority(), time_ms=9)


def test_ranges_are_bounded() -> None:
    many = {0: tuple((2 * n, 2 * n + 1) for n in range(RANGES_MAX + 1))}

    with pytest.raises(LimitExceeded, match="hint: replay all dead letters of"):
        replace(REPLAY, letters=replace(LETTERS, replayed=many))


def test_contradictions_are_our_own_mistakes() -> None:
    with pytest.raises(AssertionError, match="counted once"):
        replace(LETTERS, accepted=2)
    with pytest.raises(AssertionError, match="adds offsets"):
        replace(REPLAY, letters=replace(LETTERS, replayed=POSITION.letters.replayed))


def test_a_replay_is_committed_beside_the_batches_of_its_stream() -> None:
    file_io = MemoryFileIO()
    paths = given_table(file_io)
    committer = new_committer(file_io, paths)
    committer.claim_stream("s", topic=TOPIC, topic_id=TOPIC_ID, initial_offsets={0: 0})
    dead = stream_batch(
        {0: 0}, {0: 4}, account=BatchAccount(dead_lettered=4), dead_letters={"malformed": 4}
    )
    committer.commit_stream_batch([], dead)
    expected = committer.stream_positions()["s"]
    letters = ReplayedLetters(replayed={0: ((0, 1),)}, accepted=1, by_reason={"malformed": 1})
    other = new_committer(file_io, paths)

    first = other.replay_letters([appended(data_file("r"))], letters, expected=expected)
    again = other.replay_letters([appended(data_file("r2"))], letters, expected=expected)
    committer.commit_stream_batch([], stream_batch({0: 4}, {0: 5}, batch_id=1))

    assert (first.outcome, again.outcome) == (Outcome.COMMITTED, Outcome.REPLAYED)
    assert again.are_files_unused
    position = committer.stream_positions()["s"]
    assert position.offsets == {0: 5}
    assert position.letters.replayed == {0: ((0, 1),)}
    assert position.letters.by_reason == {"malformed": 4}
