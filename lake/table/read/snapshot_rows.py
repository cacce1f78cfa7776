"""Base of `Scan` and `SplitReader`: chosen rows of one snapshot, read split by split."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from braid.lake.files.data_files import ReadCounters
from braid.lake.format.schema import TableSchema
from braid.lake.merge.fold import FoldCounters, Machine
from braid.lake.merge.row_expiry import LiveRows
from braid.lake.read.predicate import Condition
from braid.lake.read.reader import read_split
from braid.lake.read.scan_plan import Split
from braid.lake.snapshots.lease_keeper import LeaseKeeper
from braid.lake.table.read.snapshot_source import SnapshotSource


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRows:
    """Rows of one snapshot, chosen by columns and conditions.

    Attributes:
        source: The files of the snapshot.
        columns: Columns of the result, in order.
        where: A conjunction.
        batch_rows: Upper bound of the rows of a batch.
        machine: Which execution merges.
        keeper: Leases the snapshot while a read takes long.
        counters: Cost of reading so far, in this process.
        merge_counters: Work of merging so far; sections of one run are not merged and not counted.
        live: The rows that are not expired, as of the call that chose the rows; None where rows do not
            expire.
    """

    source: SnapshotSource
    columns: tuple[str, ...]
    where: tuple[Condition, ...]
    batch_rows: int
    machine: Machine
    keeper: LeaseKeeper
    counters: ReadCounters = field(default_factory=ReadCounters)
    merge_counters: FoldCounters = field(default_factory=FoldCounters)
    live: LiveRows | None = None

    @property
    def identifier(self) -> str:
        """`db.table`."""
        return self.source.paths.identifier

    @property
    def schema(self) -> TableSchema:
        """The schema that the snapshot is read under."""
        return self.source.schema

    @property
    def arrow_schema(self) -> pa.Schema:
        """The schema of the rows."""
        return pa.schema([self.schema.arrow_schema.field(name) for name in self.columns])

    def _read(self, split: Split, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        source = self.source
        return read_split(
            source.file_io,
            source.paths,
            source.schema,
            split,
            columns=columns,
            where=self.where,
            older_schemas=source.older_schemas,
            batch_rows=self.batch_rows,
            machine=self.machine,
            vectors=source.vectors,
            indexes=source.file_indexes,
            live=self.live,
            counters=self.counters,
            merge_counters=self.merge_counters,
        )
