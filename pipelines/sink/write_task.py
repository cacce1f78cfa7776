"""Write task of an executor: reads Kafka records, writes level-0 files, and returns one report.

The task runs in Spark's Python workers. Each batch of records goes through the same steps:

    Kafka records ─► columns and faults ─► undeclared fields ─┬─► rows to the writer
                                                              └─► dead letters, held

A task numbers its rows from a range of its own, in the order in which it receives them. A stream without a
sequence group gives a task its records by offset, then partition, because these numbers order its rows. Rows
of sequence groups are ordered by the groups' columns, whatever numbers the rows have.

Dead letters are held until the rows are written. An attempt that finds new fields, or whose writer refuses rows, is
repeated (in the second case with a trial write), and would send the letters twice. A task that holds many letters sends
them earlier, to bound its memory; this may send a letter twice, which is allowed. If there are more letters than the
micro-batch may have, no more are sent, because the micro-batch will not be committed.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from braid.formats.dead_letter import DeadLetter
from braid.formats.fault import Fault
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.lake import Table, TableWriter, serialize_messages
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.settings import TASK_MEMORY_MB
from braid.pipelines.sink.dead_letter_sender import DeadLetterSender
from braid.pipelines.sink.dead_letters import LetterOrigin, dead_letters
from braid.pipelines.sink.gathered_batches import gather_batches
from braid.pipelines.sink.task_report import TaskReport
from braid.records.accepted_rows import (
    accepted_records,
    accepted_rows,
    faults_of_refused_rows,
    one_batch,
    write_rows,
)
from braid.records.new_fields.schema_delta import SchemaDeltaCollector
from braid.records.new_fields.undeclared_field_reader import (
    UndeclaredFieldReader,
)
from braid.records.poison_records import read_sifted
from braid.records.record_columns import TIMESTAMP
from braid.records.record_reader import ReadRecords, RecordReader
from braid.records.rows_of_records import (
    counted_once,
    first_rows,
    numbers_of_records,
    rows_per_record,
)
from braid.records.stream_plan import StreamPlan
from braid.records.trial_writes import is_refusal

_EXAMPLES_MAX = 3
# Bound of the dead letters held until the rows are written; beyond it, they are sent at once.
_HELD_BYTES_MAX = 16 * 1024 * 1024
_LETTER_BYTES = 512  # memory of a letter besides its value
# Rows tried together: many, so that two rows which are refused only together are in one trial.
_TRIED_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTask:
    """Writes one partition of a micro-batch; called by `mapInArrow`.

    Attributes:
        plan: The stream.
        table: The table that rows are written to.
        cluster: The cluster of the dead-letter topic.
        schemas: The schemas that messages name; None where the stream's format names no registry.
        first_sequence_number: First sequence number of task 0.
        sequence_numbers: Sequence numbers of each task: as many as the micro-batch has records.
        dead_letters_max: With more dead letters than this none is sent any more, because the driver will
            refuse the micro-batch.
        field_reader: Finds undeclared fields; None where the stream does not let its table evolve.
        origin: What the dead letters of the attempt have in common.
        buffer_bytes: Bytes of rows that a task holds before it writes them.
        tries_rows: Whether rows go through a trial write before they are written, so that refused rows
            become dead letters.
    """

    plan: StreamPlan
    table: Table
    cluster: KafkaCluster
    first_sequence_number: int
    sequence_numbers: int
    dead_letters_max: int
    origin: LetterOrigin
    buffer_bytes: int = (TASK_MEMORY_MB << 20) // 3
    schemas: SchemaSource | None = None
    field_reader: UndeclaredFieldReader | None = None
    tries_rows: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the records of a task and yield its report."""
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        first = self.first_sequence_number + task * self.sequence_numbers
        writer = self.table.writer(first_sequence_number=first, buffer_bytes=self.buffer_bytes)
        sender = DeadLetterSender(
            self.cluster,
            topic=self.plan.spec.dead_letter_topic,
            connector=self.plan.connector,
        )
        try:
            with sender:
                run = _TaskRun(task=self, writer=writer, sender=sender)
                for batch in gather_batches(batches):
                    run.write_batch(batch)
                report = run.finish()
        except BaseException:
            # The driver never learns of files of a task that failed: they are deleted here or never.
            writer.abort()
            raise
        yield report.to_batch()


