"""Takes one micro-batch after the other from Spark to the table, in the driver.

1. The batch's offsets are read from the checkpoint and compared with the table's: a replay ends
   here, a newer claim or a gap stops the query.
2. Executors write level-0 files and send dead letters (`WriteTask`).
3. The account is checked against the budget, and the topic is still the one that was claimed.
4. The commit publishes files, offsets and account in one snapshot, or finds that it is a replay
   after all. Files are deleted where it is certain that no snapshot names them, or ever will.
5. Where records have what the table has no place for, and the stream lets its table evolve, the table
   is changed first (`FieldEvolution`), and the batch is parsed and written again.
6. Where the table refuses rows that parsing has found nothing wrong with, the batch is parsed and written
   again, and its rows are tried first: those that are refused become dead letters (`refused_by_table`).
7. Where a record has a timestamp that Spark's source cannot read, the batch is read around it
   (`odd_timestamps`).
8. Where the schema has changed, or the table is rescaled, nothing is committed: the batch is parsed
   and written again by the newest declaration and schema, once a rescale under way has ended.

Records come unparsed from Spark's source, and what step 2 does with them is planned anew for each
micro-batch: so a changed declaration is taken up between two of them, and the number of tasks follows
their size.

Where compaction is behind, the end of a micro-batch is put off in the driver, which puts off Spark's
next one (`back_pressure` has the rule). Tasks never wait, and what was committed is committed.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from lake import (
    BatchDecision,
    Clock,
    CommitConflict,
    CommitMessage,
    CommitResult,
    LakeError,
    LimitExceeded,
    Outcome,
    StreamBatch,
    StreamPosition,
    Table,
    commit_or_discard,
    decide_batch,
    parse_messages,
)
from pipelines.json.dead_letter import DeadLetterReason
from pipelines.json.parse import OFFSET, PARTITION
from pipelines.kafka.cluster import KafkaCluster
from pipelines.kafka.source import check_topic
from pipelines.kafka.topic import TopicReader
from pipelines.settings import DeadLetterBudget
from pipelines.sink.bucket_routing import route_to_buckets
from pipelines.sink.field_evolution import FieldEvolution
from pipelines.sink.odd_timestamps import is_of_timestamps, read_around
from pipelines.sink.plan_follower import Following, PlanFollower
from pipelines.sink.task_plan import plan_tasks
from pipelines.sink.task_report import REPORT_SCHEMA, TaskReport, parse_report, sum_reports
from pipelines.sink.write_task import WriteTask
from pipelines.spark.checkpoint import batch_end, batch_start
from pipelines.stream.back_pressure import Pace, PaceRule
from pipelines.stream.plan_source import PlanSource, SameDeclaration
from pipelines.stream.stream_evolver import StreamEvolver
from pipelines.stream.stream_plan import StreamPlan

_LOG = logging.getLogger(__name__)
# Each one lost means that the table has changed while a micro-batch was written.
_SCHEMA_ATTEMPTS = 10
# After a batch with a row that the table refused, rows of so many are tried before they are written: where
# there is one there are more, and finding out takes an attempt in vain.
_TRIED_BATCHES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkProgress:
    """What a sink has done since it was made.

    Attributes:
        position: The stream's position in the table after the newest commit or claim.
        snapshot_id: Of the newest commit; None before the first.
        batch_id: The newest micro-batch that was committed or skipped as a replay.
        batch_records: Records in it.
        batch_ms: From Spark's call to the end of its commit.
        commits: Micro-batches committed.
        replays: Micro-batches that were in the table already.
        dead_letters: Refused records by reason.
        newest_ms: Kafka's largest timestamp among committed records; None before the first.
        pace: How fast the stream writes from now on; None before the first commit.
        following: Which declaration and schema the stream writes by.
        records: Records of the micro-batches committed.
        seen: Columns that some of them had a value for.
        unmatched: The others, and where messages were to have their values.
    """

    position: StreamPosition
    snapshot_id: int | None = None
    batch_id: int | None = None
    batch_records: int | None = None
    batch_ms: int | None = None
    commits: int = 0
    replays: int = 0
    dead_letters: tuple[tuple[str, int], ...] = ()
    newest_ms: int | None = None
    pace: Pace | None = None
    following: Following | None = None
    records: int = 0
    seen: frozenset[str] = frozenset()
    unmatched: tuple[tuple[str, str], ...] = ()


class BatchSink:
    """What Spark calls with each micro-batch of one stream."""

    def __init__(
        self,
        *,
        plan: StreamPlan,
        table: Table,
        cluster: KafkaCluster,
        position: StreamPosition,
        checkpoint: Path,
        budget: DeadLetterBudget,
        cores: int,
        clock: Clock,
        plans: PlanSource | None = None,
        evolver: StreamEvolver | None = None,
    ) -> None:
        """Make the sink of one claim.

        Args:
            plan: The stream.
            table: Its table; this sink's own, because it caches manifests.
            cluster: Of topic and dead-letter topic.
            position: As claimed; its epoch is what commits are made under.
            checkpoint: The query's checkpoint directory.
            budget: Dead letters allowed in one micro-batch.
            cores: Tasks that Spark runs at once.
            clock: For the duration of micro-batches.
            plans: Tells the stream's plan when something has changed; None: its declaration does
                not.
            evolver: Makes columns of new fields; None: every new field is refused, where it is not
                ignored.
        """
        self._evolution = FieldEvolution(evolver)
        self._tried_batches = 0
        self._follower = PlanFollower(
            plan, table=table, source=plans or SameDeclaration(), clock=clock
        )
        # Held while a micro-batch is parsed, written and committed by one plan.
        self._turn = threading.Lock()
        self._table = table
        self._committer = table.committer()
        self._cluster = cluster
        self._claimed = position
        self._checkpoint = checkpoint
        self._budget = budget
        self._cores = cores
        self._clock = clock
        self._topics = TopicReader(cluster)
        self._pace = self._pace_rule().first()
        self._released = threading.Event()
        self._is_held = False
        self._failure: BaseException | None = None
        self._progress = SinkProgress(position=position)

    @property
    def progress(self) -> SinkProgress:
        """What has been done so far; may be read from any thread."""
        return replace(self._progress, following=self._follower.following)

    @property
    def failure(self) -> BaseException | None:
        """What stopped the sink, as it was raised: Spark only keeps its text."""
        return self._failure

    @property
    def pace(self) -> Pace:
        """How fast the stream shall write; the sink keeps the interval, its query the bound."""
        return self._pace

    @property
    def is_held(self) -> bool:
        """Whether a micro-batch is done and the next one is put off: a query is best stopped now."""
        return self._is_held

    @property
    def _plan(self) -> StreamPlan:
        return self._follower.plan

    def follow(self) -> None:
        """Take a changed declaration up: at once between two micro-batches, else before the next.

        For any thread but the query's.

        Raises:
            LakeError: As `PlanSource.newest`.
        """
        self._follower.ask()
        if self._turn.acquire(blocking=False):
            try:
                self._follower.keep_up()
            finally:
                self._turn.release()

    def __call__(self, records: DataFrame, batch_id: int) -> None:
        """Write and commit one micro-batch, and keep its query back where compaction is behind.

        Args:
            records: Of Spark's Kafka source, with headers.
            batch_id: Spark's number; the same one when it replays.

        Raises:
            StreamFenced: Another runner has claimed the stream.
            OffsetMismatch: The batch is not the next one, or the topic is another one.
            LimitExceeded: More dead letters than the budget allows; nothing is committed.
            CommitUnknown: Whether the batch is in the table is not known. Start again: then the
                table tells.
            LakeError: As `TableCommitter.commit_stream_batch`.
        """
        started_ms = self._clock.now_ms()
        try:
            with self._turn:
                report, result = self._process(records, batch_id)
        except BaseException as error:
            self._failure = error
            raise
        batch_ms = self._clock.now_ms() - started_ms
        self._keep_pace(report, batch_ms=batch_ms)
        self._note(batch_id, report, result, batch_ms=batch_ms)
        if self._pace.factor > 1:
            rest_ms = started_ms + self._pace.interval_ms - self._clock.now_ms()
            self._is_held = True
            self._released.wait(max(0, rest_ms) / 1_000)
            self._is_held = False

    def release(self) -> None:
        """Let go a query that is kept back, and keep it back no more: it is about to be stopped."""
        self._released.set()

    def resume(self) -> None:
        """Forget that the query was stopped: another one goes on with the same batches."""
        self._released.clear()
        self._failure = None

    def close(self) -> None:
        """Close the connection to Kafka."""
        self._topics.close()

    def _process(self, records: DataFrame, batch_id: int) -> tuple[TaskReport, CommitResult | None]:
        batch = self._batch(batch_id)
        position = self._committer.stream_positions().get(self._plan.stream)
        if decide_batch(position, batch) is BatchDecision.REPLAY:
            return TaskReport(), None
        conflicts = 0
        is_read_around = False
        self._evolution.begin()
        while True:
            self._follower.keep_up()
            try:
                report = self._write(records, batch, is_mixed=is_read_around or _has_several(batch))
            except Exception as error:
                if is_read_around or not is_of_timestamps(error):
                    raise
                _LOG.warning(
                    "timestamps that overflow, reading around their records stream=%s batch=%d",
                    self._plan.key,
                    batch_id,
                )
                records, is_read_around = self._read_around(records, batch), True
                continue
            if report.refusal is not None:
                self._table.delete_uncommitted(_messages(report))
                _LOG.warning(
                    "rows refused, looking for them stream=%s batch=%d error=%s",
                    self._plan.key,
                    batch_id,
                    report.refusal.partition("\n")[0],
                )
                self._tried_batches = _TRIED_BATCHES
                continue
            if report.news:
                self._table.delete_uncommitted(_messages(report))
                self._evolution.evolve(self._follower, report.news)
                continue
            try:
                return report, self._commit(batch, report)
            except CommitConflict:
                conflicts += 1
                if conflicts == _SCHEMA_ATTEMPTS:
                    raise
                # Where the buckets become others, writing again is of use only when they are.
                self._table.follow_schema()

    def _read_around(self, records: DataFrame, batch: StreamBatch) -> DataFrame:
        return read_around(
            records.sparkSession,
            cluster=self._cluster,
            batch=batch,
            records_max=self._budget.limit(_offsets(batch)),
        )

    def _pace_rule(self) -> PaceRule:
        spec, options = self._plan.spec, self._table.schema.table_options
        return PaceRule(
            trigger_ms=spec.trigger_ms,
            records_max=spec.max_records_per_batch,
            relaxed_runs=options.num_sorted_run_compaction_trigger,
            runs_max=options.num_sorted_run_stop_trigger,
        )

    def _keep_pace(self, report: TaskReport, *, batch_ms: int) -> None:
        """Look what the batch has left to compaction in the buckets that it wrote to."""
        written = {(message.partition, message.bucket) for message in _messages(report)}
        if not written:
            return
        try:
            runs = self._table.runs_per_bucket()
        except (LakeError, OSError) as error:
            # The batch is committed; how fast the next one comes is no reason to fail.
            _LOG.warning("runs cannot be counted stream=%s error=%s", self._plan.key, error)
            return
        most = max((runs.get(place, 0) for place in written), default=0)
        self._pace = self._pace_rule().next(self._pace, runs=most, batch_ms=batch_ms)

    def _batch(self, batch_id: int) -> StreamBatch:
        topic = self._plan.spec.topic
        end = batch_end(self._checkpoint, batch_id, topic=topic)
        start = batch_start(self._checkpoint, batch_id, topic=topic)
        return StreamBatch(
            stream=self._plan.stream,
            epoch=self._claimed.epoch,
            batch_id=batch_id,
            topic=topic,
            topic_id=self._claimed.topic_id,
            start={partition: start.get(partition, 0) for partition in end},
            end=end,
        )

    def _write(self, records: DataFrame, batch: StreamBatch, *, is_mixed: bool) -> TaskReport:
        assert self._table.schema.id == self._plan.schema_id, "a plan meets no other schema"
        records_max = _offsets(batch)
        task = WriteTask(
            plan=self._plan,
            table=self._table,
            cluster=self._cluster,
            first_sequence_number=self._committer.max_sequence_number() + 1,
            sequence_numbers=records_max,
            dead_letters_max=self._budget.limit(records_max),
            tries_rows=self._tried_batches > 0,
            news=self._evolution.reader(self._plan, self._table),
            generation=self._claimed.generation,
        )
        schema = self._table.schema
        buckets = schema.table_options.bucket
        tasks = plan_tasks(records=records_max, buckets=buckets, cores=self._cores)
        parsed = self._follower.parser(records, tells_all=task.tries_rows)
        if tasks == 1:
            # Nothing is shuffled: the task reads one Kafka partition after the other.
            arrived = parsed.coalesce(1)
            if self._plan.written.group is None and is_mixed:
                # Whole rows are ordered as they are numbered; groups compare their arrival.
                arrived = arrived.sortWithinPartitions(OFFSET, PARTITION)
        else:
            arrived = route_to_buckets(parsed, plan=self._plan, schema=schema, tasks=tasks)
        rows = arrived.mapInArrow(_function(task), REPORT_SCHEMA)
        return sum_reports([parse_report(row.messages, row.report) for row in rows.collect()])

    def _commit(self, batch: StreamBatch, report: TaskReport) -> CommitResult:
        messages = _messages(report)
        try:
            self._check_budget(report)
            check_topic(self._claimed, self._topics.require(self._plan.spec.topic))
        except LakeError:
            self._table.delete_uncommitted(messages)
            raise
        return commit_or_discard(
            lambda: self._committer.commit_stream_batch(
                messages,
                replace(batch, account=report.account),
                max_sequence_number=report.max_sequence_number,
            ),
            discard=lambda: self._table.delete_uncommitted(messages),
        )

    def _check_budget(self, report: TaskReport) -> None:
        refused = report.account.dead_lettered
        allowed = self._budget.limit(report.account.records)
        if refused <= allowed:
            return
        reasons = ", ".join(f"{count} {reason}" for reason, count in report.dead_letters.items())
        message = (
            f"stream {self._plan.key}: {refused} of {report.account.records} records of a "
            f"micro-batch are dead letters ({reasons}), at most {allowed} are allowed; "
            f"nothing of it was committed; for example {'; '.join(report.examples)}\n"
            "hint: compare the stream's columns with the topic's messages"
        )
        raise LimitExceeded(message)

    def _note(
        self, batch_id: int, report: TaskReport, result: CommitResult | None, *, batch_ms: int
    ) -> None:
        old = self._progress
        is_new = result is not None and result.outcome is not Outcome.REPLAYED
        if result is None or not is_new:
            self._progress = replace(old, batch_id=batch_id, replays=old.replays + 1)
            return
        if DeadLetterReason.REFUSED_ROW.value in report.dead_letters:
            self._tried_batches = _TRIED_BATCHES
        else:
            self._tried_batches = max(0, self._tried_batches - 1)
        seen = old.seen | frozenset(report.seen)
        reasons = Counter(dict(old.dead_letters)) + Counter(dict(report.dead_letters))
        position = self._committer.stream_positions()[self._plan.stream]
        self._progress = SinkProgress(
            position=position,
            snapshot_id=result.snapshot_id,
            batch_id=batch_id,
            batch_records=report.account.records,
            batch_ms=batch_ms,
            commits=old.commits + 1,
            replays=old.replays,
            dead_letters=tuple(sorted(reasons.items())),
            newest_ms=self._newest_ms(report, old),
            pace=self._pace,
            records=old.records + report.account.records,
            seen=seen,
            unmatched=tuple(
                (column.name, column.address)
                for column in self._plan.columns
                if column.name not in seen
            ),
        )

    def _newest_ms(self, report: TaskReport, old: SinkProgress) -> int | None:
        newest = max(report.newest_ms or 0, old.newest_ms or 0)
        # A producer's clock may say anything: one that is ahead would hide the lag from then on.
        return min(newest, self._clock.now_ms()) or None


def _offsets(batch: StreamBatch) -> int:
    """Return how many records a micro-batch has at most."""
    return sum(batch.end.values()) - sum(batch.start.values())


def _has_several(batch: StreamBatch) -> bool:
    """Return whether a micro-batch has records of more than one partition."""
    return sum(end > batch.start[part] for part, end in batch.end.items()) > 1


def _messages(report: TaskReport) -> list[CommitMessage]:
    return [message for data in report.messages for message in parse_messages(data)]


def _function(task: WriteTask) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the task as a plain function, which is all that Spark takes."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return task(batches)

    return write
