"""Intent to claim a stream: an empty commit with its next epoch, and perhaps a later position.

The stream continues at its position in the table or, if the table may have lost that, at the
position in the progress document. A new stream begins at the given start, and so does a stream that
discards its former position (`streams/former_position`). If the stream has a sequence group, the
claim also decides the group's generation. It then fences another stream that wrote the group
before, and the backfills of that stream.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from braid.lake.commit.commit_changes import CommitChanges
from braid.lake.commit.intent import (
    EPOCH_SHIFT,
    Revision,
    moved,
    with_order,
    with_position,
)
from braid.lake.commit.streams.exactly_once import check_same_topic
from braid.lake.commit.streams.former_position import discards_former_position
from braid.lake.commit.streams.group_order import GroupClaim, GroupOrder, next_order
from braid.lake.commit.streams.position_moves import MoveCause, PositionMove, Range
from braid.lake.commit.streams.read_offsets import offsets_left_older
from braid.lake.commit.streams.stream_authority import StreamAuthority, first_generation
from braid.lake.commit.streams.stream_letters import StreamLetters
from braid.lake.commit.streams.stream_position import (
    StreamFallback,
    StreamPosition,
    move_properties,
)
from braid.lake.errors import InvalidRequest, Problem, StreamFenced
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.snapshot import CommitKind

_CAUSES = {
    MoveCause.EXPIRED: "the records before {after} have expired",
    MoveCause.GENERATION: "a new generation of its group begins at {after}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamClaim:
    """A claim of a stream: an empty commit with the next epoch, which makes the caller its one owner.

    With a group, the claim also decides the generation in which the group's records are written from now
    on, and fences the stream that wrote the group before. The attributes are the arguments of
    `TableCommitter.claim_stream`.
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
    shows_older_rows: bool = False
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
            InvalidRequest: It is unknown whether the stream is new, or rows would stay older than they were.
            StreamFenced: The stream was claimed or deleted since the caller read its epoch.
            LimitExceeded: The group has had as many generations as it can.
        """
        self._check_expected(streams)
        position = self.next_position(streams, time_ms=time_ms)
        assert position.epoch >= 1, "a claim has an epoch, so that its identifier is not negative"
        # One below the first batch of the epoch, and above all batches of the epoch before.
        identifier = (position.epoch << EPOCH_SHIFT) - 1
        is_anew = self._starts_anew(streams)
        order = None if self.group is None else self._next_order(streams, self.group)
        known = None if order is None else streams.orders.get(order.group)
        moves: list[PositionMove] = []
        if not is_anew:
            targets = [(MoveCause.EXPIRED, self.skipped_to)]
            if order is not None and order.generation > (0 if known is None else known.generation):
                # Records that are read again would be newer than those that came after them.
                highest = {part: one.offset for part, one in position.highest_read.items()}
                targets.insert(0, (MoveCause.GENERATION, highest))
            for cause, offsets in targets:
                move = self._move_forward(position, cause, offsets, time_ms=time_ms)
                if move is not None:
                    position = moved(position, move)
                    moves.append(move)
        after = with_position(streams, position)
        if order is not None:
            if known is None or order.generation > known.generation:
                order = replace(order, began={} if is_anew else position.offsets)
            after = with_order(after, order, time_ms=time_ms)
        properties = move_properties(self.stream, moves) if moves else {}
        return Revision(identifier=identifier, streams=after, properties=properties)

    def _move_forward(
        self,
        position: StreamPosition,
        cause: MoveCause,
        targets: Mapping[int, int],
        *,
        time_ms: int,
    ) -> PositionMove | None:
        """Return the move of the partitions that are below their targets; None if none is."""
        offsets = {
            partition: (position.offsets[partition], target)
            for partition, target in sorted(targets.items())
            if position.offsets.get(partition, target) < target
        }
        if not offsets:
            return None
        if self.shows_older_rows:
            _check_no_older_rows(position, cause, offsets)
        return PositionMove(time_ms=time_ms, cause=cause, offsets=offsets)

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

    def _next_order(self, streams: StreamAuthority, group: GroupClaim) -> GroupOrder:
        return next_order(
            streams.orders.get(group.group),
            group,
            stream=self.stream,
            topic=self.topic,
            topic_id=self.topic_id,
            generation_min=self._first_generation(streams),
        )

    def _first_generation(self, streams: StreamAuthority) -> int:
        """Return the generation of a group that the table does not know."""
        if self.fallback is not None and not streams.is_complete:
            # The orders have expired together with the positions; the fallback has the generation in
            # which this stream wrote last.
            return self.fallback.position.generation + 1
        return first_generation(streams, self.stream)

    def next_position(self, streams: StreamAuthority, *, time_ms: int) -> StreamPosition:
        """Return the position that the claim leaves behind (see `revise`)."""
        known = self._known_position(streams)
        if known is None or self._starts_anew(streams):
            former_epoch = 0 if known is None else known.epoch
            return StreamPosition(
                stream=self.stream,
                epoch=former_epoch + 1,
                topic=self.topic,
                topic_id=self.topic_id,
                offsets=dict(self.initial_offsets),
                commit_time_ms=time_ms,
                letters=StreamLetters(first_epoch=0 if known is None else former_epoch + 1),
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


def _check_no_older_rows(
    position: StreamPosition, cause: MoveCause, offsets: Mapping[int, Range]
) -> None:
    problems = [
        Problem(
            field=f"topic.{position.topic}.{partition}",
            value=str(before),
            message=f"the stream is reading old records again and cannot read {ahead} of the offsets that it had "
            f"read before, because {_CAUSES[cause].format(after=after)}; rows would remain older than they were",
            hint="delete the stream, and register it under another name: it reads all that the topic "
            "holds",
        )
        for partition, (before, after) in offsets.items()
        if (ahead := offsets_left_older(position, partition, after)) > 0
    ]
    if problems:
        message = f"stream `{position.stream}` cannot continue at offset {problems[0].value}"
        raise InvalidRequest(message, problems=problems)


def _description(fallback: StreamFallback | None) -> str:
    if fallback is None:
        return "there is no progress document"
    offsets = ", ".join(f"{part}: {at}" for part, at in sorted(fallback.position.offsets.items()))
    return f"the progress document (offsets {offsets}) may be older than the last commit"
