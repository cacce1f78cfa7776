"""Writer of a sorted run of any length into files of about the target size.

Rows are held until they fill a row group, which is then written to the open file. The size of the file so far is
known from storage; the number of rows up to the target size is estimated from the compression of the last row group.
A file that has reached the target stays open until another row group is held. If the last rows would be less than a
quarter of a file, the file before takes them, so a run of several files does not end in a file of a few rows. Columns
that are expected to be empty are left out of the files until one of them has a value.
"""

from collections.abc import Collection
from typing import Final

import pyarrow as pa

from braid.lake.files.data_files import ROW_GROUP_BYTES, row_group_rows
from braid.lake.files.staged_write import StagedWrite
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.write.files.level_file import DataFileSink, LevelFile, null_columns_of

_PART_MIN: Final = 4
"""A remainder counts only if it is at least 1 / `_PART_MIN` of the whole: a file with room for less
than that part of a row group is closed, and last rows that are less than that part of a file are
added to the file before."""

_ROW_BYTES_MIN: Final = 1e-3
"""Lower bound of the bytes of a row in a file, so that the estimate is finite for rows that take
almost no bytes."""


class RollingFiles(StagedWrite):
    """Writes sorted rows into files that roll at the target size.

    A context manager: a file that is open when the block ends is deleted; finished files stay.
    Memory: one row group and the argument of `add`.
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
        """Begin without rows; no file is opened yet.

        Args:
            sink: Destination.
            level: Level of the files.
            file_source: Source of the files.
            empty_columns: Columns in which probably no row has a value. They are left out if the sink
                drops such columns. When such a column has a value after all, another file is begun,
                and from then on no column is left out.
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
        # Bytes in the file per byte in memory; 1 until the first row group has shown the compression.
        self._shrunk_to = 1.0
        self._file: LevelFile | None = None
        self._files: list[DataFileMeta] = []

    def add(self, table: pa.Table) -> None:
        """Add the next rows, a key-value table of all table columns with keys greater than all before.

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
            # Little room left: the next row group begins another file.
            if self._room_rows() * _PART_MIN < group:
                self._close()
            self._write(min(group, self._room_rows()))

    def finish(self) -> tuple[DataFileMeta, ...]:
        """Write the remaining rows and return all files, in key order.

        Raises:
            SchemaMismatch: Values that no data file can hold.
            StorageUnavailable: Storage refused.
        """
        if self._held_rows:
            # The remaining rows get a file of their own only if it would not be a small one.
            is_full = self._room_rows() * _PART_MIN < self._held_rows
            if is_full and self._held_bytes * self._shrunk_to * _PART_MIN > self._target_bytes:
                self._close()
            if self._file is None:
                # The file has these rows alone, so its empty columns are known.
                self._without = self._left_out(null_columns_of(self._held(), self._sink.schema))
            self._write(self._held_rows)
        self._close()
        return tuple(self._files)

    def discard(self, error: BaseException | None = None) -> None:
        """Delete the open file, if there is one; finished files stay."""
        if self._file is not None:
            self._file.discard(error)

    def _left_out(self, empty_columns: Collection[str]) -> frozenset[str]:
        """Return the columns to leave out of files: nullable ones, and only if the sink drops them."""
        if not self._sink.drop_null_columns:
            return frozenset()
        fields = self._sink.schema.fields
        nullable = {column.name for column in fields if column.type.nullable}
        return frozenset(nullable.intersection(empty_columns))

    def _held(self) -> pa.Table:
        return pa.concat_tables(self._parts)

    def _group_rows(self) -> int:
        """Return the number of held rows that make a row group."""
        by_bytes = self._row_group_bytes * self._held_rows // max(1, self._held_bytes)
        rows = row_group_rows(self._held_rows, self._held_bytes)
        return max(1, min(rows, by_bytes, self._rows_in(self._target_bytes)))

    def _room_rows(self) -> int:
        """Return the number of rows that the open file has room for; at least 1 for a new file."""
        if self._file is None:
            return max(1, self._rows_in(self._target_bytes))
        return self._rows_in(self._target_bytes - self._file.size)

    def _rows_in(self, file_bytes: int) -> int:
        """Return about how many rows take `file_bytes` in a file, if they are like the held rows."""
        row_bytes = self._held_bytes * self._shrunk_to / self._held_rows
        return max(0, int(file_bytes / max(_ROW_BYTES_MIN, row_bytes)))

    def _write(self, count: int) -> None:
        """Write the first held rows as a row group."""
        assert 0 < count <= self._held_rows, "a row group is made of held rows"
        rows = self._held()
        taken, rest = rows.slice(0, count).combine_chunks(), rows.slice(count)
        # A column that was expected to be empty has a value: the open file lacks it, so another begins.
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
