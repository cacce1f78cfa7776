"""One bucket, compacted: a plan in, files and a commit message out.

Memory depends on batches and runs, not on the size of the bucket: the runs of a section are merged
batch by batch, and files are written row group by row group.

Source: merge-semantics 6.2, 6.4, 6.6, 7.4.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import UUID

import pyarrow as pa
from pyroaring import BitMap

from lake.files.clock import Clock
from lake.files.column_mapping import NO_OLDER_SCHEMAS, OlderSchemas
from lake.files.data_files import columns_without_values
from lake.files.paths import TablePaths
from lake.files.storage.file_io import FileIO
from lake.format.commit_message import CommitMessage, VectorsChange
from lake.format.data_file import DataFileMeta, FileSource
from lake.format.manifest import FileIdentity
from lake.format.schema import TableSchema
from lake.lsm.changelog import compared_columns, first_row_changes, round_changes
from lake.lsm.compaction_plan import CompactionPlan, Rewrite
from lake.lsm.levels import Levels
from lake.lsm.merge_runs import bytes_per_run, merge_runs, rows_per_run
from lake.lsm.round_merge import LookupMerge, PlainMerge, RoundMerge
from lake.lsm.sorted_run import Section, SortedRun
from lake.lsm.tombstones import drop_old_retracts
from lake.maintenance.compaction.compaction_merges import (
    FindOld,
    LookupCompactionMerge,
    Tell,
    ToldMerge,
)
from lake.merge.fold import Machine, drop_retracts
from lake.merge.order.key_codes import Uints
from lake.merge.spec import merge_spec
from lake.options import ChangelogProducer, MergeEngine
from lake.read.lookup.bucket_lookup import BucketLookup
from lake.read.lookup.lookup_cache import LookupCache
from lake.read.run_reader import RunReader
from lake.snapshots.deletion_vectors import BucketVectors, VectorStore, change_vectors
from lake.write.changelog_files import changelog_files
from lake.write.level_file import DataFileSink
from lake.write.rolling_files import RollingFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBucket:
    """One bucket, and what is to be done to it.

    Attributes:
        partition: Serialised partition row.
        bucket: Bucket number.
        total_buckets: Bucket count that the files were routed with.
        levels: All its files when the plan was made.
        plan: Not empty.
        inputs: Identities of the files that are replaced.
        settled: Identities of the files on the output level when the plan was made.
        vectors: Its deletion vectors when the plan was made.
        paths_written: Of files begun so far, for who cleans up; the only part that changes.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    levels: Levels
    plan: CompactionPlan
    inputs: frozenset[FileIdentity]
    settled: frozenset[FileIdentity]
    vectors: BucketVectors
    paths_written: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedBucket:
    """Work that is done but for its commit.

    Attributes:
        work: What was to be done.
        message: For the commit.
    """

    work: PlannedBucket
    message: CommitMessage


