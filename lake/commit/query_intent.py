"""Intent to claim a stream for a query: an empty commit with the next epoch, which fences the query that had the stream.

Its batches are committed as those of every other stream (`StreamCommit`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from braid.lake.commit.commit_changes import CommitChanges
from braid.lake.commit.intent import EPOCH_SHIFT, Revision, with_order, with_position
from braid.lake.commit.streams.query_position import (
    BATCHES,
    ROWS,
    QueryBatch,
    QueryTurn,
    next_group_order,
    next_turn,
)
from braid.lake.commit.streams.stream_authority import StreamAuthority
from braid.lake.commit.streams.stream_position import StreamPosition
from braid.lake.errors import CommitConflict
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.snapshot import CommitKind


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryClaim:
    """A claim of a stream for a query.

    Attributes:
        batch: The query's batch that is committed next.
        turn: What the batch was written with.
    """

    batch: QueryBatch
    turn: QueryTurn
    kind: CommitKind = CommitKind.APPEND
    messages: Sequence[CommitMessage] = ()
    changes: CommitChanges = field(default_factory=CommitChanges)
    max_sequence_number: int = -1

    @property
    def user(self) -> str:
        """Return the commit user: the stream."""
        return self.batch.stream

    def revise(self, streams: StreamAuthority, *, time_ms: int) -> Revision:
        """Return the position under the next epoch (see `Intent`).

        Raises:
            CommitConflict: The batch was written for another epoch or place in the order.
            StreamFenced, OffsetMismatch, InvalidRequest, LimitExceeded: What `next_turn` raises.
        """
        if next_turn(streams, self.batch) != self.turn:
            message = f"stream `{self.batch.stream}` was written by others since the rows were: write them again"
            raise CommitConflict(message)
        known = streams.positions.get(self.batch.stream)
        if known is None or known.topic != self.batch.source:
            known = StreamPosition(stream=self.batch.stream, epoch=0, topic="", topic_id="")
        position = replace(
            known,
            epoch=self.turn.epoch,
            topic=self.batch.source,
            topic_id=self.batch.query,
            offsets={ROWS: self.turn.rows, BATCHES: self.turn.batch},
            batch_id=-1,
            commit_time_ms=time_ms,
        )
        after = with_position(streams, position)
        order = next_group_order(streams, self.batch)
        if order is not None:
            after = with_order(after, order, time_ms=time_ms)
        return Revision(identifier=(position.epoch << EPOCH_SHIFT) - 1, streams=after)
