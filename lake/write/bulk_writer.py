"""Bulk writer: rows in, one sorted run per bucket on the highest level out.

It fills an empty table with one commit; the caller checks that the table is empty. Tables with dynamic buckets, a
changelog or `rowkind.field` are refused. With `TableWriter`, rows in any order would become many files of level 0,
and a compaction would write all of them once more, in further commits. This writer sorts the rows before the commit:

1. When the buffer is full, and before a commit, each bucket's rows are folded, which sorts them, and written as a run
   into a file on the local disk, uncompressed. Meanwhile the caller goes on.
2. `prepare_commit` merges the runs of each bucket in bounded memory into files of the highest level.

Several buckets are worked on at the same time, in threads: Arrow and numpy hold Python's lock only for a small part
of the time. The runs of a bucket stay in the order in which its rows came.

Retracts are merged with the other rows of the writer. The table has no older row that a retract could remove, so
retracts are left out of the files, as in a compaction to the highest level. With `braid.delete-retention` they stay,
and a later compaction removes the old ones.

Memory: that of `TableWriter`, the rows of one more buffer, and batches of the runs that are merged. Buckets that are
merged at the same time share the bound for the batches of one bucket. Disk: the rows, uncompressed.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

import pyarrow as pa

from braid.lake.errors import Problem, UnsupportedFeature
from braid.lake.files.storage.scratch import ScratchDirectory
from braid.lake.format.bucket import BucketId
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.schema import TableSchema
from braid.lake.lsm.merge_runs import bytes_per_run, merge_runs, rows_per_run
from braid.lake.lsm.round_merge import PlainMerge
from braid.lake.merge.fold import FoldCounters, drop_retracts, fold
from braid.lake.options.table_options import DYNAMIC_BUCKET, ChangelogProducer
from braid.lake.write.buckets.routing import RoutedRows
from braid.lake.write.files.level_file import null_columns_of
from braid.lake.write.files.rolling_files import RollingFiles
from braid.lake.write.table_writer import TableWriter

_SUFFIX: Final = ".run"
_THREADS_MAX: Final = 4
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """The rows of a bucket in a buffer, sorted.

    Attributes:
        bucket_id: The bucket.
        path: Its file; None: folding left no row.
        folded: Number of rows that were merged into others.
        empty: The columns without a value.
    """

    bucket_id: BucketId
    path: str | None
    folded: int
    empty: frozenset[str] = frozenset()


class _AbortedError(Exception):
    """The writer was aborted while a bucket was merged."""


class BulkWriter(TableWriter):
    """Writes rows into sorted runs of the highest level. Not thread-safe.

    Made as a `TableWriter`, of a table with a fixed bucket count. What writing a run raises is raised by a later call,
    `prepare_commit` at the latest.
    """

    def _prepare(self, schema: TableSchema) -> None:
        """Check that the table can be filled so, and make a folder for runs.

        Raises:
            UnsupportedFeature: The table cannot be written, or needs what only files of level 0 give it.
            StorageUnavailable: The local disk has no room for runs.
        """
        _check_bulk(schema)
        super()._prepare(schema)
        self._scratch = ScratchDirectory(name="braid-bulk")
        self._threads = min(_THREADS_MAX, os.cpu_count() or 1)
        self._pool: ThreadPoolExecutor | None = None
        self._sorting: deque[Future[_Run]] = deque()
        self._is_aborted = threading.Event()
        self._runs: dict[BucketId, list[str]] = {}
        self._empty: dict[BucketId, frozenset[str]] = {}

    def abort(self) -> None:
        """Delete files and runs (see `TableWriter.abort`)."""
        self._is_aborted.set()
        self._end_threads()
        super().abort()
        self._drop_runs()

    def _write_bucket(self, group: RoutedRows) -> None:
        """Have the rows of a bucket sorted and kept as a run."""
        # Each one that waits holds its rows.
        self._collect_runs(left=self._threads - 1)
        self._sorting.append(self._submit(lambda: self._sorted(group)))

    def _sorted(self, group: RoutedRows) -> _Run:
        """Keep the rows of a bucket as a run; called in a thread."""
        folded = fold(group.rows, self._spec, machine=self._machine, codes=group.codes)
        bucket_id, count = (group.partition, group.bucket), group.rows.num_rows - folded.num_rows
        if not folded.num_rows:
            return _Run(bucket_id=bucket_id, path=None, folded=count)
        path = self._scratch.new_path(_SUFFIX)
        with self._scratch.new_file(path) as file, pa.ipc.new_file(file, folded.schema) as run:
            run.write_table(folded, max_chunksize=rows_per_run(1))
        empty = null_columns_of(folded, self._schema)
        return _Run(bucket_id=bucket_id, path=path, folded=count, empty=empty)

    def _collect_runs(self, *, left: int) -> None:
        """Wait for the oldest runs until few are left."""
        while len(self._sorting) > left:
            run = self._sorting.popleft().result()
            self._rows_folded += run.folded
            if run.path is not None:
                self._runs.setdefault(run.bucket_id, []).append(run.path)
                empty = self._empty.get(run.bucket_id, run.empty)
                self._empty[run.bucket_id] = empty & run.empty

    def _merge_flushes(self) -> None:
        """Merge the runs of each bucket into files of the highest level."""
        self._collect_runs(left=0)
        buckets = sorted(self._runs)
        at_once = min(self._threads, len(buckets))
        merging = [self._submit(partial(self._merged, one, at_once)) for one in buckets]
        for bucket_id, future in zip(buckets, merging, strict=True):
            files, folded = future.result()
            if files:
                self._new_files[bucket_id] = list(files)
            self._rows_accepted += sum(file.row_count for file in files)
            self._rows_folded += folded
        self._end_threads()
        self._drop_runs()

    def _merged(self, bucket_id: BucketId, at_once: int) -> tuple[tuple[DataFileMeta, ...], int]:
        """Return the files of a bucket, and how many rows are not in them; called in a thread."""
        paths = self._runs[bucket_id]
        rows, size = rows_per_run(len(paths) * at_once), bytes_per_run(len(paths) * at_once)
        counters = FoldCounters()
        merge = PlainMerge(spec=self._spec, machine=self._machine, counters=counters)
        runs = [_batches(path, batch_rows=rows) for path in paths]
        keeps_retracts = self._schema.table_options.delete_retention_ms is not None
        with RollingFiles(
            self._sink(*bucket_id),
            level=self._schema.table_options.num_levels - 1,
            file_source=FileSource.COMPACT,
            empty_columns=self._empty[bucket_id],
        ) as files:
            for table in merge_runs(runs, merge, batch_rows=rows, batch_bytes=size):
                if self._is_aborted.is_set():
                    raise _AbortedError
                files.add(table if keeps_retracts else drop_retracts(table))
            found = files.finish()
        return found, counters.rows_in - sum(file.row_count for file in found)

    def _submit(self, work: Callable[[], ResultT]) -> Future[ResultT]:
        if self._pool is None:
            self._is_aborted.clear()
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="bulk")
        return self._pool.submit(work)

    def _end_threads(self) -> None:
        """Wait for what runs, and drop what has not begun."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._pool = None
        unclaimed = [one for one in self._sorting if not one.cancelled() and not one.exception()]
        for path in (one.result().path for one in unclaimed):
            if path is not None:
                self._scratch.remove(path)
        self._sorting.clear()

    def _drop_runs(self) -> None:
        for path in (path for paths in self._runs.values() for path in paths):
            self._scratch.remove(path)
        self._runs, self._empty = {}, {}


