"""Dead letters of a stream, as its position counts them: by reason, recent and replayed. Pure.

A dead letter is sent before the snapshot that counts it is committed. So the dead-letter topic may
also have letters of attempts that were never committed. A later attempt may have accepted their
records, which must not be written again. So each letter names its attempt (`LetterAttempt`), and a
position can tell which attempts were committed (`CommittedAttempts`). It keeps only two kinds of
entries: the batches that were not committed at their first attempt, which are few, and for each
epoch the last batch with dead letters. Of both kinds only the newest are kept.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from braid.lake.commit.streams.position_moves import Range

EPOCHS_MAX: Final = 64
REPEATED_MAX: Final = 64
RANGES_MAX: Final = 1_000
"""Bound of the ranges of replayed offsets: every snapshot carries them."""
RECENT_RECORDS: Final = 10_000
"""Records to which the window of the budget is cut, at the same rate, once it counts twice as many."""

OffsetRanges: TypeAlias = Mapping[int, tuple[Range, ...]]
"""Disjoint ranges of offsets by partition, ascending."""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class LetterAttempt:
    """The attempt at a batch that has sent a dead letter.

    Attributes:
        epoch: Epoch of the claim.
        batch_id: Id of the batch.
        attempt: Number of the attempt at the batch, from 0.

    Example:
        >>> str(LetterAttempt(epoch=3, batch_id=17, attempt=0)), LetterAttempt.parse("3.17.0")
        ('3.17.0', LetterAttempt(epoch=3, batch_id=17, attempt=0))
    """

    epoch: int
    batch_id: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.epoch}.{self.batch_id}.{self.attempt}"

    @classmethod
    def parse(cls, text: str) -> "LetterAttempt":
        """Return the attempt of a text.

        Raises:
            ValueError: It is no such text.
        """
        epoch, batch_id, attempt = (int(part) for part in text.split("."))
        return cls(epoch=epoch, batch_id=batch_id, attempt=attempt)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedAttempts:
    """Which attempts were committed, of the batches that have dead letters.

    Attributes:
        known_from: Epoch and batch id from which on this is known; None before the first commit.
        last_batches: By epoch, the newest committed batch with dead letters.
        repeated: By epoch and batch id, the committed attempt, where it was not the first.
    """

    known_from: tuple[int, int] | None = None
    last_batches: Mapping[int, int] = field(default_factory=dict)
    repeated: Mapping[tuple[int, int], int] = field(default_factory=dict)

    def after_commit(self, attempt: LetterAttempt, *, has_letters: bool) -> "CommittedAttempts":
        """Return what is known after a batch was committed."""
        batch = (attempt.epoch, attempt.batch_id)
        known_from = batch if self.known_from is None else self.known_from
        last_batches, repeated = dict(self.last_batches), dict(self.repeated)
        if has_letters:
            last_batches[attempt.epoch] = attempt.batch_id
        if attempt.attempt:
            repeated[batch] = attempt.attempt
        while len(last_batches) > EPOCHS_MAX:
            oldest = min(last_batches)
            known_from = max(known_from, (oldest + 1, 0))
            del last_batches[oldest]
        while len(repeated) > REPEATED_MAX:
            oldest_batch = min(repeated)
            known_from = max(known_from, (oldest_batch[0], oldest_batch[1] + 1))
            del repeated[oldest_batch]
        return CommittedAttempts(
            known_from=known_from, last_batches=last_batches, repeated=repeated
        )

    def is_committed(self, attempt: LetterAttempt) -> bool | None:
        """Return whether an attempt that has sent a letter was committed; None: it is not known any more.

        Example:
            >>> first = LetterAttempt(epoch=1, batch_id=4, attempt=0)
            >>> known = CommittedAttempts().after_commit(first, has_letters=True)
            >>> [known.is_committed(replace(first, batch_id=batch)) for batch in (3, 4, 5)]
            [None, True, False]
        """
        batch = (attempt.epoch, attempt.batch_id)
        if self.known_from is None or batch < self.known_from:
            return None
        last = self.last_batches.get(attempt.epoch, -1)
        return attempt.batch_id <= last and self.repeated.get(batch, 0) == attempt.attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentRecords:
    """The newest records of a stream, some ten thousand, by which the rate of dead letters is measured.

    Attributes:
        records: Their number.
        dead_lettered: How many of them are dead letters.
    """

    records: int = 0
    dead_lettered: int = 0

    def after_batch(self, *, records: int, dead_lettered: int) -> "RecentRecords":
        """Return the window after a batch.

        Example:
            >>> RecentRecords().after_batch(records=20_000, dead_lettered=10)
            RecentRecords(records=10000, dead_lettered=5)
        """
        total, dead = self.records + records, self.dead_lettered + dead_lettered
        if total >= 2 * RECENT_RECORDS:
            # Cut in proportion: the rate of a large batch counts as a whole, and all that is before the next batch
            # as much as this many records.
            dead = dead * RECENT_RECORDS // total
            total = RECENT_RECORDS
        return RecentRecords(records=total, dead_lettered=dead)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLetters:
    """Dead letters of a stream since its first start on the topic.

    Attributes:
        by_reason: Dead letters by reason. Their sum is below that of the account by those that earlier
            versions counted.
        recent: The newest records.
        attempts: Which attempts were committed.
        replayed: Offsets whose dead letters were replayed. A range may also have offsets that never had a
            dead letter.
        accepted: Replayed records that became a row of a file.
        folded: Replayed records merged with a later one of the same key in the same commit.
        ignored: Replayed records left out, as the stream's declaration demands.
        replayed_by_reason: Replayed records by the reason for which they had been refused.
        first_epoch: Epoch of the claim that discarded the position of a former stream of this name, whose
            letters have lower epochs; 0: none was discarded.
    """

    by_reason: Mapping[str, int] = field(default_factory=dict)
    recent: RecentRecords = RecentRecords()
    attempts: CommittedAttempts = CommittedAttempts()
    replayed: OffsetRanges = field(default_factory=dict)
    accepted: int = 0
    folded: int = 0
    ignored: int = 0
    replayed_by_reason: Mapping[str, int] = field(default_factory=dict)
    first_epoch: int = 0

    @property
    def replayed_records(self) -> int:
        """Return the number of dead letters that were replayed."""
        return self.accepted + self.folded + self.ignored

    def after_batch(
        self, attempt: LetterAttempt, by_reason: Mapping[str, int], *, records: int
    ) -> "StreamLetters":
        """Return the letters after a batch was committed.

        Args:
            attempt: The attempt that was committed.
            by_reason: The batch's dead letters by reason.
            records: All records of the batch.
        """
        dead = sum(by_reason.values())
        return replace(
            self,
            by_reason=added_counts(self.by_reason, by_reason),
            recent=self.recent.after_batch(records=records, dead_lettered=dead),
            attempts=self.attempts.after_commit(attempt, has_letters=dead > 0),
        )


def added_counts(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Return the sums of two counts, in alphabetical order."""
    return dict(sorted((Counter(dict(first)) + Counter(dict(second))).items()))


