"""Writer of one table: rows in, level-0 files and commit messages out.

1. Rows are checked; those that the table's options ignore are dropped, retracts lose their values where
   `braid.null-deletes` says so, and all rows are numbered in arrival order and buffered.
2. When the buffer is full, and before a commit, a flush routes the rows to their buckets, folds each
   bucket with the merge that reads use, and writes the result as level-0 files. Where the input is
   the changelog, the rows are also written as changelog files, unfolded.
3. `prepare_commit` hands the files over as commit messages, with the indexes of dynamic buckets
   that got new keys; in a table ordered by snapshot it first merges the flushes. `abort` deletes the
   files that were not handed over.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

import pyarrow as pa

from braid.lake.errors import adds_table_to_errors
from braid.lake.files.best_effort_delete import delete_best_effort
from braid.lake.files.clock import Clock
from braid.lake.files.data_file_path import live_file_path, with_extra_files
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.bucket import BucketId
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.schema import TableSchema
from braid.lake.merge.fold import Machine, fold
from braid.lake.merge.spec import merge_spec
from braid.lake.merge.value_checks import ValueChecks
from braid.lake.options.table_options import DYNAMIC_BUCKET, ChangelogProducer
from braid.lake.write.buckets.dynamic_buckets import DynamicBuckets, RoutingIndex
from braid.lake.write.buckets.routing import RoutedRows, route
from braid.lake.write.files.changelog_files import changelog_files, input_changelog
from braid.lake.write.files.level_file import DataFileSink, null_columns_of, write_level_files
from braid.lake.write.flush_merge import merge_flushes
from braid.lake.write.rows.stored_rows import key_value_table, stored_rows
from braid.lake.write.writable import check_writable

BUFFER_BYTES = 256 * 1024 * 1024
"""Bytes of buffered rows before a flush; a flush needs about twice as much again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """Files and counts of a writer since it was opened or last prepared a commit.

    Every row given to the writer is counted once: accepted, folded or ignored.

    Attributes:
        messages: One message per (partition, bucket) with new data, changelog or index files.
        rows_accepted: Rows written as a row of a file.
        rows_folded: Rows merged into another row of their key before they were written.
        rows_ignored: Rows that the table's options discard (`ignore-delete` and the like).
        max_sequence_number: The largest number given to a row so far; None without rows.
        bytes_written: Bytes of the new files, changelog files included.
    """

    messages: tuple[CommitMessage, ...]
    rows_accepted: int
    rows_folded: int
    rows_ignored: int
    max_sequence_number: int | None
    bytes_written: int


