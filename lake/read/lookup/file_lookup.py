"""The copy of one immutable data file, ready to be asked for keys.

```
index       from the hashes of keys to rows (`hash_index`)
parts       the file's columns, each in one piece (`copy_space`)
```

It begins with the key, and the two columns that every record has; other columns follow when they are
wanted, each decoded once. A file's row numbers are its rows' physical positions, which is what deletion
vectors name.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from lake.format.system_columns import (
    SEQUENCE_NUMBER,
    SEQUENCE_NUMBER_FIELD,
    VALUE_KIND,
    VALUE_KIND_FIELD,
)
from lake.merge.order.key_codes import Uints
from lake.read.lookup.background import is_ending
from lake.read.lookup.copy_space import CopySpace, NoRoom
from lake.read.lookup.file_column import FileColumn
from lake.read.lookup.hash_index import build_index
from lake.read.lookup.key_hash import key_hashes
from lake.read.lookup.wanted_keys import KeyColumns, Rows, WantedKeys, row_array

PASS_BYTES: Final = 32 * 1024 * 1024
"""Bytes of columns decoded at a time, about; a single column may be larger."""

_UNPACKED: Final = 4
"""How much larger columns are than the file they come from, about."""

_VALUE_BYTES: Final = 8
"""What a value takes at least, about."""

_HASHED_ROWS: Final = 65_536
FEW_KEYS: Final = 4
"""So many are looked for one by one, which costs less than to set up a search for many."""

_RECORD_FIELDS: Final = {
    SEQUENCE_NUMBER: SEQUENCE_NUMBER_FIELD,
    VALUE_KIND: VALUE_KIND_FIELD,
}


class FileRows(Protocol):
    """The records of one data file."""

    @property
    def row_count(self) -> int:
        """Return how many there are."""
        ...

    @property
    def file_size(self) -> int:
        """Return its bytes on storage."""
        ...

    def parts(self, columns: Sequence[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield all records in file order, and where each batch begins.

        Args:
            columns: Of the table or `SEQUENCE_NUMBER` or `VALUE_KIND`, in the order of the result.

        Raises:
            CorruptData: The file is absent or not what its metadata says.
        """
        ...


