"""Bulk writer: rows in, one sorted run per bucket on the highest level out.

For filling a table that is empty. Rows that come in any order would be many files of level 0, and a compaction would
write each of them once more, under commits of its own. This writer sorts them before the first commit:

1. When the buffer is full, each bucket's rows are folded, which sorts them, and kept as a run in a file on the local
   disk, uncompressed.
2. `prepare_commit` merges the runs of each bucket in bounded memory into files of the highest level.

Memory: that of `TableWriter`, and a batch of each run of one bucket. Disk: the rows, uncompressed.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from braid.lake.errors import Problem, UnsupportedFeature
from braid.lake.files.storage.scratch import ScratchDirectory
from braid.lake.format.bucket import BucketId
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.schema import TableSchema
from braid.lake.lsm.merge_runs import bytes_per_run, merge_runs, rows_per_run
from braid.lake.lsm.round_merge import PlainMerge
from braid.lake.merge.fold import FoldCounters, fold
from braid.lake.options.table_options import DYNAMIC_BUCKET, ChangelogProducer
from braid.lake.write.buckets.routing import RoutedRows
from braid.lake.write.files.level_file import null_columns_of
from braid.lake.write.files.rolling_files import RollingFiles
from braid.lake.write.table_writer import TableWriter

_SUFFIX: Final = ".run"


class BulkWriter(TableWriter):
    """Writes rows into sorted runs of the highest level. Not thread-safe.

    Made as a `TableWriter`, of a table with a fixed bucket count.
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
        self._runs: dict[BucketId, list[str]] = {}
        self._empty: dict[BucketId, frozenset[str]] = {}

    def abort(self) -> None:
        """Delete files and runs (see `TableWriter.abort`)."""
        super().abort()
        self._drop_runs()

    def _write_bucket(self, group: RoutedRows) -> None:
        """Keep the rows of a bucket as a run."""
        folded = fold(group.rows, self._spec, machine=self._machine, codes=group.codes)
        self._rows_folded += group.rows.num_rows - folded.num_rows
        if not folded.num_rows:
            return
        bucket_id = group.partition, group.bucket
        path = self._scratch.new_path(_SUFFIX)
        runs = self._runs.setdefault(bucket_id, [])
        empty = null_columns_of(folded, self._schema)
        self._empty[bucket_id] = self._empty.get(bucket_id, empty) & empty
        with self._scratch.new_file(path) as file, pa.ipc.new_file(file, folded.schema) as run:
            run.write_table(folded, max_chunksize=rows_per_run(1))
        runs.append(path)

    def _merge_flushes(self) -> None:
        """Merge the runs of each bucket into files of the highest level."""
        for bucket_id in sorted(self._runs):
            self._new_files[bucket_id] = list(self._merged(bucket_id))
        self._drop_runs()

    def _merged(self, bucket_id: BucketId) -> tuple[DataFileMeta, ...]:
        paths = self._runs[bucket_id]
        rows, size = rows_per_run(len(paths)), bytes_per_run(len(paths))
        counters = FoldCounters()
        merge = PlainMerge(spec=self._spec, machine=self._machine, counters=counters)
        runs = [_batches(path, batch_rows=rows) for path in paths]
        with RollingFiles(
            self._sink(*bucket_id),
            level=self._schema.table_options.num_levels - 1,
            file_source=FileSource.COMPACT,
            empty_columns=self._empty[bucket_id],
        ) as files:
            for table in merge_runs(runs, merge, batch_rows=rows, batch_bytes=size):
                files.add(table)
            found = files.finish()
        self._rows_accepted += sum(file.row_count for file in found)
        self._rows_folded += counters.rows_in - counters.rows_out
        return found

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
        Problem(field=key, value=value, message="such a table is not filled in bulk", hint=hint)
        for key, value, is_refused, hint in refused
        if is_refused
    ]
    if problems:
        message = "the table cannot be filled in bulk"
        raise UnsupportedFeature(message, problems=problems)
