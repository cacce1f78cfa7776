"""Writers that Spark calls. Each call is in a process of its own: the task's, or one for the commit beside the driver.

A writer therefore has nothing but the options and the columns. Everything else is read where it is needed, from the
registry and the table, and from what the tasks report.
"""

import uuid
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from braid.lake import ONE_WRITES
from braid.pipelines.table_sink.commit import commit_rows, messages_of
from braid.pipelines.table_sink.stream_target import StreamTarget, check_columns, open_target
from braid.pipelines.table_sink.write_options import WriteOptions
from braid.pipelines.table_sink.write_task import WrittenRows, running_query, write_task


class BatchWriter(DataSourceArrowWriter):
    """Writes a DataFrame as one commit.

    Args:
        options: The options.
        rows: The columns of the DataFrame.

    Raises:
        LakeError: The stream cannot be written, or the columns are not the stream's.
    """

    def __init__(self, options: WriteOptions, rows: StructType) -> None:
        self._options = options
        self._rows = rows
        # Tasks that are repeated, and the commit, have the same name.
        self._write = options.write_id or str(uuid.uuid4())
        _open(options, rows)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task (see `write_task`)."""
        target = _open(self._options, self._rows)
        batch = target.batch(self._options, query=ONE_WRITES, batch_id=None, write=self._write)
        return write_task(target, self._options, batch, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit the rows of all tasks (see `commit_rows`)."""
        commit_rows(open_target(self._options), _parts(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete the files of the tasks that have ended."""
        _delete(self._options, messages)


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a streaming query, each as one commit.

    Args:
        options: The options.
        rows: The columns of the batches.

    Raises:
        LakeError: The stream cannot be written, or the columns are not the stream's.
    """

    def __init__(self, options: WriteOptions, rows: StructType) -> None:
        self._options = options
        self._rows = rows

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task (see `write_task`)."""
        target = _open(self._options, self._rows)
        query, batch_id = running_query()
        batch = target.batch(self._options, query=query, batch_id=batch_id, write=None)
        return write_task(target, self._options, batch, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Commit the rows of all tasks (see `commit_rows`)."""
        parts = _parts(messages)
        assert all(part.batch.batch_id == batchId for part in parts), "the tasks are of the batch"
        commit_rows(open_target(self._options), parts)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Delete the files of the tasks that have ended."""
        del batchId
        _delete(self._options, messages)


def _open(options: WriteOptions, rows: StructType) -> StreamTarget:
    target = open_target(options)
    check_columns(target, rows, options)
    return target


def _parts(messages: Sequence[WriterCommitMessage | None]) -> list[WrittenRows]:
    parts = [message for message in messages if isinstance(message, WrittenRows)]
    assert len(parts) == len(messages), "all tasks have ended, else the write is aborted"
    assert parts, "a write has a task"
    return parts


def _delete(options: WriteOptions, messages: Sequence[WriterCommitMessage | None]) -> None:
    parts = [message for message in messages if isinstance(message, WrittenRows)]
    if parts:
        open_target(options).table.delete_uncommitted(messages_of(parts))
