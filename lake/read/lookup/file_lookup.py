"""Copy of one immutable data file: an index of its keys, and its decoded columns.

```
index       from the hashes of keys to rows (`hash_index`)
parts       the file's columns (`copy_space`)
```

A copy begins with the key columns, the sequence number and the kind; other columns are decoded when
they are first wanted, each once. Row numbers are physical positions in the file, as in deletion
vectors.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from braid.lake.format.system_columns import (
    SEQUENCE_NUMBER,
    SEQUENCE_NUMBER_FIELD,
    VALUE_KIND,
    VALUE_KIND_FIELD,
)
from braid.lake.merge.order.key_codes import Uints
from braid.lake.read.lookup.background import is_ending
from braid.lake.read.lookup.column_file import TextsTooLong, has_column_file
from braid.lake.read.lookup.copy_space import CopySpace, NoRoom
from braid.lake.read.lookup.file_column import FileColumn
from braid.lake.read.lookup.hash_index import HashIndex, Zeros, index_of_blocks
from braid.lake.read.lookup.key_hash import key_hashes
from braid.lake.read.lookup.point_key import PointValue
from braid.lake.read.lookup.python_rows import Row
from braid.lake.read.lookup.value_getters import ValueGetter, value_getter
from braid.lake.read.lookup.wanted_keys import KeyColumns, Rows, WantedKeys, row_array

PASS_BYTES: Final = 8 * 1024 * 1024
"""Most bytes of columns that are decoded together; larger columns are written one by one, batch by batch."""

_UNPACKED: Final = 4
"""Estimate of how many times larger decoded columns are than the file."""

_VALUE_BYTES: Final = 8
"""Estimate of the bytes that a decoded value takes at least."""

_HASHED_ROWS: Final = 65_536
"""Rows whose keys are hashed at a time, which bounds the temporary arrays: half a megabyte each."""

FEW_KEYS: Final = 4
"""Up to this many keys are searched for one by one, which costs less than setting up arrays."""

_RECORD_FIELDS: Final = {
    SEQUENCE_NUMBER: SEQUENCE_NUMBER_FIELD,
    VALUE_KIND: VALUE_KIND_FIELD,
}


class _PassTooLarge(Exception):
    """The columns of a pass have more bytes than were estimated."""


class FileRows(Protocol):
    """The records of one data file."""

    @property
    def row_count(self) -> int:
        """Return the number of records."""
        ...

    @property
    def file_size(self) -> int:
        """Return the size of the file on storage, in bytes."""
        ...

    def parts(self, columns: Sequence[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield all records in file order, each batch with the position of its first row.

        Args:
            columns: Table columns, `SEQUENCE_NUMBER` or `VALUE_KIND`, in the order of the result.

        Raises:
            CorruptData: The file is absent or does not match its metadata.
        """
        ...


