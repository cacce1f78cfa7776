"""One bucket, compacted: a plan in, files and a commit message out.

Memory depends on batches and runs, not on the size of the bucket: the runs of a section are merged
batch by batch, and files are written one at a time.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from uuid import UUID

import pyarrow as pa

from lake.files.clock import Clock
from lake.files.file_io import FileIO
from lake.files.paths import TablePaths
from lake.format.commit_message import CommitMessage
from lake.format.data_file import DataFileMeta, FileSource
from lake.format.manifest import FileIdentity
from lake.format.schema import TableSchema
from lake.lsm.full_compaction import FullCompactionPlan, Rewrite
from lake.lsm.merge_runs import bytes_per_run, merge_runs, rows_per_run
from lake.lsm.round_merge import PlainMerge
from lake.merge.fold import Machine, drop_retracts
from lake.merge.spec import merge_spec
from lake.options import MergeEngine
from lake.read.run_reader import RunReader
from lake.write.level_file import DataFileSink
from lake.write.rolling_files import RollingFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketWork:
    """What is to be done to one bucket.

    Attributes:
        partition: Serialised partition row.
        bucket: Bucket number.
        total_buckets: Bucket count that the files were routed with.
        plan: Not empty.
        inputs: Identities of the files that are replaced.
        settled: Identities of the files on the output level when the plan was made.
        paths_written: Of files begun so far, for who cleans up; the only part that changes.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    plan: FullCompactionPlan
    inputs: frozenset[FileIdentity]
    settled: frozenset[FileIdentity]
    paths_written: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedBucket:
    """Work that is done but for its commit.

    Attributes:
        work: What was to be done.
        message: For the commit.
    """

    work: BucketWork
    message: CommitMessage


class BucketCompactor:
    """Compacts buckets of one table."""

    def __init__(
        self,
        *,
        file_io: FileIO,
        paths: TablePaths,
        schema: TableSchema,
        clock: Clock,
        uuid: UUID,
        machine: Machine,
    ) -> None:
        """Take over what all buckets share.

        Args:
            file_io: Storage.
            paths: Of the table.
            schema: Under which all files were written.
            clock: Says when a file was made.
            uuid: Names the new files; fresh.
            machine: Which execution folds.

        Raises:
            UnsupportedFeature: The table merges in a way that this version does not have.
        """
        self._file_io = file_io
        self._paths = paths
        self._schema = schema
        self._spec = merge_spec(schema)
        self._clock = clock
        self._uuid = uuid
        self._machine = machine
        self._file_count = 0

    def compact(self, work: BucketWork) -> CompactedBucket:
        """Write the new files of a bucket; nothing is committed.

        Raises:
            SchemaMismatch: Records that the table's merge refuses.
            CorruptData: A file is absent or not what its metadata says.
            StorageUnavailable: Storage refused.
        """
        plan = work.plan
        after = [replace(file, level=plan.output_level) for file in plan.upgrades]
        for rewrite in plan.rewrites:
            after.extend(self._rewrite(work, rewrite))
        message = CommitMessage(
            partition=work.partition,
            bucket=work.bucket,
            total_buckets=work.total_buckets,
            schema_id=self._schema.id,
            new_files=(),
            compact_before=plan.files,
            compact_after=tuple(after),
        )
        return CompactedBucket(work=work, message=message)

    def _rewrite(self, work: BucketWork, rewrite: Rewrite) -> tuple[DataFileMeta, ...]:
        sink = DataFileSink(
            file_io=self._file_io,
            paths=self._paths,
            schema=self._schema,
            partition=work.partition,
            bucket=work.bucket,
            new_file_name=self._new_file_name,
            clock=self._clock,
            drop_null_columns=True,
            on_new_file=work.paths_written.append,
        )
        files = RollingFiles(sink, level=work.plan.output_level, file_source=FileSource.COMPACT)
        for table in self._merged(work, rewrite):
            # Nothing older lies below the highest level, so what deletes has done its work.
            files.add(drop_retracts(table))
        return files.finish()

    def _merged(self, work: BucketWork, rewrite: Rewrite) -> Iterator[pa.Table]:
        reader = RunReader(
            file_io=self._file_io,
            paths=self._paths,
            schema=self._schema,
            partition=work.partition,
            bucket=work.bucket,
        )
        for section in rewrite.sections:
            rows, size = rows_per_run(len(section.runs)), bytes_per_run(len(section.runs))
            runs = [
                reader.batches(run, self._schema.field_names, batch_rows=rows, batch_bytes=size)
                for run in section.runs
            ]
            yield from merge_runs(
                runs,
                PlainMerge(
                    spec=self._spec,
                    machine=self._machine,
                    single_untouched=not self._merges_lone_records(rewrite),
                ),
                batch_rows=rows,
                batch_bytes=size,
            )

    def _new_file_name(self) -> str:
        prefix = self._schema.table_options.data_file_prefix
        name = f"{prefix}{self._uuid}-{self._file_count}.parquet"
        self._file_count += 1
        return name

    def _merges_lone_records(self, rewrite: Rewrite) -> bool:
        """Return whether a key with one record is merged too (merge-semantics 1.6, 2.2)."""
        is_first_row = self._spec.engine is MergeEngine.FIRST_ROW
        return is_first_row and any(file.level == 0 for file in rewrite.files)
