"""Write task of an executor: parsed records in, level-0 files and one report out.

Runs in Spark's Python workers. Each batch of records goes through the same steps:

    parsed in the JVM ─► undeclared fields ─► exact texts ─► key lengths ─► readable values ─┬─► rows to the writer
                                                                                             └─► dead letters, held

A task numbers its rows from a range of its own, in the order in which it receives them. A stream without a
sequence group gives a task its records by offset, then partition, because these numbers order its rows. Rows
of sequence groups are ordered by the groups' columns, whatever numbers the rows have.

Dead letters are held until the rows are written: an attempt that finds new fields, or whose writer refuses
rows, is made again (then with a trial write of the rows) and would send them twice. A task that holds many
letters sends them earlier, to bound its memory; a letter may be sent twice, because sending is at least once.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from braid.formats.dead_letter import DeadLetter, DeadLetterReason
from braid.formats.json_message import read_message
from braid.lake import Table, TableWriter, serialize_messages
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.new_fields.schema_delta import SchemaDeltaCollector
from braid.pipelines.new_fields.undeclared_field_reader import (
    UndeclaredFieldReader,
    UnrepresentableFieldError,
)
from braid.pipelines.record_columns import (
    RAW_VALUE,
    REASON,
    TIMESTAMP,
    UNDECLARED,
    UNPARSABLE,
    value_column,
)
from braid.pipelines.sink.dead_letter_sender import DeadLetterSender
from braid.pipelines.sink.dead_letter_text import LETTER_COLUMNS, dead_letter, utf8_text
from braid.pipelines.sink.exact_text import with_exact_texts
from braid.pipelines.sink.long_keys import refuse_long_keys
from braid.pipelines.sink.row_refusal import refuse_rows
from braid.pipelines.sink.table_columns import table_columns
from braid.pipelines.sink.task_report import TaskReport
from braid.pipelines.sink.trial_writes import find_refused_rows, is_refusal
from braid.pipelines.sink.unreadable_values import UnreadableValues
from braid.pipelines.stream_plan import StreamPlan

_EXAMPLES_MAX = 3
# Bound of the dead letters held until the rows are written; beyond it, they are sent at once.
_HELD_BYTES_MAX = 16 * 1024 * 1024
_LETTER_BYTES = 512  # memory of a letter besides its value
# Rows tried together: many, so that two rows which are refused only together are in one trial.
_TRIED_BYTES = 128 * 1024 * 1024
# Reasons that a wider type of the column may remove.
_WIDENABLE = pa.array(
    [UNPARSABLE, DeadLetterReason.OUT_OF_RANGE.value, DeadLetterReason.WRONG_TYPE.value]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTask:
    """Writes one partition of a micro-batch; called by `mapInArrow`.

    Attributes:
        plan: The stream.
        table: The table that rows are written to.
        cluster: The cluster of the dead-letter topic.
        first_sequence_number: First sequence number of task 0.
        sequence_numbers: Sequence numbers of each task: as many as the micro-batch has records.
        dead_letters_max: With more dead letters than this none is sent any more, because the driver will
            refuse the micro-batch.
        field_reader: Finds undeclared fields; None where the stream does not let its table evolve.
        generation: Generation of the order of the stream's group since the claim.
        tries_rows: Whether rows go through a trial write before they are written, so that refused rows
            become dead letters. Requires that every record has its raw parts.
    """

    plan: StreamPlan
    table: Table
    cluster: KafkaCluster
    first_sequence_number: int
    sequence_numbers: int
    dead_letters_max: int
    field_reader: UndeclaredFieldReader | None = None
    generation: int = 0
    tries_rows: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the records of a task and yield its report."""
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        first = self.first_sequence_number + task * self.sequence_numbers
        writer = self.table.writer(first_sequence_number=first)
        sender = DeadLetterSender(
            self.cluster,
            topic=self.plan.spec.dead_letter_topic,
            connector=self.plan.connector,
        )
        try:
            with sender:
                run = _TaskRun(task=self, writer=writer, sender=sender)
                for batch in batches:
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
        self._deltas = SchemaDeltaCollector(fields_max=task.plan.spec.columns_max)
        self._unreadable = UnreadableValues(task.plan, writer.schema)
        self._write_error: str | None = None
        self._letters: list[DeadLetter] = []
        self._letter_bytes = 0
        self._untried: list[pa.RecordBatch] = []
        self._seen: set[str] = set()

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write the accepted records of a batch, and hold dead letters for the refused ones."""
        if batch.num_rows == 0:
            return
        newest = pc.max(batch.column(TIMESTAMP)).cast(pa.int64()).as_py()
        if newest is not None:
            self._newest_ms = max(newest // 1_000, self._newest_ms or 0)
        self._note_seen(batch)
        if self._task.field_reader is not None:
            batch = self._collect_undeclared(batch, self._task.field_reader)
        rows = batch.num_rows
        # Texts before keys: an exact text may be longer than the one that Spark has measured.
        batch = with_exact_texts(batch, self._task.plan)
        batch = refuse_long_keys(batch, self._task.plan)
        batch = self._unreadable.refuse(batch)
        assert batch.num_rows == rows, (
            "a refused record stays in the batch until it is a dead letter"
        )
        reason = batch.column(REASON)
        if reason.null_count < batch.num_rows:
            self._refuse(batch.filter(reason.is_valid()))
            batch = batch.filter(reason.is_null())
        # Once the attempt is incomplete its files are deleted; undeclared fields are still collected, so
        # that one change of the table is enough for all of them.
        if not batch.num_rows or self._is_incomplete:
            return
        if self._task.tries_rows:
            self._untried.append(batch)
            if sum(held.nbytes for held in self._untried) >= _TRIED_BYTES:
                self._write_tried()
        else:
            self._write(batch)

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
        assert highest is None or highest >= first, "sequence numbers are above all in the table"
        return TaskReport(
            messages=(serialize_messages(result.messages),),
            accepted=result.rows_accepted,
            folded=result.rows_folded,
            ignored=result.rows_ignored,
            dead_letters=dict(self._dead_letters),
            examples=tuple(self._examples),
            max_sequence_number=-1 if highest is None else highest,
            newest_ms=self._newest_ms,
            schema_delta=self._deltas.delta,
            refusal=self._write_error,
            seen=tuple(sorted(self._seen)),
        )

    @property
    def _is_incomplete(self) -> bool:
        """Whether the micro-batch has to be written again, so that files written now are deleted."""
        return bool(self._deltas.delta) or self._write_error is not None

    def _note_seen(self, batch: pa.RecordBatch) -> None:
        """Note which columns have a value in some record."""
        for index, column in enumerate(self._task.plan.columns):
            if column.name not in self._seen:
                values = batch.column(value_column(index))
                if values.null_count < len(values):
                    self._seen.add(column.name)

    def _write(self, batch: pa.RecordBatch) -> None:
        self._attempt(lambda: self._writer.write(self._rows(batch)))

    def _rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return table_columns(batch, self._task.plan, generation=self._task.generation)

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
        """Try the records that are not tried yet, write those that the table accepts, and refuse the others."""
        if not self._untried:
            return
        rows = pa.Table.from_batches(self._untried)
        self._untried = []

        def attempt(some: pa.Table) -> None:
            self._task.table.try_rows(self._rows(_one_batch(some)))

        found = find_refused_rows(rows, attempt)
        assert all(0 <= row < rows.num_rows for row in found), "refused rows are positions"
        batch = _one_batch(rows)
        if found:
            reason = DeadLetterReason.REFUSED_ROW.value
            batch = refuse_rows(
                batch, {row: (reason, utf8_text(why)) for row, why in found.items()}
            )
            self._refuse(batch.filter(batch.column(REASON).is_valid()))
            batch = batch.filter(batch.column(REASON).is_null())
        if batch.num_rows:
            self._write(batch)

    def _collect_undeclared(
        self, batch: pa.RecordBatch, reader: UndeclaredFieldReader
    ) -> pa.RecordBatch:
        """Collect the fields of a batch that are not declared.

        Returns:
            The batch without the records that need a change of the table; records that no change would
            help are refused.
        """
        reason = batch.column(REASON)
        may_widen = pc.is_in(reason, value_set=_WIDENABLE)
        is_marked = pc.and_(reason.is_null(), batch.column(UNDECLARED))
        rows = np.flatnonzero(pc.or_(may_widen, is_marked).to_numpy(zero_copy_only=False))
        if not len(rows):
            return batch
        waiting: list[int] = []
        refusals: dict[int, tuple[str, str]] = {}
        values = batch.column(RAW_VALUE).take(pa.array(rows)).to_pylist()
        for row, value in zip(rows.tolist(), values, strict=True):
            try:
                delta = reader.read(read_message(value))
            except UnrepresentableFieldError as error:
                refusals[row] = (DeadLetterReason.NEW_FIELD.value, utf8_text(str(error)))
            except (ValueError, RecursionError):
                continue  # not JSON: it stays refused for that reason
            else:
                if delta:
                    self._deltas.add(delta)
                    waiting.append(row)
        return _without(refuse_rows(batch, refusals), waiting)

    def _refuse(self, records: pa.RecordBatch) -> None:
        """Hold dead letters for refused records until the rows are written."""
        letters = [
            dead_letter(record, self._task.plan)
            for record in records.select(LETTER_COLUMNS).to_pylist()
        ]
        assert len(letters) == records.num_rows, "each refused record is one dead letter"
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


def _one_batch(rows: pa.Table) -> pa.RecordBatch:
    # A table without rows has no batch.
    (batch,) = rows.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], rows.schema)]
    return batch


def _without(batch: pa.RecordBatch, rows: Sequence[int]) -> pa.RecordBatch:
    kept = np.ones(batch.num_rows, dtype=bool)
    kept[rows] = False
    return batch.filter(pa.array(kept))
