"""Scan of a table at one snapshot.

A scan is planned once. Then it is read or counted as a whole, or cut into splits that any process can read.
"""

from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from braid.lake.errors import adds_table_to_errors, table_error_context
from braid.lake.format.snapshot import Snapshot
from braid.lake.lsm.sorted_run import Section
from braid.lake.read.key_order import merge_sorted, ordered_splits
from braid.lake.read.key_range import EVERY_KEY, KeyRange
from braid.lake.read.scan_plan import ScanPlan, Split, is_single_run, plan_scan
from braid.lake.read.split_cut import cut_splits
from braid.lake.snapshots.lease import Lease
from braid.lake.table.arguments import check_count, check_key_columns
from braid.lake.table.read.snapshot_rows import SnapshotRows
from braid.lake.table.read.snapshot_source import HiddenRecords
from braid.lake.table.read.split_reader import SplitReader, take_term


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property needs a dictionary
class Scan(SnapshotRows):
    """Rows of a table at one snapshot, chosen by columns and conditions.

    Made by `Table.scan`. Can be read any number of times, with the same result while the snapshot is
    kept: rows that expire after the call stay.
    """

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot; None for a table without one."""
        return self.source.snapshot

    @property
    def hidden(self) -> HiddenRecords | None:
        """What is committed but not read; None if every file is read."""
        return self.source.hidden()

    def lease(self, *, what: str, lease_id: str | None = None) -> Lease | None:
        """Keep the snapshot until the lease is released or not refreshed in time; None without a snapshot.

        Args:
            what: Description of the holder, for people.
            lease_id: Id of a lease to continue, from any process; None: a new lease is taken.

        Raises:
            LeaseLost: The snapshot expired before the lease was written.
        """
        snapshot = self.snapshot
        return (
            None if snapshot is None else self.keeper.lease(snapshot, what=what, lease_id=lease_id)
        )

    @cached_property
    def _plan(self) -> ScanPlan:
        source = self.source
        return plan_scan(
            source.snapshot,
            source.schema,
            source.entries,
            indexes=source.indexes,
            where=self.where,
            older_schemas=source.older_schemas,
            live=self.live,
            merged=source.merged,
            whole=source.whole,
        )

    @adds_table_to_errors
    def plan(self) -> ScanPlan:
        """Return the plan of the files to read; planned once.

        Without I/O, except where a large table is restricted by columns outside of the key: then
        manifests are read for their statistics.

        Raises:
            UnsupportedFeature: A bucket has several index files of deletion vectors.
            LeaseLost: The snapshot has expired, so that statistics cannot be read.
        """
        return self._plan

    @adds_table_to_errors
    def splits(self, *, target_bytes: int | None = None) -> tuple[Split, ...]:
        """Return parts of the scan that can be read in any order, in any process; I/O as `plan`.

        Each part is a bucket, or some sections of a bucket; no key is in two sections of a bucket.
        Serialised, a split takes a few hundred bytes per file.

        Args:
            target_bytes: Bytes of the files of a split; None means the table's
                `source.split.target-size`.

        Raises:
            InvalidRequest: The size is no whole number from 1.
            UnsupportedFeature: As `plan`.
        """
        check_count("target_bytes", target_bytes)
        options = self.schema.table_options
        target_bytes = target_bytes or options.source_split_target_size_bytes
        return cut_splits(
            self._plan.splits,
            target_bytes=max(1, target_bytes),
            open_file_bytes=options.source_split_open_file_cost_bytes,
        )

    def reader(self, *, is_leased: bool = False) -> SplitReader:
        """Return the reader of the `splits`, for this process or others.

        Args:
            is_leased: Lease the snapshot now, so that it is kept for up to ten minutes until the
                first split is read, and for as long between splits. The lease is not released: it
                expires.
        """
        return SplitReader(
            source=replace(self.source, entries=(), indexes=(), whole=None),
            columns=self.columns,
            where=self.where,
            batch_rows=self.batch_rows,
            machine=self.machine,
            keeper=self.keeper,
            live=self.live,
            lease=take_term(self.keeper, self.snapshot) if is_leased else None,
        )

    def to_batches(self) -> Generator[pa.RecordBatch, None, None]:
        """Yield the rows in batches of at least one row; ascending by key within a bucket.

        A bucket whose files need no merge although their keys overlap, as in tables with deletion
        vectors, is read file by file; keys are ascending only within a file then.

        Memory is bounded, however many files have versions of a key: see `read_split`.

        Raises:
            UnsupportedFeature: As `plan`.
            SchemaMismatch: Records that the table's merge refuses.
            LeaseLost: The snapshot expired before it was read.
            CorruptData: A file does not match its metadata.
        """
        with table_error_context(self.identifier), self._held():
            for split in self._plan.splits:
                yield from self._read(split, self.columns)

    def in_key_order(self, keys: KeyRange = EVERY_KEY) -> Iterator[pa.Table]:
        """Yield the rows of a range of keys, ascending by the primary key.

        Of each bucket that may have keys of the range, about `batch_rows` rows are read at first, and further ones as they are
        needed. So reading the first rows takes one file of each bucket, but of only one partition at a time if the primary
        key begins with the columns of the partition.

        Args:
            keys: The range.

        Yields:
            Tables of at least one row.

        Raises:
            InvalidRequest: The range does not fit the table, or the scan lacks a column of the primary key.
            UnsupportedFeature, SchemaMismatch, LeaseLost, CorruptData: As `to_batches`.
        """
        with table_error_context(self.identifier), self._held():
            check_key_columns(self.columns, self.schema)
            for conditions in keys.parts(self.schema):
                yield from replace(self, where=(*self.where, *conditions))._in_key_order()

    def _in_key_order(self) -> Iterator[pa.Table]:
        for splits in ordered_splits(self._plan.splits, self.schema):
            runs = [self._read(split, self.columns) for split in splits]
            yield from merge_sorted(runs, self.schema, batch_rows=self.batch_rows)

    def to_arrow_reader(self) -> pa.RecordBatchReader:
        """Return the rows as a stream of batches that can be read once; else as `to_batches`.

        A reader in Python gets errors as exceptions, other readers get them as text.
        """
        return pa.RecordBatchReader.from_batches(self.arrow_schema, self.to_batches())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as a stream of Arrow's C data interface, a new one each time.

        So all readers of Arrow streams (DuckDB, Polars, pandas, `pa.table`) accept a scan.
        """
        return self.to_arrow_reader().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        """Return all rows as one table; see `to_batches` for order and errors."""
        return pa.Table.from_batches(self.to_batches(), schema=self.arrow_schema)

    @adds_table_to_errors
    def count(self) -> int:
        """Return the number of rows; opens no file whose metadata suffices.

        Raises:
            LeaseLost, CorruptData: As `to_batches`.
        """
        with self._held():
            return self._count()

    def _count(self) -> int:
        rows = 0
        keys = self.schema.trimmed_primary_keys
        for split in self._plan.splits:
            counted = [section for section in split.sections if self._is_counted(section)]
            marked = self._marked_rows(split) if counted else {}
            for file in (section.runs[0].files[0] for section in counted):
                rows += file.row_count - marked.get(file.file_name, 0)
            others = tuple(section for section in split.sections if not self._is_counted(section))
            if others:
                batches = self._read(replace(split, sections=others), keys)
                rows += sum(batch.num_rows for batch in batches)
        return rows

    def _held(self) -> AbstractContextManager[None]:
        return self.keeper.reading(self.snapshot, what="a scan")

    def _is_counted(self, section: Section) -> bool:
        """Return whether metadata has the number of rows of a section."""
        if self.where or self.live is not None or not is_single_run(section):
            return False
        files = section.runs[0].files
        return len(files) == 1 and files[0].delete_row_count == 0

    def _marked_rows(self, split: Split) -> Mapping[str, int]:
        """Return how many rows are marked as deleted, by file name."""
        entry = split.vectors
        ranges = () if entry is None else entry.deletion_vector_ranges or ()
        known = {
            vector.data_file_name: vector.cardinality
            for vector in ranges
            if vector.cardinality is not None
        }
        if len(known) == len(ranges):
            return known
        # Written before the format had the count: the vectors have to be read.
        vectors = self.source.vectors.read(entry).vectors
        return {name: len(vector) for name, vector in vectors.items()}
