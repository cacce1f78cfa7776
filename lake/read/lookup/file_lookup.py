"""One immutable data file, ready to be asked for keys.

```
index       from the hashes of keys to rows (`hash_index`)
parts       the file's columns, each in one piece: in memory, or in Arrow files that are mapped
```

The first question decodes the key, and the two columns that every record has; other columns follow
when they are asked for, as many at a time as memory is granted for. Who asks for a few rows before
they are there does not wait for them: these rows are read from the file, until that has cost a share
of what it costs to have all. A file's row numbers are its rows' physical positions, which is what
deletion vectors name.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from lake.files.scratch import ScratchDirectory
from lake.format.system_columns import (
    SEQUENCE_NUMBER,
    SEQUENCE_NUMBER_FIELD,
    VALUE_KIND,
    VALUE_KIND_FIELD,
)
from lake.merge.words import Uints
from lake.read.lookup.file_column import FileColumn
from lake.read.lookup.hash_index import HashIndex, build_index
from lake.read.lookup.key_hash import key_hashes
from lake.read.lookup.wanted_keys import KeyColumns, Rows, WantedKeys, row_array

PASS_BYTES: Final = 256 * 1024 * 1024
"""Bytes of columns decoded at a time, about; a single column may be larger."""

_UNPACKED: Final = 4
"""How much larger columns are than the file they come from, about."""

_GLANCED_SHARE: Final = 4
"""A quarter of a file's rows is decoded for single rows at most, before all are kept."""

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
    def file_size(self) -> int:
        """Return its bytes on storage."""
        ...

    def batches(self, columns: Sequence[str], *, batch_bytes: int) -> Iterator[pa.RecordBatch]:
        """Yield all records in file order: sequence number, kind, then the table's columns named.

        Args:
            columns: Of the table.
            batch_bytes: Bytes of a batch at most, about; batches are that large if they can be.

        Raises:
            CorruptData: The file is absent or not what its metadata says.
        """
        ...

    def rows_at(
        self, columns: Sequence[str], positions: Rows, *, max_decoded: int
    ) -> tuple[pa.Table, int] | None:
        """Return some records, and how many had to be decoded for them; None if more than allowed.

        Args:
            columns: Of the table.
            positions: Of the records; at least one.
            max_decoded: Records to decode at most.

        Raises:
            CorruptData: The file is absent or not what its metadata says.
        """
        ...


