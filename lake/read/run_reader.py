"""Reader of the sorted runs of a bucket, file after file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
from pyroaring import AbstractBitMap

from braid.lake.files.column_mapping import OlderSchemas
from braid.lake.files.data_file_path import live_file_path
from braid.lake.files.data_files import DataFileReader, ReadCounters, RowFilter, RowGroupFilter
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import LEVEL_FIELD
from braid.lake.lsm.sorted_run import SortedRun

FileFilter = Callable[[str, DataFileMeta], bool]
"""Returns whether no record of a file is needed, given its path and its manifest entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReader:
    """Reads the runs of one bucket, for scans and compactions alike.

    Attributes:
        file_io: Storage.
        paths: The table's paths.
        schema: The schema under which records are read.
        older_schemas: By id, the schemas of files that were written with other columns.
        partition: Serialised partition row.
        bucket: Bucket number.
        vectors: Positions of marked rows by file name; these rows are skipped.
        has_level: `batches` append the level of the file to each record, as the column `_LEVEL`.
        counters: Counters to add to.
    """

    file_io: FileIO
    paths: TablePaths
    schema: TableSchema
    partition: bytes
    bucket: int
    vectors: Mapping[str, AbstractBitMap] = field(default_factory=dict)
    older_schemas: OlderSchemas = field(default_factory=dict)
    has_level: bool = False
    counters: ReadCounters = field(default_factory=ReadCounters)

    def batches(
        self,
        run: SortedRun,
        columns: Sequence[str],
        *,
        batch_rows: int,
        batch_bytes: int,
        row_filter: RowGroupFilter | None = None,
        excludes: FileFilter | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield key-value batches, ascending by key.

        Args:
            run: Live files of the bucket.
            columns: Table columns wanted.
            row_filter: Skips row groups that cannot contain matching rows.
            excludes: Skips files, which are not opened.
            batch_rows: Upper bound of the rows of a batch.
            batch_bytes: Approximate upper bound of the bytes of a batch.

        Raises:
            CorruptData: A file is absent or does not match its metadata.
        """
        for file, marked in self._live_files(run, excludes):
            batches = self._reader(file).batches(
                columns,
                batch_rows=batch_rows,
                batch_bytes=batch_bytes,
                row_filter=row_filter,
                marked=marked,
            )
            yield from (
                map(partial(_with_level, level=file.level), batches) if self.has_level else batches
            )

    def rows(
        self,
        run: SortedRun,
        columns: Sequence[str],
        *,
        batch_rows: int,
        batch_bytes: int,
        row_group_filter: RowGroupFilter | None = None,
        row_filter: RowFilter | None = None,
        excludes: FileFilter | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a run that needs no merge.

        Requires: no other run of the bucket has a live record of a key of this run.

        Args:
            run: Live files of the bucket.
            columns: Table columns wanted.
            row_group_filter: Skips row groups that cannot contain matching rows.
            row_filter: Skips rows.
            excludes: Skips files, which are not opened.
            batch_rows: Upper bound of the rows of a batch.
            batch_bytes: Approximate upper bound of the bytes of a batch.

        Yields:
            Batches with `columns`, ascending by key, without retracts; some may be empty.
        """
        for file, marked in self._live_files(run, excludes):
            yield from self._reader(file).rows(
                columns,
                batch_rows=batch_rows,
                batch_bytes=batch_bytes,
                row_group_filter=row_group_filter,
                row_filter=row_filter,
                marked=marked,
            )

    def _live_files(
        self, run: SortedRun, excludes: FileFilter | None
    ) -> Iterator[tuple[DataFileMeta, AbstractBitMap | None]]:
        """Yield the files to open, each with its marked rows."""
        for file in run.files:
            marked = self.vectors.get(file.file_name)
            # Compactions may mark row by row until no live one is left; such a file is not opened.
            if marked is not None and len(marked) == file.row_count:
                continue
            if excludes is not None and excludes(self.path(file), file):
                self.counters.files_skipped += 1
                continue
            yield file, marked

    def path(self, file: DataFileMeta) -> str:
        """Return the path of a file of the bucket."""
        return live_file_path(self.paths, self.schema, self.partition, self.bucket, file)

    def _reader(self, file: DataFileMeta) -> DataFileReader:
        return DataFileReader(
            self.file_io,
            self.path(file),
            file_meta=file,
            schema=self.schema,
            written=self.older_schemas.get(file.schema_id),
            counters=self.counters,
        )


def _with_level(batch: pa.RecordBatch, level: int) -> pa.RecordBatch:
    levels = pa.repeat(pa.scalar(level, LEVEL_FIELD.type), batch.num_rows)
    return batch.append_column(LEVEL_FIELD, levels)
