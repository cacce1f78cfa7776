"""Claim of a stream: the epoch that fences earlier queries, and the offsets that the new query starts at.

A claim commits an empty snapshot with the stream's next epoch. Its steps, in this order:

1. Check that the topic exists and has an id, and create the dead-letter topic if it is missing. A failure before
   step 4 does no harm to a running query.
2. Read the stream's position in the table, unless the stream starts as declared (another topic, for example).
3. Determine the partitions that are read now (`added_partitions`).
4. Commit the claim, which checks epoch and position once more. If a generation of the group begins, the claim
   moves the position to the highest offset read. If records have expired and the stream skips them, the claim
   moves the position over them.
5. Determine the start offsets, and check that the topic has them.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from braid.formats.clusters.kafka_clusters import DEFAULT_CLUSTER
from braid.lake import (
    GroupClaim,
    GroupOrder,
    MoveCause,
    StreamFallback,
    StreamPosition,
    TableCommitter,
    discards_former_position,
)
from braid.pipelines.kafka.added_partitions import PartitionAssignment, plan_assignment
from braid.pipelines.kafka.source import check_topic, check_topic_id, initial_offsets, start_offsets
from braid.pipelines.kafka.topic import Topic, TopicReader
from braid.records.stream_plan import StreamPlan
from braid.schemas import OnOffsetsExpired

_LOG = logging.getLogger(__name__)
_MOVES = {
    MoveCause.EXPIRED: "expired records skipped",
    MoveCause.GENERATION: "records of an earlier generation not read again",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimTerms:
    """What is known of a stream before its claim.

    Attributes:
        fallback: The position from a progress document, for a table none of whose snapshots has it any
            more; used only if it cannot be older than the last commit.
        expected_epoch: The epoch of the stream when it was last known to be registered, 0 for none: a stream
            that was deleted since is not claimed. None: the epoch is not checked.
        former_epoch: `former_epoch` of the stream's entry in the registry.
    """

    fallback: StreamFallback | None = None
    expected_epoch: int | None = None
    former_epoch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedStream:
    """A stream that has been claimed.

    Attributes:
        position: The claimed position.
        assigned: The partitions that its query reads.
        start_offsets: The next offset by partition, for the assigned partitions.
        beginning_offsets: First offset that the topic had at the claim, by partition.
        end_offsets: Offset after the last committed record at the claim, for the assigned partitions.
    """

    position: StreamPosition
    assigned: PartitionAssignment
    start_offsets: Mapping[int, int]
    beginning_offsets: Mapping[int, int]
    end_offsets: Mapping[int, int]

    def is_read_by(self, position: StreamPosition) -> bool:
        """Return whether a position is behind all that the topic held at the claim, with no partition waiting.

        Offsets are compared and no records awaited: markers of transactions take offsets, too.
        """
        is_read = all(
            position.offsets.get(part, 0) >= end for part, end in self.end_offsets.items()
        )
        return is_read and self.assigned.growth is None


def claim_stream(
    plan: StreamPlan,
    *,
    committer: TableCommitter,
    topics: TopicReader,
    terms: ClaimTerms,
    now_ms: int,
) -> ClaimedStream:
    """Claim a stream, and return where its query starts.

    Args:
        plan: The stream.
        committer: The committer of the stream's table.
        topics: Reads the topics of the stream's cluster.
        terms: What is known of the stream.
        now_ms: Milliseconds since the epoch.

    Raises:
        InvalidRequest: The topic is missing or has lost records, or records that the stream has begun to read
            again would be left out, so that rows would stay older than they were.
        OffsetMismatch: The table's offsets belong to another topic.
        StorageUnavailable: Kafka or the storage does not answer.
        StreamFenced: The stream was claimed or deleted meanwhile.
        LakeError: What `TableCommitter.claim_stream` raises.
    """
    topic = topics.require(plan.spec.topic)
    check_topic_id(topic)
    topics.ensure(plan.spec.dead_letter_topic, like=topic)
    earliest, end = topics.earliest(topic), topics.end(topic)
    group, kafka = plan.order_group, plan.spec.kafka
    order = None if group is None else committer.group_orders().get(group)
    known = committer.stream_positions().get(plan.stream)
    if known is not None and known.topic:
        known = _continued(known, plan, topic, order, terms)
    assigned = plan_assignment(
        plan, topic, position=known, order=order, end=lambda: end, now_ms=now_ms
    )
    assert set(assigned.partitions) <= set(topic.partitions), "a topic never loses partitions"
    if assigned.growth is not None:
        _LOG.info("added partitions are not read yet stream=%s %s", plan.key, assigned)
    position = committer.claim_stream(
        plan.stream,
        topic=topic.name,
        topic_id=topic.topic_id,
        initial_offsets=initial_offsets(plan, earliest=earliest, end=end),
        added_offsets={number: earliest[number] for number in assigned.partitions},
        skipped_to={number: earliest[number] for number in assigned.partitions}
        if plan.spec.on_offsets_expired is OnOffsetsExpired.SKIP
        else None,
        shows_older_rows=plan.shows_older_rows,
        fallback=terms.fallback,
        expected_epoch=terms.expected_epoch,
        former_epoch=terms.former_epoch,
        group=None
        if group is None
        else GroupClaim(
            group=group,
            cluster=kafka.cluster or kafka.bootstrap_servers or DEFAULT_CLUSTER,
            partitions=len(assigned.partitions),
            growth=assigned.growth,
        ),
    )
    for move in position.moves:
        # Moves of these causes are made by claims alone, and have the time of the claim.
        if move.cause in _MOVES and move.time_ms == position.commit_time_ms:
            what = _MOVES[move.cause]
            _LOG.warning("%s stream=%s ranges=%s", what, plan.key, dict(move.offsets))
    ends = {number: end[number] for number in assigned.partitions}
    offsets = start_offsets(
        position, earliest={number: earliest[number] for number in assigned.partitions}, end=ends
    )
    return ClaimedStream(
        position=position,
        assigned=assigned,
        start_offsets=offsets,
        beginning_offsets=earliest,
        end_offsets=ends,
    )


def _continued(
    position: StreamPosition,
    plan: StreamPlan,
    topic: Topic,
    order: GroupOrder | None,
    terms: ClaimTerms,
) -> StreamPosition | None:
    """Return the position at which the claim continues; None: the stream starts as declared."""
    if discards_former_position(
        position,
        order=order,
        topic=topic.name,
        topic_id=topic.topic_id,
        former_epoch=terms.former_epoch,
    ):
        _LOG.info("starts without the former position stream=%s former=%s", plan.key, position)
        return None
    check_topic(position, topic)
    return position
