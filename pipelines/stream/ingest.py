"""Ingest query of one stream: claims the stream, runs Spark's micro-batches, stops.

The table is the only checkpoint. Each start claims the stream, which raises its epoch and fences the query
that ran before, and reads from the table's offsets with a checkpoint directory of its own that is deleted
at the end. So neither the loss of a checkpoint, nor a runner that still believes it owns the stream, can
lose or repeat a record.

Where back-pressure asks for another bound of a micro-batch, Spark's query is stopped, and another one
continues from the same checkpoint within the same claim (`pace_controller`).

    stopped ── start() ──► running ── stop() ──► stopped
                              ├── failure ─────► failed (`failure` says why)
                              └── step read ───► finished (`added_partitions` has the steps)
"""

import logging
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from formats.kafka_clusters import DEFAULT_CLUSTER
from lake import (
    Clock,
    GroupClaim,
    GroupOrder,
    StreamFallback,
    StreamPosition,
    Table,
    discards_former_position,
)
from pipelines.kafka.added_partitions import PartitionAssignment, is_step_complete, plan_assignment
from pipelines.kafka.cluster import KafkaCluster
from pipelines.kafka.source import (
    check_topic,
    check_topic_id,
    initial_offsets,
    read_topic,
    start_offsets,
)
from pipelines.kafka.topic import Topic, TopicReader
from pipelines.settings import DeadLetterBudget
from pipelines.sink.batch_sink import BatchSink
from pipelines.sink.sink_progress import SinkProgress
from pipelines.stream.current_plan import CurrentPlan, FixedDeclaration, PlanSource
from pipelines.stream.pace_controller import PaceController
from pipelines.stream.stream_evolver import StreamEvolver
from pipelines.stream.stream_plan import StreamPlan

_LOG = logging.getLogger(__name__)

