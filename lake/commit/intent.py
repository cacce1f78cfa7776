"""Intents: what the callers of a committer want, and the next snapshot's metadata that follows from it.

Each attempt calls `revise` with the newest state of the table's streams, which may have changed since the
attempt before. `revise` is pure. It returns what the next snapshot carries besides its files, or None for a
stream's batch that the table has already; repeats of other commits are found before, by `identity_log`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from braid.lake.commit.commit_changes import CommitChanges
from braid.lake.commit.streams.exactly_once import BatchDecision, check_same_topic, decide_batch
from braid.lake.commit.streams.former_position import discards_former_position
from braid.lake.commit.streams.group_order import GroupClaim, next_order
from braid.lake.commit.streams.position_moves import MoveCause, PositionMove, with_move
from braid.lake.commit.streams.stream_authority import StreamAuthority
from braid.lake.commit.streams.stream_position import (
    StreamBatch,
    StreamFallback,
    StreamPosition,
    batch_properties,
    move_properties,
)
from braid.lake.errors import InvalidRequest, Problem, StreamFenced
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind

_EPOCH_SHIFT = 32
"""Bits of the batch id in a stream's commit identifier; the epoch is in the bits above, so that identifiers
rise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """Content of the next snapshot besides its files.

    Attributes:
        identifier: The commit identifier.
        streams: State of all streams after the commit.
        properties: Properties of this commit alone, not carried forward.
    """

    identifier: int
    streams: StreamAuthority
    properties: Mapping[str, str] = field(default_factory=dict)


