"""What a caller wants committed, and what that means on a given state of the table.

An intent is asked anew at every attempt, because the table may have moved: `revise` is pure and
returns what the next snapshot says besides its files, or None when there is nothing left to do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from lake.commit.changes import CommitChanges
from lake.commit.exactly_once import Decision, check_same_topic, decide
from lake.commit.stream_authority import StreamAuthority
from lake.commit.stream_position import StreamBatch, StreamPosition, batch_properties
from lake.errors import InvalidRequest, Problem
from lake.format.commit_message import CommitMessage
from lake.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind

_EPOCH_SHIFT = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What the next snapshot says.

    Attributes:
        identifier: The commit identifier.
        streams: Positions of all streams after the commit.
        properties: Of this commit alone.
    """

    identifier: int
    streams: StreamAuthority
    properties: Mapping[str, str] = field(default_factory=dict)


class Intent(Protocol):
    """One commit that a caller wants, from the first attempt to the last."""

    @property
    def user(self) -> str:
        """Return the commit user."""
        ...

    @property
    def kind(self) -> CommitKind:
        """Return the kind of the commit."""
        ...

    @property
    def messages(self) -> Sequence[CommitMessage]:
        """Return the files of the writers."""
        ...

    @property
    def changes(self) -> CommitChanges:
        """Return the entries that the messages stand for."""
        ...

    @property
    def max_sequence_number(self) -> int:
        """Return the highest sequence number handed out for this commit, -1 for none."""
        ...

    def revise(self, streams: StreamAuthority, *, time_ms: int) -> Revision | None:
        """Return what the next snapshot says; None when the table has this commit already.

        Args:
            streams: What the newest snapshot knows of streams.
            time_ms: The commit time that the next snapshot will carry.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCommit:
    """Files of a writer that is not a stream; streams are carried along."""

    user: str
    identifier: int
    kind: CommitKind
    messages: Sequence[CommitMessage]
    changes: CommitChanges
    max_sequence_number: int
    properties: Mapping[str, str]

    def revise(self, streams: StreamAuthority, *, time_ms: int) -> Revision | None:
        """Return the revision: positions as they are (see `Intent`)."""
        del time_ms
        return Revision(identifier=self.identifier, streams=streams, properties=self.properties)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCommit:
    """One micro-batch of a stream, which may have no files at all."""

    batch: StreamBatch
    messages: Sequence[CommitMessage]
    changes: CommitChanges
    max_sequence_number: int
    kind: CommitKind = CommitKind.APPEND

    @property
    def user(self) -> str:
        """Return the commit user: the stream."""
        return self.batch.stream

    def revise(self, streams: StreamAuthority, *, time_ms: int) -> Revision | None:
        """Return the stream's next position, None for a replay (see `Intent`).

        Raises:
            StreamFenced: Another claim is newer.
            OffsetMismatch: The batch does not continue at the table's offsets.
        """
        batch = self.batch
        position = streams.positions.get(batch.stream)
        if decide(position, batch) is Decision.REPLAY:
            return None
        assert position is not None, "a batch without a position is never to be committed"
        moved = replace(
            position,
            topic_id=batch.topic_id or position.topic_id,
            offsets={**position.offsets, **batch.end},
            account=position.account + batch.account,
            batch_id=batch.batch_id,
            commit_time_ms=time_ms,
        )
        return Revision(
            identifier=batch.epoch << _EPOCH_SHIFT | batch.batch_id,
            streams=_with_position(streams, moved),
            properties=batch_properties(batch),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamClaim:
    """The wish to be the one owner of a stream: an empty commit with the next epoch."""

    stream: str
    topic: str
    topic_id: str
    initial_offsets: Mapping[int, int]
    fallback: StreamPosition | None
    is_new_assumed: bool
    kind: CommitKind = CommitKind.APPEND
    messages: Sequence[CommitMessage] = ()
    changes: CommitChanges = field(default_factory=CommitChanges)
    max_sequence_number: int = -1

    @property
    def user(self) -> str:
        """Return the commit user: the stream."""
        return self.stream

    def revise(self, streams: StreamAuthority, *, time_ms: int) -> Revision:
        """Return the stream's position under the next epoch (see `Intent`).

        Raises:
            OffsetMismatch: The table's offsets are of another topic.
            InvalidRequest: Nobody knows whether the stream is new.
        """
        position = self.next_position(streams, time_ms=time_ms)
        # One below the first batch of the epoch, above all of the epoch before.
        identifier = (position.epoch << _EPOCH_SHIFT) - 1
        return Revision(identifier=identifier, streams=_with_position(streams, position))

    def next_position(self, streams: StreamAuthority, *, time_ms: int) -> StreamPosition:
        """Return the position that the claim leaves behind (see `revise`)."""
        known = self._known_position(streams)
        if known is None:
            return StreamPosition(
                stream=self.stream,
                epoch=1,
                topic=self.topic,
                topic_id=self.topic_id,
                offsets=dict(self.initial_offsets),
                commit_time_ms=time_ms,
            )
        check_same_topic(known, topic=self.topic, topic_id=self.topic_id)
        return replace(
            known,
            epoch=known.epoch + 1,
            topic_id=self.topic_id or known.topic_id,
            batch_id=-1,
            commit_time_ms=time_ms,
        )

    def _known_position(self, streams: StreamAuthority) -> StreamPosition | None:
        """Return the table's position, else the fallback; None for a stream that is new."""
        position = streams.positions.get(self.stream)
        if position is not None:
            return position
        if streams.is_complete:
            return None
        if self.fallback is not None:
            assert self.fallback.stream == self.stream, "a fallback is of the same stream"
            return self.fallback
        if self.is_new_assumed:
            return None
        problem = Problem(
            field="stream",
            value=self.stream,
            message=(
                "no snapshot that is kept says where the stream continues, earlier ones have "
                "expired, and there is no progress document"
            ),
            hint="give its offsets as fallback, or say that it is new",
        )
        message = f"stream `{self.stream}` cannot start: its position is not known"
        raise InvalidRequest(message, problems=[problem])


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFence:
    """The wish that no stream has an owner: an empty commit with the next epoch of each.

    Offsets and accounts stay as the newest snapshot has them.

    Attributes:
        user: Who commits.
        known_epochs: Epochs that were in use by stream, as far as known; the new ones are above.
    """

    user: str
    known_epochs: Mapping[str, int] = field(default_factory=dict)
    kind: CommitKind = CommitKind.APPEND
    messages: Sequence[CommitMessage] = ()
    changes: CommitChanges = field(default_factory=CommitChanges)
    max_sequence_number: int = -1

    def revise(self, streams: StreamAuthority, *, time_ms: int) -> Revision:
        """Return every position under the next epoch (see `Intent`)."""
        positions = {
            name: replace(
                position,
                epoch=max(position.epoch, self.known_epochs.get(name, 0)) + 1,
                batch_id=-1,
                commit_time_ms=time_ms,
            )
            for name, position in streams.positions.items()
        }
        return Revision(
            identifier=BATCH_COMMIT_IDENTIFIER, streams=replace(streams, positions=positions)
        )


def _with_position(streams: StreamAuthority, position: StreamPosition) -> StreamAuthority:
    return replace(streams, positions={**streams.positions, position.stream: position})
