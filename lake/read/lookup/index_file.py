"""File of a hash index, whose arrays are made in mapped memory.

```
head      numbers of 8 bytes: where `entries` begins, how many there are, where `begins` begins, how many there are,
          and the fields `row_bits`, `shift`, `longest`
arrays    each at a multiple of 64 bytes
```

Pages of a mapped file can be written back and dropped when memory is short; those of usual arrays cannot.
"""

from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.read.lookup.hash_index import HashIndex

_HEAD_NUMBERS: Final = 7
_HEAD_BYTES: Final = 64
_ALIGNMENT: Final = 64
_ZEROS: Final = bytes(1 << 20)


class IndexWriter:
    """Gives out arrays that are parts of a file, and completes the file; for one thread."""

    def __init__(self, path: str, file: BinaryIO) -> None:
        """Begin the file.

        Args:
            path: Path of the file.
            file: The same file, empty.
        """
        self._path = Path(path)
        self._file = file
        self._begins: list[int] = []
        self._write_zeros(_HEAD_BYTES)

    def zeros(self, count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return an array of zeros that is a part of the file; at most two, `entries` first."""
        kind = np.dtype(dtype)
        begin = self._file.tell()
        # Written, not only reserved: a page that finds no room on the disk later would end the process.
        self._write_zeros(-(-count * kind.itemsize // _ALIGNMENT) * _ALIGNMENT)
        self._file.flush()
        self._begins.append(begin)
        return np.asarray(np.memmap(self._path, kind, "r+", offset=begin, shape=(count,)))

    def finish(self, index: HashIndex) -> None:
        """Write the head. Requires: the arrays of the index are those that were given out, or their first parts."""
        entries, begins = self._begins
        head = [
            *(entries, len(index.entries), begins, len(index.begins)),
            *(index.row_bits, index.shift, index.longest),
        ]
        self._file.seek(0)
        self._file.write(np.array(head, dtype=np.int64).tobytes())

    def _write_zeros(self, size: int) -> None:
        for first in range(0, size, len(_ZEROS)):
            self._file.write(_ZEROS[: size - first])


def index_file_bytes(index_bytes: int) -> int:
    """Return the size of the file of an index whose arrays have a number of bytes."""
    return _HEAD_BYTES + index_bytes + 2 * _ALIGNMENT


def read_index(content: pa.Buffer) -> HashIndex:
    """Return the index of a file, without a copy of its arrays."""
    numbers = np.frombuffer(content, np.int64, count=_HEAD_NUMBERS).tolist()
    entries, entry_count, begins, begin_count, row_bits, shift, longest = numbers
    return HashIndex(
        entries=np.frombuffer(content, np.uint64, count=entry_count, offset=entries),
        begins=np.frombuffer(content, np.int32, count=begin_count, offset=begins),
        row_bits=row_bits,
        shift=shift,
        longest=longest,
    )
