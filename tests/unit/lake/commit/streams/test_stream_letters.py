"""A position knows which attempts sent its dead letters, within bounds, and how many there were lately."""

from dataclasses import replace

import pytest

from braid.lake.commit.commit_changes import CommitChanges
from braid.lake.commit.intent import StreamCommit
from braid.lake.commit.streams.stream_authority import StreamAuthority
from braid.lake.commit.streams.stream_letters import (
    EPOCHS_MAX,
    REPEATED_MAX,
    CommittedAttempts,
    LetterAttempt,
    RecentRecords,
    StreamLetters,
    letters_json,
    parse_letters,
)
from braid.lake.commit.streams.stream_position import BatchAccount, StreamPosition
from tests.support.committing import TOPIC, TOPIC_ID, stream_batch


def attempt(epoch: int, batch_id: int, number: int = 0) -> LetterAttempt:
    return LetterAttempt(epoch=epoch, batch_id=batch_id, attempt=number)


def test_letters_of_attempts_that_were_not_committed_are_told() -> None:
    known = CommittedAttempts()
    known = known.after_commit(attempt(2, 0), has_letters=False)
    known = known.after_commit(attempt(2, 1, 2), has_letters=True)
    known = known.after_commit(attempt(2, 2, 1), has_letters=False)
    known = known.after_commit(attempt(4, 0), has_letters=True)

    assert known.is_committed(attempt(2, 1, 2)) is True
    assert known.is_committed(attempt(2, 1)) is False
    assert known.is_committed(attempt(2, 2)) is False  # its second attempt had no letters
    assert known.is_committed(attempt(2, 3)) is False  # the claim ended before its commit
    assert known.is_committed(attempt(3, 0)) is False
    assert known.is_committed(attempt(4, 0)) is True
    assert known.is_committed(attempt(1, 9)) is None  # before anything was kept


def test_what_is_forgotten_is_not_known() -> None:
    known = CommittedAttempts()
    for epoch in range(1, EPOCHS_MAX + 3):
        known = known.after_commit(attempt(epoch, 5), has_letters=True)
    many = CommittedAttempts()
    for batch in range(REPEATED_MAX + 2):
        many = many.after_commit(attempt(1, batch, 1), has_letters=True)

    assert len(known.last_batches) == EPOCHS_MAX
    assert [known.is_committed(attempt(epoch, 5)) for epoch in (1, 2, 3)] == [None, None, True]
    assert len(many.repeated) == REPEATED_MAX
    assert [many.is_committed(attempt(1, batch, 1)) for batch in (0, 1, 2)] == [None, None, True]
    assert many.is_committed(attempt(1, 2)) is False


def test_the_window_forgets_slowly_and_is_not_emptied_by_a_small_batch() -> None:
    window = RecentRecords().after_batch(records=19_999, dead_lettered=100)
    assert window == RecentRecords(records=19_999, dead_lettered=100)
    assert window.after_batch(records=1, dead_lettered=0) == RecentRecords(
        records=10_000, dead_lettered=50
    )


def test_a_commit_counts_its_letters_by_reason() -> None:
    position = StreamPosition(stream="s", epoch=1, topic=TOPIC, topic_id=TOPIC_ID, offsets={0: 0})
    batch = stream_batch(
        {0: 0},
        {0: 5},
        account=BatchAccount(accepted=2, dead_lettered=3),
        dead_letters={"tombstone": 1, "malformed": 2},
        attempt=1,
    )
    commit = StreamCommit(batch=batch, messages=(), changes=CommitChanges(), max_sequence_number=-1)

    revision = commit.revise(StreamAuthority(positions={"s": position}), time_ms=1)

    assert revision is not None
    letters = revision.streams.positions["s"].letters
    assert letters.by_reason == {"malformed": 2, "tombstone": 1}
    assert letters.recent == RecentRecords(records=5, dead_lettered=3)
    assert letters.attempts.is_committed(attempt(1, 0, 1)) is True


LETTERS = StreamLetters(
    by_reason={"malformed": 3},
    recent=RecentRecords(records=9, dead_lettered=3),
    attempts=CommittedAttempts(known_from=(1, 2), last_batches={1: 7, 3: 0}, repeated={(1, 5): 2}),
    replayed={0: ((1, 2), (5, 9)), 3: ((0, 4),)},
    accepted=1,
    folded=2,
    ignored=3,
    replayed_by_reason={"malformed": 2},
    first_epoch=1,
)


@pytest.mark.parametrize("letters", [LETTERS, StreamLetters()])
def test_letters_come_back_from_json(letters: StreamLetters) -> None:
    assert parse_letters(letters_json(letters)) == letters


def test_the_text_of_an_attempt_is_refused_unless_it_is_one() -> None:
    assert LetterAttempt.parse(str(attempt(1, 2, 3))) == attempt(1, 2, 3)
    for text in ("", "1.2", "1.2.3.4", "a.b.c"):
        with pytest.raises(ValueError, match=r"unpack|invalid literal"):
            LetterAttempt.parse(text)


def test_replayed_records_are_of_every_kind() -> None:
    assert replace(LETTERS, by_reason={}).replayed_records == 6