class BucketCompactor:
    """Compacts buckets of one table."""

    def __init__(
        self,
        *,
        file_io: FileIO,
        paths: TablePaths,
        schema: TableSchema,
        older_schemas: OlderSchemas = NO_OLDER_SCHEMAS,
        clock: Clock,
        uuid: UUID,
        machine: Machine,
        vectors: VectorStore,
        lookups: LookupCache,
    ) -> None:
        """Take over what all buckets share.

        Args:
            file_io: Storage.
            paths: Of the table.
            schema: Under which files are read and written.
            older_schemas: By id, those that files were written under if their columns are others.
            clock: Says when a file was made.
            uuid: Names the new files; fresh.
            machine: Which execution folds.
            vectors: Writes deletion vectors.
            lookups: Keeps what lookups of old rows need.

        Raises:
            UnsupportedFeature: The table merges in a way that this version does not have.
        """
        self._file_io = file_io
        self._paths = paths
        self._schema = schema
        self._older_schemas = older_schemas
        self._options = schema.table_options
        self._spec = merge_spec(schema)
        self._clock = clock
        self._uuid = uuid
        self._machine = machine
        self._vectors = vectors
        self._lookups = lookups
        self._name_count = 0

    def compact(self, work: PlannedBucket) -> CompactedBucket:
        """Write the new files of a bucket; nothing is committed.

        Raises:
            SchemaMismatch: Records that the table's merge refuses.
            CorruptData: A file is absent or not what its metadata says.
            StorageUnavailable: Storage refused.
        """
        plan = work.plan
        told: list[DataFileMeta] = []
        marked: dict[str, BitMap] = {}
        after = [replace(upgrade.file, level=plan.output_level) for upgrade in plan.upgrades]
        for upgrade in plan.upgrades:
            if upgrade.scans:
                with self._changelog(work, told) as changelog:
                    self._scan(work, upgrade.file, changelog, marked)
        for rewrite in plan.rewrites:
            with self._changelog(work, told) as changelog:
                merge = self._merge(work, rewrite.files, changelog, marked)
                after.extend(self._rewrite(work, rewrite, merge))
        message = CommitMessage(
            partition=work.partition,
            bucket=work.bucket,
            total_buckets=work.total_buckets,
            schema_id=self._schema.id,
            new_files=(),
            compact_before=plan.files,
            compact_after=tuple(after),
            changelog_files=tuple(told),
            vectors=self._vectors_after(work, marked),
        )
        return CompactedBucket(work=work, message=message)

    def _rewrite(
        self, work: PlannedBucket, rewrite: Rewrite, merge: RoundMerge
    ) -> tuple[DataFileMeta, ...]:
        # A merge that looks old rows up may meet any row of the bucket.
        sources = work.levels.files if self._options.needs_lookup else rewrite.files
        with RollingFiles(
            self._sink(work),
            level=work.plan.output_level,
            file_source=FileSource.COMPACT,
            empty_columns=columns_without_values(sources, self._schema, self._older_schemas),
        ) as files:
            for table in self._merged(work, rewrite.sections, merge):
                files.add(self._without_retracts(table) if work.plan.drops_retracts else table)
            return files.finish()

    def _without_retracts(self, table: pa.Table) -> pa.Table:
        """Return the rows without retracts; young ones stay where the table keeps them."""
        retention_ms = self._options.delete_retention_ms
        if retention_ms is None:
            return drop_retracts(table)
        oldest_ms = self._clock.now_ms() - retention_ms
        return drop_old_retracts(table, self._options.delete_time_fields, oldest_ms=oldest_ms)

    def _scan(
        self,
        work: PlannedBucket,
        file: DataFileMeta,
        changelog: RollingFiles | None,
        marked: dict[str, BitMap],
    ) -> None:
        """Tell what the records of a file change that stays as it is."""
        merge = self._merge(work, (file,), changelog, marked)
        alone = Section(runs=(SortedRun(files=(file,)),))
        for _ in self._merged(work, [alone], merge):
            pass

    def _merged(
        self, work: PlannedBucket, sections: Iterable[Section], merge: RoundMerge
    ) -> Iterator[pa.Table]:
        reader = RunReader(
            file_io=self._file_io,
            paths=self._paths,
            schema=self._schema,
            older_schemas=self._older_schemas,
            partition=work.partition,
            bucket=work.bucket,
            vectors=work.vectors.vectors,
            has_level=not isinstance(merge, PlainMerge),
        )
        for section in sections:
            rows, size = rows_per_run(len(section.runs)), bytes_per_run(len(section.runs))
            runs = [
                reader.batches(run, self._schema.field_names, batch_rows=rows, batch_bytes=size)
                for run in section.runs
            ]
            yield from merge_runs(runs, merge, batch_rows=rows, batch_bytes=size)

    def _merge(
        self,
        work: PlannedBucket,
        files: Iterable[DataFileMeta],
        changelog: RollingFiles | None,
        marked: dict[str, BitMap],
    ) -> RoundMerge:
        """Return the merge that records of some files of a bucket need."""
        output_level = work.plan.output_level
        is_full = self._options.changelog_producer is ChangelogProducer.FULL_COMPACTION
        meets_new = any(file.level == 0 for file in files)
        if self._options.needs_lookup and not is_full and output_level > 0 and meets_new:
            return LookupCompactionMerge(
                spec=self._spec,
                find_old=self._find_old(work, marked),
                tell=None if changelog is None else self._tell(changelog, base_level=1),
                drops_known=self._spec.engine is MergeEngine.FIRST_ROW,
                machine=self._machine,
            )
        inner = self._plain_merge()
        if changelog is None or not is_full or output_level < work.levels.max_level:
            return inner
        return ToldMerge(
            inner=inner,
            tell=self._tell(changelog, base_level=output_level),
            takes_levels=isinstance(inner, LookupMerge),
        )

    def _plain_merge(self) -> RoundMerge:
        if self._options.needs_lookup:
            return LookupMerge(spec=self._spec, machine=self._machine, single_untouched=True)
        return PlainMerge(spec=self._spec, machine=self._machine)

    def _find_old(self, work: PlannedBucket, marked: dict[str, BitMap]) -> FindOld:
        """Return what finds old rows above the output level, and marks them where the table does."""
        lookup = BucketLookup(
            self._lookups,
            file_io=self._file_io,
            paths=self._paths,
            schema=self._schema,
            older_schemas=self._older_schemas,
            partition=work.partition,
            bucket=work.bucket,
            files=work.levels.files,
        )
        marks = self._options.deletion_vectors_enabled
        # Where the newest record wins as a whole, and nobody asks what it replaces.
        is_position_enough = (
            marks
            and self._options.merge_engine is MergeEngine.DEDUPLICATE
            and not self._options.sequence_field
            and self._options.changelog_producer is not ChangelogProducer.LOOKUP
        )

        def find(keys: pa.Table) -> pa.Table | None:
            found = lookup.find(
                keys, above_level=work.plan.output_level, vectors=work.vectors.vectors
            )
            if marks:
                for number, file in enumerate(found.files):
                    positions = found.positions[found.file_numbers == number]
                    marked.setdefault(file.file_name, BitMap()).update(positions.tolist())
            if is_position_enough or not len(found.keys):
                return None
            return lookup.records(found, self._schema.field_names, waits=True)

        return find

    def _tell(self, changelog: RollingFiles, *, base_level: int) -> Tell:
        """Return what writes down the changes."""
        keys = self._spec.key_columns
        changes: Callable[[pa.Table, Uints | None, pa.Table], pa.Table]
        if self._spec.engine is MergeEngine.FIRST_ROW:
            changes = partial(first_row_changes, key_columns=keys)
        else:
            changes = partial(
                round_changes,
                base_level=base_level,
                key_columns=keys,
                compared=compared_columns(self._schema),
            )
        return lambda records, codes, merged: changelog.add(changes(records, codes, merged))

    @contextmanager
    def _changelog(
        self, work: PlannedBucket, told: list[DataFileMeta]
    ) -> Iterator[RollingFiles | None]:
        """Give what takes the changes of one part of a plan; its files are added to the others.

        Parts have files of their own: keys ascend within a part, and not from one to the next.
        """
        producer = self._options.changelog_producer
        if producer not in (ChangelogProducer.LOOKUP, ChangelogProducer.FULL_COMPACTION):
            yield None
            return
        with changelog_files(
            self._sink(work),
            level=work.plan.output_level,
            new_file_name=lambda: self._new_file_name(self._options.changelog_file_prefix),
            empty_columns=columns_without_values(
                work.levels.files, self._schema, self._older_schemas
            ),
        ) as files:
            yield files
            told.extend(files.finish())

    def _vectors_after(
        self, work: PlannedBucket, marked: Mapping[str, BitMap]
    ) -> VectorsChange | None:
        if not self._options.deletion_vectors_enabled:
            return None
        removed = {file.file_name for rewrite in work.plan.rewrites for file in rewrite.files}
        return self._vectors.write_change(
            work.vectors,
            change_vectors(work.vectors.vectors, marked, removed),
            partition=work.partition,
            bucket=work.bucket,
            new_name=self._new_index_name,
            on_new_file=work.paths_written.append,
            is_64_bit=self._options.deletion_vectors_bitmap64,
        )

    def _sink(self, work: PlannedBucket) -> DataFileSink:
        return DataFileSink(
            file_io=self._file_io,
            paths=self._paths,
            schema=self._schema,
            partition=work.partition,
            bucket=work.bucket,
            new_file_name=lambda: self._new_file_name(self._options.data_file_prefix),
            clock=self._clock,
            drop_null_columns=True,
            on_new_file=work.paths_written.append,
        )

    def _new_file_name(self, prefix: str) -> str:
        return f"{prefix}{self._uuid}-{self._new_number()}"

    def _new_index_name(self) -> str:
        return TablePaths.new_index_name(str(self._uuid), self._new_number())

    def _new_number(self) -> int:
        self._name_count += 1
        return self._name_count - 1
