"""A sorted run of any length becomes files of about the target size, row group by row group.

Rows are held until they make a row group, and then written to the open file. Storage says how large
the file is by now; how far it is from the target, in rows, is told from how the last row group shrank
on its way. A file that has reached the target stays open until there are rows enough for the next:
so no run ends in a file of a few rows.
"""

from collections.abc import Collection
from typing import Final

import pyarrow as pa

from lake.files.data_files import ROW_GROUP_BYTES, row_group_rows
from lake.files.staged_write import StagedWrite
from lake.format.data_file import DataFileMeta, FileSource
from lake.write.level_file import DataFileSink, LevelFile, null_columns_of

_PART_MIN: Final = 4
"""Less than a part in so many of a row group does not fill a file up, nor of a file make one."""

_ROW_BYTES_MIN: Final = 1e-3
"""In a file, however well rows compress."""


class RollingFiles(StagedWrite):
    """Cuts rows into files.

    A context: a file that is open when it ends is removed; those before it stay. Memory: one row
    group and what `add` is given.
    """

    def __init__(
        self,
        sink: DataFileSink,
        *,
        level: int,
        file_source: FileSource,
        empty_columns: Collection[str] = (),
        row_group_bytes: int = ROW_GROUP_BYTES,
    ) -> None:
        """Take over where to write.

        Args:
            sink: Where to.
            level: That the files are for.
            file_source: Which act writes them.
            empty_columns: Columns in which most likely no row has a value. They are left out where
                the sink leaves such columns out; when one has a value after all, the next file
                begins, and from it on none is left out.
            row_group_bytes: Upper bound of the rows of a row group, in memory.
        """
        self._sink = sink
        self._level = level
        self._file_source = file_source
        self._row_group_bytes = row_group_bytes
        self._target_bytes = max(1, sink.schema.table_options.target_file_size_bytes)
        self._without = self._left_out(empty_columns)
        self._parts: list[pa.Table] = []
        self._held_rows = 0
        self._held_bytes = 0
        self._shrunk_to = 1.0  # of its size in memory; as if nothing could be compressed
        self._file: LevelFile | None = None
        self._files: list[DataFileMeta] = []

    def add(self, table: pa.Table) -> None:
        """Take the next rows, a key-value table of all table columns with keys above all before.

        Raises:
            SchemaMismatch: Values that no data file can hold.
            StorageUnavailable: Storage refused.
        """
        if not table.num_rows:
            return
        self._parts.append(table)
        self._held_rows += table.num_rows
        self._held_bytes += table.nbytes
        while self._held_rows and self._held_rows >= (group := self._group_rows()):
            if self._room_rows() * _PART_MIN < group:
                self._close()
            self._write(min(group, self._room_rows()))

    def finish(self) -> tuple[DataFileMeta, ...]:
        """Write what is left and return all files, in key order.

        Raises:
            SchemaMismatch: Values that no data file can hold.
            StorageUnavailable: Storage refused.
        """
        if self._held_rows:
            is_full = self._room_rows() * _PART_MIN < self._held_rows
            if is_full and self._held_bytes * self._shrunk_to * _PART_MIN > self._target_bytes:
                self._close()
            if self._file is None:
                # These rows are all of the file, so what is empty need not be guessed.
                self._without = self._left_out(null_columns_of(self._held(), self._sink.schema))
            self._write(self._held_rows)
        self._close()
        return tuple(self._files)

    def discard(self, error: BaseException | None = None) -> None:
        """Remove the file that is open, if one is; those before it stay."""
        if self._file is not None:
            self._file.discard(error)

    def _left_out(self, empty_columns: Collection[str]) -> frozenset[str]:
        """Return which of the columns files lack."""
        if not self._sink.drop_null_columns:
            return frozenset()
        fields = self._sink.schema.fields
        nullable = {column.name for column in fields if column.type.nullable}
        return frozenset(nullable.intersection(empty_columns))

    def _held(self) -> pa.Table:
        return pa.concat_tables(self._parts)

    def _group_rows(self) -> int:
        """Return how many of the rows at hand make a row group."""
        by_bytes = self._row_group_bytes * self._held_rows // max(1, self._held_bytes)
        rows = row_group_rows(self._held_rows, self._held_bytes)
        return max(1, min(rows, by_bytes, self._rows_in(self._target_bytes)))

    def _room_rows(self) -> int:
        """Return how many rows the open file has room for; a new one has some whatever the target."""
        if self._file is None:
            return max(1, self._rows_in(self._target_bytes))
        return self._rows_in(self._target_bytes - self._file.size)

    def _rows_in(self, file_bytes: int) -> int:
        """Return how many rows like those at hand take so many bytes in a file, about."""
        row_bytes = self._held_bytes * self._shrunk_to / self._held_rows
        return max(0, int(file_bytes / max(_ROW_BYTES_MIN, row_bytes)))

    def _write(self, count: int) -> None:
        """Write the first rows at hand as a row group."""
        rows = self._held()
        taken, rest = rows.slice(0, count).combine_chunks(), rows.slice(count)
        if any(taken.column(name).null_count < count for name in self._without):
            self._close()
            self._without = frozenset()
        if self._file is None:
            self._file = LevelFile(
                self._sink, level=self._level, file_source=self._file_source, without=self._without
            )
        before = self._file.size
        self._file.write(taken)
        self._shrunk_to = (self._file.size - before) / max(1, taken.nbytes)
        self._parts = [rest] if rest.num_rows else []
        self._held_rows, self._held_bytes = rest.num_rows, rest.nbytes

    def _close(self) -> None:
        if self._file is not None:
            self._files.append(self._file.finish())
            self._file = None
