"""The files of a bucket as lookups have them: those with a copy, and those that are read by row group.

A file of one row group and up to 1 MB is copied when it is first needed: that takes as long as to read it.
For larger ones nobody waits who serves requests; compactions do, which ask for many keys of a file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa

from lake.files.column_mapping import OlderSchemas, shape_digest
from lake.files.data_file_path import live_file_path
from lake.files.data_files import DataFileReader
from lake.files.paths import TablePaths
from lake.files.row_filters import RowGroupFilter
from lake.files.row_groups import ROW_GROUP_ROWS
from lake.files.storage.file_io import FileIO
from lake.format.data_file import DataFileMeta
from lake.format.schema import TableSchema
from lake.format.system_columns import SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD
from lake.read.lookup.copy_space import CopySpace
from lake.read.lookup.file_column import gathered
from lake.read.lookup.file_lookup import FileLookup
from lake.read.lookup.key_filters import KeyFilters
from lake.read.lookup.key_matches import Found
from lake.read.lookup.lookup_cache import LookupCache
from lake.read.lookup.row_group_lookup import RowGroupLookup
from lake.read.lookup.wanted_keys import Rows, WantedKeys, row_array
from lake.snapshots.file_indexes import FileIndexStore

SMALL_FILE_BYTES: Final = 1024 * 1024
"""Files up to this size, of one row group, are copied while somebody waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _DataFile:
    """The records of one data file."""

    reader: DataFileReader
    meta: DataFileMeta

    @property
    def row_count(self) -> int:
        return self.meta.row_count

    @property
    def file_size(self) -> int:
        return self.meta.file_size

    def parts(
        self, columns: Sequence[str], row_filter: RowGroupFilter | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        return self.reader.parts(columns, row_filter)

    def rows_at(self, columns: Sequence[str], positions: Rows) -> tuple[pa.Table, int, int]:
        return self.reader.rows_at(columns, positions)


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
        # A copy has the columns of one schema; what options say changes nothing in it.
        shape = shape_digest(schema)
        self._names = [f"{path}@{shape}" for path in self._paths]
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
        """Return the copy of a file if there is one, to read what it has loaded."""
        return self._cache.ready(self._names[number])

    def is_ready(self, number: int, columns: Sequence[str]) -> bool:
        """Return whether a file can give columns without a look at storage."""
        lookup = self.ready(number)
        return lookup is not None and lookup.has(columns)

    def made(self, number: int, columns: Sequence[str]) -> FileLookup | None:
        """Return the copy of a file with some columns, made if need be; None if there is no room.

        Raises:
            CorruptData: The file is absent or not what its metadata says.
            StorageUnavailable: Storage or the local disk refuses.
        """
        return self._cache.made(self._names[number], partial(self._make, number), columns)

    def found(
        self, number: int, keys: WantedKeys, wanted: Rows, *, is_sure: bool, waits: bool
    ) -> tuple[Rows, Rows]:
        """Return which of some keys a file has, or may have, and at which positions.

        Args:
            number: Of a file that has no copy yet.
            keys: Keys.
            wanted: Which of them are looked for; at least one.
            is_sure: Whether keys are compared, not their hashes alone.
            waits: Whether a large file is copied now.

        Raises:
            CorruptData: The file is absent or not what its metadata says.
            StorageUnavailable: Storage or the local disk refuses.
        """
        if waits or self._is_small(number):
            lookup = self.made(number, ())
            if lookup is not None:
                return lookup.found(keys, wanted, is_sure=is_sure)
        with self._cache.reading:
            # It may have been made while others read.
            lookup = self.ready(number)
            if lookup is None:
                key_columns = self._schema.trimmed_primary_keys
                return self._row_groups(number, key_columns).found(keys, wanted)
        return lookup.found(keys, wanted, is_sure=is_sure)

    def taken(self, found: Found, names: tuple[str, ...], *, waits: bool = False) -> pa.Table:
        """Return columns of what was found, in its order.

        Args:
            found: Of this bucket.
            names: Of the table or `SEQUENCE_NUMBER` or `VALUE_KIND`, without repeats.
            waits: Whether large files are copied now.

        Raises:
            CorruptData: A file is absent or not what its metadata says.
            StorageUnavailable: Storage or the local disk refuses.
        """
        schema = self._schema_of(names)
        if not found.files:
            return schema.empty_table()
        copies = [self._copy(file, names, waits=waits) for file in found.files]
        if len(copies) == 1:
            return self._rows_of(found.files[0], copies[0], found.positions, names)

        places, order = found.by_file()
        arrow_order = row_array(order)
        whole = [copy.file_columns(names) for copy in copies if copy is not None]
        if len(whole) < len(copies):
            parts = [
                self._rows_of(file, copy, rows, names)
                for file, copy, (rows, _) in zip(found.files, copies, places, strict=True)
            ]
            return pa.concat_tables(parts).take(arrow_order)
        arrays = [
            gathered(columns, places, order=arrow_order) for columns in zip(*whole, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _copy(
        self, file: DataFileMeta, names: tuple[str, ...], *, waits: bool
    ) -> FileLookup | None:
        """Return the copy of a file if it has some columns, or is worth waiting for."""
        number = self._numbers[file.file_name]
        lookup = self.ready(number)
        if lookup is not None and lookup.has(names):
            return lookup
        return self.made(number, names) if waits or self._is_small(number) else None

    def _rows_of(
        self, file: DataFileMeta, copy: FileLookup | None, positions: Rows, names: tuple[str, ...]
    ) -> pa.Table:
        """Return columns of some rows of a file, from its copy if it has one."""
        if copy is not None:
            return copy.columns(positions, names)
        number = self._numbers[file.file_name]
        with self._cache.reading:
            # It may have been made while others read.
            copy = self.ready(number)
            if copy is None or not copy.has(names):
                return self._row_groups(number, names).columns(positions, names)
        return copy.columns(positions, names)

    def _is_small(self, number: int) -> bool:
        file = self._files[number]
        return file.file_size <= SMALL_FILE_BYTES and file.row_count <= ROW_GROUP_ROWS

    def _row_groups(self, number: int, columns: tuple[str, ...]) -> RowGroupLookup:
        def on_read(rows: int, size: int) -> None:
            self._cache.was_read(
                self._names[number],
                partial(self._make, number),
                columns,
                of_rows=self._files[number].row_count,
                rows=rows,
                size=size,
            )

        return RowGroupLookup(
            self._data_file(number), key_columns=self._schema.trimmed_primary_keys, on_read=on_read
        )

    def _schema_of(self, names: tuple[str, ...]) -> pa.Schema:
        # To make a schema takes as long as to take a column.
        schema = self._schemas.get(names)
        if schema is None:
            every = pa.schema([SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD, *self._schema.arrow_schema])
            schema = self._schemas[names] = pa.schema([every.field(name) for name in names])
        return schema

    def _data_file(self, number: int) -> _DataFile:
        file = self._files[number]
        reader = DataFileReader(
            self._file_io,
            self._paths[number],
            file_meta=file,
            schema=self._schema,
            written=self._older_schemas.get(file.schema_id),
        )
        return _DataFile(reader=reader, meta=file)

    def _make(self, number: int, space: CopySpace) -> FileLookup:
        return FileLookup(
            self._data_file(number),
            key_columns=self._schema.trimmed_primary_keys,
            schema=self._schema.arrow_schema,
            space=space,
        )
