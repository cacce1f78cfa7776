"""Reader of one split: its rows, merged, filtered and projected.

A section of one run is not merged: all conditions apply to its records, and the expiry of rows is one more condition.
In a section of several runs, conditions on the key are applied before the merge, because they hold for all records of
a key or for none; the other conditions apply to merged rows. In tables where each row is one record, the indexes of
the files of such a section may exclude the whole section. Rows that a deletion vector marks are removed before any
other step. `scan_merge` returns the merge of a table, for lookups as well.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.files.column_mapping import NO_OLDER_SCHEMAS, OlderSchemas
from braid.lake.files.data_files import ReadCounters, RowFilter, RowGroupFilter
from braid.lake.files.parquet.bounds import ColumnBounds
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.schema import TableSchema
from braid.lake.lsm.merge_runs import bytes_per_run, merge_runs, rows_per_run
from braid.lake.lsm.round_merge import LookupMerge, PlainMerge, RoundMerge
from braid.lake.lsm.sorted_run import Section
from braid.lake.merge.fold import FoldCounters, Machine, drop_retracts
from braid.lake.merge.row_expiry import LiveRows
from braid.lake.merge.spec import MergeSpec, columns_needed, merge_spec
from braid.lake.options.table_options import MergeEngine
from braid.lake.read.expired_files import expired_records
from braid.lake.read.index_pruning import IndexPruning
from braid.lake.read.predicate import BoundCondition, Condition, bind_conditions, matching_rows
from braid.lake.read.pruning import matching_partitions, may_match
from braid.lake.read.run_reader import FileFilter, RunReader
from braid.lake.read.scan_plan import Split, is_single_run, rows_are_records
from braid.lake.snapshots.deletion_vectors import VectorStore
from braid.lake.snapshots.file_indexes import FileIndexStore, index_name

BATCH_ROWS = 65_536
"""Rows of a batch; a merge keeps about this many of each run in memory."""


def read_split(
    file_io: FileIO,
    paths: TablePaths,
    schema: TableSchema,
    split: Split,
    *,
    columns: Sequence[str],
    where: Sequence[Condition] = (),
    older_schemas: OlderSchemas = NO_OLDER_SCHEMAS,
    batch_rows: int = BATCH_ROWS,
    machine: Machine = Machine.COLUMN,
    vectors: VectorStore | None = None,
    indexes: FileIndexStore | None = None,
    live: LiveRows | None = None,
    counters: ReadCounters | None = None,
    merge_counters: FoldCounters | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the live rows of a split, ascending by key; file by file where it is read raw.

    Memory: about half a million rows or 256 MiB of all runs of a section (`braid.lake.lsm.merge_runs`),
    and one row group's compressed bytes of each.

    Args:
        file_io: Storage.
        paths: The table's paths.
        schema: The schema under which rows are read.
        split: The split to read.
        columns: Columns of the result, at least one, without repeats.
        where: A conjunction; its columns need not be among `columns`.
        older_schemas: By id, the schemas of files that were written with other columns.
        batch_rows: Upper bound of the rows of a batch.
        machine: Which execution merges.
        vectors: Caches deletion vectors between splits; None: they are read anew.
        indexes: Caches the indexes of files between splits; None: they are read anew.
        live: The rows that are not expired, all others are left out; None where rows do not expire.
        counters: Counters to add to, if given.
        merge_counters: Counters to add to, if given.

    Yields:
        Batches of at least one row, with `columns` in their order.

    Raises:
        InvalidRequest: A column or condition that does not fit the table.
        SchemaMismatch: Records that the table's merge refuses.
        CorruptData: A file does not match its metadata.
    """
    reader = _SplitReader(
        file_io=file_io,
        paths=paths,
        schema=schema,
        split=split,
        older_schemas=older_schemas,
        batch_rows=batch_rows,
        machine=machine,
        vectors=vectors if vectors is not None else VectorStore(file_io, paths),
        indexes=indexes if indexes is not None else FileIndexStore(file_io),
        live=live,
        counters=counters if counters is not None else ReadCounters(),
        merge_counters=merge_counters if merge_counters is not None else FoldCounters(),
    )
    conditions = _undecided(bind_conditions(where, schema), split, schema)
    if conditions is None:
        return
    for section in split.sections:
        if is_single_run(section):
            for batch in reader.raw_rows(section, columns, conditions):
                if batch.num_rows:
                    yield batch
            continue
        for table in reader.merged_rows(section, columns, conditions):
            # All conditions are checked again: below the merge only conditions on the key were
            # applied.
            mask = _kept_rows(table, conditions, live)
            if mask is not None:
                table = table.filter(mask)  # noqa: PLW2901 - the rows before must not stay in memory
            yield from _non_empty(table.select(list(columns)), batch_rows)
            # While the next rows are read and merged, these are not kept.
            del table, mask


