"""Plan of a scan: the files to read, chosen from metadata alone.

1. Level 0 is skipped in first-row tables and in tables with deletion vectors, unless these are merged on read
   (`deletion-vectors.merge-on-read`, or the reader asks for it); rows of level 0 become visible through a compaction.
2. Partitions are chosen by their values, which are known exactly.
3. Buckets are chosen by hash if the table has a fixed number of buckets and routes rows by the default function. The
   conditions have to fix the whole bucket key to at most 1,000 values without NaN.
4. Files are chosen by key statistics, and by an index of key columns if their manifest entries have one. A key that
   fulfils the conditions loses no record, so its merge stays right. Of other keys some records may be left; the
   reader checks the conditions again.
5. A bucket is read raw, file by file, if no two live records of its files have the same key. That is so if all files
   are compacted, none has retracts, and the compaction has kept one record of each key: it has marked the others
   (deletion vectors) or left them out (first-row).
6. Files of other buckets are cut into sections of overlapping files.
7. A file that needs no merge, raw or alone in its section, may be dropped by its index and by value statistics: if no
   row fulfils the conditions, or all rows are expired. Rows that a deletion vector marks make the statistics wider,
   never wrong. Where each row is one whole record of its key (deduplicate, first-row), all files of a section may be
   dropped together: if no record matches, no row does. Elsewhere a record that does not match may be part of a row
   that does.

The plan has one split for each bucket; `braid.lake.read.split_cut` cuts the splits.

An index in a file of its own costs a read and is checked by the reader of the file (`braid.lake.read.reader`).

Source: merge-semantics 1.7.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from braid.lake.files.column_mapping import NO_OLDER_SCHEMAS, OlderSchemas
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.indexes.index_manifest import IndexManifestEntry
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.partition_path import partition_directory
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import Snapshot
from braid.lake.lsm.sorted_run import Section, SortedRun, plan_sections
from braid.lake.merge.row_expiry import LiveRows
from braid.lake.options.table_options import BucketFunction, MergeEngine
from braid.lake.read.expired_files import wholly_expired_files
from braid.lake.read.index_pruning import IndexPruning
from braid.lake.read.predicate import BoundCondition, Condition, bind_conditions
from braid.lake.read.pruning import (
    Bounds,
    file_bounds,
    hash_in_bucket,
    matching_partitions,
    may_match,
    wanted_bucket_hashes,
)
from braid.lake.read.value_pruning import files_without_match
from braid.lake.snapshots.deletion_vectors import vector_entries
from braid.lake.snapshots.file_indexes import embedded_filters

WholeEntries = Callable[[Sequence[ManifestEntry]], Iterator[Sequence[ManifestEntry]]]

_EMPTY_ARITY = bytes(4)
"""A serialised row begins with its arity; a row of no fields means that there are no statistics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The part of a scan that lies in one bucket.

    Attributes:
        partition: Serialised partition row.
        bucket: Bucket number.
        total_buckets: Buckets of the partition when the files were written.
        sections: The sections; no two have live records of the same key. Their key ranges are
            disjoint and ascending, unless the bucket is read raw: then each section is one file,
            and ranges may overlap.
        vectors: The index file with the bucket's deletion vectors; None without any.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    sections: tuple[Section, ...]
    vectors: IndexManifestEntry | None = None

    def __post_init__(self) -> None:
        """Check that there is something to read."""
        assert self.sections, "a split without sections is left out of a plan"

    @property
    def files(self) -> tuple[DataFileMeta, ...]:
        """The files of all sections."""
        return tuple(
            file for section in self.sections for run in section.runs for file in run.files
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPlan:
    """All splits of a scan, and the effect of pruning.

    Attributes:
        snapshot_id: The snapshot that is read; None for a table without one.
        splits: Ordered by partition directory and bucket.
        files_total: Live files of the snapshot.
        files_read: Files in `splits`.
    """

    snapshot_id: int | None
    splits: tuple[Split, ...]
    files_total: int
    files_read: int


def plan_scan(
    snapshot: Snapshot | None,
    schema: TableSchema,
    entries: Sequence[ManifestEntry],
    *,
    indexes: Sequence[IndexManifestEntry] = (),
    where: Sequence[Condition] = (),
    older_schemas: OlderSchemas = NO_OLDER_SCHEMAS,
    live: LiveRows | None = None,
    merged: bool = False,
    whole: WholeEntries | None = None,
) -> ScanPlan:
    """Choose the files that can contain rows which fulfil `where`.

    Pure: no I/O but that of `whole`.

    Args:
        snapshot: The snapshot that is read.
        schema: The schema under which rows are read.
        entries: Live files of the snapshot.
        indexes: Index files of the snapshot.
        where: A conjunction; used for pruning only, the reader evaluates it on rows.
        older_schemas: By id, the schemas of files that were written with other columns.
        live: The rows that are not expired; None where rows do not expire.
        merged: Level 0 is read, too, where the table hides it from readers.
        whole: Yields entries with whole statistics, in parts and in any order; called if value statistics
            can exclude files. None: the entries have them.

    Raises:
        InvalidRequest: A condition does not fit the table.
        UnsupportedFeature: A bucket has several index files of deletion vectors.
        CorruptData: An index in a manifest is damaged.
    """
    conditions = bind_conditions(where, schema)
    chosen = [entry for entry in entries if merged or is_visible(entry, schema)]
    chosen = _prune_partitions(chosen, conditions, schema)
    chosen = _prune_buckets(chosen, conditions, schema)
    chosen = _prune_keys(chosen, conditions, schema)
    chosen = _prune_by_index(chosen, conditions, schema, older_schemas)
    # Value statistics last: they are decoded for the files that are left.
    excluded: frozenset[str] = frozenset()
    is_on_values = len(key_conditions(conditions, schema)) < len(conditions) or live is not None
    parts = whole(chosen) if whole is not None and is_on_values else (chosen,)
    for part in parts:
        files = [entry.file for entry in part]
        excluded |= files_without_match(files, conditions, schema, older_schemas)
        if live is not None:
            excluded |= wholly_expired_files(files, live, schema, older_schemas)
    by_values = _ValuePruning(
        schema,
        excluded,
        IndexPruning(conditions, schema, older_schemas),
    )
    splits = _splits(chosen, vector_entries(indexes), by_values, schema)
    assert sum(len(split.files) for split in splits) <= len(chosen), "pruning adds no file"
    return ScanPlan(
        snapshot_id=None if snapshot is None else snapshot.id,
        splits=splits,
        files_total=len(entries),
        files_read=sum(len(split.files) for split in splits),
    )


def is_visible(entry: ManifestEntry, schema: TableSchema) -> bool:
    """Return whether scans read a file: scans of some tables skip level 0.

    Only a compaction determines which rows of a first-row table come first, and which rows are
    replaced by the new rows of a table with deletion vectors (table-format 13.5).
    """
    return entry.file.level > 0 or not schema.table_options.hides_level_0


def _prune_partitions(
    entries: Sequence[ManifestEntry], conditions: Sequence[BoundCondition], schema: TableSchema
) -> list[ManifestEntry]:
    present = list({entry.partition: None for entry in entries})
    kept = matching_partitions(present, conditions, schema)
    return [entry for entry in entries if entry.partition in kept]


def _prune_buckets(
    entries: Sequence[ManifestEntry], conditions: Sequence[BoundCondition], schema: TableSchema
) -> list[ManifestEntry]:
    if schema.table_options.bucket_function_type is not BucketFunction.DEFAULT:
        return list(entries)
    hashes = wanted_bucket_hashes(conditions, schema)
    if hashes is None:
        return list(entries)
    # Per pair, because files that a rescale has not rewritten yet were routed for another count.
    pairs = {(entry.bucket, entry.total_buckets) for entry in entries}
    kept = {(bucket, total) for bucket, total in pairs if hash_in_bucket(hashes, bucket, total)}
    return [entry for entry in entries if (entry.bucket, entry.total_buckets) in kept]


def _prune_keys(
    entries: Sequence[ManifestEntry], conditions: Sequence[BoundCondition], schema: TableSchema
) -> list[ManifestEntry]:
    on_key = [item for item in conditions if item.column in schema.trimmed_primary_keys]
    if not on_key or not entries:
        return list(entries)
    # Files without key statistics are kept; the bounds of all other files are decoded together.
    known = [not entry.file.key_stats.min_values.startswith(_EMPTY_ARITY) for entry in entries]
    files = [entry.file for entry, is_known in zip(entries, known, strict=True) if is_known]
    bounds: dict[str, Bounds] = file_bounds(
        [file.key_stats for file in files], [file.row_count for file in files], schema.key_fields
    )
    kept = np.ones(len(entries), dtype=bool)
    kept[np.array(known)] = may_match(bounds, on_key, len(files))
    return [entry for entry, is_kept in zip(entries, kept, strict=True) if is_kept]


def _prune_by_index(
    entries: Sequence[ManifestEntry],
    conditions: Sequence[BoundCondition],
    schema: TableSchema,
    older_schemas: OlderSchemas,
) -> list[ManifestEntry]:
    pruning = IndexPruning(key_conditions(conditions, schema), schema, older_schemas)
    if not pruning.is_effective:
        return list(entries)
    return [
        entry for entry in entries if not pruning.excludes(embedded_filters(entry.file), entry.file)
    ]


def key_conditions(
    conditions: Sequence[BoundCondition], schema: TableSchema
) -> list[BoundCondition]:
    """Return the conditions on key columns: they hold for all records of a key or for none."""
    return [item for item in conditions if item.column in schema.primary_keys]


def rows_are_records(schema: TableSchema) -> bool:
    """Return whether each row is one record of its key, as it was written, and no combination."""
    engine = schema.table_options.merge_engine
    return engine in (MergeEngine.DEDUPLICATE, MergeEngine.FIRST_ROW)


def _splits(
    entries: Sequence[ManifestEntry],
    vectors: Mapping[tuple[bytes, int], IndexManifestEntry],
    by_values: "_ValuePruning",
    schema: TableSchema,
) -> tuple[Split, ...]:
    groups: dict[tuple[bytes, int], list[ManifestEntry]] = defaultdict(list)
    for entry in entries:
        groups[entry.partition, entry.bucket].append(entry)
    directories = {partition: partition_directory(partition, schema) for partition, _ in groups}
    splits: list[Split] = []
    for partition, bucket in sorted(groups, key=lambda pair: (directories[pair[0]], pair[1])):
        members = groups[partition, bucket]
        files = [entry.file for entry in members]
        sections = plan_sections(files, schema.key_fields)
        # Raw: each file becomes a section of its own, although their key ranges may overlap.
        if _is_raw(files, schema):
            sections = [_single_file(file) for section in sections for file in _files(section.runs)]
        kept = tuple(section for section in sections if not by_values.excludes(section))
        if kept:
            splits.append(
                Split(
                    partition=partition,
                    bucket=bucket,
                    total_buckets=members[0].total_buckets,
                    sections=kept,
                    vectors=vectors.get((partition, bucket)),
                )
            )
    return tuple(splits)


def _is_raw(files: Sequence[DataFileMeta], schema: TableSchema) -> bool:
    """Return whether no two live records of a bucket's files are of one key.

    A file whose count of retracts is unknown is assumed to have none: writers that did not count them
    had retracts on level 0 only.
    """
    if any(file.level == 0 or file.delete_row_count for file in files):
        return False
    options = schema.table_options
    is_first_row = options.merge_engine is MergeEngine.FIRST_ROW
    return options.deletion_vectors_enabled or is_first_row


def _single_file(file: DataFileMeta) -> Section:
    return Section(runs=(SortedRun(files=(file,)),))


def is_single_run(section: Section) -> bool:
    """Return whether a section is read without a merge."""
    return len(section.runs) == 1


def _files(runs: Sequence[SortedRun]) -> list[DataFileMeta]:
    return [file for run in runs for file in run.files]


@dataclass(frozen=True, slots=True)
class _ValuePruning:
    """Drops sections that value statistics and indexes in manifests exclude.

    Attributes:
        schema: The schema under which rows are read.
        excluded: Names of the files that have no matching row by their statistics.
        by_index: Checks the same conditions by indexes.
    """

    schema: TableSchema
    excluded: frozenset[str]
    by_index: IndexPruning

    def excludes(self, section: Section) -> bool:
        """Return whether no row of a section can fulfil the conditions."""
        if not self.excluded and not self.by_index.is_effective:
            return False
        if not (is_single_run(section) or rows_are_records(self.schema)):
            # A row is combined from records of several files: none of them proves anything about it.
            return False
        return not any(self._may_match(file) for file in _files(section.runs))

    def _may_match(self, file: DataFileMeta) -> bool:
        if file.file_name in self.excluded:
            return False
        return not (
            self.by_index.is_effective and self.by_index.excludes(embedded_filters(file), file)
        )