class FileLookup:
    """Finds keys in one data file, and gives rows of it; safe between threads.

    Attributes:
        key_columns: The key of each row, column by column.
        disk_bytes: What it keeps on disk.
        memory_bytes: What it keeps in memory.
    """

    def __init__(
        self,
        rows: FileRows,
        *,
        key_columns: Sequence[str],
        schema: pa.Schema,
        scratch: ScratchDirectory | None,
        on_growth: Callable[[], None] = lambda: None,
    ) -> None:
        """Read and index the keys.

        Args:
            rows: The file.
            key_columns: The trimmed primary key, in order.
            schema: Of the table's columns.
            scratch: Where columns are kept; None keeps them in memory.
            on_growth: Called when more columns are kept than before.

        Raises:
            CorruptData: The file is absent or not what its metadata says.
            StorageUnavailable: Storage or the local disk refuses.
        """
        self._rows = rows
        self._schema = schema
        self._scratch = scratch
        self._on_growth = on_growth
        self._lock = threading.Lock()
        self._paths: list[str] = []
        self._columns: dict[str, pa.ChunkedArray] = {}
        self._views: dict[tuple[str, ...], pa.Table] = {}
        self._file_columns: dict[str, FileColumn] = {}
        self._glanced_rows = 0
        self.disk_bytes = 0
        self.memory_bytes = 0
        try:
            hashes = self._load(key_columns, with_records=True, hashed=True)
            self._index = self._kept_index(build_index(hashes))
        except BaseException:
            self.remove()
            raise
        self.key_columns = tuple(self._columns[name] for name in key_columns)
        self._keys = KeyColumns(self.key_columns)

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
            columns: Of the table or `SEQUENCE_NUMBER` or `VALUE_KIND`, without repeats.

        Raises:
            CorruptData: The file is absent or not what its metadata says.
        """
        if self._scratch is not None and 0 < len(positions) <= FEW_KEYS and not self.has(columns):
            glance = self._glance(positions, columns)
            if glance is not None:
                return glance
        view = self._view(tuple(columns))
        if len(positions) == 1:
            # Nothing is copied; a taken row costs more than all else.
            return view.slice(int(positions[0]), 1)
        return view.take(row_array(positions))

    def file_columns(self, columns: Sequence[str]) -> list[FileColumn]:
        """Return columns whole.

        Args:
            columns: As in `columns`.

        Raises:
            CorruptData: The file is absent or not what its metadata says.
        """
        kept = self._file_columns
        for name in columns:
            if name not in kept:
                self.load(columns)
                kept[name] = FileColumn(self._columns[name])
        return [kept[name] for name in columns]

    def has(self, columns: Sequence[str]) -> bool:
        """Return whether these columns can be given without a look at storage."""
        return all(name in self._columns for name in columns)

    def load(self, columns: Sequence[str]) -> None:
        """Have columns at hand before they are asked for.

        Raises:
            CorruptData: The file is absent or not what its metadata says.
        """
        if self.has(columns):
            return
        with self._lock:
            missing = [name for name in columns if name not in self._columns]
            step = self._columns_per_pass()
            for first in range(0, len(missing), step):
                self._load(missing[first : first + step], with_records=False, hashed=False)
        self._on_growth()

    def remove(self) -> None:
        """Remove what is kept on disk; rows that were given out stay as they are."""
        assert self._scratch is not None or not self._paths
        for path in self._paths:
            if self._scratch is not None:
                self._scratch.remove(path)

    def _glance(self, positions: Rows, columns: Sequence[str]) -> pa.Table | None:
        """Return rows of a file whose columns are not kept; None if it is time to keep them."""
        wanted = [name for name in columns if name not in _RECORD_FIELDS]
        allowed = len(self._index.entries) // _GLANCED_SHARE - self._glanced_rows
        glance = self._rows.rows_at(wanted, positions, max_decoded=allowed)
        if glance is None:
            return None
        rows, decoded = glance
        self._glanced_rows += decoded
        return rows.select(list(columns))

    def _view(self, columns: tuple[str, ...]) -> pa.Table:
        view = self._views.get(columns)
        if view is None:
            self.load(columns)
            fields = [_RECORD_FIELDS.get(name) or self._schema.field(name) for name in columns]
            view = pa.table([self._columns[name] for name in columns], schema=pa.schema(fields))
            self._views[columns] = view
        return view

    def _columns_per_pass(self) -> int:
        per_column = self._rows.file_size * _UNPACKED // max(1, len(self._schema))
        return max(1, PASS_BYTES // max(1, per_column))

    def _load(
        self, columns: Sequence[str], *, with_records: bool, hashed: bool
    ) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """Decode and keep columns; return the hashes of these columns' rows if wanted."""
        names = [SEQUENCE_NUMBER, VALUE_KIND, *columns] if with_records else list(columns)
        batches: list[pa.RecordBatch] = []
        hashes: list[np.ndarray[tuple[int], np.dtype[np.uint64]]] = []
        for batch in self._rows.batches(columns, batch_bytes=PASS_BYTES):
            batches.append(batch.select(names))
            for first in range(0, batch.num_rows if hashed else 0, _HASHED_ROWS):
                block = batch.slice(first, _HASHED_ROWS)
                hashes.append(key_hashes([block.column(name) for name in columns]))
        fields = [_RECORD_FIELDS.get(name) or self._schema.field(name) for name in names]
        whole = pa.Table.from_batches(batches, schema=pa.schema(fields)).combine_chunks()
        del batches
        part = self._kept(whole)
        self._columns.update(zip(part.schema.names, part.columns, strict=True))
        return np.concatenate(hashes) if hashes else np.zeros(0, dtype=np.uint64)

    def _kept(self, part: pa.Table) -> pa.Table:
        if self._scratch is None:
            self.memory_bytes += part.nbytes
            return part
        path = self._scratch.new_path(".arrow")
        self._paths.append(path)
        try:
            with self._scratch.new_file(path) as sink, pa.ipc.new_file(sink, part.schema) as writer:
                writer.write_table(part)
        except pa.ArrowInvalid:
            # Arrow files nest 64 levels at most, two for each MAP.
            self._scratch.remove(path)
            self.memory_bytes += part.nbytes
            return part
        source = self._scratch.mapped(path)
        self.disk_bytes += source.size
        return pa.ipc.open_file(source).read_all()

    def _kept_index(self, index: HashIndex) -> HashIndex:
        if self._scratch is None:
            self.memory_bytes += index.size
            return index
        path = self._scratch.new_path(".index")
        self._paths.append(path)
        with self._scratch.new_file(path) as sink:
            sink.write(pa.py_buffer(index.entries))
            sink.write(pa.py_buffer(index.begins))
        self.disk_bytes += index.size
        mapped = self._scratch.mapped(path)
        return replace(
            index,
            entries=np.frombuffer(mapped, np.uint64, count=len(index.entries)),
            begins=np.frombuffer(mapped, np.int32, offset=index.entries.nbytes),
        )
