"""Sink of one stream: writes Spark's micro-batches to the table, one after the other, in the driver.

1. The batch's offsets are read from the checkpoint (`micro_batch`) and compared with the table's: a replay
   ends here, a newer claim or a gap stops the query (`BatchCommitter.is_replay`).
2. Executors write level-0 files and send dead letters (`BatchWriter`, `WriteTask`).
3. Two checks: the account is within the budget, and the topic is still the one that was claimed. Then the
   commit publishes files, offsets and account in one snapshot (`BatchCommitter.commit`).
4. If compaction is behind, or if the next micro-batch would be too large, the end of this one is delayed
   (`PaceController`).

Steps 2 and 3 are an attempt. If an attempt cannot be committed for one of the following causes, it is discarded,
and another attempt is made with the newest declaration and schema (`CurrentPlan`):

| cause | before the next attempt |
|---|---|
| records have fields that the table has no column for, or values that only a wider type holds, and the stream lets its table evolve | the table is changed (`FieldEvolution`) |
| the table refuses rows in which parsing has found no fault | a trial write finds the refused rows, which become dead letters (`records.trial_writes`) |
| a record has a timestamp that Spark's source cannot read | the batch is read without such timestamps (`overflowing_timestamps`) |
| the commit meets a conflict: the schema has changed, the table is rescaled, or other commits were always faster | the newest schema is read, and the end of a rescale is awaited |

The number of attempts is bounded for each cause. Evolution has a maximum of rounds. After a trial write, or
after reading without such timestamps, the next attempt cannot fail for the same cause. Conflicts have a maximum of
their own.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.lake import (
    Clock,
    CommitConflict,
    CommitResult,
    Outcome,
    StreamBatch,
    StreamPosition,
    Table,
)
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.metrics import RunnerMetrics
from braid.pipelines.pace.pace_controller import PaceController
from braid.pipelines.plan_changes.current_plan import CurrentPlan
from braid.pipelines.plan_changes.stream_evolver import StreamEvolver
from braid.pipelines.settings import DeadLetterBudget
from braid.pipelines.sink.batch_committer import BatchCommitter, commit_messages
from braid.pipelines.sink.batch_writer import BatchWriter
from braid.pipelines.sink.field_evolution import FieldEvolution
from braid.pipelines.sink.letter_budget import AllowedLetters
from braid.pipelines.sink.micro_batch import read_micro_batch, records_max
from braid.pipelines.sink.overflowing_timestamps import (
    is_timestamp_overflow,
    read_with_clamped_timestamps,
)
from braid.pipelines.sink.sink_progress import SinkProgress
from braid.pipelines.sink.task_report import TaskReport
from braid.records.stream_plan import StreamPlan
from braid.records.trial_writes import TrialSchedule

_LOG = logging.getLogger(__name__)

_CONFLICTS_MAX = 10
"""Each one means that the table has changed while a micro-batch was written."""


class BatchSink:
    """The function that Spark calls with each micro-batch of one stream."""

    def __init__(
        self,
        *,
        plan: CurrentPlan,
        pace: PaceController,
        table: Table,
        cluster: KafkaCluster,
        position: StreamPosition,
        checkpoint: Path,
        budget: DeadLetterBudget,
        cores: int,
        task_memory_mb: int,
        clock: Clock,
        metrics: RunnerMetrics,
        schemas: SchemaSource | None = None,
        evolver: StreamEvolver | None = None,
        at_commit: Callable[[StreamPosition], None] = lambda _: None,
    ) -> None:
        """Make the sink of one claim.

        Args:
            plan: The stream's plan.
            pace: The query's pace.
            table: The stream's table, as an object of this sink's own, because it caches manifests.
            cluster: The cluster of topic and dead-letter topic.
            position: The claimed position; commits are made under its epoch.
            checkpoint: The query's checkpoint directory.
            budget: Dead letters of a micro-batch, for streams that declare no budget.
            cores: Tasks of one micro-batch that run at once.
            task_memory_mb: Memory of the rows that one task holds, megabytes.
            clock: The clock for the durations of micro-batches.
            metrics: Where stages are measured.
            schemas: The schemas that messages name; None where the stream's format names no registry.
            evolver: Makes columns of new fields; None: every new field is refused unless the stream
                ignores it.
            at_commit: Called after each commit, with the position that the table has then; returns at once and
                raises nothing.
        """
        self._metrics = metrics
        self._plan = plan
        self._at_commit = at_commit
        self._pace = pace
        self._table = table
        self._cluster = cluster
        self._claimed = position
        self._checkpoint = checkpoint
        self._clock = clock
        self._committer = BatchCommitter(
            plan.plan.key, table=table, cluster=cluster, claimed=position, budget=budget
        )
        self._writer = BatchWriter(
            plan=plan,
            table=table,
            cluster=cluster,
            schemas=schemas,
            claimed=position,
            cores=cores,
            task_memory_mb=task_memory_mb,
        )
        self._evolution = FieldEvolution(evolver)
        self._trials = TrialSchedule()
        # The newest micro-batch and its newest attempt; Spark may call again with the same micro-batch.
        self._attempted = (-1, 0)
        self._failure: BaseException | None = None
        self._progress = SinkProgress(position=position)

    @property
    def progress(self) -> SinkProgress:
        """What has been done so far; for any thread."""
        return replace(self._progress, plan_version=self._plan.version)

    @property
    def failure(self) -> BaseException | None:
        """The error that stopped the sink, as it was raised; Spark only keeps its text."""
        return self._failure

    def clear_failure(self) -> None:
        """Forget a failure that was caused by stopping Spark's query: the next query repeats the micro-batch."""
        self._failure = None

    def __call__(self, records: DataFrame, batch_id: int) -> None:
        """Write and commit one micro-batch, and return when the next one may start.

        Args:
            records: Records of Spark's Kafka source, with headers.
            batch_id: Spark's number of the micro-batch; a replay has the same number.

        Raises:
            StreamFenced: Another runner has claimed the stream.
            OffsetMismatch: The batch is not the next one, or the topic is another one.
            LimitExceeded: More dead letters than the budget allows; nothing is committed.
            CommitUnknown: It is unknown whether the batch is in the table. A new start reads this from
                the table.
            LakeError: What `TableCommitter.commit_stream_batch` raises.
        """
        started_ms = self._clock.now_ms()
        try:
            with self._stage("total"), self._plan.in_use():
                report, result = self._process(records, batch_id)
                # Once the lock is released, a newer plan may come into effect.
                plan = self._plan.plan
        except BaseException as error:
            self._failure = error
            raise
        # Outside of the plan's lock: a changed declaration may come into effect while the query is held.
        batch_ms = self._clock.now_ms() - started_ms
        buckets = {(message.partition, message.bucket) for message in commit_messages(report)}
        self._pace.measure(
            buckets, batch_ms=batch_ms, records=report.account.records, size=report.size
        )
        self._note(batch_id, report, result, plan=plan, batch_ms=batch_ms)
        with self._stage("hold"):
            self._pace.hold(started_ms=started_ms)

    def close(self) -> None:
        """Close the connection to Kafka."""
        self._committer.close()

    def _process(self, records: DataFrame, batch_id: int) -> tuple[TaskReport, CommitResult | None]:
        """Return what was written and committed; no result for a replay."""
        with self._stage("read"):
            batch = read_micro_batch(
                self._checkpoint, batch_id, topic=self._plan.plan.spec.topic, claimed=self._claimed
            )
            is_replay = self._committer.is_replay(batch)
        if is_replay:
            return TaskReport(), None
        conflicts = 0
        is_clamped = False
        self._evolution.begin()
        while True:
            self._plan.refresh()
            batch = replace(batch, attempt=self._next_attempt(batch_id))
            allowed = self._allowed_letters(batch)
            try:
                with self._stage("write"):
                    report = self._write(
                        records, batch, allowed=allowed, is_in_kafka_order=not is_clamped
                    )
            except Exception as error:
                # After clamping no such timestamp is left: the same error again would have another cause.
                if is_clamped or not is_timestamp_overflow(error):
                    raise
                records, is_clamped = self._clamp_timestamps(records, batch), True
                continue
            if report.is_incomplete:
                self._committer.discard(report)
                self._prepare_retry(report, batch)
                continue
            try:
                declared = self._plan.plan.spec.dead_letter_budget
                with self._stage("commit"):
                    result = self._committer.commit(
                        batch, report, allowed=allowed, declared_budget=declared
                    )
            except CommitConflict:
                conflicts += 1
                if conflicts == _CONFLICTS_MAX:
                    raise
                # While the table is rescaled every attempt would meet the same conflict.
                self._table.follow_schema()
            else:
                self._metrics.commit_attempts.observe(result.attempts)
                self._metrics.commit_waits.observe(result.wait_ms / 1_000)
                return report, result

    def _stage(self, name: str) -> AbstractContextManager[None]:
        return self._metrics.stage(name, self._plan.plan.key)

    def _next_attempt(self, batch_id: int) -> int:
        """Return the number of the attempt that begins: dead letters of earlier ones may be on their topic."""
        newest, attempt = self._attempted
        self._attempted = (batch_id, attempt + 1 if batch_id == newest else 0)
        return self._attempted[1]

    def _allowed_letters(self, batch: StreamBatch) -> AllowedLetters:
        declared = self._plan.plan.spec.dead_letter_budget
        return self._committer.allowed_letters(declared, records=records_max(batch))

    def _write(
        self,
        records: DataFrame,
        batch: StreamBatch,
        *,
        allowed: AllowedLetters,
        is_in_kafka_order: bool,
    ) -> TaskReport:
        return self._writer.write(
            records,
            batch,
            first_sequence_number=self._committer.next_sequence_number,
            dead_letters_max=allowed.number,
            is_in_kafka_order=is_in_kafka_order,
            tries_rows=self._trials.is_due,
            field_reader=self._evolution.reader(self._plan.plan, self._table),
        )

    def _prepare_retry(self, report: TaskReport, batch: StreamBatch) -> None:
        """Remove the cause for which an attempt is incomplete."""
        assert report.is_incomplete, "a complete attempt is committed"
        if report.refusal is not None:
            _LOG.warning(
                "rows refused, searching for them stream=%s batch=%d error=%s",
                self._plan.plan.key,
                batch.batch_id,
                report.refusal.partition("\n")[0],
            )
            self._trials.begin()
            return
        self._evolution.evolve(self._plan, report.schema_delta)

    def _clamp_timestamps(self, records: DataFrame, batch: StreamBatch) -> DataFrame:
        _LOG.warning(
            "timestamps overflow, reading their records separately stream=%s batch=%d",
            self._plan.plan.key,
            batch.batch_id,
        )
        return read_with_clamped_timestamps(
            records.sparkSession,
            cluster=self._cluster,
            batch=batch,
            # Such records become dead letters, so more than the budget allows would stop the stream anyway.
            records_max=self._allowed_letters(batch).number,
        )

    def _note(
        self,
        batch_id: int,
        report: TaskReport,
        result: CommitResult | None,
        *,
        plan: StreamPlan,
        batch_ms: int,
    ) -> None:
        # The commit, too, may find that the micro-batch is in the table already.
        if result is None or result.outcome is Outcome.REPLAYED:
            self._progress = self._progress.after_replay(batch_id)
            return
        self._trials.note(has_refused_row=DeadLetterReason.REFUSED_ROW.value in report.dead_letters)
        self._progress = self._progress.after_commit(
            batch_id,
            report,
            result,
            position=self._committer.position,
            plan=plan,
            pace=self._pace.pace,
            batch_ms=batch_ms,
            now_ms=self._clock.now_ms(),
        )
        self._at_commit(self._progress.position)