class FileLookup:
    """Finds keys in one data file, and returns its rows.

    Any thread may search and read, while one thread at a time loads columns.

    Attributes:
        key_columns: The key of each row, column by column.
    """

    def __init__(
        self, rows: FileRows, *, key_columns: Sequence[str], schema: pa.Schema, space: CopySpace
    ) -> None:
        """Read and index the keys.

        Args:
            rows: The file.
            key_columns: The trimmed primary key, in order.
            schema: The Arrow schema of the table's columns.
            space: Where columns are kept.

        Raises:
            NoRoom: There is no room for the copy.
            CorruptData: The file is absent or does not match its metadata.
            StorageUnavailable: Storage refuses.
        """
        self._rows = rows
        self._schema = schema
        self._space = space
        self._columns: dict[str, pa.ChunkedArray] = {}
        self._views: dict[tuple[str, ...], pa.Table] = {}
        self._file_columns: dict[str, FileColumn] = {}
        self._value_indexes: dict[str, HashIndex] = {}
        self._getters: dict[str, ValueGetter] = {}
        try:
            self.load([SEQUENCE_NUMBER, VALUE_KIND, *key_columns])
            self._index = space.keep_index(
                rows.row_count, partial(self._indexed, self._key_blocks(key_columns))
            )
        except BaseException:
            space.clear()
            raise
        self.key_columns = tuple(self._columns[name] for name in key_columns)
        self._keys = KeyColumns(self.key_columns)

    def find_matches(
        self, keys: WantedKeys, wanted: Rows, *, is_verified: bool
    ) -> tuple[Rows, Rows]:
        """Return the indices in `wanted` of the keys that the file has, and the positions of the keys.

        Args:
            keys: Keys.
            wanted: Numbers of the keys to search for.
            is_verified: Whether keys are compared; else records of other keys with the same hash may
                be among the results.
        """
        if not is_verified:
            return self.candidates(keys.hashes if len(wanted) == len(keys) else keys.hashes[wanted])
        positions = self.find(keys, wanted)
        here = (positions >= 0).nonzero()[0]
        return here, positions[here]

    def find(self, keys: WantedKeys, wanted: Rows) -> Rows:
        """Return for some of the keys the positions of their rows, -1 where the file has none.

        Args:
            keys: Keys.
            wanted: Numbers of the keys to search for.
        """
        if len(wanted) <= FEW_KEYS:
            return np.array([self.find_one(keys, key) for key in wanted.tolist()], dtype=np.int64)

        def matches(numbers: Rows, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
            return self._keys.match(keys, wanted[numbers], rows)

        return self._index.find(keys.hashes[wanted], matches)

    def candidates(self, hashes: Uints) -> tuple[Rows, Rows]:
        """Return numbers of hashes, ascending, each with a row that may have a key of that hash."""
        return self._index.all_candidates(hashes)

    def find_one(self, keys: WantedKeys, key: int) -> int:
        """Return the position of one key's row, -1 where the file has none."""
        for row in self._index.candidates(keys.hash_numbers[key]):
            if self._keys.has(keys, key, row):
                return row
        return -1

    def find_point(self, key_hash: int, values: Sequence[PointValue]) -> int:
        """Return the position of one key's row (`point_key`), -1 where the file has none."""
        for row in self._index.candidates(key_hash):
            if self._keys.has_values(values, row):
                return row
        return -1

    def row_at(self, position: int, columns: Sequence[str]) -> Row | None:
        """Return columns of one row as `python_rows` does; None unless all were loaded.

        Raises:
            UnsupportedFeature: As `python_rows`.
        """
        getters = self._getters
        try:
            return {name: getters[name](position) for name in columns}
        except KeyError:
            return None

    def index_values(self, column: str) -> None:
        """Index the rows by the values of a column, nulls left out. Requires: the column was loaded.

        Raises:
            NoRoom: There is no room for the index.
        """
        if column not in self._value_indexes:
            make = partial(self._indexed, self._value_blocks(column))
            self._value_indexes[column] = self._space.keep_index(
                self._rows.row_count, make, (column,)
            )

    def has_value_index(self, column: str) -> bool:
        """Return whether the rows are indexed by the values of a column."""
        return column in self._value_indexes

    def rows_with(self, column: str, value_hash: int) -> Rows:
        """Return the rows that may have the value of a hash (`key_hashes`). Requires: they are indexed by the column."""
        return self._value_indexes[column].rows_of(value_hash)

    def _value_blocks(self, column: str) -> Iterator[tuple[Rows, Uints]]:
        values = self._columns[column]
        for first in range(0, len(values), _HASHED_ROWS):
            block = values.slice(first, _HASHED_ROWS)
            present = np.asarray(block.is_valid()).nonzero()[0]
            yield present + first, key_hashes([block.drop_null()])

    def take(self, positions: Rows, columns: Sequence[str]) -> pa.Table:
        """Return columns of some rows, one row per position, in order.

        Args:
            positions: Positions of rows.
            columns: Table columns, `SEQUENCE_NUMBER` or `VALUE_KIND`, without repeats. Requires:
                all were loaded.
        """
        view = self._view(tuple(columns))
        if len(positions) == 1:
            # A slice copies nothing; `take` of one row would cost more than the rest of a lookup.
            return view.slice(int(positions[0]), 1)
        return view.take(row_array(positions))

    def file_columns(self, columns: Sequence[str]) -> list[FileColumn]:
        """Return whole columns. Requires: they were loaded."""
        kept = self._file_columns
        for name in columns:
            if name not in kept:
                kept[name] = FileColumn(self._columns[name])
        return [kept[name] for name in columns]

    @property
    def columns(self) -> frozenset[str]:
        """The columns that were loaded; `SEQUENCE_NUMBER` and `VALUE_KIND` are two of them."""
        return frozenset(self._columns)

    def has_columns(self, columns: Sequence[str]) -> bool:
        """Return whether these columns were loaded."""
        return all(name in self._columns for name in columns)

    def load(self, columns: Sequence[str]) -> None:
        """Decode columns that were not loaded yet.

        Raises:
            NoRoom: There is no room for all; some may have been loaded.
            CorruptData: The file is absent or does not match its metadata.
            StorageUnavailable: Storage refuses.
        """
        missing = [name for name in columns if name not in self._columns]
        step = self._columns_per_pass()
        # A pass decodes the file once for several columns; the bytes of these columns bound the
        # memory that the pass takes.
        for first in range(0, len(missing), step):
            some = missing[first : first + step]
            if step == 1 or not self._load_together(some):
                for name in some:
                    self._load_one(name)

    def _view(self, columns: tuple[str, ...]) -> pa.Table:
        view = self._views.get(columns)
        if view is None:
            schema = pa.schema([self._field(name) for name in columns])
            view = pa.table([self._columns[name] for name in columns], schema=schema)
            self._views[columns] = view
        return view

    def _columns_per_pass(self) -> int:
        # Estimated from the file's size, or from its rows where it is compressed very well.
        unpacked = self._rows.file_size * _UNPACKED // max(1, len(self._schema))
        per_column = max(unpacked, self._rows.row_count * _VALUE_BYTES)
        return max(1, PASS_BYTES // max(1, per_column))

    def _load_together(self, columns: Sequence[str]) -> bool:
        """Decode and keep columns; return False, and keep nothing, if they take too much memory together."""
        try:
            part = self._space.keep(columns, lambda: self._decoded(columns, most_bytes=PASS_BYTES))
        except _PassTooLarge:
            return False
        self._add(part)
        return True

    def _load_one(self, name: str) -> None:
        """Decode and keep one column, batch by batch if its type allows it."""
        field = self._field(name)
        if has_column_file(field.type):
            with suppress(TextsTooLong):
                column = self._space.keep_column(
                    field, self._rows.row_count, lambda: self._values(name)
                )
                self._add(pa.table([column], schema=pa.schema([field])))
                return
        self._add(self._space.keep([name], lambda: self._decoded([name])))

    def _add(self, part: pa.Table) -> None:
        assert part.num_rows == self._rows.row_count, "all rows of the file"
        for name, column in zip(part.schema.names, part.columns, strict=True):
            self._columns[name] = column
            self._getters[name] = value_getter(name, column)

    def _decoded(self, columns: Sequence[str], most_bytes: int | None = None) -> pa.Table:
        """Return columns of all rows, each in one piece."""
        batches: list[pa.RecordBatch] = []
        size = 0
        for batch in self._batches(columns):
            batches.append(batch)
            size += batch.nbytes
            if most_bytes is not None and size > most_bytes:
                raise _PassTooLarge
        schema = pa.schema([self._field(name) for name in columns])
        return pa.Table.from_batches(batches, schema=schema).combine_chunks()

    def _values(self, name: str) -> Iterator[pa.Array]:
        for batch in self._batches([name]):
            yield batch.column(0)

    def _batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for _, batch in self._rows.parts(columns):
            if is_ending():
                # A background copy would delay the end of the process, for no lookup.
                raise NoRoom(0)
            yield batch

    def _field(self, name: str) -> pa.Field:
        return _RECORD_FIELDS.get(name) or self._schema.field(name)

    def _indexed(self, blocks: Iterator[tuple[Rows, Uints]], zeros: Zeros) -> HashIndex:
        return index_of_blocks(blocks, row_count=self._rows.row_count, zeros=zeros)

    def _key_blocks(self, key_columns: Sequence[str]) -> Iterator[tuple[Rows, Uints]]:
        """Yield rows with the hashes of their keys."""
        keys = pa.table({name: self._columns[name] for name in key_columns})
        first = 0
        for batch in keys.to_batches(max_chunksize=_HASHED_ROWS):
            yield np.arange(first, first + batch.num_rows), key_hashes(batch.columns)
            first += batch.num_rows