class _TaskRun:
    """State of a running task."""

    def __init__(self, *, task: WriteTask, writer: TableWriter, sender: DeadLetterSender) -> None:
        self._task = task
        self._writer = writer
        self._sender = sender
        self._dead_letters: Counter[str] = Counter()
        self._examples: list[str] = []
        self._newest_ms: int | None = None
        self._size = 0
        self._deltas = SchemaDeltaCollector(fields_max=task.plan.spec.columns_max)
        self._reader = RecordReader(task.plan, writer.schema, schemas=task.schemas)
        self._write_error: str | None = None
        self._letters: list[DeadLetter] = []
        self._letter_bytes = 0
        # Rows that are not tried yet, and the records that they come from.
        self._untried: list[tuple[pa.RecordBatch, pa.RecordBatch]] = []
        self._left_out = 0
        # Rows of records beyond the first of each: a record counts once.
        self._further_rows = 0
        self._seen: set[str] = set()
        self._seen_fields: set[str] = set()

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write the accepted records of a batch of at least one, and hold dead letters for the refused ones."""
        self._size += batch.nbytes
        newest = pc.max(batch.column(TIMESTAMP)).cast(pa.int64()).as_py()
        if newest is not None:
            self._newest_ms = max(newest // 1_000, self._newest_ms or 0)
        sifted = read_sifted(self._reader, batch)
        if sifted.faults:
            self._refuse(sifted.poison, sifted.faults)
        found = sifted.found
        batch = found.records
        self._left_out += found.left_out
        self._note_seen(found)
        is_waiting = np.zeros(batch.num_rows, dtype=bool)
        if self._task.field_reader is not None:
            is_waiting[self._collect_undeclared(found, self._task.field_reader)] = True
        refused = first_rows(found.faults.rows, found.record_of)
        if refused:
            records = batch.take(pa.array(refused))
            self._refuse(records, [found.faults[row] for row in refused])
        is_accepted = ~(found.faults.is_faulty | is_waiting)
        if found.is_replaced is not None:
            is_accepted &= ~found.is_replaced
        self._further_rows += rows_per_record(found.record_of, is_accepted)
        # Once the attempt is incomplete its files are deleted; undeclared fields are still collected, so
        # that one change of the table is enough for all of them.
        if not is_accepted.any() or self._is_incomplete:
            return
        rows = accepted_rows(
            found, is_accepted, self._task.plan, generation=self._task.origin.generation
        )
        if not self._task.tries_rows:
            self._attempt(lambda: write_rows(self._writer, rows))
            return
        self._untried.append((rows, accepted_records(found, is_accepted)))
        if sum(held.nbytes + records.nbytes for held, records in self._untried) >= _TRIED_BYTES:
            self._write_tried()

    def finish(self) -> TaskReport:
        """Finish the files, send the dead letters and return the task's report."""
        if not self._is_incomplete:
            self._write_tried()
            self._attempt(self._writer.flush)
        if self._is_incomplete:
            # The next attempt sends the letters.
            self._writer.abort()
        else:
            self._send()
        result = self._writer.prepare_commit()
        highest = result.max_sequence_number
        first = self._task.first_sequence_number
        accepted, folded, ignored = counted_once(
            accepted=result.rows_accepted,
            folded=result.rows_folded,
            ignored=result.rows_ignored,
            further=self._further_rows,
        )
        assert highest is None or highest >= first, "sequence numbers are above all in the table"
        return TaskReport(
            messages=(serialize_messages(result.messages),),
            accepted=accepted,
            folded=folded,
            ignored=self._left_out + ignored,
            dead_letters=dict(self._dead_letters),
            examples=tuple(self._examples),
            max_sequence_number=-1 if highest is None else highest,
            newest_ms=self._newest_ms,
            schema_delta=self._deltas.delta,
            refusal=self._write_error,
            size=self._size,
            seen=tuple(sorted(self._seen)),
            seen_fields=tuple(sorted(self._seen_fields)),
        )

    @property
    def _is_incomplete(self) -> bool:
        """Whether the micro-batch has to be written again, so that files written now are deleted."""
        return bool(self._deltas.delta) or self._write_error is not None

    def _note_seen(self, found: ReadRecords) -> None:
        """Note which columns, and fields of conditions, have a value in some record."""
        self._seen_fields |= found.seen_fields
        for name, values in found.columns.items():
            if name not in self._seen and values.null_count < len(values):
                self._seen.add(name)

    def _attempt(self, write: Callable[[], None]) -> None:
        """Write; if rows are refused, report this, so that the next attempt determines which rows."""
        try:
            write()
        except Exception as error:
            # Rows that passed the trial are accepted: a refusal now is a defect that another attempt would repeat.
            if self._task.tries_rows or not is_refusal(error):
                raise
            self._write_error = f"{type(error).__name__}: {error}"

    def _write_tried(self) -> None:
        """Try the rows that are not tried yet, write those that the table accepts, and refuse the others."""
        if not self._untried:
            return
        rows = pa.Table.from_batches([held for held, _ in self._untried])
        records = pa.Table.from_batches([held for _, held in self._untried])
        self._untried = []

        record_of = numbers_of_records(records) if self._further_rows else None
        faults = faults_of_refused_rows(self._task.table, rows, record_of)
        if faults:
            self._further_rows -= rows_per_record(record_of, faults.is_faulty)
            positions = first_rows(faults.rows, record_of)
            letters = one_batch(records.take(pa.array(positions)))
            self._refuse(letters, [faults[row] for row in positions])
            rows = rows.filter(pa.array(~faults.is_faulty))
        if rows.num_rows:
            batch = one_batch(rows)
            self._attempt(lambda: write_rows(self._writer, batch))

    def _collect_undeclared(self, found: ReadRecords, reader: UndeclaredFieldReader) -> list[int]:
        """Collect what the table needs for records with undeclared fields, and for values that do not fit.

        Returns:
            The records that wait for a change of the table; they have no fault any more. Records that no
            change would help are refused.
        """
        changes = self._reader.wanted_changes(found, reader)
        # Messages of one schema share what they need.
        for delta in {id(delta): delta for delta in changes.values()}.values():
            self._deltas.add(delta)
        for row in changes:
            if row in found.faults:
                found.faults.remove(row)
        return list(changes)

    def _refuse(self, records: pa.RecordBatch, faults: Sequence[Fault]) -> None:
        """Hold dead letters for refused records until the rows are written."""
        letters = dead_letters(records, faults, origin=self._task.origin)
        self._dead_letters.update(letter.reason.value for letter in letters)
        for letter in letters[: _EXAMPLES_MAX - len(self._examples)]:
            record_id = f"partition {letter.partition}, offset {letter.offset}"
            self._examples.append(f"{record_id}: {letter.reason}: {letter.message}")
        # Above the bound the micro-batch is never committed, and its letters would be sent in vain.
        if self._dead_letters.total() > self._task.dead_letters_max:
            return
        self._letters += letters
        self._letter_bytes += sum(len(letter.value or b"") + _LETTER_BYTES for letter in letters)
        if self._letter_bytes >= _HELD_BYTES_MAX:
            self._send()

    def _send(self) -> None:
        letters, self._letters, self._letter_bytes = self._letters, [], 0
        if letters and self._dead_letters.total() <= self._task.dead_letters_max:
            self._sender.send(letters)
            self._sender.flush()
