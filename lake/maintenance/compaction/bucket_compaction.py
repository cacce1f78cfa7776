"""Compaction of one bucket, from its plan to the new files and their commit message; commits nothing.

Each rewrite of the plan is a *part*. An upgrade only changes the level in a file's metadata; it is a part too if the
file's records have to be read, for a changelog or for deletion vectors. The result of a part (`_Part`) is the data
and changelog files that it has written and the rows that it has marked as deleted. Where the plan allows it, a
rewrite leaves out retracts and expired rows. The results of all parts and the bucket's new deletion vectors are
combined into one message.

The number of rows in memory does not depend on the size of the bucket: the runs of a section are merged batch by
batch, and files are written row group by row group. Deletion vectors and metadata are in memory as a whole.

Source: merge-semantics 6.2, 6.4, 6.6, 7.4.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import UUID

import pyarrow as pa
from pyroaring import BitMap

from braid.lake.files.clock import Clock
from braid.lake.files.column_mapping import NO_OLDER_SCHEMAS, OlderSchemas
from braid.lake.files.data_files import columns_without_values
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.commit_message import CommitMessage, VectorsChange
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.schema import TableSchema
from braid.lake.lsm.changelog import compared_columns, first_row_changes, merge_changes
from braid.lake.lsm.compaction_plan import Rewrite
from braid.lake.lsm.merge_runs import bytes_per_run, merge_runs, rows_per_run
from braid.lake.lsm.round_merge import LookupMerge, PlainMerge, RoundMerge
from braid.lake.lsm.sorted_run import Section, SortedRun
from braid.lake.lsm.tombstones import drop_old_retracts
from braid.lake.maintenance.compaction.compaction_merges import (
    ChangelogMerge,
    ChangelogSink,
    LookupCompactionMerge,
)
from braid.lake.maintenance.compaction.old_rows import OldRows
from braid.lake.maintenance.compaction.planned_bucket import PlannedBucket
from braid.lake.merge.fold import Machine, drop_retracts
from braid.lake.merge.order.key_codes import Uints
from braid.lake.merge.row_expiry import row_expiry, without_expired
from braid.lake.merge.spec import merge_spec
from braid.lake.options.table_options import ChangelogProducer, MergeEngine
from braid.lake.read.lookup.bucket_lookup import BucketLookup
from braid.lake.read.lookup.lookup_cache import LookupCache
from braid.lake.read.run_reader import RunReader
from braid.lake.snapshots.deletion_vectors import VectorStore, change_vectors
from braid.lake.write.files.changelog_files import changelog_files
from braid.lake.write.files.level_file import DataFileSink
from braid.lake.write.files.rolling_files import RollingFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """The result of one part of a plan.

    Attributes:
        files: Files written on the output level.
        changelog_files: Files written with the changes of the part.
        marked: Positions of rows that the part has made obsolete, by the name of their file, which stays.
    """

    files: tuple[DataFileMeta, ...] = ()
    changelog_files: tuple[DataFileMeta, ...] = ()
    marked: Mapping[str, BitMap] = field(default_factory=dict)


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
        """Make a compactor.

        Args:
            file_io: Storage.
            paths: Paths of the table.
            schema: The schema under which files are read and written.
            older_schemas: By id, the schemas with other columns under which some files were written.
            clock: Gives the creation time of files, and tells which rows are expired and which deletes are old.
            uuid: Part of the names of new files; fresh.
            machine: The execution that folds.
            vectors: Writes deletion vectors.
            lookups: Caches what lookups of old rows need.

        Raises:
            UnsupportedFeature: The table merges in a way that this version does not support.
        """
        self._file_io = file_io
        self._paths = paths
        self._schema = schema
        self._older_schemas = older_schemas
        self._options = schema.table_options
        self._spec = merge_spec(schema)
        self._expiry = row_expiry(schema)
        self._clock = clock
        self._uuid = uuid
        self._machine = machine
        self._vectors = vectors
        self._lookups = lookups
        self._name_count = 0

    def compact(self, work: PlannedBucket, *, on_new_file: Callable[[str], None]) -> CommitMessage:
        """Write the new files of a bucket and return the message that commits them.

        Args:
            work: The bucket and its plan.
            on_new_file: Called with the path of each file before it is written, so that the caller can
                delete it if nothing is committed.

        Raises:
            SchemaMismatch: The table's merge refuses some records.
            CorruptData: A file is absent or does not match its metadata.
            StorageUnavailable: Storage refused.
        """
        plan = work.plan
        scanned = [upgrade.file for upgrade in plan.upgrades if upgrade.scans]
        parts = [
            *(self._scan(work, file, on_new_file) for file in scanned),
            *(self._rewrite(work, rewrite, on_new_file) for rewrite in plan.rewrites),
        ]
        # An upgraded file keeps its name and content and only changes its level.
        upgraded = [replace(upgrade.file, level=plan.output_level) for upgrade in plan.upgrades]
        written = [file for part in parts for file in part.files]
        assert all(file.level == plan.output_level for file in written), (
            "a plan has one output level"
        )
        return CommitMessage(
            partition=work.partition,
            bucket=work.bucket,
            total_buckets=work.total_buckets,
            schema_id=self._schema.id,
            new_files=(),
            compact_before=plan.files,
            compact_after=(*upgraded, *written),
            changelog_files=tuple(file for part in parts for file in part.changelog_files),
            # Written last, when all rows to be marked are known.
            vectors=self._vectors_after(work, parts, on_new_file),
        )

    def _scan(
        self, work: PlannedBucket, file: DataFileMeta, on_new_file: Callable[[str], None]
    ) -> _Part:
        """Write the changes that an upgraded file brings; the file itself stays as it is.

        The file's records are merged as in a rewrite; the merged rows are not written, because the file
        has them already.
        """
        old_rows = self._old_rows(work, (file,))
        with self._changelog(work, on_new_file) as changelog:
            merge = self._merge(work, old_rows, changelog)
            alone = Section(runs=(SortedRun(files=(file,)),))
            for _ in self._merged(work, [alone], merge):
                pass
            return _Part(changelog_files=_finished(changelog), marked=_marked_by(old_rows))

    def _rewrite(
        self, work: PlannedBucket, rewrite: Rewrite, on_new_file: Callable[[str], None]
    ) -> _Part:
        """Merge some files of a bucket into new ones on the output level."""
        old_rows = self._old_rows(work, rewrite.files)
        # A column is left out of the new files where none of the sources has a value of it. If the merge
        # looks up old rows, values may come from any file of the bucket.
        sources = work.levels.files if self._options.needs_lookup else rewrite.files
        with (
            self._changelog(work, on_new_file) as changelog,
            RollingFiles(
                self._sink(work, on_new_file),
                level=work.plan.output_level,
                file_source=FileSource.COMPACT,
                empty_columns=columns_without_values(sources, self._schema, self._older_schemas),
            ) as files,
        ):
            merge = self._merge(work, old_rows, changelog)
            for table in self._merged(work, rewrite.sections, merge):
                files.add(self._lasting_rows(table) if work.plan.drops_retracts else table)
            return _Part(
                files=files.finish(),
                changelog_files=_finished(changelog),
                marked=_marked_by(old_rows),
            )

    def _lasting_rows(self, table: pa.Table) -> pa.Table:
        """Return the rows that are not expired, and of retracts the young ones of a table that keeps these."""
        if self._expiry is not None:
            table = without_expired(table, self._expiry.at(self._clock.now_ms()))
        retention_ms = self._options.delete_retention_ms
        if retention_ms is None:
            return drop_retracts(table)
        oldest_ms = self._clock.now_ms() - retention_ms
        return drop_old_retracts(table, self._options.delete_time_fields, oldest_ms=oldest_ms)

    def _merged(
        self, work: PlannedBucket, sections: Iterable[Section], merge: RoundMerge
    ) -> Iterator[pa.Table]:
        """Yield the merged rows of some sections, in key order within each section."""
        reader = RunReader(
            file_io=self._file_io,
            paths=self._paths,
            schema=self._schema,
            older_schemas=self._older_schemas,
            partition=work.partition,
            bucket=work.bucket,
            vectors=work.vectors.vectors,
            # The other merges distinguish old rows from new ones by their level.
            has_level=not isinstance(merge, PlainMerge),
        )
        for section in sections:
            # The more runs are merged at once, the smaller are the batches of each run in memory.
            rows, size = rows_per_run(len(section.runs)), bytes_per_run(len(section.runs))
            runs = [
                reader.batches(run, self._schema.field_names, batch_rows=rows, batch_bytes=size)
                for run in section.runs
            ]
            yield from merge_runs(runs, merge, batch_rows=rows, batch_bytes=size)

    def _old_rows(self, work: PlannedBucket, files: Iterable[DataFileMeta]) -> OldRows | None:
        """Return the finder of old rows for a merge of some files; None if the merge needs no old rows.

        Only records of level 0 are new: those of other files were looked up when they left level 0. A
        table whose changelog comes from full compactions looks nothing up.
        """
        is_full = self._options.changelog_producer is ChangelogProducer.FULL_COMPACTION
        if not self._options.needs_lookup or is_full or work.plan.output_level == 0:
            return None
        if all(file.level > 0 for file in files):
            return None
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
        return OldRows(
            lookup,
            self._schema,
            above_level=work.plan.output_level,
            vectors=work.vectors.vectors,
        )

    def _merge(
        self, work: PlannedBucket, old_rows: OldRows | None, changelog: RollingFiles | None
    ) -> RoundMerge:
        """Return the merge of one part of a plan.

        Args:
            work: The bucket.
            old_rows: Finds the old rows; None where the merge needs no lookup.
            changelog: Receives the changes; None where the table has no changelog from compactions.
        """
        if old_rows is not None:
            return LookupCompactionMerge(
                spec=self._spec,
                find_old=old_rows.find,
                changelog_sink=None
                if changelog is None
                else self._changelog_sink(changelog, base_level=1),
                drops_known=self._spec.engine is MergeEngine.FIRST_ROW,
                machine=self._machine,
            )
        inner = self._plain_merge()
        is_full = self._options.changelog_producer is ChangelogProducer.FULL_COMPACTION
        # A changelog of full compactions has changes only from compactions into the highest level, where
        # the old rows are.
        if changelog is None or not is_full or work.plan.output_level < work.levels.max_level:
            return inner
        return ChangelogMerge(
            inner=inner,
            changelog_sink=self._changelog_sink(changelog, base_level=work.plan.output_level),
            takes_levels=isinstance(inner, LookupMerge),
        )

    def _plain_merge(self) -> RoundMerge:
        if self._options.needs_lookup:
            return LookupMerge(spec=self._spec, machine=self._machine, single_untouched=True)
        return PlainMerge(spec=self._spec, machine=self._machine)

    def _changelog_sink(self, changelog: RollingFiles, *, base_level: int) -> ChangelogSink:
        """Return the function that writes changes to the changelog.

        Args:
            changelog: Receives the changes.
            base_level: Records of this level or a higher one are old rows.
        """
        keys = self._spec.key_columns
        changes: Callable[[pa.Table, Uints | None, pa.Table], pa.Table]
        if self._spec.engine is MergeEngine.FIRST_ROW:
            changes = partial(first_row_changes, key_columns=keys)
        else:
            changes = partial(
                merge_changes,
                base_level=base_level,
                key_columns=keys,
                compared=compared_columns(self._schema),
            )
        return lambda records, codes, merged: changelog.add(changes(records, codes, merged))

    def _changelog(
        self, work: PlannedBucket, on_new_file: Callable[[str], None]
    ) -> AbstractContextManager[RollingFiles | None]:
        """Return the changelog files of one part; None where compactions write no changelog.

        Each part has files of its own, because keys ascend within a part but not from part to part.
        """
        producer = self._options.changelog_producer
        if producer not in (ChangelogProducer.LOOKUP, ChangelogProducer.FULL_COMPACTION):
            return nullcontext()
        return changelog_files(
            self._sink(work, on_new_file),
            level=work.plan.output_level,
            new_file_name=lambda: self._new_file_name(self._options.changelog_file_prefix),
            empty_columns=columns_without_values(
                work.levels.files, self._schema, self._older_schemas
            ),
        )

    def _vectors_after(
        self, work: PlannedBucket, parts: Sequence[_Part], on_new_file: Callable[[str], None]
    ) -> VectorsChange | None:
        """Write the bucket's deletion vectors after all parts; None in a table without them."""
        if not self._options.deletion_vectors_enabled:
            return None
        marked: dict[str, BitMap] = {}
        for part in parts:
            for name, positions in part.marked.items():
                marked[name] = marked.get(name, BitMap()) | positions
        # The vectors of rewritten files are dropped with the files; upgraded files keep theirs.
        removed = {file.file_name for rewrite in work.plan.rewrites for file in rewrite.files}
        return self._vectors.write_change(
            work.vectors,
            change_vectors(work.vectors.vectors, marked, removed),
            partition=work.partition,
            bucket=work.bucket,
            new_name=self._new_index_name,
            on_new_file=on_new_file,
            is_64_bit=self._options.deletion_vectors_bitmap64,
        )

    def _sink(self, work: PlannedBucket, on_new_file: Callable[[str], None]) -> DataFileSink:
        return DataFileSink(
            file_io=self._file_io,
            paths=self._paths,
            schema=self._schema,
            partition=work.partition,
            bucket=work.bucket,
            new_file_name=lambda: self._new_file_name(self._options.data_file_prefix),
            clock=self._clock,
            drop_null_columns=True,
            on_new_file=on_new_file,
        )

    def _new_file_name(self, prefix: str) -> str:
        return f"{prefix}{self._uuid}-{self._new_number()}"

    def _new_index_name(self) -> str:
        return TablePaths.new_index_name(str(self._uuid), self._new_number())

    def _new_number(self) -> int:
        self._name_count += 1
        return self._name_count - 1


def _finished(changelog: RollingFiles | None) -> tuple[DataFileMeta, ...]:
    return () if changelog is None else changelog.finish()


def _marked_by(old_rows: OldRows | None) -> Mapping[str, BitMap]:
    return {} if old_rows is None else old_rows.marked
