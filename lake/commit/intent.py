"""Intents: the commits that callers want, and the metadata that the next snapshot gets from them.

Each attempt calls `revise` with the newest state of the table's streams, which may have changed
since the attempt before. `revise` is pure. It returns the content of the next snapshot besides its
files. It returns None if the table already has the stream's batch, or the replay of dead letters;
repeats of plain commits are found earlier, by `identity_log`. This module has the intents of plain
commits, batches and fences, and the changes of positions that several intents share. The intents of
claims, backfills, moves and replays are in `claim_intent`, `backfill_intent`, `move_intent` and
`replay_intent`.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Protocol

from braid.lake.commit.commit_changes import CommitChanges
from braid.lake.commit.streams.backfill_position import split_backfill_name
from braid.lake.commit.streams.exactly_once import BatchDecision, decide_batch
from braid.lake.commit.streams.group_order import GroupOrder
from braid.lake.commit.streams.highest_read import after_batch, after_move
from braid.lake.commit.streams.offset_ranges import without_read_again
from braid.lake.commit.streams.position_moves import PositionMove, with_move
from braid.lake.commit.streams.stream_authority import StreamAuthority
from braid.lake.commit.streams.stream_letters import LetterAttempt
from braid.lake.commit.streams.stream_position import (
    WRITES_MAX,
    StreamBatch,
    StreamPosition,
    batch_properties,
)
from braid.lake.errors import InvalidRequest, OffsetMismatch, Problem, StreamFenced
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind

EPOCH_SHIFT = 32
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
        """Return the content of the next snapshot; None for a batch or replay that the table has already.

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
    """One micro-batch of a stream, which may have no files at all.

    Attributes:
        batch: The micro-batch.
        messages: The messages of its writers.
        changes: Their manifest entries.
        max_sequence_number: The highest that the writers handed out; -1 for none.
        kind: APPEND.
        idle_epochs: By stream, the epoch of its position, 0 for none: the rows would be newer than those of
            these streams, so none of them may be claimed, or read its first record, meanwhile.
    """

    batch: StreamBatch
    messages: Sequence[CommitMessage]
    changes: CommitChanges
    max_sequence_number: int
    kind: CommitKind = CommitKind.APPEND
    idle_epochs: Mapping[str, int] = field(default_factory=dict)

    @property
    def user(self) -> str:
        """Return the commit user: the stream."""
        return self.batch.stream

    def revise(self, streams: StreamAuthority, *, time_ms: int) -> Revision | None:
        """Return the stream's next position, None for a replay (see `Intent`).

        Raises:
            StreamFenced: Another claim is newer.
            OffsetMismatch: The batch does not continue at the table's offsets.
            InvalidRequest: A stream that has to be idle was claimed, or has read a record.
        """
        batch = self.batch
        position = streams.positions.get(batch.stream)
        if decide_batch(position, batch) is BatchDecision.REPLAY:
            return None
        if position is not None and batch.write and batch.write in position.writes:
            return None
        self._check_idle(streams)
        assert position is not None, "a batch without a position must not be committed"
        reached = replace(
            position,
            # A batch that was read before Kafka gave the topic's id must not erase a known id.
            topic_id=batch.topic_id or position.topic_id,
            offsets={**position.offsets, **batch.end},
            highest_read=after_batch(position.highest_read, batch.start, batch.end),
            account=position.account + batch.account,
            batch_id=batch.batch_id,
            commit_time_ms=time_ms,
            letters=position.letters.after_batch(
                LetterAttempt(epoch=batch.epoch, batch_id=batch.batch_id, attempt=batch.attempt),
                batch.dead_letters,
                records=batch.account.records,
            ),
            writes=(*position.writes, batch.write)[-WRITES_MAX:]
            if batch.write
            else position.writes,
        )
        return Revision(
            identifier=batch.epoch << EPOCH_SHIFT | batch.batch_id,
            streams=with_position(streams, reached),
            properties=batch_properties(batch),
        )

    def _check_idle(self, streams: StreamAuthority) -> None:
        for stream, epoch in self.idle_epochs.items():
            position = streams.positions.get(stream)
            if (0 if position is None else position.epoch) != epoch:
                what = "was started"
            elif position is not None and position.account.records:
                what = "has read a record"  # a stream that runs keeps its epoch
            else:
                continue
            problem = Problem(
                field="stream",
                value=stream,
                message=f"the stream {what} while {self.batch.stream} wrote, and rows of this "
                "table are ordered by when they are written",
                hint="stop the stream, delete the rows, and fill the table before the stream starts",
            )
            message = f"{self.batch.stream} cannot continue"
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
        only: Names of the streams to fence, each with its backfills; None: all streams that the table knows.
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
        names = positions if self.only is None else self.only | backfills_of(self.only, positions)
        for name in names:
            position = positions.get(name) or StreamPosition(
                stream=name, epoch=0, topic="", topic_id=""
            )
            known_epoch = self.known_epochs.get(name, 0)
            positions[name] = fenced(position, time_ms=time_ms, known_epoch=known_epoch)
        return Revision(
            identifier=BATCH_COMMIT_IDENTIFIER, streams=replace(streams, positions=positions)
        )