def _batches(path: str, *, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield a run in batches; pages that were read can be dropped by the system again."""
    with pa.memory_map(path, "r") as file:
        run = pa.ipc.open_file(file)
        for number in range(run.num_record_batches):
            batch = run.get_batch(number)
            for start in range(0, batch.num_rows, batch_rows):
                yield batch.slice(start, batch_rows)


def _check_bulk(schema: TableSchema) -> None:
    options = schema.table_options
    refused = [
        (
            "bucket",
            str(options.bucket),
            options.bucket == DYNAMIC_BUCKET,
            "set a bucket count from 1, or write without bulk",
        ),
        (
            "changelog-producer",
            options.changelog_producer.value,
            options.changelog_producer is not ChangelogProducer.NONE,
            "readers of the changelog would miss the rows: write without bulk",
        ),
        (
            "rowkind.field",
            str(options.rowkind_field),
            options.rowkind_field is not None,
            "retracts are not kept on the highest level: write without bulk",
        ),
    ]
    problems = [
        Problem(
            field=key,
            value=value,
            message="a table with this option cannot be filled in bulk",
            hint=hint,
        )
        for key, value, is_refused, hint in refused
        if is_refused
    ]
    if problems:
        message = "the table cannot be filled in bulk"
        raise UnsupportedFeature(message, problems=problems)
