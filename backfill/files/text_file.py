"""Text file of a backfill: opened through storage, decompressed as its ending says, and read as rows without blank lines."""

from collections.abc import Callable, Iterator
from typing import IO, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.backfill.files.damage import decoded
from braid.backfill.files.opened_file import ROWS_MAX, FileRows
from braid.backfill.files.source_files import compression_of
from braid.backfill.files.text_records import TextRecords, is_blank
from braid.lake import FileIO, FileStatus

_BLANK_BYTES: Final = 2


class TextFile:
    """The bytes of a text file, and how far it was read."""

    def __init__(self, file_io: FileIO, file: FileStatus) -> None:
        """Open the file."""
        self.path = file.path
        self._size = max(1, file.size)
        self._input = file_io.open_input(file.path)
        compression = compression_of(file.path.lower())
        self.stream: IO[bytes] | Any = self._input
        if compression is not None:
            source = (
                self._input
                if isinstance(self._input, pa.NativeFile)
                else pa.PythonFile(self._input, mode="r")
            )
            self.stream = pa.CompressedInputStream(source, compression)

    @property
    def done(self) -> float:
        """The part of the file that was read, from 0 to 1."""
        return min(1.0, int(self._input.tell()) / self._size)

    def close(self) -> None:
        """Close the file."""
        self._input.close()

    def rows(
        self,
        records_of: Callable[[Any], Iterator[TextRecords]],
        *,
        skipped: int,
        names: int = 0,
    ) -> Iterator[FileRows]:
        """Yield the rows of the file, without the first ones.

        Args:
            records_of: Returns the records of the stream of bytes.
            skipped: Number of rows that are left out.
            names: Number of records before the first row.

        Raises:
            InvalidRequest: The file is damaged.
            StorageUnavailable: Storage does not answer.
        """
        for found in decoded(self.path, records_of(self.stream)):
            first = max(found.first, skipped + names)
            for start in range(first, found.end, ROWS_MAX):
                end = min(found.end, start + ROWS_MAX)
                texts = found.texts.slice(start - found.first, end - start)
                yield _rows(texts, start - names, self.done)


def _rows(texts: pa.BinaryArray, first: int, done: float) -> FileRows:
    count = len(texts)
    numbers = np.arange(first, first + count)
    lengths = pc.binary_length(texts).to_numpy(zero_copy_only=False)
    short = np.flatnonzero(lengths <= _BLANK_BYTES).tolist()
    blank = [row for row in short if is_blank(texts[row].as_py())]
    if blank:
        is_row = np.ones(count, bool)
        is_row[blank] = False
        texts, numbers = texts.filter(pa.array(is_row)), numbers[is_row]
    return FileRows(first=first, count=count, payloads=texts, numbers=numbers, done=done)
