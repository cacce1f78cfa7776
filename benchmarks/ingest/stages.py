"""Measurement of the processor time of a micro-batch by stage, from the broker's bytes to a compacted table.

The same records of one stream are processed by several Spark jobs. Each job does one step more than the job
before it, so the difference of their times is the time of that step. The last job is the real write task, in
which a clock measures the stages. After it, the driver makes the commit and the compactions that are due. All
jobs run in one JVM, and the first two rounds are not counted.

| job | step |
|---|---|
| records counted | fetch |
| + passed to Python | crossing |
| + routed by bucket, for micro-batches of several tasks | routing |
| + written | parse, sort and fold, Parquet and statistics |
"""

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import getpid
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from benchmarks.figure import figure
from benchmarks.ingest.bed import DATABASE, IngestBed
from benchmarks.ingest.shape import PARTITIONS, stream_request, table_request
from benchmarks.ingest.sizes import Sizes
from benchmarks.ingest.stage_clock import REST
from benchmarks.ingest.stage_task import (
    RECEIVE,
    STAGES_SCHEMA,
    ClockedTask,
    drained,
    plain_function,
)
from braid.lake import Catalog, LetterAttempt, StreamBatch, StreamPosition, SystemClock, Table
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.source import read_ranges, record_columns
from braid.pipelines.kafka.topic import TopicReader
from braid.pipelines.sink.batch_committer import commit_messages
from braid.pipelines.sink.bucket_routing import route_to_tasks
from braid.pipelines.sink.dead_letters import LetterOrigin
from braid.pipelines.sink.micro_batch import records_max
from braid.pipelines.sink.task_plan import plan_tasks
from braid.pipelines.sink.task_report import parse_report, sum_reports
from braid.pipelines.sink.write_task import WriteTask
from braid.pipelines.spark.session import build_session
from braid.pipelines.stream.ingest import SESSION_CONF
from braid.pipelines.stream.stream_claim import ClaimTerms, claim_stream
from braid.records.stream_plan import StreamPlan, plan_stream
from braid.registry.layout.physical_table import physical_table
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import StreamDefinition, TableSpec

ROUNDS: Final = 5
WARM_UPS: Final = 2
CORES: Final = 2
_STREAM: Final = "a"
_JVM: Final = "driver: JVM"
_WORKERS: Final = "driver: Python workers"

Seconds = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Processor seconds of one job."""

    jvm: float
    workers: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Processor seconds of one round.

    Attributes:
        fetch: Records counted.
        crossing: Also handed to Python.
        routing: Also routed; None where one task writes the micro-batch.
        write: Also written.
        task: Stages of the write tasks, by the clock in them.
        commit: The commit, in the driver.
        compaction: Compactions that were due after it.
    """

    fetch: Job
    crossing: Job
    routing: Job | None
    write: Job
    task: Mapping[str, float]
    commit: float
    compaction: float


