"""The explanation of one row: the versions of its key, and for each column why one of them gives the value."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.errors import SchemaMismatch
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import Snapshot
from braid.lake.format.system_columns import (
    SEQUENCE_NUMBER,
    SEQUENCE_NUMBER_FIELD,
    VALUE_KIND,
    RowKind,
)
from braid.lake.merge.explanation import ColumnReasons, MergeExplanation, explain_merge
from braid.lake.merge.failing_key import error_of_key
from braid.lake.merge.fold import fold
from braid.lake.merge.selection import NO_ROW, Pick, Selection
from braid.lake.merge.spec import merge_spec
from braid.lake.merge.value_checks import ValueChecks
from braid.lake.read.lookup.python_rows import Row, python_columns, python_rows
from braid.lake.write.rows.stored_rows import key_value_table, stored_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionSource:
    """Where a version of a row is stored.

    Attributes:
        file: The data file; None: the version is not stored.
        snapshot: The snapshot that has written it; None: it has expired, or a compaction has written the version.
        is_compacted: Whether a compaction has written the version from others.
    """

    file: DataFileMeta | None = None
    snapshot: Snapshot | None = None
    is_compacted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyVersions:
    """Versions of one row: what a write, or a compaction, has stored for its key.

    Attributes:
        schema: The schema under which they are read.
        records: Key-value table of all columns of the table; in the order in which a scan merges records.
        sources: Where each is stored.
    """

    schema: TableSchema
    records: pa.Table
    sources: tuple[VersionSource, ...]

    def __len__(self) -> int:
        return len(self.sources)

    @classmethod
    def of_values(
        cls,
        schema: TableSchema,
        values: Sequence[Mapping[str, object]],
        *,
        kinds: Sequence[RowKind] = (),
        sequence_numbers: Sequence[int] = (),
        sources: Sequence[VersionSource] = (),
    ) -> Self:
        """Return versions that are given as Python values, one entry each; a value that is not given is null.

        Raises:
            pa.ArrowInvalid, pa.ArrowTypeError: A value does not fit its column.
        """
        columns = [
            pa.array([row.get(field.name) for row in values], field.type)
            for field in schema.arrow_schema
        ]
        rows = pa.Table.from_arrays(columns, schema=schema.arrow_schema)
        records = key_value_table(rows, pa.array(kinds, pa.int8()), 0).set_column(
            0, SEQUENCE_NUMBER_FIELD, pa.array(sequence_numbers, pa.int64())
        )
        return cls(schema=schema, records=records, sources=tuple(sources))

    def filter(self, kept: Sequence[bool]) -> "KeyVersions":
        """Return some of the versions."""
        sources = (source for source, is_kept in zip(self.sources, kept, strict=True) if is_kept)
        return KeyVersions(
            schema=self.schema,
            records=self.records.filter(pa.array(kept, pa.bool_())),
            sources=tuple(sources),
        )

    def with_rows(self, rows: pa.RecordBatch | pa.Table, kinds: pa.Array | None) -> "KeyVersions":
        """Return the versions with one more: that which a commit of some rows of the key would add.

        Args:
            rows: Rows of the key, in the order of arrival, as for `TableWriter.write`.
            kinds: Likewise.

        Raises:
            SchemaMismatch: As `TableWriter.write` and `TableWriter.flush`.
        """
        stored = stored_rows(rows, kinds, self.schema, ValueChecks.of(self.schema))
        numbers = self.records.column(SEQUENCE_NUMBER)
        number = (pc.max(numbers).as_py() or 0) + 1
        record = fold(key_value_table(stored.rows, stored.kinds, number), merge_spec(self.schema))
        assert record.num_rows <= 1, "rows of one key become one record"
        if not record.num_rows:
            return self
        return KeyVersions(
            schema=self.schema,
            records=pa.concat_tables([self.records, record.select(self.records.column_names)]),
            sources=(*self.sources, VersionSource()),
        )

    def without_values(self, columns: Mapping[int, Collection[str]]) -> "KeyVersions":
        """Return the versions with nulls in the given columns of some versions, by number."""
        records = self.records
        for index, name in enumerate(records.column_names):
            cleared = [name in columns.get(number, ()) for number in range(len(self))]
            if any(cleared):
                kept = pa.array(range(len(self)), pa.int64(), mask=np.array(cleared))
                column = records.column(name).take(kept)
                records = records.set_column(index, records.schema.field(index), column)
        return replace(self, records=records)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyExplanation:
    """Why a row has its values.

    Attributes:
        versions: The versions that the row is merged from, in merge order, oldest first.
        kinds: The row kind of each version.
        sequence_numbers: The sequence number of each version.
        values: The values of each version.
        row: The row as Python values; None: there is none.
        columns: By column without the primary key, the reasons by the number of the version.
    """

    versions: KeyVersions
    kinds: tuple[RowKind, ...]
    sequence_numbers: tuple[int, ...]
    values: tuple[Row, ...]
    row: Row | None
    columns: Mapping[str, ColumnReasons]


def explain_versions(versions: KeyVersions) -> KeyExplanation:
    """Return the row that versions merge into, and why.

    Raises:
        SchemaMismatch: The versions cannot be merged.
        UnsupportedFeature: A date or time that Python cannot hold.
    """
    if not len(versions):
        return KeyExplanation(
            versions=versions, kinds=(), sequence_numbers=(), values=(), row=None, columns={}
        )
    merged = _explain(versions)
    # In merge order, so that numbers of versions say which is newer.
    order = merged.order
    numbers = {record: number for number, record in enumerate(order)}
    [batch] = versions.records.select(versions.schema.field_names).combine_chunks().to_batches()
    values = python_rows(batch)
    kinds, sequence_numbers = (
        versions.records.column(name).to_pylist() for name in (VALUE_KIND, SEQUENCE_NUMBER)
    )
    in_order = KeyVersions(
        schema=versions.schema,
        records=versions.records.take(pa.array(order, pa.int64())),
        sources=tuple(versions.sources[record] for record in order),
    )
    return KeyExplanation(
        versions=in_order,
        kinds=tuple(RowKind(kinds[record]) for record in order),
        sequence_numbers=tuple(sequence_numbers[record] for record in order),
        values=tuple(values[record] for record in order),
        row=None if merged.row is None else _values_of(merged.row, values),
        columns=_numbered(merged.columns, numbers),
    )


def _values_of(merged: Selection, values: Sequence[Row]) -> Row:
    """Return the values of a merged row: those of the versions that give them, and computed ones."""
    row: Row = {}
    for name, cell in merged.columns.items():
        if isinstance(cell, Pick):
            [record] = cell.rows.tolist()
            row[name] = None if record == NO_ROW else values[record][name]
        else:
            [row[name]] = python_columns(pa.record_batch({name: cell}))[name]
    return row


def _numbered(
    columns: Mapping[str, ColumnReasons], numbers: Mapping[int, int]
) -> dict[str, ColumnReasons]:
    """Return reasons by the numbers of versions; columns that have one object have one again."""
    renumbered = {
        id(found): ColumnReasons(
            winner=None if found.winner is None else numbers[found.winner],
            reasons={numbers[record]: reason for record, reason in found.reasons.items()},
        )
        for found in columns.values()
    }
    return {name: renumbered[id(found)] for name, found in columns.items()}


def source_of(file: DataFileMeta, origins: Mapping[str, Snapshot]) -> VersionSource:
    """Return the source of a version that is stored in a file.

    Args:
        file: The file.
        origins: The snapshots that have written files, by the names of the files.
    """
    # A file that is only moved to a higher level keeps its source; old writers wrote none.
    is_compacted = file.file_source is FileSource.COMPACT or (
        file.file_source is None and file.level > 0
    )
    return VersionSource(file=file, snapshot=origins.get(file.file_name), is_compacted=is_compacted)


def _explain(versions: KeyVersions) -> MergeExplanation:
    spec = merge_spec(versions.schema)
    compacted = {n for n, source in enumerate(versions.sources) if source.is_compacted}
    try:
        return explain_merge(versions.records, spec, compacted=compacted)
    except SchemaMismatch as error:
        raise error_of_key(error, versions.records, spec.key_columns) from error