class _SplitReader:
    """Reads the sections of a split."""

    def __init__(
        self,
        *,
        file_io: FileIO,
        paths: TablePaths,
        schema: TableSchema,
        split: Split,
        older_schemas: OlderSchemas,
        batch_rows: int,
        machine: Machine,
        vectors: VectorStore,
        indexes: FileIndexStore,
        live: LiveRows | None,
        counters: ReadCounters,
        merge_counters: FoldCounters,
    ) -> None:
        self._schema = schema
        self._older_schemas = older_schemas
        self._indexes = indexes
        self._live = live
        self._batch_rows = batch_rows
        self._spec: MergeSpec = merge_spec(schema)
        self._merge = scan_merge(schema, self._spec, machine, merge_counters)
        self._runs = RunReader(
            file_io=file_io,
            paths=paths,
            schema=schema,
            older_schemas=older_schemas,
            partition=split.partition,
            bucket=split.bucket,
            vectors=vectors.read(split.vectors).vectors,
            has_level=isinstance(self._merge, LookupMerge),
            counters=counters,
        )

    def raw_rows(
        self, section: Section, columns: Sequence[str], conditions: Sequence[BoundCondition]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a section of one run that fulfil the conditions: no merge is needed."""
        assert is_single_run(section), "several runs are merged"
        return self._runs.rows(
            section.runs[0],
            columns,
            batch_rows=min(self._batch_rows, rows_per_run(1)),
            batch_bytes=bytes_per_run(1),
            row_group_filter=_row_group_filter(conditions, self._live),
            row_filter=_row_filter(conditions, self._live),
            excludes=self._file_filter(conditions),
        )

    def merged_rows(
        self, section: Section, columns: Sequence[str], conditions: Sequence[BoundCondition]
    ) -> Iterator[pa.Table]:
        """Yield the rows of a section after merging, without retracts, before filtering."""
        wanted = tuple(dict.fromkeys([*columns, *_columns_of(conditions, self._live)]))
        # Bounded by the number of runs, so that a merge of many takes no more memory than one of few.
        batch_rows = min(self._batch_rows, rows_per_run(len(section.runs)))
        batch_bytes = bytes_per_run(len(section.runs))
        # With all conditions, a merged section is dropped as a whole or not at all: a record that
        # matches may be replaced by a record in another file that does not match.
        if self._is_excluded(section, self._file_filter(conditions)):
            return
        needed = columns_needed(self._spec, wanted)
        # With the conditions on the key, files, row groups and rows are dropped one by one.
        on_key = [item for item in conditions if item.column in self._spec.key_columns]
        row_filter = _row_group_filter(on_key, None)
        excludes = self._file_filter(on_key)
        runs = [
            _matching(
                self._runs.batches(
                    run,
                    needed,
                    batch_rows=batch_rows,
                    batch_bytes=batch_bytes,
                    row_filter=row_filter,
                    excludes=excludes,
                ),
                on_key,
            )
            for run in section.runs
        ]
        merged = merge_runs(runs, self._merge, batch_rows=batch_rows, batch_bytes=batch_bytes)
        # `map` keeps no reference to what it has yielded, as a loop does.
        yield from map(drop_retracts, merged)

    def _file_filter(self, conditions: Sequence[BoundCondition]) -> FileFilter | None:
        """Return a check of indexes in separate files; the plan has checked those in manifests."""
        pruning = IndexPruning(conditions, self._schema, self._older_schemas)
        if not pruning.is_effective:
            return None

        def excludes(path: str, file: DataFileMeta) -> bool:
            has_index = index_name(file) is not None
            return has_index and pruning.excludes(self._indexes.filters(path, file), file)

        return excludes

    def _is_excluded(self, section: Section, excludes: FileFilter | None) -> bool:
        """Return whether indexes prove that no row of a merged section fulfils the conditions."""
        if excludes is None or not rows_are_records(self._schema):
            return False
        files = [file for run in section.runs for file in run.files]
        return all(excludes(self._runs.path(file), file) for file in files)


def scan_merge(
    schema: TableSchema, spec: MergeSpec, machine: Machine, counters: FoldCounters
) -> RoundMerge:
    """Return how a scan merges records of a key (merge-semantics 1.6, 1.7)."""
    options = schema.table_options
    # First-row keeps the oldest of all records, and that one is on the highest level.
    if options.needs_lookup and options.merge_engine is not MergeEngine.FIRST_ROW:
        return LookupMerge(spec=spec, machine=machine, counters=counters, single_untouched=True)
    return PlainMerge(spec=spec, machine=machine, counters=counters)


def _undecided(
    conditions: Sequence[BoundCondition], split: Split, schema: TableSchema
) -> Sequence[BoundCondition] | None:
    """Return the conditions that a split's partition does not decide; None if it fails a condition."""
    if not matching_partitions([split.partition], conditions, schema):
        return None
    return [item for item in conditions if item.column not in schema.partition_keys]


def _matching(
    batches: Iterator[pa.RecordBatch], on_key: Sequence[BoundCondition]
) -> Iterator[pa.RecordBatch]:
    """Return the rows that fulfil conditions on the key, so that records of other keys are not merged."""

    def matching(batch: pa.RecordBatch) -> pa.RecordBatch:
        mask = matching_rows(batch, on_key)
        return batch if mask is None else batch.filter(mask)

    return map(matching, batches)


def _row_group_filter(
    conditions: Sequence[BoundCondition], live: LiveRows | None
) -> RowGroupFilter | None:
    if not conditions and live is None:
        return None

    def keep(bounds: Mapping[str, ColumnBounds], count: int) -> npt.NDArray[np.bool_]:
        kept = may_match(bounds, conditions, count)
        if live is not None and live.column in bounds:
            kept &= ~expired_records(bounds[live.column], live).is_all
        return kept

    return RowGroupFilter(columns=_columns_of(conditions, live), keep=keep)


def _row_filter(conditions: Sequence[BoundCondition], live: LiveRows | None) -> RowFilter | None:
    if not conditions and live is None:
        return None

    def matches(batch: pa.RecordBatch) -> pa.Array:
        mask = _kept_rows(batch, conditions, live)
        assert mask is not None, "there is a condition, or rows expire"
        return mask

    return RowFilter(columns=_columns_of(conditions, live), matches=matches)


def _kept_rows(
    rows: pa.RecordBatch | pa.Table, conditions: Sequence[BoundCondition], live: LiveRows | None
) -> pa.Array | pa.ChunkedArray | None:
    """Return which rows fulfil the conditions and are not expired; None where all do."""
    mask = matching_rows(rows, conditions)
    if live is None:
        return mask
    alive = live.matches(rows.column(live.column))
    return alive if mask is None else pc.and_(mask, alive)


def _columns_of(conditions: Sequence[BoundCondition], live: LiveRows | None) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(item.column for item in conditions))
    return names if live is None else live.with_column(names)


def _non_empty(table: pa.Table, batch_rows: int) -> Iterator[pa.RecordBatch]:
    for batch in table.to_batches(max_chunksize=batch_rows):
        if batch.num_rows:
            yield batch
