"""Writers, and whole batches that are written and committed."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from lake.commit.commit_result import CommitResult
from lake.files.best_effort_delete import delete_best_effort
from lake.files.data_file_path import live_file_path, with_extra_files
from lake.files.storage.memory import MemoryFileIO
from lake.format.commit_message import CommitMessage
from lake.format.snapshot import BATCH_COMMIT_IDENTIFIER
from lake.merge.fold import Machine
from lake.table.arguments import check_machine, check_rows, check_text, check_writer
from lake.table.batch_write import BatchWrite
from lake.table.opened_table import OpenedTable
from lake.table.rescale import WAIT_MS, TableRescaling
from lake.write.table_writer import BUFFER_BYTES, TableWriter


@dataclass(frozen=True, slots=True)
class TableWriting:
    """What writes rows into a table.

    Attributes:
        table: Into which it writes.
    """

    table: OpenedTable

    def writer(
        self,
        *,
        first_sequence_number: int | None = None,
        buffer_bytes: int = BUFFER_BYTES,
        machine: Machine = Machine.COLUMN,
        drop_null_columns: bool = True,
    ) -> TableWriter:
        """Return a writer (see `Table.writer`)."""
        check_machine(machine)
        check_writer(first_sequence_number, buffer_bytes, drop_null_columns)
        # Before the sequence number: keys that come after this make the commit a conflict.
        dynamic_buckets = self.table.dynamic_buckets()
        if first_sequence_number is None:
            first_sequence_number = self.table.committer().max_sequence_number() + 1
        store = self.table.store
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

    def try_rows(self, rows: pa.Table | pa.RecordBatch, *, kinds: pa.Array | None) -> None:
        """Raise what a writer would raise of rows (see `Table.try_rows`)."""
        check_rows(rows, kinds)
        store = self.table.store
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
        self,
        rows: pa.Table | pa.RecordBatch,
        *,
        kinds: pa.Array | None,
        commit_user: str | None,
        machine: Machine,
    ) -> CommitResult:
        """Write rows and commit them (see `Table.write_and_commit`)."""
        check_text(commit_user=commit_user)
        check_rows(rows, kinds)
        user = commit_user or str(self.table.store.new_uuid())
        write = BatchWrite(
            new_writer=lambda: self.writer(machine=machine),
            commit=lambda result: self.table.committer().commit(
                result.messages,
                commit_user=user,
                commit_identifier=BATCH_COMMIT_IDENTIFIER,
                next_sequence_number=_next(result.max_sequence_number),
            ),
            delete=self.delete_uncommitted,
            has_newer_schema=self.table.has_newer_schema,
            follow_schema=partial(TableRescaling(self.table).follow_schema, wait_ms=WAIT_MS),
        )
        return write.run(rows, kinds)

    def delete_uncommitted(self, messages: Iterable[CommitMessage]) -> None:
        """Delete the new files of messages (see `Table.delete_uncommitted`)."""
        store = self.table.store
        for message in messages:
            place = message.partition, message.bucket
            files = (*message.new_files, *message.changelog_files)
            paths = [
                path
                for file in files
                for path in with_extra_files(
                    live_file_path(store.paths, store.schema, *place, file), file
                )
            ]
            paths += [store.paths.index(index.file_name) for index in message.new_index_files]
            delete_best_effort(store.file_io, paths)


def _next(max_sequence_number: int | None) -> int | None:
    return None if max_sequence_number is None else max_sequence_number + 1
