"""Writes to an opened table: writers, tests for refused rows, batches committed at once, deletion of uncommitted files."""

from collections.abc import Iterable
from functools import partial

import pyarrow as pa

from braid.lake.commit.commit_result import CommitResult
from braid.lake.files.best_effort_delete import delete_best_effort
from braid.lake.files.data_file_path import live_file_path, with_extra_files
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.snapshot import BATCH_COMMIT_IDENTIFIER
from braid.lake.merge.fold import Machine
from braid.lake.table.arguments import check_machine, check_rows, check_text, check_writer
from braid.lake.table.opened_table import OpenedTable
from braid.lake.table.operations.batch_write import BatchWrite
from braid.lake.table.operations.rescale import WAIT_MS, follow_schema
from braid.lake.write.bulk_writer import BulkWriter
from braid.lake.write.table_writer import BUFFER_BYTES, TableWriter


def new_writer(
    table: OpenedTable,
    *,
    first_sequence_number: int | None = None,
    buffer_bytes: int = BUFFER_BYTES,
    machine: Machine = Machine.COLUMN,
    drop_null_columns: bool = True,
) -> TableWriter:
    """Return a writer (see `Table.writer`)."""
    check_machine(machine)
    check_writer(first_sequence_number, buffer_bytes, drop_null_columns)
    # Read before the sequence number: keys that are added after this make the commit a conflict.
    dynamic_buckets = table.dynamic_buckets()
    if first_sequence_number is None:
        first_sequence_number = table.committer().max_sequence_number() + 1
    store = table.store
    return TableWriter(
        store.file_io,
        store.paths,
        store.schema,
        first_sequence_number=first_sequence_number,
        clock=store.clock,
        uuid_source=store.new_uuid,
        buffer_bytes=buffer_bytes,
        machine=machine,
        drop_null_columns=drop_null_columns,
        dynamic_buckets=dynamic_buckets,
    )


def new_bulk_writer(table: OpenedTable, *, buffer_bytes: int, machine: Machine) -> BulkWriter:
    """Return a bulk writer (see `Table.bulk_writer`)."""
    check_machine(machine)
    check_writer(None, buffer_bytes, True)
    store = table.store
    return BulkWriter(
        store.file_io,
        store.paths,
        store.schema,
        first_sequence_number=table.committer().max_sequence_number() + 1,
        clock=store.clock,
        uuid_source=store.new_uuid,
        buffer_bytes=buffer_bytes,
        machine=machine,
    )


def try_rows(
    table: OpenedTable, rows: pa.Table | pa.RecordBatch, *, kinds: pa.Array | None
) -> None:
    """Raise what a writer would raise for rows (see `Table.try_rows`)."""
    check_rows(rows, kinds)
    # Sequence numbers and buckets of other writers do not matter for files that are discarded.
    store = table.store
    writer = TableWriter(
        MemoryFileIO(),
        store.paths,
        store.schema,
        first_sequence_number=0,
        clock=store.clock,
        uuid_source=store.new_uuid,
    )
    writer.write(rows, kinds=kinds)
    writer.prepare_commit()


def write_and_commit(
    table: OpenedTable,
    rows: pa.Table | pa.RecordBatch,
    *,
    kinds: pa.Array | None,
    commit_user: str | None,
    machine: Machine,
) -> CommitResult:
    """Write rows and commit them (see `Table.write_and_commit`)."""
    check_text(commit_user=commit_user)
    check_rows(rows, kinds)
    user = commit_user or str(table.store.new_uuid())
    # One user for all attempts: they are of one batch.
    write = BatchWrite(
        new_writer=partial(new_writer, table, machine=machine),
        commit=lambda result: table.committer().commit(
            result.messages,
            commit_user=user,
            commit_identifier=BATCH_COMMIT_IDENTIFIER,
            next_sequence_number=_next(result.max_sequence_number),
        ),
        delete=partial(delete_uncommitted, table),
        has_newer_schema=table.has_newer_schema,
        follow_schema=partial(follow_schema, table, wait_ms=WAIT_MS),
    )
    return write.run(rows, kinds)


def delete_uncommitted(table: OpenedTable, messages: Iterable[CommitMessage]) -> None:
    """Delete the new files of messages (see `Table.delete_uncommitted`)."""
    store = table.store
    for message in messages:
        paths = [
            path
            for file in (*message.new_files, *message.changelog_files)
            for path in with_extra_files(
                live_file_path(store.paths, store.schema, message.partition, message.bucket, file),
                file,
            )
        ]
        paths += [store.paths.index(index.file_name) for index in message.new_index_files]
        delete_best_effort(store.file_io, paths)


def _next(max_sequence_number: int | None) -> int | None:
    return None if max_sequence_number is None else max_sequence_number + 1
