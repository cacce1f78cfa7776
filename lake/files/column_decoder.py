"""Columns and system columns of one data file, decoded into the Arrow schema of the table; bounds of columns.

The file may have been written under another schema. Its columns are found by id, and are cast if
their type has changed (`braid.lake.files.column_mapping`). A column that the file lacks is null,
but a file without a column that its own schema declares NOT NULL is refused. A column that holds
only nulls according to the file's statistics is not decoded. Rows that a deletion vector marks are
left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

import pyarrow as pa
from pyroaring import AbstractBitMap

from braid.lake.errors import CorruptData, SchemaMismatch
from braid.lake.files.column_mapping import FileColumn, map_columns, renamed
from braid.lake.files.declared_type import to_declared_type
from braid.lake.files.deleted_rows import DeletedRowFilter
from braid.lake.files.format_reader import FormatReader
from braid.lake.files.null_columns import null_columns
from braid.lake.files.parquet.bounds import ColumnBounds
from braid.lake.files.read_counters import ReadCounters
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD

SYSTEM_FIELDS: Final = {field.name: field for field in (SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD)}
"""The system columns of key-value batches, in order, by name."""

_SYSTEM_SOURCES: Final = {name: FileColumn(name=name, convert=None) for name in SYSTEM_FIELDS}


class ColumnDecoder:
    """Decodes columns of one data file."""

    def __init__(
        self,
        path: str,
        *,
        file_meta: DataFileMeta,
        schema: TableSchema,
        written: TableSchema,
        counters: ReadCounters,
    ) -> None:
        """Prepare to decode; the file is not opened yet.

        Args:
            path: Path of the file, for messages.
            file_meta: The file's entry in the manifest.
            schema: The schema whose columns are returned.
            written: The schema that the file was written under.
            counters: Receives the decoded columns.
        """
        self._path = path
        self._meta = file_meta
        self._schema = schema
        self._written = written
        self._counters = counters

    def batches(
        self,
        file: FormatReader,
        parts: Sequence[int],
        names: Sequence[str],
        *,
        batch_rows: int,
        batch_bytes: int,
        marked: AbstractBitMap | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield columns of some parts, in file order.

        Args:
            file: The open file.
            parts: Numbers of parts, ascending.
            names: Columns of the table and system columns, in the order of the result.
            batch_rows: Upper bound of the rows of a batch.
            batch_bytes: Approximate upper bound of the bytes of a batch.
            marked: Positions of rows to leave out, 0-based in file order.

        Raises:
            CorruptData: The file lacks a column that is NOT NULL.
            SchemaMismatch: A value cannot be cast to the present type of its column.
        """
        target = pa.schema(
            [SYSTEM_FIELDS.get(name) or self._schema.arrow_schema.field(name) for name in names]
        )
        sources = self._sources(names)
        stored = self._stored_columns(file, sources)
        if not parts:
            return
        # Even when every wanted column is null, some column has to be decoded to count the rows.
        stored = stored or [VALUE_KIND_FIELD]
        read = {(self._meta.file_name, field.name) for field in stored}
        self._counters.columns += sorted(read.difference(self._counters.columns))
        live = None if marked is None else DeletedRowFilter(marked, file.row_counts, parts)

        def converted(batch: pa.RecordBatch) -> pa.RecordBatch:
            kept = batch if live is None else live.without(batch)
            return self._to_target(kept, target, sources)

        # A loop would keep each batch until the next is decoded.
        decoded = file.batches(parts, stored, batch_rows=batch_rows, batch_bytes=batch_bytes)
        yield from map(converted, decoded)

    def bounds(self, file: FormatReader, columns: Sequence[str]) -> Mapping[str, ColumnBounds]:
        """Return the bounds of those columns whose values are read without a cast."""
        sources = self._sources(columns)
        written = self._written.arrow_schema
        bounds = file.bounds([written.field(source.name) for source in sources.values()])
        return renamed(bounds, sources)

    def _sources(self, names: Sequence[str]) -> Mapping[str, FileColumn]:
        """Return the column of the file for each name; names of columns that the file lacks are absent."""
        if self._written is self._schema:
            return {name: FileColumn(name=name, convert=None) for name in names}
        of_system = {name: _SYSTEM_SOURCES[name] for name in names if name in _SYSTEM_SOURCES}
        wanted = [self._schema.field(name) for name in names if name not in of_system]
        return {**of_system, **map_columns(self._written.fields, wanted)}

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
            SYSTEM_FIELDS.get(name) or self._written.arrow_schema.field(name)
            for name in names
            if name in present and name not in self._only_nulls
        ]

    @cached_property
    def _only_nulls(self) -> frozenset[str]:
        return null_columns(self._meta, self._written)

    def _to_target(
        self, batch: pa.RecordBatch, target: pa.Schema, sources: Mapping[str, FileColumn]
    ) -> pa.RecordBatch:
        """Return a batch of the file as columns of the table."""
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
        """Return the values of a column whose type has changed since the file was written."""
        field = self._written.field(source.name)
        assert source.convert is not None
        try:
            return source.convert(to_declared_type(column, to_arrow_type(field.type)))
        except ValueError as error:
            message = (
                f"data file {self._path} holds a value of column `{field.name}` that was written as "
                f"{field.type} and does not fit the column's present type: {error}\n"
                f"hint: give the column the type {field.type} again"
            )
            raise SchemaMismatch(message) from error
