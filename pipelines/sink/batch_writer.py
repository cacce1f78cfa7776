"""Writer of one attempt at a micro-batch: Spark's tasks route, parse and write the records; their reports are summed.

The tasks are planned anew for each attempt. So a changed declaration takes effect with the next attempt, and
the number of tasks follows the size of the micro-batch.
"""

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from braid.formats.schema_registry.schema_source import SchemaSource
from braid.lake import LetterAttempt, StreamBatch, StreamPosition, Table
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.source import record_columns
from braid.pipelines.plan_changes.current_plan import CurrentPlan
from braid.pipelines.sink.bucket_routing import route_to_tasks
from braid.pipelines.sink.dead_letters import LetterOrigin
from braid.pipelines.sink.micro_batch import has_several_partitions, records_max
from braid.pipelines.sink.record_chunks import unpack_chunks, unpack_in_order
from braid.pipelines.sink.task_plan import plan_tasks
from braid.pipelines.sink.task_report import REPORT_SCHEMA, TaskReport, parse_report, sum_reports
from braid.pipelines.sink.write_task import WriteTask
from braid.records.new_fields.undeclared_field_reader import UndeclaredFieldReader
from braid.records.record_columns import OFFSET, PARTITION
from braid.schemas import may_yield_rows

_Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class BatchWriter:
    """Writes micro-batches of one claim by the plan in effect; commits nothing."""

    def __init__(
        self,
        *,
        plan: CurrentPlan,
        table: Table,
        cluster: KafkaCluster,
        schemas: SchemaSource | None,
        claimed: StreamPosition,
        cores: int,
        task_memory_mb: int,
    ) -> None:
        """Prepare to write.

        Args:
            plan: The stream's plan; it may be exchanged between two attempts.
            table: The table, in an object of the query's own.
            cluster: The cluster of the dead-letter topic.
            schemas: The schemas that messages name; None where the stream's format names no registry.
            claimed: The stream's position as claimed.
            cores: Tasks of one micro-batch that run at once.
            task_memory_mb: Memory of the rows that one task holds, megabytes.
        """
        self._plan = plan
        self._table = table
        self._cluster = cluster
        self._schemas = schemas
        self._claimed = claimed
        self._cores = cores
        # A flush needs twice the buffer besides the buffer itself (`TableWriter`).
        self._buffer_bytes = (task_memory_mb << 20) // 3

    def write(
        self,
        records: DataFrame,
        batch: StreamBatch,
        *,
        first_sequence_number: int,
        dead_letters_max: int,
        is_in_kafka_order: bool,
        tries_rows: bool,
        field_reader: UndeclaredFieldReader | None,
    ) -> TaskReport:
        """Write level-0 files, send the dead letters, and return the sum of the tasks' reports.

        Args:
            records: Records of Spark's Kafka source.
            batch: The same micro-batch as ranges of offsets.
            first_sequence_number: Greater than all sequence numbers in the table.
            dead_letters_max: With more dead letters than this the micro-batch is not committed.
            is_in_kafka_order: Whether the records of a partition come in the order of their offsets.
            tries_rows: Whether rows go through a trial write, which finds refused ones, before they
                are written (`records.trial_writes`).
            field_reader: Finds undeclared fields; None where Python does not search for them.

        Raises:
            Exception: Spark's exception for an error of a task.
        """
        plan, schema = self._plan.plan, self._table.schema
        assert schema.id == plan.schema_id, (
            "rows are written under the schema that they are parsed for"
        )
        size = records_max(batch)
        task = WriteTask(
            plan=plan,
            table=self._table,
            cluster=self._cluster,
            schemas=self._schemas,
            buffer_bytes=self._buffer_bytes,
            first_sequence_number=first_sequence_number,
            # Each task numbers its rows in a range of its own, and any of them may get all records.
            sequence_numbers=size,
            dead_letters_max=dead_letters_max,
            tries_rows=tries_rows,
            field_reader=field_reader,
            origin=LetterOrigin(
                topic=batch.topic,
                topic_id=batch.topic_id,
                generation=self._claimed.generation,
                attempt=LetterAttempt(
                    epoch=batch.epoch, batch_id=batch.batch_id, attempt=batch.attempt
                ),
            ),
        )
        buckets = schema.table_options.bucket
        tasks = plan_tasks(records=size, buckets=buckets, cores=self._cores)
        if may_yield_rows(plan.spec.format):
            # Such a record has rows in several buckets, and may need more sequence numbers than it has records.
            tasks = 1
        raw = record_columns(records)
        # Whole rows are ordered by their sequence numbers, which are assigned in the order of the records.
        # Rows of sequence groups are ordered by their columns, whatever their numbers.
        is_ordered = plan.written.group is None
        write: _Task = task
        if tasks == 1:
            # Nothing is shuffled: the task reads one Kafka partition after the other.
            routed = raw.coalesce(1)
            is_one_sequence = is_in_kafka_order and not has_several_partitions(batch)
            if is_ordered and not is_one_sequence:
                routed = routed.sortWithinPartitions(OFFSET, PARTITION)
        else:
            routed = route_to_tasks(
                raw, plan=plan, schema=schema, schemas=self._schemas, tasks=tasks
            )
            write = _after(unpack_in_order if is_ordered else unpack_chunks, task)
        rows = routed.mapInArrow(_function(write), REPORT_SCHEMA)
        return sum_reports([parse_report(row.messages, row.report) for row in rows.collect()])


def _after(step: _Task, task: _Task) -> _Task:
    return lambda batches: task(step(batches))


def _function(task: _Task) -> _Task:
    """Return the task as a plain function, because Spark accepts nothing else."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return task(batches)

    return write