def run(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Yield the figures of the stages.

    Args:
        sizes: `records` and `keys` are used.
    """
    with (
        tempfile.TemporaryDirectory(prefix="braid-bench-") as folder,
        IngestBed(Path(folder)) as bed,
    ):
        bed.start_broker()
        topics = bed.create_topics("wide")
        bed.watch.watch("driver", getpid())
        session = build_session(
            app_name="braid-bench-stages", work_dir=bed.scratch, cores=CORES, conf=SESSION_CONF
        )
        try:
            topic, records = topics[_STREAM], sizes.stage_records
            # A tenth more: a partition may have fewer messages than the other.
            count = (WARM_UPS + ROUNDS) * records * 11 // 10 + PARTITIONS
            bed.fill({_STREAM: topic}, keys=sizes.keys, count=count)
            profile = _Profile(bed, session, topic=topic)
            rounds = [profile.measure(records) for _ in range(WARM_UPS + ROUNDS)][WARM_UPS:]
        finally:
            session.stop()
    yield from stage_figures(rounds, records=_per_partition(records) * PARTITIONS)


def stage_figures(rounds: Sequence[Round], *, records: int) -> list[dict[str, Any]]:
    """Return the seconds of each stage for a million records, and its share.

    Args:
        rounds: At least one; each job counts with its least time (`best_of`).
        records: Records of each round.
    """
    found = stages_of(best_of(rounds))
    seconds = {stage: value / records * 1e6 for stage, value in found.items()}
    total = sum(seconds.values()) or 1.0
    lines = [
        figure(f"stages: {stage} ({100 * value / total:.0f} %)", value, "s")
        for stage, value in seconds.items()
    ]
    return [*lines, figure("stages: all, processor time a million records", total, "s")]


def best_of(rounds: Sequence[Round]) -> Round:
    """Return each job's and stage's least time, and the mean of the compactions.

    The JVM compiles beside its work, less and less, and never saves time by chance.
    """
    routings = [one.routing for one in rounds if one.routing is not None]
    return Round(
        fetch=_least([one.fetch for one in rounds]),
        crossing=_least([one.crossing for one in rounds]),
        routing=_least(routings) if routings else None,
        write=_least([one.write for one in rounds]),
        task={stage: min(one.task[stage] for one in rounds) for stage in rounds[0].task},
        commit=min(one.commit for one in rounds),
        compaction=statistics.mean(one.compaction for one in rounds),
    )


def _least(jobs: Sequence[Job]) -> Job:
    return Job(jvm=min(job.jvm for job in jobs), workers=min(job.workers for job in jobs))


def stages_of(found: Round) -> Seconds:
    """Return the seconds of each stage of a round, in the order of a record's way.

    A difference below zero, which two short jobs may have, is given as zero.
    """
    crossing, write = found.crossing, found.write
    seconds = {
        "JVM: fetch": found.fetch.jvm,
        "JVM: crossing to Python": crossing.jvm - found.fetch.jvm,
        "Python: crossing, received": crossing.workers,
    }
    before = crossing
    if found.routing is not None:
        before = found.routing
        seconds["JVM: routing by bucket"] = before.jvm - crossing.jvm
        seconds["Python: routing by bucket"] = before.workers - crossing.workers
    seconds["JVM: the rest of the write job"] = write.jvm - before.jvm
    inside = {stage: value for stage, value in found.task.items() if stage not in {RECEIVE, REST}}
    seconds |= {f"Python: {stage}": value for stage, value in inside.items()}
    seconds["Python: the rest of the write job"] = (
        write.workers - before.workers - sum(inside.values())
    )
    seconds["driver: commit"] = found.commit
    seconds["driver: compactions due"] = found.compaction
    return {stage: max(0.0, value) for stage, value in seconds.items()}


class _Profile:
    """One stream of one table, whose new records are measured again and again."""

    def __init__(self, bed: IngestBed, session: SparkSession, *, topic: str) -> None:
        self._bed, self._session, self._topic = bed, session, topic
        spec = TableSpec.model_validate(table_request())
        layout = physical_table(spec)
        self._table: Table = Catalog(str(bed.warehouse)).create_table(
            f"{DATABASE}.wide",
            columns=layout.columns,
            primary_key=layout.primary_key,
            partition_keys=layout.partition_keys,
            options=layout.options,
        )
        request = stream_request(_STREAM, topic=topic, trigger_ms=1_000, max_records_per_batch=1)
        definition = StreamDefinition.model_validate(request)
        self._plan: StreamPlan = plan_stream(
            table=self._table.identifier,
            spec=spec,
            stream=complete_stream(spec, definition, name=_STREAM),
            schema=self._table.schema,
        )
        self._cluster = KafkaCluster(bootstrap_servers=bed.broker.bootstrap_servers)
        self._committer = self._table.committer()
        self._topics = TopicReader(self._cluster)
        self._position: StreamPosition = claim_stream(
            self._plan,
            committer=self._committer,
            topics=self._topics,
            terms=ClaimTerms(),
            now_ms=SystemClock().now_ms(),
        ).position
        self._batches = 0

    def measure(self, count: int) -> Round:
        """Measure the next records that the table does not have yet, and commit them.

        Args:
            count: How many.
        """
        batch = self._next_batch(_per_partition(count))
        records = record_columns(
            read_ranges(
                self._session,
                cluster=self._cluster,
                topic=self._topic,
                start=batch.start,
                end=batch.end,
            )
        )
        tasks = plan_tasks(
            records=records_max(batch),
            buckets=self._table.schema.table_options.bucket,
            cores=CORES,
        )
        one = records.coalesce(1)
        routed = one
        fetch = self._job(lambda: _exhaust(records if tasks > 1 else one))
        crossing = self._job(lambda: _drain(records if tasks > 1 else one))
        routing = None
        if tasks > 1:
            routed = route_to_tasks(
                records, plan=self._plan, schema=self._table.schema, schemas=None, tasks=tasks
            )
            routing = self._job(lambda: _drain(routed))
        rows: list[Any] = []
        task = plain_function(ClockedTask(task=self._task(batch)), is_routed=tasks > 1)
        write = self._job(lambda: rows.extend(routed.mapInArrow(task, STAGES_SCHEMA).collect()))
        commit = _processor_s(lambda: self._commit(batch, rows))
        compaction = _processor_s(lambda: self._table.compact(full=False))
        return Round(
            fetch=fetch,
            crossing=crossing,
            routing=routing,
            write=write,
            task=_sums([json.loads(row.stages) for row in rows]),
            commit=commit,
            compaction=compaction,
        )

    def _next_batch(self, per_partition: int) -> StreamBatch:
        start = self._committer.stream_positions()[_STREAM].offsets
        ends = self._topics.end(self._topics.require(self._topic))
        assert all(start[part] + per_partition <= end for part, end in ends.items()), (
            "the topic was filled for all rounds"
        )
        batch = StreamBatch(
            stream=_STREAM,
            epoch=self._position.epoch,
            batch_id=self._batches,
            topic=self._topic,
            topic_id=self._position.topic_id,
            start=start,
            end={part: start[part] + per_partition for part in ends},
        )
        self._batches += 1
        return batch

    def _task(self, batch: StreamBatch) -> WriteTask:
        return WriteTask(
            plan=self._plan,
            table=self._table,
            cluster=self._cluster,
            first_sequence_number=self._committer.max_sequence_number() + 1,
            sequence_numbers=records_max(batch),
            dead_letters_max=0,
            origin=LetterOrigin(
                topic=batch.topic,
                topic_id=batch.topic_id,
                generation=self._position.generation,
                attempt=LetterAttempt(epoch=batch.epoch, batch_id=batch.batch_id, attempt=0),
            ),
        )

    def _commit(self, batch: StreamBatch, rows: Sequence[Any]) -> None:
        report = sum_reports([parse_report(row.messages, row.report) for row in rows])
        assert report.account.records == records_max(batch), "every record is accounted for"
        assert not report.dead_letters, "the messages are valid"
        self._committer.commit_stream_batch(
            commit_messages(report),
            StreamBatch(
                stream=batch.stream,
                epoch=batch.epoch,
                batch_id=batch.batch_id,
                topic=batch.topic,
                topic_id=batch.topic_id,
                start=batch.start,
                end=batch.end,
                account=report.account,
            ),
            max_sequence_number=report.max_sequence_number,
        )

    def _job(self, work: Callable[[], object]) -> Job:
        before = self._bed.watch.usage()
        work()
        after = self._bed.watch.usage()

        def used(kind: str) -> float:
            begin = before[kind].cpu_s if kind in before else 0.0
            return after[kind].cpu_s - begin if kind in after else 0.0

        return Job(jvm=used(_JVM), workers=used(_WORKERS))


def _per_partition(records: int) -> int:
    """Return how many records of each partition a round has."""
    return max(1, records // PARTITIONS)


def _exhaust(records: DataFrame) -> None:
    records.write.format("noop").mode("overwrite").save()


def _drain(records: DataFrame) -> None:
    records.mapInArrow(drained, "done boolean").collect()


def _processor_s(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def _sums(parts: Sequence[Mapping[str, float]]) -> Seconds:
    total: Seconds = {}
    for part in parts:
        for stage, value in part.items():
            total[stage] = total.get(stage, 0.0) + value
    return total