class TableWriter:
    """Writes rows into level-0 files of one table.

    Not thread-safe. Memory: `buffer_bytes`, and about twice as much again during a flush.
    """

    def __init__(
        self,
        file_io: FileIO,
        paths: TablePaths,
        schema: TableSchema,
        *,
        first_sequence_number: int,
        clock: Clock,
        uuid_source: Callable[[], UUID],
        buffer_bytes: int = BUFFER_BYTES,
        machine: Machine = Machine.COLUMN,
        drop_null_columns: bool = True,
        dynamic_buckets: DynamicBuckets | None = None,
    ) -> None:
        """Check that the table can be written; nothing is written yet.

        Args:
            file_io: Storage.
            paths: The table's paths.
            schema: The table's schema.
            first_sequence_number: Greater than all sequence numbers in the table; rows are numbered
                from it on.
            clock: Gives the creation time of files.
            uuid_source: Returns the part of file names that all files of this writer share.
            buffer_bytes: Bytes of buffered rows before a flush.
            machine: The execution that folds.
            drop_null_columns: Leave columns without a value out of files.
            dynamic_buckets: The buckets of the newest snapshot, for a table without a fixed bucket
                count; None: the table has no index yet.

        Raises:
            UnsupportedFeature: This writer cannot write the table (see `check_writable`).
        """
        self._prepare(schema)
        self._dynamic: DynamicBuckets | None = None
        if schema.table_options.bucket == DYNAMIC_BUCKET:
            self._dynamic = dynamic_buckets or DynamicBuckets(file_io, paths, schema, ())
        self._file_io = file_io
        self._paths = paths
        self._schema = schema
        self._spec = merge_spec(schema)
        self._value_checks = ValueChecks.of(schema)
        self._clock = clock
        self._uuid = uuid_source()
        self._buffer_bytes = buffer_bytes
        self._machine = machine
        self._drop_null_columns = drop_null_columns
        self._next_sequence_number = first_sequence_number
        self._first_sequence_number = first_sequence_number
        self._file_numbers = itertools.count()
        self._index_count = 0
        self._buffered: list[pa.Table] = []
        self._buffered_bytes = 0
        self._uncommitted: list[str] = []
        self._reset_result()

    def _prepare(self, schema: TableSchema) -> None:
        """Check that the table can be written; called first of all.

        Raises:
            UnsupportedFeature: This writer cannot write the table (see `check_writable`).
        """
        check_writable(schema)

    @property
    def identifier(self) -> str:
        """`db.table`."""
        return self._paths.identifier

    @property
    def schema(self) -> TableSchema:
        """The schema under which rows are written."""
        return self._schema

    @adds_table_to_errors
    def write(self, batch: pa.RecordBatch | pa.Table, *, kinds: pa.Array | None = None) -> None:
        """Add rows, in arrival order.

        Args:
            batch: Table columns by name, in any order; missing ones become null.
            kinds: int8 row kinds (0 +I, 1 -U, 2 +U, 3 -D), one per row; None means all +I. Must be
                None in a table with `rowkind.field`, whose column has them.

        Raises:
            SchemaMismatch: Rows or kinds that do not fit the table, among them a retract under
                first-row without `ignore-delete` and values that an aggregate function cannot read;
                no row of the batch was accepted. Or a flush raised it (see `flush`).
            StorageUnavailable: A flush failed; `abort` and write everything again.
        """
        stored = stored_rows(batch, kinds, self._schema, self._value_checks)
        self._rows_ignored += stored.ignored
        rows = stored.rows
        # Buffered in slices, so that a batch larger than the buffer does not exceed its bound.
        per_slice = self._rows_per_slice(rows)
        for start in range(0, rows.num_rows, per_slice):
            part = rows.slice(start, per_slice)
            self._buffer(part, stored.kinds.slice(start, per_slice))
            if self._buffered_bytes >= self._buffer_bytes:
                self.flush()

    @adds_table_to_errors
    def flush(self) -> None:
        """Write all buffered rows to level-0 files.

        Raises:
            SchemaMismatch: Rows that the table's merge refuses (a retract it does not allow). Some buffered
                rows are lost: `abort` and write everything again without the refused ones.
            StorageUnavailable: Storage refused; `abort` and write everything again.
        """
        if not self._buffered:
            return
        table = pa.concat_tables(self._buffered).combine_chunks()
        # The buffer is emptied first: a flush that fails is aborted, and its rows are not written
        # twice.
        self._buffered = []
        self._buffered_bytes = 0
        for group in route(table, self._schema, self._dynamic):
            if self._dynamic is not None:
                # Even if folding leaves none of its rows, the bucket needs a message: its index has
                # got their keys.
                self._new_files.setdefault((group.partition, group.bucket), [])
            self._write_bucket(group)

    @adds_table_to_errors
    def prepare_commit(self) -> WriteResult:
        """Flush, and hand over the files written since the last call.

        From here on the files belong to the caller, and `abort` does not delete them. With dynamic
        buckets, rows that are written afterwards are valid only if these messages are committed first.

        Raises:
            SchemaMismatch: As for `flush`.
            StorageUnavailable: Storage refused; `abort` and write everything again.
        """
        self.flush()
        assert not self._buffered, "a flush leaves no rows"
        self._merge_flushes()
        has_numbers = self._next_sequence_number > self._first_sequence_number
        result = WriteResult(
            messages=tuple(self._messages()),
            rows_accepted=self._rows_accepted,
            rows_folded=self._rows_folded,
            rows_ignored=self._rows_ignored,
            max_sequence_number=self._next_sequence_number - 1 if has_numbers else None,
            bytes_written=sum(
                file.file_size
                for by_bucket in (self._new_files, self._new_changelog)
                for files in by_bucket.values()
                for file in files
            ),
        )
        self._uncommitted = []
        self._reset_result()
        return result

    def _messages(self) -> Iterator[CommitMessage]:
        """Yield the message of each bucket, with the index that it was routed by."""
        partitions = dict.fromkeys(partition for partition, _ in self._new_files)
        indexes = {} if self._dynamic is None else self._write_indexes(self._dynamic, partitions)
        for (partition, bucket), files in self._new_files.items():
            index = indexes.get(partition)
            new_index = None if index is None else index.new.get(bucket)
            yield CommitMessage(
                partition=partition,
                bucket=bucket,
                total_buckets=self._schema.table_options.bucket,
                schema_id=self._schema.id,
                new_files=tuple(files),
                changelog_files=tuple(self._new_changelog.get((partition, bucket), ())),
                new_index_files=() if new_index is None else (new_index,),
                index_base=None if index is None else index.base,
            )

    def _write_indexes(
        self, dynamic: DynamicBuckets, partitions: Iterable[bytes]
    ) -> dict[bytes, RoutingIndex]:
        return {
            partition: dynamic.write_indexes(
                partition, new_name=self._new_index_name, on_new_file=self._uncommitted.append
            )
            for partition in partitions
        }

    def abort(self) -> None:
        """Delete the files that no `prepare_commit` has handed over, and drop the buffer.

        Orphan cleaning finds files that cannot be deleted.
        """
        delete_best_effort(self._file_io, self._uncommitted)
        self._uncommitted = []
        self._buffered = []
        self._buffered_bytes = 0
        self._reset_result()

    def _reset_result(self) -> None:
        self._new_files: dict[BucketId, list[DataFileMeta]] = {}
        self._new_changelog: dict[BucketId, list[DataFileMeta]] = {}
        self._rows_accepted = 0
        self._rows_folded = 0
        self._rows_ignored = 0

    def _rows_per_slice(self, rows: pa.Table) -> int:
        row_bytes: int = max(1, int(rows.nbytes) // max(1, rows.num_rows))
        return max(1, self._buffer_bytes // row_bytes)

    def _buffer(self, rows: pa.Table, kinds: pa.Array) -> None:
        table = key_value_table(rows, kinds, self._next_sequence_number)
        self._next_sequence_number += rows.num_rows
        self._buffered.append(table)
        self._buffered_bytes += table.nbytes

    def _write_bucket(self, group: RoutedRows) -> None:
        if self._schema.table_options.changelog_producer is ChangelogProducer.INPUT:
            self._write_input(group)
        folded = fold(group.rows, self._spec, machine=self._machine, codes=group.codes)
        assert folded.num_rows <= group.rows.num_rows, "folding makes no rows"
        self._rows_accepted += folded.num_rows
        self._rows_folded += group.rows.num_rows - folded.num_rows
        if not folded.num_rows:
            return
        sink = self._sink(group.partition, group.bucket)
        files = write_level_files(sink, folded, level=0, file_source=FileSource.APPEND)
        self._new_files.setdefault((group.partition, group.bucket), []).extend(files)

    def _write_input(self, group: RoutedRows) -> None:
        rows = input_changelog(group.rows, self._spec, group.codes)
        with changelog_files(
            self._sink(group.partition, group.bucket),
            level=0,
            new_file_name=self._new_changelog_name,
            empty_columns=null_columns_of(rows, self._schema),
        ) as files:
            files.add(rows)
            bucket_id = group.partition, group.bucket
            # A changelog alone needs a message, too: folding may leave no row.
            self._new_files.setdefault(bucket_id, [])
            self._new_changelog.setdefault(bucket_id, []).extend(files.finish())

    def _sink(self, partition: bytes, bucket: int) -> DataFileSink:
        return DataFileSink(
            file_io=self._file_io,
            paths=self._paths,
            schema=self._schema,
            partition=partition,
            bucket=bucket,
            new_file_name=self._new_file_name,
            clock=self._clock,
            drop_null_columns=self._drop_null_columns,
            on_new_file=self._uncommitted.append,
        )

    def _merge_flushes(self) -> None:
        """Merge the flushes of each bucket, where each key has to be once in the snapshot (`flush_merge`)."""
        if not self._schema.table_options.sequence_snapshot_ordering:
            return
        for (partition, bucket), files in self._new_files.items():
            sink = self._sink(partition, bucket)
            merged = merge_flushes(sink, files, self._spec, machine=self._machine)
            self._rows_accepted -= merged.rows_folded
            self._rows_folded += merged.rows_folded
            files[:] = merged.files
            for file in merged.replaced:
                data = live_file_path(self._paths, self._schema, partition, bucket, file)
                for path in with_extra_files(data, file):
                    self._file_io.delete(path)

    def _new_file_name(self) -> str:
        return self._new_name(self._schema.table_options.data_file_prefix)

    def _new_changelog_name(self) -> str:
        return self._new_name(self._schema.table_options.changelog_file_prefix)

    def _new_name(self, prefix: str) -> str:
        # One step, because the buckets of a bulk writer name their files at the same time.
        return f"{prefix}{self._uuid}-{next(self._file_numbers)}"

    def _new_index_name(self) -> str:
        name = TablePaths.new_index_name(str(self._uuid), self._index_count)
        self._index_count += 1
        return name