class Intent(Protocol):
    """One commit that a caller wants."""

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
        """Return the messages of the writers, with their files."""
        ...

    @property
    def changes(self) -> CommitChanges:
        """Return the manifest entries of the messages."""
        ...

    @property
    def max_sequence_number(self) -> int:
        """Return the highest sequence number handed out for this commit, -1 for none."""
        ...

    def revise(self, streams: StreamAuthority, *, time_ms: int) -> Revision | None:
        """Return the content of the next snapshot; None for a stream's batch that the table has already.

        Args:
            streams: State of all streams before the commit.
            time_ms: The commit time of the next snapshot.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCommit:
    """Files of a writer that is not a stream; the state of streams is carried forward."""

    user: str
    identifier: int
    kind: CommitKind
    messages: Sequence[CommitMessage]
    changes: CommitChanges
    max_sequence_number: int
    properties: Mapping[str, str]

    def revise(self, streams: StreamAuthority, *, time_ms: int) -> Revision | None:
        """Return the revision, with unchanged positions (see `Intent`)."""
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
        if decide_batch(position, batch) is BatchDecision.REPLAY:
            return None
        assert position is not None, "a batch without a position must not be committed"
        reached = replace(
            position,
            # A batch that was read before Kafka gave the topic's id must not erase a known id.
            topic_id=batch.topic_id or position.topic_id,
            offsets={**position.offsets, **batch.end},
            account=position.account + batch.account,
            batch_id=batch.batch_id,
            commit_time_ms=time_ms,
        )
        return Revision(
            identifier=batch.epoch << _EPOCH_SHIFT | batch.batch_id,
            streams=with_position(streams, reached),
            properties=batch_properties(batch),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamClaim:
    """A claim of a stream: an empty commit with the next epoch, which makes the caller its one owner.

    With a group, the claim also decides the generation in which the group's records are written from now
    on, and fences the stream that wrote the group before.
    """

    stream: str
    topic: str
    topic_id: str
    initial_offsets: Mapping[int, int]
    fallback: StreamFallback | None
    is_new_assumed: bool
    group: GroupClaim | None = None
    expected_epoch: int | None = None
    former_epoch: int | None = None
    added_offsets: Mapping[int, int] = field(default_factory=dict)
    skipped_to: Mapping[int, int] = field(default_factory=dict)
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
            InvalidRequest: It is unknown whether the stream is new.
            StreamFenced: The stream was claimed or deleted since the caller read its epoch.
        """
        self._check_expected(streams)
        position = self.next_position(streams, time_ms=time_ms)
        assert position.epoch >= 1, "a claim has an epoch, so that its identifier is not negative"
        # One below the first batch of the epoch, and above all batches of the epoch before.
        identifier = (position.epoch << _EPOCH_SHIFT) - 1
        properties: dict[str, str] = {}
        if not self._starts_anew(streams) and self.skipped_to:
            position, properties = self._skipped(position, time_ms=time_ms)
        after = with_position(streams, position)
        if self.group is not None:
            began = {} if self._starts_anew(streams) else position.offsets
            after = self._with_group(after, self.group, began=began, time_ms=time_ms)
        return Revision(identifier=identifier, streams=after, properties=properties)

    def _skipped(
        self, position: StreamPosition, *, time_ms: int
    ) -> tuple[StreamPosition, dict[str, str]]:
        """Return a position without the records that have expired, and the property that names the move."""
        offsets = {
            partition: (position.offsets[partition], first)
            for partition, first in self.skipped_to.items()
            if position.offsets.get(partition, first) < first
        }
        if not offsets:
            return position, {}
        move = PositionMove(time_ms=time_ms, cause=MoveCause.EXPIRED, offsets=offsets)
        return moved(position, move), move_properties(self.stream, move)

    def _check_expected(self, streams: StreamAuthority) -> None:
        known = streams.positions.get(self.stream)
        epoch = 0 if known is None else known.epoch
        if self.expected_epoch is not None and epoch != self.expected_epoch:
            message = (
                f"stream `{self.stream}`: the table has epoch {epoch}, expected "
                f"{self.expected_epoch}: the stream was claimed or deleted meanwhile"
            )
            raise StreamFenced(
                message, stream=self.stream, epoch=self.expected_epoch, table_epoch=epoch
            )

    def _with_group(
        self,
        streams: StreamAuthority,
        group: GroupClaim,
        *,
        began: Mapping[int, int],
        time_ms: int,
    ) -> StreamAuthority:
        known = streams.orders.get(group.group)
        order = next_order(
            known,
            group,
            stream=self.stream,
            topic=self.topic,
            topic_id=self.topic_id,
            generation_min=self._first_generation(streams),
            began=began,
        )
        position = replace(streams.positions[self.stream], generation=order.generation)
        positions = {**streams.positions, self.stream: position}
        # A group has one stream at a time, so the stream that wrote it before is fenced.
        former = None if known is None or known.stream == self.stream else known.stream
        if former is not None and former in positions:
            positions[former] = _fenced(positions[former], time_ms=time_ms)
        return replace(streams, positions=positions, orders={**streams.orders, group.group: order})

    def _first_generation(self, streams: StreamAuthority) -> int:
        """Return the generation of a group that the table does not know.

        The result is 0 only where the group was certainly never written: earlier versions kept no
        generations, and the records that they wrote count as generation 0.
        """
        if self.fallback is not None and not streams.is_complete:
            # The orders have expired together with the positions; the fallback has the generation in
            # which this stream wrote last.
            return self.fallback.position.generation + 1
        # A stream with a position but no order may have written the group under an earlier version.
        known = {order.stream for order in streams.orders.values()}
        return 0 if streams.is_complete and streams.positions.keys() <= known | {self.stream} else 1

    def next_position(self, streams: StreamAuthority, *, time_ms: int) -> StreamPosition:
        """Return the position that the claim leaves behind (see `revise`)."""
        known = self._known_position(streams)
        if known is None or self._starts_anew(streams):
            return StreamPosition(
                stream=self.stream,
                epoch=1 if known is None else known.epoch + 1,
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
            offsets={**self.added_offsets, **known.offsets},
            batch_id=-1,
            commit_time_ms=time_ms,
        )

    def _starts_anew(self, streams: StreamAuthority) -> bool:
        known = self._known_position(streams)
        # A position without a topic was made by a fence, before the first claim.
        return known is None or not known.topic or self._discards(known, streams)

    def _discards(self, known: StreamPosition, streams: StreamAuthority) -> bool:
        order = None if self.group is None else streams.orders.get(self.group.group)
        return discards_former_position(
            known,
            order=order,
            topic=self.topic,
            topic_id=self.topic_id,
            former_epoch=self.former_epoch,
        )

    def _known_position(self, streams: StreamAuthority) -> StreamPosition | None:
        """Return the table's position, else the fallback; None for a stream that is new.

        A fallback that may be older than the last commit is not used: the records committed since
        would be read twice.
        """
        position = streams.positions.get(self.stream)
        if position is not None:
            return position
        if streams.is_complete:
            return None
        if self.is_new_assumed:
            return None
        fallback = self.fallback
        if fallback is not None:
            assert fallback.position.stream == self.stream, "a fallback is of the same stream"
            if streams.is_newest_position(fallback):
                return fallback.position
        problem = Problem(
            field="stream",
            value=self.stream,
            message=(
                "no remaining snapshot has the position of the stream, earlier snapshots have "
                f"expired, and {_description(fallback)}"
            ),
            hint=(
                "find out which records the table has, and pass the start position yourself: "
                f'table.committer().claim_stream("{self.stream}", topic="{self.topic}", '
                "initial_offsets={partition: next offset}, is_new_assumed=True)"
            ),
        )
        message = f"stream `{self.stream}` cannot start: its position is not known"
        raise InvalidRequest(message, problems=[problem])


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFence:
    """A fence of streams: an empty commit with the next epoch of each, which leaves them without owner.

    Offsets and accounts stay as the newest snapshot has them. A stream that `only` names and that was never
    claimed gets a position without a topic, so that a claim under way finds another epoch than it
    expects.

    Attributes:
        user: The commit user.
        known_epochs: By stream, epochs that were in use and that the newest snapshot may not have; the
            new epochs are above them.
        only: Names of the streams to fence; None: all streams that the table knows.
    """

    user: str
    known_epochs: Mapping[str, int] = field(default_factory=dict)
    only: frozenset[str] | None = None
    kind: CommitKind = CommitKind.APPEND
    messages: Sequence[CommitMessage] = ()
    changes: CommitChanges = field(default_factory=CommitChanges)
    max_sequence_number: int = -1

    def revise(self, streams: StreamAuthority, *, time_ms: int) -> Revision:
        """Return the positions under the next epoch (see `Intent`)."""
        positions = dict(streams.positions)
        for name in positions if self.only is None else self.only:
            position = positions.get(name) or StreamPosition(
                stream=name, epoch=0, topic="", topic_id=""
            )
            known_epoch = self.known_epochs.get(name, 0)
            positions[name] = _fenced(position, time_ms=time_ms, known_epoch=known_epoch)
        return Revision(
            identifier=BATCH_COMMIT_IDENTIFIER, streams=replace(streams, positions=positions)
        )


def _fenced(position: StreamPosition, *, time_ms: int, known_epoch: int = 0) -> StreamPosition:
    """Return a position under an epoch that no earlier owner of the stream can commit with."""
    epoch = max(position.epoch, known_epoch) + 1
    return replace(position, epoch=epoch, batch_id=-1, commit_time_ms=time_ms)


def _description(fallback: StreamFallback | None) -> str:
    if fallback is None:
        return "there is no progress document"
    offsets = ", ".join(f"{part}: {at}" for part, at in sorted(fallback.position.offsets.items()))
    return f"the progress document (offsets {offsets}) may be older than the last commit"


def moved(position: StreamPosition, move: PositionMove) -> StreamPosition:
    """Return a position after a move."""
    offsets = {partition: after for partition, (_, after) in move.offsets.items()}
    return replace(
        position,
        offsets={**position.offsets, **offsets},
        moves=with_move(position.moves, move),
    )


def with_position(streams: StreamAuthority, position: StreamPosition) -> StreamAuthority:
    """Return the state of all streams with the position of one, which replaces its former one."""
    return replace(streams, positions={**streams.positions, position.stream: position})
