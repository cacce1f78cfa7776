"""Work of one task of a write: rows into level-0 files, and the report that the commit gets of it.

The task asks the table for the turn of its batch, because the driver's process that knows the table lives no longer than
one commit. Rows of streams without a sequence group are ordered by their sequence numbers. So each task has a range of
them, in the order of the tasks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from braid.lake import Clock, LimitExceeded, QueryBatch, QueryTurn, SystemClock, serialize_messages
from braid.pipelines.sink.gathered_batches import gather_batches
from braid.pipelines.table_sink.row_plan import RowPlan
from braid.pipelines.table_sink.stream_target import StreamTarget
from braid.pipelines.table_sink.write_options import WriteOptions

_SEQUENCE_NUMBERS: Final = 1 << 28
"""Sequence numbers of a task. 2**62 of them last for 2**34 tasks."""
_QUERY_ID: Final = "sql.streaming.queryId"
_BATCH_ID: Final = "streaming.sql.batchId"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRows(WriterCommitMessage):
    """The report of one task.

    Attributes:
        batch: The batch that the rows belong to.
        turn: What they were written with; None: the table has the batch already, and nothing was written.
        task: Number of the task.
        messages: The commit messages, serialized.
        accepted: Rows that are in files.
        folded: Rows merged with another one of their key.
        ignored: Rows left out by declaration.
        max_sequence_number: The largest sequence number; -1 without rows.
    """

    batch: QueryBatch
    turn: QueryTurn | None
    task: int
    messages: bytes = b""
    accepted: int = 0
    folded: int = 0
    ignored: int = 0
    max_sequence_number: int = -1


def running_query() -> tuple[str, int]:
    """Return the id of the streaming query whose task this is, and its number of the batch."""
    context = TaskContext.get()
    assert context is not None, "tasks have a context"
    query, batch = context.getLocalProperty(_QUERY_ID), context.getLocalProperty(_BATCH_ID)
    assert query is not None, "tasks of a streaming query know its id"
    assert batch is not None, "tasks of a streaming query know their batch"
    return query, int(batch)


def write_task(
    target: StreamTarget,
    options: WriteOptions,
    batch: QueryBatch,
    batches: Iterator[pa.RecordBatch],
    *,
    clock: Clock | None = None,
) -> WrittenRows:
    """Write the rows of a task; nothing is committed.

    Args:
        target: The stream, as it is registered now.
        options: The options of the write.
        batch: The batch that the rows belong to.
        batches: The rows, as `check_columns` has admitted them.
        clock: Tells when the rows came; None: the machine's clock.

    Raises:
        InvalidRequest: A row cannot be written.
        StreamFenced: Another query has the stream.
        LakeError: The table cannot be written.
    """
    context = TaskContext.get()
    task = 0 if context is None else context.partitionId()
    committer = target.table.committer()
    turn = committer.query_turn(batch)
    if turn is None:
        for _ in batches:  # Spark sends them all
            pass
        return WrittenRows(batch=batch, turn=None, task=task)
    first = committer.max_sequence_number() + 1 + task * _SEQUENCE_NUMBERS
    writer = target.table.writer(first_sequence_number=first)
    rows = RowPlan(
        target.plan,
        writer.schema,
        turn=turn,
        task=task,
        now_ms=(clock or SystemClock()).now_ms(),
        kind_column=options.row_kind_column,
    )
    ignored = 0
    try:
        for given in gather_batches(batches):
            made = rows.table_rows(given)
            ignored += made.ignored
            if made.rows.num_rows:
                writer.write(made.rows, kinds=made.kinds)
        result = writer.prepare_commit()
        _check_numbers(result.max_sequence_number, first)
    except BaseException:
        # The driver never learns of files of a task that failed: they are deleted here or never.
        writer.abort()
        raise
    return WrittenRows(
        batch=batch,
        turn=turn,
        task=task,
        messages=serialize_messages(result.messages),
        accepted=result.rows_accepted,
        folded=result.rows_folded,
        ignored=ignored + result.rows_ignored,
        max_sequence_number=-1
        if result.max_sequence_number is None
        else result.max_sequence_number,
    )


def _check_numbers(highest: int | None, first: int) -> None:
    if highest is not None and highest >= first + _SEQUENCE_NUMBERS:
        message = f"a task has more than {_SEQUENCE_NUMBERS} rows\nhint: repartition the rows"
        raise LimitExceeded(message)