# Column names of the format are case-sensitive; so is JSON.
SESSION_CONF = {
    "spark.sql.caseSensitive": "true",
    # Queries of several streams take turns on the cores, instead of the first one taking all.
    "spark.scheduler.mode": "FAIR",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestContext:
    """The context that all queries of a process share.

    Attributes:
        session: Spark, built with `SESSION_CONF`.
        cores: Tasks that it runs at once.
        work_dir: Checkpoints are made in it, and deleted.
        clock: For durations in progress reports.
        budget: Dead letters allowed in one micro-batch.
    """

    session: SparkSession
    cores: int
    work_dir: Path
    clock: Clock
    budget: DeadLetterBudget = field(default_factory=DeadLetterBudget)


class Ingest:
    """The query of one stream. Started and stopped once; a restart is a new one."""

    def __init__(
        self,
        context: IngestContext,
        *,
        plan: StreamPlan,
        table: Table,
        cluster: KafkaCluster,
        fallback: StreamFallback | None = None,
        expected_epoch: int | None = None,
        former_epoch: int | None = None,
        checkpoint: Path | None = None,
        plans: PlanSource | None = None,
        evolver: StreamEvolver | None = None,
    ) -> None:
        """Prepare a query.

        Args:
            context: What it shares with others.
            plan: The stream.
            table: Its table, not shared with another query.
            cluster: Where the topic is.
            fallback: The position from a progress document, for a table whose snapshots have all lost
                it; used where it cannot be older than the last commit.
            expected_epoch: Of the stream when it was last known to be registered, 0 for none: a stream
                that was deleted since is not claimed. None: the epoch is not checked.
            former_epoch: As the stream's entry in the registry has it.
            checkpoint: A directory that is neither created nor deleted. Its offsets take precedence over
                the table's, and the exactly-once rule decides about its micro-batches. For tests and
                repairs; None everywhere else.
            plans: Source of the stream's newest plan; None: its declaration never changes.
            evolver: Makes columns of new fields; None: they are refused, where not ignored.
        """
        self._context = context
        self._plan = plan
        self._table = table
        self._cluster = cluster
        self._fallback = fallback
        self._expected_epoch = expected_epoch
        self._former_epoch = former_epoch
        self._plans = plans or FixedDeclaration()
        self._evolver = evolver
        self._keeps_checkpoint = checkpoint is not None
        fresh = context.work_dir / "checkpoints" / f"{plan.table}.{plan.stream}-{uuid4().hex}"
        self._checkpoint = checkpoint or fresh
        self._topics = TopicReader(cluster)
        self._start_offsets: dict[int, int] = {}
        self._assigned = PartitionAssignment(partitions=())
        self._is_grown = False
        self._is_finished = False
        self._pace = PaceController(plan, table=table, clock=context.clock)
        self._current: CurrentPlan | None = None
        self._sink: BatchSink | None = None
        self._query: StreamingQuery | None = None

    def start(self) -> StreamPosition:
        """Claim the stream and start reading; return the position that was claimed.

        Raises:
            InvalidRequest: The topic is missing or has lost records, or a column cannot be read.
            OffsetMismatch: The topic is not the one that the table's offsets are of.
            StorageUnavailable: Kafka or the storage does not answer.
            StreamFenced: The stream was claimed or deleted meanwhile.
            LakeError: As `TableCommitter.claim_stream`.
        """
        assert self._query is None, "a query is started once"
        topic = self._topics.require(self._plan.spec.topic)
        check_topic_id(topic)
        # Before the claim, which fences a query that runs elsewhere: what is missing is found without harm.
        self._topics.ensure(self._plan.spec.dead_letter_topic, like=topic)
        earliest, end = self._topics.earliest(topic), self._topics.end(topic)
        position = self._claim(topic, earliest=earliest, end=end)
        numbers = self._assigned.partitions
        assert numbers, "a topic has partitions"
        self._start_offsets = start_offsets(
            position,
            earliest={number: earliest[number] for number in numbers},
            end={number: end[number] for number in numbers},
        )
        self._current = CurrentPlan(
            self._plan, table=self._table, source=self._plans, clock=self._context.clock
        )
        self._sink = BatchSink(
            plan=self._current,
            pace=self._pace,
            table=self._table,
            cluster=self._cluster,
            position=position,
            checkpoint=self._checkpoint,
            budget=self._context.budget,
            cores=self._context.cores,
            clock=self._context.clock,
            evolver=self._evolver,
        )
        self._query = self._start_query(self._sink)
        return position

    def refresh_plan(self) -> None:
        """Take up a changed declaration of the stream or of its table, between two micro-batches.

        Raises:
            InvalidRequest: The stream does not fit its table any more.
            LakeError: Registry or table cannot be read; to be called again.
        """
        if self._current is not None:
            self._current.request_refresh()

    def finish_step(self) -> None:
        """End the query if it has read what it was to read before the next step (`added_partitions`)."""
        if self._sink is None or self._query is None or not self._query.isActive:
            return
        if self._is_step_complete(self._sink.progress.position):
            self._pace.release()
            self._query.stop()
            self._is_finished = True

    def apply_back_pressure(self) -> None:
        """Give micro-batches the bound that back-pressure asks for, when it matters; for one thread."""
        if self._sink is None or self._query is None or not self._query.isActive:
            return
        records_max = self._pace.due_bound(self._sink.progress.batch_records)
        if records_max is None:
            return
        with self._pace.interrupted(records_max):
            # Returns when the micro-batch under way has ended; one that is dropped is repeated.
            self._query.stop()
            self._sink.clear_failure()
        self._query = self._start_query(self._sink)

    @property
    def is_finished(self) -> bool:
        """Whether the query has ended as planned: another one is to continue, with more partitions."""
        return self._is_finished

    @property
    def is_active(self) -> bool:
        """Whether Spark still runs the query."""
        return self._query is not None and self._query.isActive

    @property
    def failure(self) -> BaseException | None:
        """What ended the query; None while it runs and after a stop."""
        if self._sink is None or self._query is None:
            return None
        # The sink has the error as it was raised; Spark has its text, and later.
        return self._sink.failure or self._query.exception()

    @property
    def progress(self) -> SinkProgress | None:
        """What has been committed; None before the start."""
        return None if self._sink is None else self._sink.progress

    def end_offsets(self) -> dict[int, int]:
        """Return the topic's end by partition, and notice added partitions. For one thread.

        Raises:
            OffsetMismatch: The topic was made again since the start.
            InvalidRequest: The topic is gone.
            StorageUnavailable: Kafka does not answer.
        """
        topic = self._topics.require(self._plan.spec.topic)
        check_topic(None if self.progress is None else self.progress.position, topic)
        is_known = len(topic.partitions) <= self._assigned.partitions_seen
        self._is_grown = self._plan.needs_keyed_partitions and not is_known
        return self._topics.end(topic)

    def process_available(self) -> None:
        """Return when all records that are in the topic now are committed.

        Raises:
            LakeError: The error that ended the query.
            StreamingQueryException: The same, where it came from Spark.
        """
        assert self._query is not None, "the query is started"
        try:
            self._query.processAllAvailable()
        except StreamingQueryException as error:
            raise self.failure or error from error

    def stop(self) -> None:
        """Stop the query. A commit that is under way is finished, other work is dropped."""
        try:
            if self._sink is not None:
                self._pace.release()
            if self._query is not None:
                self._query.stop()
        finally:
            if self._sink is not None:
                self._sink.close()
            self._topics.close()
            if not self._keeps_checkpoint:
                shutil.rmtree(self._checkpoint, ignore_errors=True)

    def _claim(
        self, topic: Topic, *, earliest: Mapping[int, int], end: Mapping[int, int]
    ) -> StreamPosition:
        committer = self._table.committer()
        group, kafka = self._plan.order_group, self._plan.spec.kafka
        order = None if group is None else committer.group_orders().get(group)
        known = committer.stream_positions().get(self._plan.stream)
        if known is not None and known.topic:
            known = self._continued(known, topic, order)
        self._assigned = plan_assignment(
            self._plan,
            topic,
            position=known,
            order=order,
            end=lambda: end,
            now_ms=self._context.clock.now_ms(),
        )
        missing = set(self._assigned.partitions) - set(topic.partitions)
        assert not missing, f"a topic never loses partitions: {missing}"
        if self._assigned.growth is not None:
            _LOG.info("partitions wait stream=%s %s", self._plan.key, self._assigned)
        return committer.claim_stream(
            self._plan.stream,
            topic=topic.name,
            topic_id=topic.topic_id,
            initial_offsets=initial_offsets(self._plan, earliest=earliest, end=end),
            added_offsets={number: earliest[number] for number in self._assigned.partitions},
            fallback=self._fallback,
            expected_epoch=self._expected_epoch,
            former_epoch=self._former_epoch,
            group=None
            if group is None
            else GroupClaim(
                group=group,
                cluster=kafka.cluster or kafka.bootstrap_servers or DEFAULT_CLUSTER,
                partitions=len(self._assigned.partitions),
                growth=self._assigned.growth,
            ),
        )

    def _continued(
        self, position: StreamPosition, topic: Topic, order: GroupOrder | None
    ) -> StreamPosition | None:
        """Return the position that the claim continues at; None: it starts as declared."""
        if discards_former_position(
            position,
            order=order,
            topic=topic.name,
            topic_id=topic.topic_id,
            former_epoch=self._former_epoch,
        ):
            _LOG.info("starts anew stream=%s former=%s", self._plan.key, position)
            return None
        check_topic(position, topic)
        return position

    def _is_step_complete(self, position: StreamPosition) -> bool:
        now_ms = self._context.clock.now_ms()
        return self._is_grown or is_step_complete(
            self._plan, self._assigned, position, now_ms=now_ms
        )

    def _start_query(self, sink: BatchSink) -> StreamingQuery:
        session = self._context.session
        records = read_topic(
            session,
            plan=self._plan,
            cluster=self._cluster,
            start=self._start_offsets,
            records_max=self._pace.records_max,
            # Partitions that are added wait for a step of their own (`added_partitions`).
            is_fixed=self._plan.needs_keyed_partitions,
        )
        # A scheduler pool per stream; the query's thread inherits it from the thread that starts it.
        session.sparkContext.setLocalProperty("spark.scheduler.pool", self._plan.key)
        return (
            records.writeStream.foreachBatch(sink)
            .option("checkpointLocation", str(self._checkpoint))
            .trigger(processingTime=f"{self._plan.spec.trigger_ms} milliseconds")
            .start()
        )
