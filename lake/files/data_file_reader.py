"""Data files, read: key-value batches in the table's Arrow schema."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import AbstractBitMap

from lake.errors import (
    CorruptData,
    Problem,
    SchemaMismatch,
    StorageUnavailable,
    UnsupportedFeature,
)
from lake.files.avro.reader import AvroFormatReader
from lake.files.column_mapping import (
    FileColumn,
    map_columns,
    renamed,
)
from lake.files.declared_type import to_declared_type
from lake.files.deleted_rows import DeletedRowFilter
from lake.files.format_reader import FormatReader
from lake.files.null_columns import null_columns
from lake.files.orc.reader import OrcFormatReader
from lake.files.parquet.bounds import ColumnBounds
from lake.files.parquet.reader import ParquetFormatReader
from lake.files.row_filters import (
    RowFilter,
    RowGroupFilter,
    filtered_rows,
    without_retracts,
)
from lake.files.row_groups import ROW_GROUP_ROWS
from lake.files.storage.file_io import FileIO
from lake.files.storage.positioned_input import InputFile
from lake.format.arrow_types import to_arrow_type
from lake.format.data_file import DataFileMeta, FileSource
from lake.format.schema import TableSchema
from lake.format.system_columns import SEQUENCE_NUMBER, SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD


@dataclass(slots=True, kw_only=True)
class ReadCounters:
    """What reading has cost so far; owned by the caller.

    Attributes:
        files: Files opened.
        files_skipped: Files that were not opened because of their index.
        row_groups: Row groups decoded, in part or whole.
        row_groups_skipped: Row groups that the row filter excluded.
        rows: Rows decoded.
        columns: Columns decoded, per file and name.
    """

    files: int = 0
    files_skipped: int = 0
    row_groups: int = 0
    row_groups_skipped: int = 0
    rows: int = 0
    columns: list[tuple[str, str]] = field(default_factory=list)


BATCH_BYTES: Final = 64 * 1024 * 1024
"""Bytes of a batch at most, about."""

_PLACED_ROWS: Final = 4 * ROW_GROUP_ROWS

_SYSTEM_FIELDS: Final = {field.name: field for field in (SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD)}
_SYSTEM_SOURCES: Final = {name: FileColumn(name=name, convert=None) for name in _SYSTEM_FIELDS}


class DataFileReader:
    """Batches of one data file in the table's Arrow schema."""

    def __init__(
        self,
        file_io: FileIO,
        path: str,
        *,
        file_meta: DataFileMeta,
        schema: TableSchema,
        written: TableSchema | None = None,
        counters: ReadCounters | None = None,
    ) -> None:
        """Remember what to read; nothing is opened yet.

        Args:
            file_io: Where the file is.
            path: Of the file.
            file_meta: Its entry in the manifest.
            schema: Says which columns there are.
            written: The schema that the file was written under; None means `schema`.
            counters: Added to when given.
        """
        self._file_io = file_io
        self._path = path
        self._meta = file_meta
        self._schema = schema
        self._written = schema if written is None else written
        self._counters = counters if counters is not None else ReadCounters()

    def batches(
        self,
        columns: Sequence[str],
        *,
        batch_rows: int = 65_536,
        batch_bytes: int = BATCH_BYTES,
        row_filter: RowGroupFilter | None = None,
        marked: AbstractBitMap | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield key-value batches with the named columns, in file order.

        Columns that hold only nulls according to the file's statistics, and nullable columns that
        the file lacks, are not decoded. In a table with `sequence.snapshot-ordering` the sequence
        numbers of an appended file are its metadata's, the snapshot's id (merge-semantics 3.7).

        Args:
            columns: Table columns wanted.
            batch_rows: Upper bound of the rows of a batch.
            batch_bytes: Upper bound of its bytes, about: as large as the values are in the file
                before compression, where repeated ones may take next to nothing.
            row_filter: Leaves out row groups that cannot hold what is looked for.
            marked: Positions of rows to leave out, 0-based in file order: the file's deletion
                vector.

        Yields:
            Batches: `_SEQUENCE_NUMBER`, `_VALUE_KIND`, then `columns` in their order.

        Raises:
            SchemaMismatch: A value of the file is none of the type that its column has now.
            CorruptData: The file is absent, of no format, or not what its manifest entry says; or
                snapshots order the table's records and the entry does not say who wrote the file.
            UnsupportedFeature: A time that nanoseconds in 64 bits cannot hold.
        """
        with self._open() as file:
            parts = self._parts(file, row_filter)
            yield from self._decoded(
                file,
                parts,
                columns,
                batch_rows=batch_rows,
                batch_bytes=batch_bytes,
                marked=marked,
            )

    def rows(
        self,
        columns: Sequence[str],
        *,
        batch_rows: int = 65_536,
        batch_bytes: int = BATCH_BYTES,
        row_group_filter: RowGroupFilter | None = None,
        row_filter: RowFilter | None = None,
        marked: AbstractBitMap | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows that the file adds, without their sequence numbers, in file order.

        For files whose records are rows, because nothing newer has their keys. What says nothing
        here is not decoded: sequence numbers, kinds where no record is a retract, and, where the
        file's format allows, other columns where no row is looked for.

        Args:
            columns: Table columns wanted, at least one.
            batch_rows: Upper bound of the rows of a batch.
            batch_bytes: Upper bound of its bytes, about.
            row_group_filter: Leaves out row groups that cannot hold what is looked for.
            row_filter: Leaves out rows.
            marked: Positions of rows to leave out, 0-based in file order.

        Yields:
            Batches with `columns` in their order; some may be empty.

        Raises:
            As `batches`.
        """
        has_retracts = self._meta.delete_row_count != 0
        wanted = without_retracts(row_filter) if has_retracts else row_filter
        with self._open() as file:
            self._check_marks(marked)
            parts = self._parts(file, row_group_filter)
            self._count_parts(file, parts)
            decoded: set[int] = set()

            def decode(some: Sequence[int], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
                self._counters.rows += sum(file.row_counts[part] for part in {*some} - decoded)
                decoded.update(some)
                return self._columns_of(
                    file, some, names, batch_rows=batch_rows, batch_bytes=batch_bytes, marked=marked
                )

            if not parts:
                return
            if wanted is None:
                yield from decode(parts, columns)
                return
            yield from filtered_rows(
                decode,
                parts,
                columns,
                wanted,
                in_steps=row_filter is not None and marked is None and file.is_columnar,
                is_likely=len(parts) < len(file.row_counts),
            )

    def parts(
        self, columns: Sequence[str], row_filter: RowGroupFilter | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield columns of the parts that a filter lets through, and where each batch begins.

        Args:
            columns: Table columns wanted, or the system's; at least one.
            row_filter: Says which row groups are looked into; None means all.

        Yields:
            The position of a batch's first row, 0-based in file order, and the batch.

        Raises:
            As `batches`.
        """
        with self._open() as file:
            begins = np.cumsum([0, *file.row_counts])
            parts = self._parts(file, row_filter)
            self._count_parts(file, parts)
            for some in [parts] if row_filter is None else [[part] for part in parts]:
                begin = int(begins[some[0]]) if some else 0
                for batch in self._placed(file, some, columns):
                    yield begin, batch
                    begin += batch.num_rows

    def rows_at(
        self, columns: Sequence[str], positions: npt.NDArray[np.int64]
    ) -> tuple[pa.Table, int, int]:
        """Return some rows; of the file only the parts that hold them are decoded, one by one.

        Args:
            columns: Table columns wanted, or the system's.
            positions: Of the rows, 0-based in file order; at least one.

        Returns:
            One row per position, in their order; how many rows were decoded for them; and how many
            bytes those were.

        Raises:
            As `batches`.
        """
        taken: list[pa.RecordBatch] = []
        size = 0
        order = np.argsort(positions, kind="stable")
        places = positions[order]
        with self._open() as file:
            begins = np.cumsum([0, *file.row_counts])
            parts = np.unique(np.searchsorted(begins, places, side="right") - 1).tolist()
            self._count_parts(file, parts)
            for part in parts:
                begin = int(begins[part])
                for batch in self._placed(file, [part], columns):
                    size += batch.nbytes
                    end = begin + batch.num_rows
                    first, last = np.searchsorted(places, [begin, end])
                    if first < last:
                        taken.append(batch.take(pa.array(places[first:last] - begin)))
                    begin = end
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        decoded = int(sum(begins[part + 1] - begins[part] for part in parts))
        return pa.Table.from_batches(taken).take(pa.array(back)), decoded, size

    def _placed(
        self, file: FormatReader, parts: Sequence[int], columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield columns of all rows of some parts, the system's with the numbers that count."""
        self._counters.rows += sum(file.row_counts[part] for part in parts)
        number = self._number_of_all_rows
        for batch in self._columns_of(
            file,
            parts,
            columns,
            batch_rows=_PLACED_ROWS,
            batch_bytes=BATCH_BYTES,
            marked=None,
        ):
            yield _numbered(batch, number)

    @contextmanager
    def _open(self) -> Iterator[FormatReader]:
        """Open the file; one whose records cannot be ordered is not looked into."""
        _ = self._number_of_all_rows
        with _read_errors(self._path), self._file_io.open_input(self._path) as source:
            file = self._opened(source)
            self._check_rows(sum(file.row_counts))
            yield file

    def _decoded(
        self,
        file: FormatReader,
        parts: Sequence[int],
        columns: Sequence[str],
        *,
        batch_rows: int,
        batch_bytes: int,
        marked: AbstractBitMap | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some parts as key-value batches."""
        self._check_marks(marked)
        self._count_parts(file, parts)
        self._counters.rows += sum(file.row_counts[part] for part in parts)
        number = self._number_of_all_rows
        names = [*_SYSTEM_FIELDS, *columns]
        for rows in self._columns_of(
            file, parts, names, batch_rows=batch_rows, batch_bytes=batch_bytes, marked=marked
        ):
            yield _numbered(rows, number)

    def _count_parts(self, file: FormatReader, parts: Sequence[int]) -> None:
        self._counters.files += 1
        self._counters.row_groups += len(parts)
        self._counters.row_groups_skipped += len(file.row_counts) - len(parts)

    def _columns_of(
        self,
        file: FormatReader,
        parts: Sequence[int],
        names: Sequence[str],
        *,
        batch_rows: int,
        batch_bytes: int,
        marked: AbstractBitMap | None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield columns of some parts, those of the table and of the system, without marked rows."""
        target = pa.schema(
            [_SYSTEM_FIELDS.get(name) or self._schema.arrow_schema.field(name) for name in names]
        )
        sources = self._sources(names)
        stored = self._stored_columns(file, sources)
        if not parts:
            return
        # Rows are counted by some column, whether it is asked for or not.
        stored = stored or [VALUE_KIND_FIELD]
        read = {(self._meta.file_name, field.name) for field in stored}
        self._counters.columns += sorted(read.difference(self._counters.columns))
        live = None if marked is None else DeletedRowFilter(marked, file.row_counts, parts)
        for batch in file.batches(parts, stored, batch_rows=batch_rows, batch_bytes=batch_bytes):
            yield self._read(batch if live is None else live.without(batch), target, sources)

    def _opened(self, source: InputFile) -> FormatReader:
        """Return the file as its format stores it; the name says which one."""
        match self._meta.file_name.rpartition(".")[2]:
            case "parquet":
                return ParquetFormatReader(
                    source, self._path, reopen=lambda: self._file_io.open_input(self._path)
                )
            case "orc":
                return OrcFormatReader(source, self._path, self._written)
            case "avro":
                return AvroFormatReader(source, self._path)
            case other:
                message = f"data file {self._path} is of the format `{other}`"
                problem = Problem(
                    field="file.format",
                    value=other,
                    message="this version reads parquet, orc and avro",
                )
                raise UnsupportedFeature(message, problems=[problem])

    def _sources(self, names: Sequence[str]) -> Mapping[str, FileColumn]:
        """Return where the values of columns come from; those that the file lacks are left out."""
        if self._written is self._schema:
            return {name: FileColumn(name=name, convert=None) for name in names}
        of_system = {name: _SYSTEM_SOURCES[name] for name in names if name in _SYSTEM_SOURCES}
        wanted = [self._schema.field(name) for name in names if name not in of_system]
        return {**of_system, **map_columns(self._written.fields, wanted)}

    def _read(
        self, batch: pa.RecordBatch, target: pa.Schema, sources: Mapping[str, FileColumn]
    ) -> pa.RecordBatch:
        """Return what a batch of the file holds as key-value columns."""
        stored = set(batch.schema.names)
        arrays = []
        for wanted in target:
            source = sources.get(wanted.name)
            if source is None or source.name not in stored:
                arrays.append(pa.nulls(batch.num_rows, wanted.type))
            elif source.convert is None:
                arrays.append(to_declared_type(batch.column(source.name), wanted.type))
            else:
                arrays.append(self._cast(batch.column(source.name), source))
        return pa.RecordBatch.from_arrays(arrays, schema=target)

    def _cast(self, column: pa.Array, source: FileColumn) -> pa.Array:
        """Return the values of a column that has another type now."""
        field = self._written.field(source.name)
        assert source.convert is not None
        try:
            return source.convert(to_declared_type(column, to_arrow_type(field.type)))
        except ValueError as error:
            message = (
                f"data file {self._path} holds a value in column `{field.name}`, {field.type} then, "
                f"that is none of the type it has now: {error}\n"
                f"hint: give the column the type {field.type} again"
            )
            raise SchemaMismatch(message) from error

    @cached_property
    def _number_of_all_rows(self) -> int | None:
        """Return the sequence number that replaces those of all rows; None leaves them."""
        if not self._schema.table_options.sequence_snapshot_ordering:
            return None
        source = self._meta.file_source
        if source is None:
            message = (
                f"data file {self._path} has no file source in its manifest entry, so its records "
                "cannot be ordered by snapshot\n"
                "hint: `sequence.snapshot-ordering` is for tables that had it from the beginning"
            )
            raise CorruptData(message)
        return self._meta.min_sequence_number if source is FileSource.APPEND else None

    def _check_rows(self, rows: int) -> None:
        if rows != self._meta.row_count:
            message = (
                f"data file {self._path} has {rows} rows, "
                f"its manifest entry says {self._meta.row_count}"
            )
            raise CorruptData(message)

    def _check_marks(self, marked: AbstractBitMap | None) -> None:
        if marked and marked.max() >= self._meta.row_count:
            message = (
                f"data file {self._path} has {self._meta.row_count} rows, but its deletion vector "
                f"marks a row at position {marked.max()}"
            )
            raise CorruptData(message)

    def _parts(self, file: FormatReader, row_filter: RowGroupFilter | None) -> list[int]:
        """Return the parts of the file that the filter lets through."""
        parts = list(range(len(file.row_counts)))
        if row_filter is None or not parts:
            return parts
        mask = row_filter.keep(self._bounds(file, row_filter.columns), len(parts))
        return [number for number in parts if mask[number]]

    def _bounds(self, file: FormatReader, columns: Sequence[str]) -> Mapping[str, ColumnBounds]:
        """Return the bounds of those columns whose values are what the file holds."""
        sources = self._sources(columns)
        written = self._written.arrow_schema
        bounds = file.bounds([written.field(source.name) for source in sources.values()])
        return renamed(bounds, sources)

    @cached_property
    def _only_nulls(self) -> frozenset[str]:
        return null_columns(self._meta, self._written)

    def _stored_columns(
        self, file: FormatReader, sources: Mapping[str, FileColumn]
    ) -> list[pa.Field]:
        """Return the columns to decode, as they are in the file."""
        present = file.column_names
        nullable = {field.name for field in self._written.fields if field.type.nullable}
        for source in sources.values():
            if source.name not in present and source.name not in nullable:
                message = f"data file {self._path} lacks the column {source.name}"
                raise CorruptData(message)
        names = (source.name for source in sources.values())
        return [
            _SYSTEM_FIELDS.get(name) or self._written.arrow_schema.field(name)
            for name in names
            if name in present and name not in self._only_nulls
        ]


def key_value_schema(schema: TableSchema, columns: Sequence[str]) -> pa.Schema:
    """Return the Arrow schema of key-value batches with the named table columns."""
    table_schema = schema.arrow_schema
    return pa.schema(
        [SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD, *(table_schema.field(name) for name in columns)]
    )


def _numbered(batch: pa.RecordBatch, number: int | None) -> pa.RecordBatch:
    """Return a batch with one sequence number for all rows; None leaves those it has."""
    place = batch.schema.get_field_index(SEQUENCE_NUMBER)
    if number is None or place < 0:
        return batch
    numbers = pa.repeat(pa.scalar(number, pa.int64()), batch.num_rows)
    return batch.set_column(place, batch.schema.field(place), numbers)


@contextmanager
def _read_errors(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        message = (
            f"data file {path} is listed but absent\n"
            "hint: was its snapshot expired while it was read"
        )
        raise CorruptData(message) from error
    except (pa.ArrowException, ValueError) as error:
        message = f"data file {path} cannot be decoded: {error}"
        raise CorruptData(message) from error
    except OSError as error:
        # Errors of the system have a number, those of Arrow's decoders do not.
        if error.errno is None:
            message = f"data file {path} cannot be decoded: {error}"
            raise CorruptData(message) from error
        message = f"cannot read data file {path}: {error}"
        raise StorageUnavailable(message) from error
