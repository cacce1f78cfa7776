"""Intent to replay dead letters: one commit adds their rows, and also stores the fact that they were replayed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from braid.lake.commit.commit_changes import CommitChanges
from braid.lake.commit.intent import Revision, position_of_epoch, with_position
from braid.lake.commit.streams.offset_ranges import range_count
from braid.lake.commit.streams.stream_authority import StreamAuthority
from braid.lake.commit.streams.stream_letters import (
    RANGES_MAX,
    OffsetRanges,
    StreamLetters,
    added_counts,
)
from braid.lake.commit.streams.stream_position import StreamPosition, replay_properties
from braid.lake.errors import CommitConflict, LimitExceeded
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedLetters:
    """Dead letters whose records are written by one commit.

    Attributes:
        replayed: All replayed offsets of the stream after the commit.
        accepted: Records that became a row of a file.
        folded: Records merged with a later one of the same key in this commit.
        ignored: Records left out, as the stream's declaration demands.
        by_reason: These records by the reason for which they had been refused.
    """

    replayed: OffsetRanges
    accepted: int = 0
    folded: int = 0
    ignored: int = 0
    by_reason: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.accepted + self.folded + self.ignored == sum(self.by_reason.values()), (
            "each replayed record is counted once, and by its reason"
        )

    def added_to(self, letters: StreamLetters) -> StreamLetters:
        """Return a stream's letters after the commit."""
        return replace(
            letters,
            replayed=self.replayed,
            accepted=letters.accepted + self.accepted,
            folded=letters.folded + self.folded,
            ignored=letters.ignored + self.ignored,
            replayed_by_reason=added_counts(letters.replayed_by_reason, self.by_reason),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterReplay:
    """Records of dead letters, written once. The stream's offsets and its epoch stay: its query continues.

    Attributes:
        expected: The position that the letters were chosen by.
        letters: The letters.
        messages: The messages of the writer.
        changes: Their manifest entries.
        max_sequence_number: The highest sequence number that the writer handed out, -1 for none.
    """

    expected: StreamPosition
    letters: ReplayedLetters
    messages: Sequence[CommitMessage] = ()
    changes: CommitChanges = field(default_factory=CommitChanges)
    max_sequence_number: int = -1
    kind: CommitKind = CommitKind.APPEND

    def __post_init__(self) -> None:
        assert self.letters.replayed != self.expected.letters.replayed, "a replay adds offsets"
        count = range_count(self.letters.replayed)
        if count > RANGES_MAX:
            message = (
                f"stream `{self.expected.stream}`: the replayed offsets would form {count} ranges, and a "
                f"position can hold only {RANGES_MAX}\n"
                "hint: replay all dead letters of a range of offsets, and do not select them by reason: "
                "neighbouring ranges are joined into one if no dead letter between them is still to be "
                "replayed"
            )
            raise LimitExceeded(message)

    @property
    def user(self) -> str:
        """Return the commit user: the stream."""
        return self.expected.stream

    def revise(self, streams: StreamAuthority, *, time_ms: int) -> Revision | None:
        """Return the position with the letters replayed, None where they were by this commit (see `Intent`).

        Raises:
            StreamFenced: The stream was claimed, deleted or moved meanwhile.
            OffsetMismatch: It has no position.
            CommitConflict: Other letters were replayed meanwhile.
        """
        stream, expected = self.expected.stream, self.expected
        known = streams.positions.get(stream)
        if known is not None and known.letters.replayed == self.letters.replayed:
            return None
        position = position_of_epoch(streams, expected)
        if position.letters.replayed != expected.letters.replayed:
            message = f"stream `{stream}`: other dead letters were replayed meanwhile"
            raise CommitConflict(message)
        after = replace(
            position, letters=self.letters.added_to(position.letters), commit_time_ms=time_ms
        )
        return Revision(
            identifier=BATCH_COMMIT_IDENTIFIER,
            streams=with_position(streams, after),
            properties=replay_properties(stream, self.letters.by_reason),
        )
