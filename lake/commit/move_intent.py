"""Intent to move a stream's position on request: an empty commit, which also fences the stream.

Moves that follow from a claim are part of that claim (`claim_intent`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from braid.lake.commit.commit_changes import CommitChanges
from braid.lake.commit.intent import Revision, moved, position_of_epoch, with_position
from braid.lake.commit.streams.position_moves import MoveCause, PositionMove
from braid.lake.commit.streams.stream_authority import StreamAuthority
from braid.lake.commit.streams.stream_position import StreamPosition, move_properties
from braid.lake.errors import OffsetMismatch
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamMove:
    """A move of a stream to other offsets of the same topic. Its group stays in its generation.

    The move has an epoch of its own: a query that was started before cannot commit any more, and a claim under way
    finds another epoch than it expects.

    Attributes:
        user: The commit user.
        expected: The position that the caller has read and decided on.
        offsets: Next offset to read, for some of its partitions; one at least is another than the position's.
    """

    user: str
    expected: StreamPosition
    offsets: Mapping[int, int]
    kind: CommitKind = CommitKind.APPEND
    messages: Sequence[CommitMessage] = ()
    changes: CommitChanges = field(default_factory=CommitChanges)
    max_sequence_number: int = -1

    def revise(self, streams: StreamAuthority, *, time_ms: int) -> Revision:
        """Return the moved position under the next epoch (see `Intent`).

        Raises:
            StreamFenced: The stream was claimed, deleted or moved since the caller read its position.
            OffsetMismatch: It has committed since, or it has no position.
        """
        stream = self.expected.stream
        position = position_of_epoch(streams, self.expected)
        if position.offsets != self.expected.offsets:
            message = (
                f"stream `{stream}`: the position is {dict(position.offsets)}, expected "
                f"{dict(self.expected.offsets)}: the stream has committed meanwhile"
            )
            raise OffsetMismatch(message, stream=stream)
        assert self.offsets.keys() <= position.offsets.keys(), "a move is of known partitions"
        changed = {
            partition: (position.offsets[partition], offset)
            for partition, offset in sorted(self.offsets.items())
            if position.offsets[partition] != offset
        }
        assert changed, "a move moves"
        move = PositionMove(time_ms=time_ms, cause=MoveCause.REQUESTED, offsets=changed)
        after = replace(
            moved(position, move), epoch=position.epoch + 1, batch_id=-1, commit_time_ms=time_ms
        )
        return Revision(
            identifier=BATCH_COMMIT_IDENTIFIER,
            streams=with_position(streams, after),
            properties=move_properties(stream, [move]),
        )
