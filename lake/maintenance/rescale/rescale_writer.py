"""Writer of a rescale: rewrites files of old buckets as files of new ones; commits nothing.

Rows are read in key order over all old buckets of a unit and distributed to the new buckets. Memory does not depend
on the number of rows. It holds batches of the runs that are read, and the rows that wait until their row group is
full: at most `_HELD_BYTES` for all new buckets together.

If the rows of a unit may go to more new buckets than can be open at once, a first pass finds the buckets that get
rows. If the rows are few, they are written from memory, one bucket after the other. Otherwise the old files are read
again for each group of buckets. So new buckets that get no rows cost neither time nor memory.

An old file with rows that belong to another bucket is refused. The parts of a level-0 file keep the bounds of its
sequence numbers.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final
from uuid import UUID

import numpy as np
import pyarrow as pa

from braid.lake.errors import CorruptData
from braid.lake.files.clock import Clock
from braid.lake.files.column_mapping import OlderSchemas
from braid.lake.files.data_files import ROW_GROUP_BYTES, columns_without_values
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.bucket import Int32Array, assign_buckets, buckets_of, key_hashes
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.lsm.merge_runs import bytes_per_run, merge_runs, rows_per_run
from braid.lake.maintenance.rescale.rescale_groups import BucketGroup, BucketSizes
from braid.lake.maintenance.rescale.rescale_plan import RescaleUnit
from braid.lake.merge.order.key_codes import Uints
from braid.lake.merge.order.key_order import key_codes
from braid.lake.merge.spec import MergeSpec, merge_spec
from braid.lake.read.run_reader import RunReader
from braid.lake.write.files.level_file import DataFileSink
from braid.lake.write.files.rolling_files import RollingFiles

_SINKS_MAX: Final = 16
"""Number of new buckets that are open at once, at most. Each gets an equal share of `_HELD_BYTES` for its row
groups, which would be very small with more buckets."""

_HELD_BYTES: Final = 2 * ROW_GROUP_BYTES
"""Bytes of rows that are held until their row groups are full."""

_Files = dict[int, tuple[DataFileMeta, ...]]
_NewFiles = Callable[[int, int], RollingFiles]
"""From a new bucket and the bytes of its row groups in memory to the bucket's writer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RescaledUnit:
    """A rewritten unit.

    Attributes:
        unit: The unit, with the old files.
        files: The new files by new bucket; buckets that get no rows are absent.
        paths: Paths of the new files.
    """

    unit: RescaleUnit
    files: Mapping[int, tuple[DataFileMeta, ...]]
    paths: tuple[str, ...]


