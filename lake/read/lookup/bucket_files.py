"""The files of a bucket as lookups have them: made ready when they are needed, and asked for rows."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import pyarrow as pa

from lake.files.column_mapping import OlderSchemas
from lake.files.data_file_path import live_file_path
from lake.files.data_files import DataFileReader
from lake.files.file_io import FileIO
from lake.files.paths import TablePaths
from lake.files.scratch import ScratchDirectory
from lake.format.data_file import DataFileMeta
from lake.format.schema import TableSchema
from lake.format.system_columns import SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD
from lake.read.lookup.file_column import FileColumn, gathered
from lake.read.lookup.file_lookup import FileLookup
from lake.read.lookup.found import Found
from lake.read.lookup.key_filters import KeyFilters
from lake.read.lookup.lookup_cache import LookupCache
from lake.read.lookup.wanted_keys import Rows, row_array
from lake.snapshots.file_indexes import FileIndexStore

GivenT = TypeVar("GivenT")


@dataclass(frozen=True, slots=True, kw_only=True)
class _DataFile:
    """The records of one data file."""

    reader: DataFileReader
    meta: DataFileMeta

    @property
    def file_size(self) -> int:
        return self.meta.file_size

    def batches(self, columns: Sequence[str], *, batch_bytes: int) -> Iterator[pa.RecordBatch]:
        return self.reader.batches(
            columns, batch_rows=max(1, self.meta.row_count), batch_bytes=batch_bytes
        )

    def rows_at(
        self, columns: Sequence[str], positions: Rows, *, max_decoded: int
    ) -> tuple[pa.Table, int] | None:
        return self.reader.rows_at(columns, positions, max_decoded=max_decoded)


class BucketFiles:
    """Files by their numbers, and the cache that has them; safe between threads.

    Attributes:
        filters: What the indexes of the files say.
    """

    def __init__(
        self,
        files: Sequence[DataFileMeta],
        cache: LookupCache,
        *,
        file_io: FileIO,
        paths: TablePaths,
        schema: TableSchema,
        place: tuple[bytes, int],
        older_schemas: OlderSchemas,
        file_indexes: FileIndexStore,
    ) -> None:
        """Take the files; none is opened yet.

        Args:
            files: Of the bucket, in the order of their numbers.
            cache: Keeps what they were made into.
            file_io: Storage.
            paths: Of the table.
            schema: Under which records are read.
            place: Serialised partition row, and bucket number.
            older_schemas: By id, those that files were written under if their columns are others.
            file_indexes: Reads their indexes.
        """
        self._files = tuple(files)
        self._cache = cache
        self._file_io = file_io
        self._schema = schema
        self._older_schemas = older_schemas
        self._numbers = {file.file_name: number for number, file in enumerate(self._files)}
        self._paths = [live_file_path(paths, schema, *place, file) for file in self._files]
        self.filters = KeyFilters(
            self._files,
            self._paths,
            store=file_indexes,
            schema=schema,
            older_schemas=older_schemas,
        )
        # What a file is made into has the columns of one schema.
        self._names = [f"{path}@{schema.id}" for path in self._paths]
        self._schemas: dict[tuple[str, ...], pa.Schema] = {}

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, number: int) -> DataFileMeta:
        return self._files[number]

    @property
    def all(self) -> tuple[DataFileMeta, ...]:
        """The files by number."""
        return self._files

    def ready(self, number: int) -> FileLookup | None:
        """Return a file if it is ready, to read what it has loaded."""
        return self._cache.ready(self._names[number])

    def is_ready(self, number: int, columns: Sequence[str]) -> bool:
        """Return whether a file can give columns without a look at storage."""
        lookup = self.ready(number)
        return lookup is not None and lookup.has(columns)

    def using(self, number: int) -> AbstractContextManager[FileLookup]:
        """Give a file, which is made ready for it.

        Raises:
            CorruptData: The file is absent or not what its metadata says.
            StorageUnavailable: Storage or the local disk refuses.
        """
        size = self._files[number].file_size
        make = partial(self._make, number)
        return self._cache.using(self._names[number], size=size, make=make)

    def taken(self, found: Found, names: tuple[str, ...]) -> pa.Table:
        """Return columns of what was found, in its order.

        Args:
            found: Of this bucket.
            names: Of the table or `SEQUENCE_NUMBER` or `VALUE_KIND`, without repeats.

        Raises:
            CorruptData: A file is absent or not what its metadata says.
            StorageUnavailable: Storage or the local disk refuses.
        """
        if len(found.files) == 1:
            return self._of_file(
                found.files[0], names, lambda file: file.columns(found.positions, names)
            )
        schema = self._schema_of(names)
        if not found.files:
            return schema.empty_table()

        places, order = found.by_file()
        arrow_order = row_array(order)
        if not all(self.is_ready(self._numbers[file.file_name], names) for file in found.files):
            parts = [
                self._of_file(file, names, partial(_rows_of, rows=rows, names=names))
                for file, (rows, _) in zip(found.files, places, strict=True)
            ]
            return pa.concat_tables(parts).take(arrow_order)

        def whole(lookup: FileLookup) -> list[FileColumn]:
            return lookup.file_columns(names)

        files = [self._of_file(file, names, whole) for file in found.files]
        arrays = [
            gathered(columns, places, order=arrow_order) for columns in zip(*files, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _of_file(
        self, file: DataFileMeta, names: Sequence[str], ask: Callable[[FileLookup], GivenT]
    ) -> GivenT:
        number = self._numbers[file.file_name]
        lookup = self.ready(number)
        if lookup is not None and lookup.has(names):
            return ask(lookup)
        with self.using(number) as lookup:
            return ask(lookup)

    def _schema_of(self, names: tuple[str, ...]) -> pa.Schema:
        # To make a schema takes as long as to take a column.
        schema = self._schemas.get(names)
        if schema is None:
            every = pa.schema([SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD, *self._schema.arrow_schema])
            schema = self._schemas[names] = pa.schema([every.field(name) for name in names])
        return schema

    def _make(
        self, number: int, scratch: ScratchDirectory | None, on_growth: Callable[[], None]
    ) -> FileLookup:
        file = self._files[number]
        reader = DataFileReader(
            self._file_io,
            self._paths[number],
            file_meta=file,
            schema=self._schema,
            written=self._older_schemas.get(file.schema_id),
        )
        return FileLookup(
            _DataFile(reader=reader, meta=file),
            key_columns=self._schema.trimmed_primary_keys,
            schema=self._schema.arrow_schema,
            scratch=scratch,
            on_growth=on_growth,
        )


def _rows_of(lookup: FileLookup, *, rows: Rows, names: Sequence[str]) -> pa.Table:
    return lookup.columns(rows, names)