class FileLookup:
    """Finds keys in one data file, and gives rows of it; whoever loads columns does so alone.

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
            schema: Of the table's columns.
            space: Where columns are kept.

        Raises:
            NoRoom: There is no room for it.
            CorruptData: The file is absent or not what its metadata says.
            StorageUnavailable: Storage refuses.
        """
        self._rows = rows
        self._schema = schema
        self._space = space
        self._columns: dict[str, pa.ChunkedArray] = {}
        self._views: dict[tuple[str, ...], pa.Table] = {}
        self._file_columns: dict[str, FileColumn] = {}
        try:
            hashes = self._load(key_columns, with_records=True, hashed=True)
            self._index = space.keep_index(build_index(hashes))
        except BaseException:
            space.clear()
            raise
        self.key_columns = tuple(self._columns[name] for name in key_columns)
        self._keys = KeyColumns(self.key_columns)

    def found(self, keys: WantedKeys, wanted: Rows, *, is_sure: bool) -> tuple[Rows, Rows]:
        """Return which of some keys the file has, and at which positions.

        Args:
            keys: Keys.
            wanted: Which of them are looked for.
            is_sure: Whether keys are compared; else strangers with the same hash may be among
                them.
        """
        if not is_sure:
            return self.candidates(keys.hashes if len(wanted) == len(keys) else keys.hashes[wanted])
        positions = self.find(keys, wanted)
        here = (positions >= 0).nonzero()[0]
        return here, positions[here]

    def find(self, keys: WantedKeys, wanted: Rows) -> Rows:
        """Return for some of the keys the positions of their rows, -1 where the file has none.

        Args:
            keys: Keys.
            wanted: Which of them are looked for.
        """
        if len(wanted) <= FEW_KEYS:
            return np.array([self.find_one(keys, key) for key in wanted.tolist()], dtype=np.int64)

        def matches(numbers: Rows, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
            return self._keys.match(keys, wanted[numbers], rows)

        return self._index.find(keys.hashes[wanted], matches)

    def candidates(self, hashes: Uints) -> tuple[Rows, Rows]:
        """Return the numbers of hashes, ascending, and the rows that may have such a key."""
        return self._index.all_candidates(hashes)

    def find_one(self, keys: WantedKeys, key: int) -> int:
        """Return the position of one key's row, -1 where the file has none."""
        for row in self._index.candidates(keys.hash_numbers[key]):
            if self._keys.has(keys, key, row):
                return row
        return -1

    def columns(self, positions: Rows, columns: Sequence[str]) -> pa.Table:
        """Return columns of some rows, one row per position, in order.

        Args:
            positions: Of rows.
            columns: Of the table or `SEQUENCE_NUMBER` or `VALUE_KIND`, without repeats, that were
                loaded.
        """
        view = self._view(tuple(columns))
        if len(positions) == 1:
            # Nothing is copied; a taken row costs more than all else.
            return view.slice(int(positions[0]), 1)
        return view.take(row_array(positions))

    def file_columns(self, columns: Sequence[str]) -> list[FileColumn]:
        """Return columns whole that were loaded."""
        kept = self._file_columns
        for name in columns:
            if name not in kept:
                kept[name] = FileColumn(self._columns[name])
        return [kept[name] for name in columns]

    def has(self, columns: Sequence[str]) -> bool:
        """Return whether these columns were loaded."""
        return all(name in self._columns for name in columns)

    def load(self, columns: Sequence[str]) -> None:
        """Have columns at hand before they are asked for.

        Raises:
            NoRoom: There is no room for all; some may have been loaded.
            CorruptData: The file is absent or not what its metadata says.
            StorageUnavailable: Storage refuses.
        """
        missing = [name for name in columns if name not in self._columns]
        step = self._columns_per_pass()
        for first in range(0, len(missing), step):
            self._load(missing[first : first + step], with_records=False, hashed=False)

    def _view(self, columns: tuple[str, ...]) -> pa.Table:
        view = self._views.get(columns)
        if view is None:
            fields = [_RECORD_FIELDS.get(name) or self._schema.field(name) for name in columns]
            view = pa.table([self._columns[name] for name in columns], schema=pa.schema(fields))
            self._views[columns] = view
        return view

    def _columns_per_pass(self) -> int:
        unpacked = self._rows.file_size * _UNPACKED // max(1, len(self._schema))
        per_column = max(unpacked, self._rows.row_count * _VALUE_BYTES)
        return max(1, PASS_BYTES // max(1, per_column))

    def _load(
        self, columns: Sequence[str], *, with_records: bool, hashed: bool
    ) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """Decode and keep columns; return the hashes of these columns' rows if wanted."""
        names = [SEQUENCE_NUMBER, VALUE_KIND, *columns] if with_records else list(columns)
        batches: list[pa.RecordBatch] = []
        hashes: list[np.ndarray[tuple[int], np.dtype[np.uint64]]] = []
        for _, batch in self._rows.parts(names):
            if is_ending():
                raise NoRoom(0)
            batches.append(batch)
            for first in range(0, batch.num_rows if hashed else 0, _HASHED_ROWS):
                block = batch.slice(first, _HASHED_ROWS)
                hashes.append(key_hashes([block.column(name) for name in columns]))
        fields = [_RECORD_FIELDS.get(name) or self._schema.field(name) for name in names]
        whole = pa.Table.from_batches(batches, schema=pa.schema(fields)).combine_chunks()
        del batches
        part = self._space.keep(whole)
        self._columns.update(zip(part.schema.names, part.columns, strict=True))
        return np.concatenate(hashes) if hashes else np.zeros(0, dtype=np.uint64)
