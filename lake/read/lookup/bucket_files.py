"""Files of a bucket for lookups: they are read from their copies, or by row group where there is no copy.

A file of at most 1 MB and one row group is copied at its first use, if there is room, because a search by row group
would read the whole file as well. Lookups that serve requests do not wait for copies of larger files; compactions do,
because they search for many keys of a file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa

from braid.lake.files.column_mapping import OlderSchemas, shape_digest
from braid.lake.files.data_file_path import live_file_path
from braid.lake.files.data_files import DataFileReader
from braid.lake.files.paths import TablePaths
from braid.lake.files.row_filters import RowGroupFilter
from braid.lake.files.row_groups import ROW_GROUP_ROWS
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.bucket import BucketId
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD
from braid.lake.read.lookup.copy_space import CopySpace
from braid.lake.read.lookup.file_column import gather
from braid.lake.read.lookup.file_lookup import FileLookup
from braid.lake.read.lookup.key_filters import KeyFilters
from braid.lake.read.lookup.key_matches import KeyMatches
from braid.lake.read.lookup.lookup_cache import LookupCache
from braid.lake.read.lookup.row_group_lookup import RowGroupLookup
from braid.lake.read.lookup.wanted_keys import Rows, WantedKeys, row_array
from braid.lake.snapshots.file_indexes import FileIndexStore

SMALL_FILE_BYTES: Final = 1024 * 1024
"""Files up to this size, of one row group, are copied by the lookup that needs them first."""


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
    """The files of a bucket by number, over the cache of their copies; safe between threads.

    Attributes:
        filters: The bloom filters of the files.
    """

    def __init__(
        self,
        files: Sequence[DataFileMeta],
        cache: LookupCache,
        *,
        file_io: FileIO,
        paths: TablePaths,
        schema: TableSchema,
        bucket_id: BucketId,
        older_schemas: OlderSchemas,
        file_indexes: FileIndexStore,
    ) -> None:
        """Wrap the files; none is opened yet.

        Args:
            files: The bucket's files, in the order of their numbers.
            cache: Keeps the copies of the files.
            file_io: Storage.
            paths: The table's paths.
            schema: The schema under which records are read.
            bucket_id: Serialised partition row, and bucket number.
            older_schemas: By id, the schemas of files that were written with other columns.
            file_indexes: Reads the indexes of the files.
        """
        self._files = tuple(files)
        self._cache = cache
        self._file_io = file_io
        self._schema = schema
        self._older_schemas = older_schemas
        self._numbers = {file.file_name: number for number, file in enumerate(self._files)}
        self._paths = [live_file_path(paths, schema, *bucket_id, file) for file in self._files]
        self.filters = KeyFilters(
            self._files,
            self._paths,
            store=file_indexes,
            schema=schema,
            older_schemas=older_schemas,
        )
        # A copy has the columns of one schema: another shape needs another copy, other options do not.
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

    def copy_of(self, number: int) -> FileLookup | None:
        """Return the copy of a file, None without one; it may lack columns."""
        return self._cache.get(self._names[number])

    def is_cached(self, number: int, columns: Sequence[str]) -> bool:
        """Return whether a file has a copy of these columns."""
        copy = self.copy_of(number)
        return copy is not None and copy.has_columns(columns)

    def copied_columns(self) -> frozenset[str]:
        """Return the columns of which all files have copies. Requires: there is a file."""
        copies = (self.copy_of(number) for number in range(len(self)))
        return frozenset.intersection(
            *(frozenset() if copy is None else copy.columns for copy in copies)
        )

    def get_or_copy(self, number: int, columns: Sequence[str]) -> FileLookup | None:
        """Return the copy of a file with some columns, made if need be; None if there is no room.

        Raises:
            CorruptData: The file is absent or does not match its metadata.
            StorageUnavailable: Storage or the local disk refuses.
        """
        return self._cache.get_or_copy(
            self._names[number], partial(self._copy_file, number), columns
        )

    def is_indexed(self, number: int, column: str) -> bool:
        """Return whether a file has a copy that is indexed by the values of a column."""
        copy = self.copy_of(number)
        return copy is not None and copy.has_value_index(column)

    def index(self, number: int, column: str) -> bool:
        """Index the copy of a file, made if need be, by the values of a column; return False if there is no room.

        Raises:
            CorruptData: The file is absent or does not match its metadata.
            StorageUnavailable: Storage or the local disk refuses.
        """
        columns = tuple(dict.fromkeys([*self._schema.primary_keys, column]))
        make = partial(self._copy_file, number)
        copy = self._cache.get_or_copy(self._names[number], make, columns, value_index=column)
        return copy is not None

    def rows_with(
        self, number: int, column: str, value_hash: int
    ) -> tuple[FileLookup, Rows] | None:
        """Return the copy of a file and its rows that may have the value of a hash; None if it is not indexed.

        Args:
            number: Number of the file.
            column: The column of the value; the copy has those of the primary key, too.
            value_hash: From `key_hashes`.
        """
        copy = self.copy_of(number)
        if copy is None or not copy.has_value_index(column):
            return None
        return copy, copy.rows_with(column, value_hash)

    def find_uncopied(
        self, number: int, keys: WantedKeys, wanted: Rows, *, is_verified: bool, waits: bool
    ) -> tuple[Rows, Rows]:
        """Return the indices in `wanted` of the keys that a file has, and the positions of the keys.

        Args:
            number: Number of a file that had no copy a moment ago.
            keys: Keys.
            wanted: Numbers of the keys to search for; at least one.
            is_verified: Whether keys are compared, not only their hashes.
            waits: Whether a large file is copied first.

        Raises:
            CorruptData: The file is absent or does not match its metadata.
            StorageUnavailable: Storage or the local disk refuses.
        """
        assert len(wanted), "files without a wanted key are not searched"
        if waits or self._is_small(number):
            copy = self.get_or_copy(number, ())
            if copy is not None:
                return copy.find_matches(keys, wanted, is_verified=is_verified)
        with self._cache.read_slots:
            # The copy may have been made while this thread waited for a slot.
            copy = self.copy_of(number)
            if copy is None:
                key_columns = self._schema.trimmed_primary_keys
                return self._row_groups(number, key_columns).find_matches(keys, wanted)
        return copy.find_matches(keys, wanted, is_verified=is_verified)

    def take(self, found: KeyMatches, names: tuple[str, ...], *, waits: bool = False) -> pa.Table:
        """Return columns of the records that were found, in their order.

        Args:
            found: Matches in this bucket.
            names: Table columns, `SEQUENCE_NUMBER` or `VALUE_KIND`, without repeats.
            waits: Whether large files are copied first.

        Raises:
            CorruptData: A file is absent or does not match its metadata.
            StorageUnavailable: Storage or the local disk refuses.
        """
        schema = self._schema_of(names)
        if not found.files:
            return schema.empty_table()
        copies = [self._copy(file, names, waits=waits) for file in found.files]
        if len(copies) == 1:
            # With a single file, its positions are in the order of the result.
            return self._rows_of(found.files[0], copies[0], found.positions, names)

        placements, order = found.by_file()
        arrow_order = row_array(order)
        whole = [copy.file_columns(names) for copy in copies if copy is not None]
        if len(whole) < len(copies):
            # Rows of a file without a copy come as a table, so all are concatenated and reordered.
            parts = [
                self._rows_of(file, copy, rows, names)
                for file, copy, (rows, _) in zip(found.files, copies, placements, strict=True)
            ]
            return pa.concat_tables(parts).take(arrow_order)
        # All files have copies: columns are gathered one by one, without tables in between.
        arrays = [
            gather(columns, placements, order=arrow_order) for columns in zip(*whole, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _copy(
        self, file: DataFileMeta, names: tuple[str, ...], *, waits: bool
    ) -> FileLookup | None:
        """Return the copy of a file if it has these columns, or is small enough to be made now."""
        number = self._numbers[file.file_name]
        copy = self.copy_of(number)
        if copy is not None and copy.has_columns(names):
            return copy
        return self.get_or_copy(number, names) if waits or self._is_small(number) else None

    def _rows_of(
        self, file: DataFileMeta, copy: FileLookup | None, positions: Rows, names: tuple[str, ...]
    ) -> pa.Table:
        """Return columns of some rows of a file, from its copy if it has one."""
        if copy is not None:
            return copy.take(positions, names)
        number = self._numbers[file.file_name]
        with self._cache.read_slots:
            # The copy may have been made while this thread waited for a slot.
            copy = self.copy_of(number)
            if copy is None or not copy.has_columns(names):
                return self._row_groups(number, names).take(positions, names)
        return copy.take(positions, names)

    def _is_small(self, number: int) -> bool:
        file = self._files[number]
        return file.file_size <= SMALL_FILE_BYTES and file.row_count <= ROW_GROUP_ROWS

    def _row_groups(self, number: int, columns: tuple[str, ...]) -> RowGroupLookup:
        def on_read(rows: int, size: int) -> None:
            self._cache.record_read(
                self._names[number],
                partial(self._copy_file, number),
                columns,
                of_rows=self._files[number].row_count,
                rows=rows,
                size=size,
            )

        return RowGroupLookup(
            self._data_file(number), key_columns=self._schema.trimmed_primary_keys, on_read=on_read
        )

    def _schema_of(self, names: tuple[str, ...]) -> pa.Schema:
        # Cached, because making a schema takes as long as taking a column.
        schema = self._schemas.get(names)
        if schema is None:
            known = pa.schema([SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD, *self._schema.arrow_schema])
            schema = self._schemas[names] = pa.schema([known.field(name) for name in names])
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

    def _copy_file(self, number: int, space: CopySpace) -> FileLookup:
        return FileLookup(
            self._data_file(number),
            key_columns=self._schema.trimmed_primary_keys,
            schema=self._schema.arrow_schema,
            space=space,
        )
