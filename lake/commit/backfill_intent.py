"""Intent to claim a backfill: an empty commit with the next epoch of its position.

A new backfill gets a position at its start offsets, and a generation that no other backfill has.
The claim of a known backfill is refused if it names another source.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from braid.lake.commit.commit_changes import CommitChanges
from braid.lake.commit.intent import EPOCH_SHIFT, Revision, with_position
from braid.lake.commit.streams.backfill_position import (
    next_backfill_generation,
    split_backfill_name,
)
from braid.lake.commit.streams.exactly_once import is_same_topic
from braid.lake.commit.streams.stream_authority import StreamAuthority
from braid.lake.commit.streams.stream_position import StreamPosition
from braid.lake.errors import InvalidRequest, Problem
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.snapshot import CommitKind


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillClaim:
    """A claim of a backfill, which makes the caller its one owner.

    Attributes:
        name: Name of the backfill among the table's positions.
        source: Where its records come from; the `topic` of the position.
        source_id: What tells this source from every other one; the `topic_id` of the position.
        start: The offsets that a new backfill starts at.
    """

    name: str
    source: str
    source_id: str
    start: Mapping[int, int]
    kind: CommitKind = CommitKind.APPEND
    messages: Sequence[CommitMessage] = ()
    changes: CommitChanges = field(default_factory=CommitChanges)
    max_sequence_number: int = -1

    @property
    def user(self) -> str:
        """Return the commit user: the backfill."""
        return self.name

    def revise(self, streams: StreamAuthority, *, time_ms: int) -> Revision:
        """Return the position under the next epoch (see `Intent`).

        Raises:
            InvalidRequest: A backfill of this name has another source, or it is unknown whether there was one.
            LimitExceeded: The table has had as many backfills as it can.
        """
        assert split_backfill_name(self.name) is not None, "a backfill has the name of one"
        known = streams.positions.get(self.name)
        if known is None:
            self._check_complete(streams)
            position = StreamPosition(
                stream=self.name,
                epoch=1,
                topic=self.source,
                topic_id=self.source_id,
                offsets=dict(self.start),
                commit_time_ms=time_ms,
                generation=next_backfill_generation(streams.positions),
            )
        else:
            self._check_source(known)
            position = replace(known, epoch=known.epoch + 1, batch_id=-1, commit_time_ms=time_ms)
        return Revision(
            identifier=(position.epoch << EPOCH_SHIFT) - 1,
            streams=with_position(streams, position),
        )

    def _check_source(self, known: StreamPosition) -> None:
        if is_same_topic(known, topic=self.source, topic_id=self.source_id):
            return
        problem = Problem(
            field="name",
            value=self.name,
            message=f"the backfill was begun with {known.topic} ({known.topic_id}), "
            f"found {self.source} ({self.source_id})",
            hint="files, columns and ranges of a backfill stay as they were when it began; give "
            "a backfill of anything else another name",
        )
        message = f"the backfill {self.name} cannot continue"
        raise InvalidRequest(message, problems=[problem])

    def _check_complete(self, streams: StreamAuthority) -> None:
        if streams.is_complete:
            return
        problem = Problem(
            field="name",
            value=self.name,
            message="no remaining snapshot has the positions of the table's streams, and earlier "
            "snapshots have expired, so it is not known whether there was a backfill of this name",
            hint="start a stream of the table once, and begin the backfill under another name",
        )
        message = f"the backfill {self.name} cannot begin"
        raise InvalidRequest(message, problems=[problem])