class RescaleWriter:
    """Rewrites units of one table."""

    def __init__(
        self,
        *,
        file_io: FileIO,
        paths: TablePaths,
        schema: TableSchema,
        older_schemas: Callable[[Iterable[ManifestEntry]], OlderSchemas],
        routing: TableSchema,
        clock: Clock,
        uuid: UUID,
    ) -> None:
        """Make a writer.

        Args:
            file_io: Storage.
            paths: Paths of the table.
            schema: The schema under which files are read and written.
            older_schemas: Returns, by id, the schemas of those files that were written with other columns.
            routing: The same schema with the new bucket count.
            clock: Gives the creation time of files.
            uuid: Part of the names of new files; fresh.

        Raises:
            UnsupportedFeature: The table merges in a way that this version does not support.
        """
        self._file_io = file_io
        self._paths = paths
        self._schema = schema
        self._older_schemas = older_schemas
        self._routing = routing
        self._spec = merge_spec(schema)
        self._clock = clock
        self._uuid = uuid
        self._name_count = 0
        self._written: list[str] = []

    @property
    def written(self) -> Sequence[str]:
        """Return the paths of all files begun so far."""
        return self._written

    def rewrite(self, unit: RescaleUnit) -> RescaledUnit:
        """Write the new files of a unit.

        Raises:
            CorruptData: A file is absent, does not match its metadata, or has rows of another bucket.
            StorageUnavailable: Storage refused.
        """
        begun = len(self._written)
        # Columns without a value in any old file are left out of the new ones.
        old = [entry.file for entry in unit.entries]
        empty = columns_without_values(old, self._schema, self._older_schemas(unit.entries))
        new_files = partial(self._new_files, unit, empty)
        if len(unit.buckets) <= _SINKS_MAX:
            files = self._side_by_side(self._rows(unit), len(unit.buckets), new_files)
        else:
            files = self._among_many(unit, new_files)
        assert all(bucket in unit.buckets for bucket in files), (
            "rows of a unit stay in the buckets of its remainder"
        )
        return RescaledUnit(
            unit=unit,
            files={bucket: _as_old_as(unit, files[bucket]) for bucket in sorted(files)},
            paths=tuple(self._written[begun:]),
        )

    def _among_many(self, unit: RescaleUnit, new_files: _NewFiles) -> _Files:
        """Write rows that may go to more new buckets than can be open at once."""
        sizes = BucketSizes()
        held: list[pa.Table] = []
        held_bytes = 0
        for rows in self._rows(unit):
            sizes.add(assign_buckets(rows, self._routing), rows.nbytes)
            held_bytes += rows.nbytes
            # Once there are too many rows to keep in memory, only their sizes are collected.
            if held_bytes <= _HELD_BYTES:
                held.append(rows)
            else:
                held.clear()
        if held:
            return self._one_by_one(pa.concat_tables(held), new_files)
        files: _Files = {}
        for group in sizes.groups(count_max=_SINKS_MAX, bytes_max=_HELD_BYTES):
            tables = self._rows_of(unit, group)
            # A group of more buckets than can be open has at most `_HELD_BYTES`.
            if group.count <= _SINKS_MAX:
                files.update(self._side_by_side(tables, group.count, new_files))
            else:
                files.update(self._one_by_one(pa.concat_tables(tables), new_files))
        return files

    def _rows_of(self, unit: RescaleUnit, group: BucketGroup) -> Iterator[pa.Table]:
        """Yield the rows of some of the new buckets in key order."""
        for rows in self._rows(unit):
            yield rows.filter(pa.array(group.holds(assign_buckets(rows, self._routing))))

    def _side_by_side(self, tables: Iterator[pa.Table], count: int, new_files: _NewFiles) -> _Files:
        """Write rows of at most `count` buckets as they come, all buckets open at once."""
        assert count <= _SINKS_MAX, "each open bucket holds a row group"
        with ExitStack() as opened:
            rolling: dict[int, RollingFiles] = {}
            for rows in tables:
                for bucket, part in self._by_bucket(rows):
                    if bucket not in rolling:
                        rolling[bucket] = opened.enter_context(
                            new_files(bucket, _HELD_BYTES // count)
                        )
                    rolling[bucket].add(part)
            return {bucket: files.finish() for bucket, files in rolling.items()}

    def _one_by_one(self, rows: pa.Table, new_files: _NewFiles) -> _Files:
        """Write rows that are held in memory, one bucket after the other."""
        finished: _Files = {}
        for bucket, part in self._by_bucket(rows):
            assert bucket not in finished, "all rows of a bucket come together"
            with new_files(bucket, _HELD_BYTES) as files:
                files.add(part)
                finished[bucket] = files.finish()
        return finished

    def _new_files(
        self, unit: RescaleUnit, empty: Collection[str], bucket: int, row_group_bytes: int
    ) -> RollingFiles:
        """Return the writer of a new bucket; it opens no file before the first row.

        The parts of a level-0 file keep its source.
        """
        source = unit.entries[0].file.file_source if unit.level == 0 else FileSource.COMPACT
        return RollingFiles(
            self._sink(unit.partition, bucket),
            level=unit.level,
            file_source=FileSource.APPEND if source is None else source,
            empty_columns=empty,
            row_group_bytes=row_group_bytes,
        )

    def _rows(self, unit: RescaleUnit) -> Iterator[pa.Table]:
        """Yield the records of a unit in key order, without those that deletion vectors mark."""
        # One run per old bucket: the runs have no key in common, so merging them only orders the rows.
        runs = unit.runs(self._schema.key_fields)
        older_schemas = self._older_schemas(unit.entries)
        rows, size = rows_per_run(len(runs)), bytes_per_run(len(runs))
        batches = [
            self._checked(
                RunReader(
                    file_io=self._file_io,
                    paths=self._paths,
                    schema=self._schema,
                    older_schemas=older_schemas,
                    partition=unit.partition,
                    bucket=bucket,
                    vectors=unit.marks,
                ).batches(run, self._schema.field_names, batch_rows=rows, batch_bytes=size),
                unit,
                bucket,
            )
            for bucket, run in runs
        ]
        yield from merge_runs(
            batches, _OrderByKey(spec=self._spec), batch_rows=rows, batch_bytes=size
        )

    def _checked(
        self, batches: Iterator[pa.RecordBatch], unit: RescaleUnit, bucket: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the batches of an old bucket, after a check that their rows belong there.

        If some rows did not, a key could be in two buckets, and its records would have to be merged. This
        happens with NaN keys that other engines have written with different bits.

        Raises:
            CorruptData: A row belongs to another bucket.
        """
        for batch in batches:
            if unit.total_buckets > 1:
                expected = buckets_of(key_hashes(batch, self._schema), unit.total_buckets)
                if count := int(np.count_nonzero(expected != bucket)):
                    raise CorruptData(_misplaced(unit, bucket, count))
            yield batch

    def _by_bucket(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Yield new buckets with their rows, which stay in key order."""
        buckets = assign_buckets(rows, self._routing)
        # Stable, so that the rows of a bucket stay in the order of their keys.
        order = np.argsort(buckets, kind="stable")
        sorted_rows = rows.take(pa.array(order))
        for bucket, start, end in _stretches(buckets[order]):
            yield bucket, sorted_rows.slice(start, end - start)

    def _sink(self, partition: bytes, bucket: int) -> DataFileSink:
        return DataFileSink(
            file_io=self._file_io,
            paths=self._paths,
            schema=self._schema,
            partition=partition,
            bucket=bucket,
            new_file_name=self._new_file_name,
            clock=self._clock,
            drop_null_columns=True,
            on_new_file=self._written.append,
        )

    def _new_file_name(self) -> str:
        prefix = self._schema.table_options.data_file_prefix
        name = f"{prefix}{self._uuid}-{self._name_count}"
        self._name_count += 1
        return name


@dataclass(frozen=True, slots=True, kw_only=True)
class _OrderByKey:
    """Orders records by key and merges none: runs of different buckets have no key in common.

    Attributes:
        spec: Names the key columns.
        passes_singletons: Always True.
    """

    spec: MergeSpec
    passes_singletons: bool = field(default=True, init=False)

    def pass_singletons(self, records: pa.Table) -> pa.Table:
        """Return the records as they are."""
        return records

    def merge(self, records: pa.Table, codes: Uints | None) -> pa.Table:
        """Return the records in key order."""
        if codes is None:
            codes = key_codes([records.column(name) for name in self.spec.key_columns])
        return records.take(pa.array(np.argsort(codes, kind="stable")))


def _as_old_as(unit: RescaleUnit, files: Sequence[DataFileMeta]) -> tuple[DataFileMeta, ...]:
    """Return the parts of a level-0 file with the bounds of sequence numbers of the whole file.

    The bounds order the files of level 0, and in tables ordered by snapshot they are the numbers of the
    records. A part is as new as the whole. Files of other levels are returned unchanged.
    """
    if unit.level > 0:
        return tuple(files)
    whole = unit.entries[0].file
    return tuple(
        replace(
            file,
            min_sequence_number=whole.min_sequence_number,
            max_sequence_number=whole.max_sequence_number,
        )
        for file in files
    )


def _misplaced(unit: RescaleUnit, bucket: int, count: int) -> str:
    return (
        f"at least {count} rows of level {unit.level} are in bucket {bucket} of {unit.total_buckets}, but "
        "belong to other buckets by their keys\n"
        "hint: the table is unchanged; read it, and write the rows into a new table. A key with a "
        "NaN can be the cause: other engines route it by the bits of the NaN"
    )


def _stretches(ascending: Int32Array) -> Iterator[tuple[int, int, int]]:
    """Yield each number with the start and the end (exclusive) of its stretch."""
    if not len(ascending):
        return
    starts = np.flatnonzero(np.diff(ascending, prepend=ascending[0] - 1))
    ends = np.append(starts[1:], len(ascending))
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        yield int(ascending[start]), start, end
