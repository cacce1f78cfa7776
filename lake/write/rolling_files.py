"""A sorted run of any length becomes files of about the target size, one at a time."""

from typing import Final

import pyarrow as pa

from lake.format.data_file import DataFileMeta, FileSource
from lake.write.level_file import DataFileSink, write_level_file

MEMORY_BYTES: Final = 256 * 1024 * 1024
"""Rows in memory before a file is written, however well they would compress."""

_GROWTH_MAX: Final = 4
"""From file to file, because one part of the rows may shrink far more than the next."""


class RollingFiles:
    """Cuts rows into files.

    How large rows become on disk is learnt from the file before; the first is cut as if nothing
    could be compressed. Memory: `memory_bytes`, and as much again while a file is written.
    """

    def __init__(
        self,
        sink: DataFileSink,
        *,
        level: int,
        file_source: FileSource,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        """Take over where to write.

        Args:
            sink: Where to.
            level: That the files are for.
            file_source: Which act writes them.
            memory_bytes: Upper bound of the rows of a file, in memory.
        """
        self._sink = sink
        self._level = level
        self._file_source = file_source
        self._memory_bytes = memory_bytes
        self._target_bytes = max(1, sink.schema.table_options.target_file_size_bytes)
        self._limit_bytes = min(self._target_bytes, memory_bytes)
        self._parts: list[pa.Table] = []
        self._part_bytes = 0
        self._files: list[DataFileMeta] = []

    def add(self, table: pa.Table) -> None:
        """Take the next rows, a key-value table of all table columns with keys above all before."""
        if not table.num_rows:
            return
        self._parts.append(table)
        self._part_bytes += table.nbytes
        while self._part_bytes >= self._limit_bytes:
            self._write()

    def finish(self) -> tuple[DataFileMeta, ...]:
        """Write what is left and return all files, in key order."""
        while self._parts:
            self._write()
        return tuple(self._files)

    def _write(self) -> None:
        rows = pa.concat_tables(self._parts)
        count = rows.num_rows
        if self._part_bytes > self._limit_bytes:
            count = max(1, count * self._limit_bytes // self._part_bytes)
        taken, rest = rows.slice(0, count).combine_chunks(), rows.slice(count)
        self._parts = [rest] if rest.num_rows else []
        self._part_bytes = rest.nbytes if rest.num_rows else 0
        file = write_level_file(self._sink, taken, level=self._level, file_source=self._file_source)
        self._files.append(file)
        self._learn(taken.nbytes, file.file_size)

    def _learn(self, memory_bytes: int, file_bytes: int) -> None:
        shrinks_by = max(1.0, memory_bytes / max(1, file_bytes))
        self._limit_bytes = min(
            int(self._target_bytes * shrinks_by),
            self._limit_bytes * _GROWTH_MAX,
            self._memory_bytes,
        )