def backfills_of(streams: Set[str], positions: Mapping[str, StreamPosition]) -> set[str]:
    """Return the names of the positions of backfills, which write columns of some streams."""
    found = {name: split_backfill_name(name) for name in positions}
    return {name for name, parts in found.items() if parts is not None and parts[0] in streams}


def fenced(position: StreamPosition, *, time_ms: int, known_epoch: int = 0) -> StreamPosition:
    """Return a position under an epoch that no earlier owner of the stream can commit with."""
    epoch = max(position.epoch, known_epoch) + 1
    return replace(position, epoch=epoch, batch_id=-1, commit_time_ms=time_ms)


def moved(position: StreamPosition, move: PositionMove) -> StreamPosition:
    """Return a position after a move."""
    offsets = {partition: after for partition, (_, after) in move.offsets.items()}
    return replace(
        position,
        offsets={**position.offsets, **offsets},
        moves=with_move(position.moves, move),
        highest_read=after_move(position.highest_read, move.offsets),
        # A record that is read again may be refused again, by another declaration: that letter is not replayed.
        letters=replace(
            position.letters, replayed=without_read_again(position.letters.replayed, move.offsets)
        ),
    )


def position_of_epoch(streams: StreamAuthority, expected: StreamPosition) -> StreamPosition:
    """Return the position of a stream whose epoch is still the expected one.

    Raises:
        OffsetMismatch: The stream has no position.
        StreamFenced: It was claimed, deleted or moved meanwhile.
    """
    stream = expected.stream
    position = streams.positions.get(stream)
    if position is None:
        message = f"stream `{stream}` has no position in the table\nhint: start it first"
        raise OffsetMismatch(message, stream=stream)
    if position.epoch != expected.epoch:
        message = (
            f"stream `{stream}`: the table has epoch {position.epoch}, expected {expected.epoch}: the "
            "stream was started or moved meanwhile"
        )
        raise StreamFenced(message, stream=stream, epoch=expected.epoch, table_epoch=position.epoch)
    return position


def with_position(streams: StreamAuthority, position: StreamPosition) -> StreamAuthority:
    """Return the state of all streams with the position of one, which replaces its former one."""
    return replace(streams, positions={**streams.positions, position.stream: position})


def with_order(streams: StreamAuthority, order: GroupOrder, *, time_ms: int) -> StreamAuthority:
    """Return the state with the order of a group, in whose generation the group's stream writes from now on.

    A group has one stream at a time, so the stream that wrote it before is fenced, and so are its backfills.
    """
    known = streams.orders.get(order.group)
    position = replace(streams.positions[order.stream], generation=order.generation)
    positions = {**streams.positions, order.stream: position}
    if known is not None and known.stream != order.stream:
        for name in {known.stream, *backfills_of({known.stream}, positions)} & positions.keys():
            positions[name] = fenced(positions[name], time_ms=time_ms)
    return replace(streams, positions=positions, orders={**streams.orders, order.group: order})
