"""Ingest query of one stream: claims the stream, runs Spark's micro-batches, stops.

The table is the only checkpoint. Each start claims the stream: the claim raises the stream's epoch and fences
the query that ran before. The new query reads from the table's offsets; its checkpoint directory is its own and
is deleted at the end. So no record is lost or repeated, even if a checkpoint is lost or a former runner still
believes that it owns the stream.

Where back-pressure, or the size of records, requires another bound of a micro-batch, Spark's query is stopped, and
another one continues from the same checkpoint within the same claim (`pace_controller`).

    stopped ── start() ──► running ── stop() ──► stopped
                              ├── failure ─────► failed (`failure` has the error)
                              ├── step over ───► finished (another query continues, see `added_partitions`)
                              └── all read ────► completed (all there was at the start, trigger `available_now`)
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from braid.formats.schema_registry.schema_source import SchemaSource
from braid.lake import Clock, StreamFallback, StreamPosition, Table
from braid.pipelines.kafka.added_partitions import is_step_complete
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.group_offsets import GroupOffsets
from braid.pipelines.kafka.source import check_topic, read_topic
from braid.pipelines.kafka.topic import TopicReader
from braid.pipelines.maintenance_requests import MaintenanceRequests
from braid.pipelines.metrics import RunnerMetrics
from braid.pipelines.pace.pace_controller import FIRST_RECORDS_MAX, PaceController
from braid.pipelines.plan_changes.current_plan import CurrentPlan, FixedDeclaration, PlanSource
from braid.pipelines.plan_changes.stream_evolver import StreamEvolver
from braid.pipelines.settings import TASK_MEMORY_MB, DeadLetterBudget
from braid.pipelines.sink.batch_sink import BatchSink
from braid.pipelines.sink.sink_progress import SinkProgress
from braid.pipelines.spark.scheduler_pools import use_pool
from braid.pipelines.stream.group_mirror import GroupMirror, MirrorState
from braid.pipelines.stream.stream_claim import ClaimedStream, ClaimTerms, claim_stream
from braid.records.stream_plan import StreamPlan

# Column names of the format are case-sensitive; so is JSON.
SESSION_CONF = {
    "spark.sql.caseSensitive": "true",
    # Queries of several streams share the task slots (`scheduler_pools`).
    "spark.scheduler.mode": "FAIR",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestContext:
    """The context that all queries of a process share.

    Attributes:
        session: Spark's session, built with `SESSION_CONF`.
        cores: Tasks of one micro-batch that run at once.
        task_memory_mb: See `RunnerSettings.task_memory_mb`.
        work_dir: Folder in which checkpoints are created and deleted.
        clock: The clock for durations in progress reports.
        budget: Dead letters allowed in one micro-batch of a stream that declares no budget.
        requests: Asks for maintenance of tables with many runs.
        metrics: Where micro-batches are measured.
        first_records_max: The largest number of records in a micro-batch until `Ingest.apply_back_pressure` applies another
            bound.
    """

    session: SparkSession
    cores: int
    work_dir: Path
    clock: Clock
    task_memory_mb: int = TASK_MEMORY_MB
    budget: DeadLetterBudget = field(default_factory=DeadLetterBudget)
    requests: MaintenanceRequests = field(default_factory=MaintenanceRequests)
    metrics: RunnerMetrics = field(default_factory=RunnerMetrics)
    first_records_max: int = FIRST_RECORDS_MAX


@dataclass(slots=True, kw_only=True)
class _StartedQuery:
    """The parts of a query that exist from its start on.

    Attributes:
        claimed: The claim, within which several of Spark's queries may follow each other.
        plan: The plan in effect.
        sink: The sink for the micro-batches of all of Spark's queries.
        query: Spark's current query.
    """

    claimed: ClaimedStream
    plan: CurrentPlan
    sink: BatchSink
    query: StreamingQuery


class Ingest:
    """The query of one stream. Started and stopped once; a restart needs a new object."""

    def __init__(
        self,
        context: IngestContext,
        *,
        plan: StreamPlan,
        table: Table,
        cluster: KafkaCluster,
        schemas: SchemaSource | None = None,
        fallback: StreamFallback | None = None,
        expected_epoch: int | None = None,
        former_epoch: int | None = None,
        checkpoint: Path | None = None,
        plans: PlanSource | None = None,
        evolver: StreamEvolver | None = None,
    ) -> None:
        """Prepare a query.

        Args:
            context: What the query shares with others.
            plan: The stream.
            table: The stream's table, in an object that is not shared with another query.
            cluster: The cluster of the topic.
            schemas: The schemas that messages name; None where the stream's format names no registry.
            fallback: See `ClaimTerms.fallback`.
            expected_epoch: See `ClaimTerms.expected_epoch`.
            former_epoch: See `ClaimTerms.former_epoch`.
            checkpoint: A directory that is neither created nor deleted. Its offsets take precedence over
                the table's, and the exactly-once rule decides about its micro-batches. For tests and
                repairs; None everywhere else.
            plans: Source of the stream's newest plan; None: its declaration never changes.
            evolver: Makes columns of new fields; None: new fields are refused unless the stream ignores them.
        """
        self._context = context
        self._plan = plan
        self._table = table
        self._cluster = cluster
        self._schemas = schemas
        self._terms = ClaimTerms(
            fallback=fallback, expected_epoch=expected_epoch, former_epoch=former_epoch
        )
        self._plans = plans or FixedDeclaration()
        self._evolver = evolver
        self._keeps_checkpoint = checkpoint is not None
        fresh = context.work_dir / "checkpoints" / f"{plan.table}.{plan.stream}-{uuid4().hex}"
        self._checkpoint = checkpoint or fresh
        self._topics = TopicReader(cluster)
        self._pace = PaceController(
            plan,
            table=table,
            clock=context.clock,
            requests=context.requests,
            first_records_max=context.first_records_max,
        )
        self._has_added_partitions = False
        self._is_finished = False
        self._started: _StartedQuery | None = None
        self._mirror: GroupMirror | None = None

    def start(self) -> StreamPosition:
        """Claim the stream and start reading; return the position that was claimed.

        Raises:
            InvalidRequest: The topic is missing or has lost records, or a column cannot be read.
            LakeError: What `claim_stream` raises.
        """
        assert self._started is None, "a query is started once"
        claimed = claim_stream(
            self._plan,
            committer=self._table.committer(),
            topics=self._topics,
            terms=self._terms,
            now_ms=self._context.clock.now_ms(),
        )
        self._mirror = self._start_mirror(claimed.position)
        plan = CurrentPlan(
            self._plan, table=self._table, source=self._plans, clock=self._context.clock
        )
        sink = BatchSink(
            plan=plan,
            pace=self._pace,
            table=self._table,
            cluster=self._cluster,
            schemas=self._schemas,
            position=claimed.position,
            checkpoint=self._checkpoint,
            budget=self._context.budget,
            cores=self._context.cores,
            task_memory_mb=self._context.task_memory_mb,
            clock=self._context.clock,
            evolver=self._evolver,
            at_commit=self._mirror_position,
            metrics=self._context.metrics,
        )
        query = self._start_query(sink, claimed)
        self._started = _StartedQuery(claimed=claimed, plan=plan, sink=sink, query=query)
        return claimed.position

    def refresh_plan(self) -> None:
        """Apply a changed declaration of the stream or of its table, between two micro-batches.

        Raises:
            InvalidRequest: The stream does not fit its table any more.
            LakeError: Registry or table cannot be read; call again.
        """
        if self._started is not None:
            self._started.plan.request_refresh()

    def finish_step(self) -> None:
        """End the query if its step is over (`added_partitions`), or partitions were added that it must not read."""
        started = self._started
        if started is None or not started.query.isActive:
            return
        position, assigned = started.sink.progress.position, started.claimed.assigned
        now_ms = self._context.clock.now_ms()
        if self._has_added_partitions or is_step_complete(
            self._plan, assigned, position, now_ms=now_ms
        ):
            self._pace.release()
            started.query.stop()
            self._is_finished = True

    def apply_back_pressure(self) -> None:
        """Give micro-batches the bound that back-pressure or the size of records requires, if a restart pays.

        Call it from one thread only, the one that calls `finish_step`.
        """
        started = self._started
        if started is None or not started.query.isActive:
            return
        records_max = self._pace.due_bound(started.sink.progress.batch_records)
        if records_max is None:
            return
        with self._pace.interrupted(records_max):
            # Returns when the micro-batch under way has ended; a dropped micro-batch is repeated.
            started.query.stop()
            started.sink.clear_failure()
        if self.is_completed:
            return
        started.query = self._start_query(started.sink, started.claimed)

    @property
    def is_finished(self) -> bool:
        """Whether the query has ended as planned, so that another one has to continue, with more partitions."""
        return self._is_finished

    @property
    def is_completed(self) -> bool:
        """Whether the query has ended because it has read all that the topic held at the start."""
        started = self._started
        return (
            started is not None
            and self._plan.spec.ends
            and not started.query.isActive
            and self.failure is None
            and started.claimed.is_read_by(started.sink.progress.position)
        )

    @property
    def is_active(self) -> bool:
        """Whether Spark still runs the query."""
        return self._started is not None and self._started.query.isActive

    @property
    def failure(self) -> BaseException | None:
        """The error that ended the query, which after a stop may be that of the micro-batch cut short; else None."""
        if self._started is None:
            return None
        # The sink has the error as it was raised; Spark has its text, and later.
        return self._started.sink.failure or self._started.query.exception()

    @property
    def progress(self) -> SinkProgress | None:
        """What the query has committed; None before the start."""
        return None if self._started is None else self._started.sink.progress

    @property
    def mirror(self) -> MirrorState | None:
        """What was mirrored in a consumer group; None: no mirror is declared, or the query is not started."""
        return None if self._mirror is None else self._mirror.state

    @property
    def beginning_offsets(self) -> Mapping[int, int]:
        """First offset that the topic had at the start, by partition."""
        assert self._started is not None, "the query is started"
        return self._started.claimed.beginning_offsets

    def end_offsets(self) -> dict[int, int]:
        """Return the topic's end by partition, and notice added partitions.

        Call it from one thread only.

        Raises:
            OffsetMismatch: The topic was made again since the start.
            InvalidRequest: The topic is gone.
            StorageUnavailable: Kafka does not answer.
        """
        assert self._started is not None, "the query is started"
        topic = self._topics.require(self._plan.spec.topic)
        check_topic(self._started.sink.progress.position, topic)
        claimed = self._started.claimed
        is_known = len(topic.partitions) <= claimed.assigned.partitions_seen
        # A last step ends with what there was at its start, in the partitions that there were.
        waits = self._plan.needs_keyed_partitions and not _is_last_step(self._plan, claimed)
        self._has_added_partitions = waits and not is_known
        return self._topics.end(topic)

    def process_available(self) -> None:
        """Return once all records that are in the topic now are committed.

        Raises:
            LakeError: The error that ended the query.
            StreamingQueryException: The error that ended the query, where it came from Spark.
        """
        assert self._started is not None, "the query is started"
        try:
            self._started.query.processAllAvailable()
        except StreamingQueryException as error:
            raise self.failure or error from error

    def stop(self) -> None:
        """Stop the query. A commit that is under way is finished, other work is dropped."""
        try:
            self._pace.release()
            if self._started is not None:
                self._started.query.stop()
        finally:
            if self._started is not None:
                self._started.sink.close()
            if self._mirror is not None:
                self._mirror.close()
            self._topics.close()
            if not self._keeps_checkpoint:
                shutil.rmtree(self._checkpoint, ignore_errors=True)

    def _start_mirror(self, position: StreamPosition) -> GroupMirror | None:
        group = self._plan.spec.mirror_consumer_group
        if group is None:
            return None
        offsets = GroupOffsets(self._cluster, group=group, topic=self._plan.spec.topic)
        mirror = GroupMirror(
            offsets.commit,
            group=group,
            stream=self._plan.key,
            clock=self._context.clock,
            close=offsets.close,
        )
        mirror.offer(position.offsets)
        return mirror

    def _mirror_position(self, position: StreamPosition) -> None:
        if self._mirror is not None:
            self._mirror.offer(position.offsets)

    def _start_query(self, sink: BatchSink, claimed: ClaimedStream) -> StreamingQuery:
        session = self._context.session
        records = read_topic(
            session,
            plan=self._plan,
            cluster=self._cluster,
            start=claimed.start_offsets,
            records_max=self._pace.records_max,
            # Partitions that are added wait for a step of their own (`added_partitions`).
            is_fixed=self._plan.needs_keyed_partitions,
        )
        use_pool(session.sparkContext, self._plan.key, weight=self._plan.spec.weight)
        writer = records.writeStream.foreachBatch(sink)
        # On the driver's disk, whatever file system is the default of a cluster: no executor reads it.
        writer = writer.option("checkpointLocation", f"file:{self._checkpoint.absolute()}")
        if _is_last_step(self._plan, claimed):
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{self._plan.spec.interval_ms} milliseconds").start()


def _is_last_step(plan: StreamPlan, claimed: ClaimedStream) -> bool:
    """Return whether a query ends with what there is at its start: not while added partitions wait for another."""
    return plan.spec.ends and claimed.assigned.growth is None
