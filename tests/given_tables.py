"""Small tables for tests of the engine's upper rooms: a schema in one line, rows in another."""

import random
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyroaring import BitMap

from braid.lake.files.clock import ManualClock
from braid.lake.files.data_file_path import table_paths
from braid.lake.files.data_files import ReadCounters
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.data_types import DataField, assign_field_ids, highest_field_id
from braid.lake.format.indexes.index_manifest import IndexManifestEntry
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import RowKind
from braid.lake.format.type_codec import parse_type
from braid.lake.merge.fold import Machine
from braid.lake.read.predicate import Condition
from braid.lake.read.reader import read_split
from braid.lake.read.scan_plan import ScanPlan, plan_scan
from braid.lake.snapshots.deletion_vectors import VectorStore
from braid.lake.write.table_writer import TableWriter, WriteResult

ROOT = "/warehouse/db.db/t"
INDEX_FILES = {
    "file-index.bloom-filter.columns": "k",
    "file-index.in-manifest-threshold": "0 b",
}
"""Options by which every data file of a table with a column `k` has an index file beside it."""


def given_schema(
    columns: Mapping[str, object],
    *,
    key: Sequence[str],
    partition: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> TableSchema:
    """Return schema 0 of a table; columns are types by name, text or JSON."""
    fields = assign_field_ids([_field(name, declared, key) for name, declared in columns.items()])
    return TableSchema(
        id=0,
        fields=fields,
        highest_field_id=highest_field_id(fields),
        partition_keys=tuple(partition),
        primary_keys=tuple(key),
        options={"bucket": "1", **(options or {})},
    )


def given_rows(schema: TableSchema, rows: Sequence[Sequence[object]]) -> pa.Table:
    """Return rows, each in column order, under the table's Arrow schema."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema.fields)
    arrays = [
        pa.array(list(values), type=column.type)
        for values, column in zip(columns, schema.arrow_schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, names=list(schema.field_names))


@dataclass(kw_only=True)
class GivenTable:
    """A table in memory whose commits are a list of entries: no snapshots, no manifests."""

    schema: TableSchema
    file_io: MemoryFileIO = field(default_factory=MemoryFileIO)
    clock: ManualClock = field(default_factory=ManualClock)
    entries: list[ManifestEntry] = field(default_factory=list)
    indexes: list[IndexManifestEntry] = field(default_factory=list)
    counters: ReadCounters = field(default_factory=ReadCounters)
    next_sequence_number: int = 0
    _random: random.Random = field(default_factory=lambda: random.Random(7))

    @property
    def paths(self) -> TablePaths:
        """Names of the table's files."""
        return table_paths(ROOT, self.schema)

    def writer(self, **settings: object) -> TableWriter:
        """Return a writer that continues the sequence numbers."""
        return TableWriter(
            self.file_io,
            self.paths,
            self.schema,
            first_sequence_number=self.next_sequence_number,
            clock=self.clock,
            uuid_source=lambda: uuid.UUID(int=self._random.getrandbits(128), version=4),
            **settings,  # type: ignore[arg-type] # settings are the writer's own keywords
        )

    def commit(self, result: WriteResult) -> WriteResult:
        """Add the new files."""
        if result.max_sequence_number is not None:
            self.next_sequence_number = result.max_sequence_number + 1
        self.entries += [
            ManifestEntry(
                kind=FileKind.ADD,
                partition=message.partition,
                bucket=message.bucket,
                total_buckets=message.total_buckets,
                file=file,
            )
            for message in result.messages
            for file in message.new_files
        ]
        return result

    def write(
        self, *rows: Sequence[object], kinds: str | None = None, **settings: object
    ) -> WriteResult:
        """Commit rows given in column order; kinds are symbols with blanks between them."""
        writer = self.writer(**settings)
        writer.write(given_rows(self.schema, rows), kinds=given_kinds(kinds))
        return self.commit(writer.prepare_commit())

    def move(self, number: int, level: int) -> None:
        """Put the file of an entry on another level, as if a compaction had written it."""
        entry = self.entries[number]
        self.entries[number] = replace(entry, file=replace(entry.file, level=level))

    def mark(self, positions: Mapping[int, Sequence[int]]) -> None:
        """Mark rows as deleted: by the numbers of entries, all of one bucket; instead of others."""
        vectors = {
            self.entries[number].file.file_name: BitMap(rows) for number, rows in positions.items()
        }
        entry = self.entries[next(iter(positions))]
        self.indexes = [
            VectorStore(self.file_io, self.paths).write(
                vectors,
                partition=entry.partition,
                bucket=entry.bucket,
                name=f"index-{self._random.getrandbits(64)}",
                is_64_bit=self.schema.table_options.deletion_vectors_bitmap64,
            )
        ]

    def plan(self, *where: tuple[object, ...]) -> ScanPlan:
        """Plan a scan; a condition is (column, operator[, value])."""
        return plan_scan(
            None, self.schema, self.entries, indexes=self.indexes, where=given_conditions(where)
        )

    def read(
        self,
        *where: tuple[object, ...],
        columns: Sequence[str] | None = None,
        batch_rows: int = 65_536,
        machine: Machine = Machine.COLUMN,
    ) -> list[tuple[object, ...]]:
        """Return the rows of a scan as tuples, sorted by their text."""
        names = self.schema.field_names if columns is None else tuple(columns)
        rows = [
            tuple(row[name] for name in names)
            for split in self.plan(*where).splits
            for batch in read_split(
                self.file_io,
                self.paths,
                self.schema,
                split,
                columns=names,
                where=given_conditions(where),
                batch_rows=batch_rows,
                machine=machine,
                counters=self.counters,
            )
            for row in batch.to_pylist()
        ]
        return sorted(rows, key=repr)


def given_conditions(where: Sequence[tuple[object, ...]]) -> list[Condition]:
    """Return conditions written as (column, operator[, value])."""
    return [
        Condition(column=str(column), op=str(operator), value=value[0] if value else None)
        for column, operator, *value in where
    ]


def given_kinds(symbols: str | None) -> pa.Array | None:
    """Return row kinds written as `+I -D`."""
    if symbols is None:
        return None
    return pa.array([RowKind.from_symbol(symbol) for symbol in symbols.split()], pa.int8())


def _field(name: str, declared: object, key: Sequence[str]) -> DataField:
    assert isinstance(declared, (str, Mapping)), declared
    data_type = parse_type(declared)
    if name in key:
        data_type = data_type.with_nullable(False)
    return DataField(name=name, type=data_type)