def letters_json(letters: StreamLetters) -> dict[str, Any]:
    """Return letters as JSON values."""
    known_from = letters.attempts.known_from
    return {
        "by_reason": dict(letters.by_reason),
        "recent": [letters.recent.records, letters.recent.dead_lettered],
        "attempts": {
            "known_from": None if known_from is None else list(known_from),
            "last_batches": [list(item) for item in sorted(letters.attempts.last_batches.items())],
            "repeated": [
                [*batch, attempt] for batch, attempt in sorted(letters.attempts.repeated.items())
            ],
        },
        "replayed": [
            [partition, [list(one) for one in ranges]]
            for partition, ranges in sorted(letters.replayed.items())
        ],
        "accepted": letters.accepted,
        "folded": letters.folded,
        "ignored": letters.ignored,
        "replayed_by_reason": dict(letters.replayed_by_reason),
        "first_epoch": letters.first_epoch,
    }


def parse_letters(value: Mapping[str, Any]) -> StreamLetters:
    """Return letters from JSON values.

    Raises:
        ValueError, TypeError, LookupError, AttributeError: They are no letters.
    """
    records, dead_lettered = value["recent"]
    attempts = value["attempts"]
    known_from = attempts["known_from"]
    return StreamLetters(
        by_reason={str(name): int(count) for name, count in value["by_reason"].items()},
        recent=RecentRecords(records=int(records), dead_lettered=int(dead_lettered)),
        attempts=CommittedAttempts(
            known_from=None if known_from is None else (int(known_from[0]), int(known_from[1])),
            last_batches={int(epoch): int(batch) for epoch, batch in attempts["last_batches"]},
            repeated={(int(e), int(b)): int(attempt) for e, b, attempt in attempts["repeated"]},
        ),
        replayed={
            int(partition): tuple((int(start), int(end)) for start, end in ranges)
            for partition, ranges in value["replayed"]
        },
        accepted=int(value["accepted"]),
        folded=int(value["folded"]),
        ignored=int(value["ignored"]),
        replayed_by_reason={
            str(name): int(count) for name, count in value["replayed_by_reason"].items()
        },
        first_epoch=int(value.get("first_epoch", 0)),
    )
