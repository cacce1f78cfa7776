"""Reading a file of an object store in ranges, few and large.

A request costs about as much as reading a mebibyte, so reads are gathered:

1. the first request takes the end of the file: it says how long the file is, holds the footer, and
   is the whole of a small file, which level 0 consists of;
2. a reader that goes on where it left off gets more than it asked for, twice as much every time;
3. a reader that jumps, as one of column chunks does, gets what it asked for, at least a block.
"""

import io
from collections.abc import Callable
from typing import Final

TAIL_BYTES: Final = 256 << 10
"""Taken with the first request. A footer of a wide table is some tens of kilobytes."""

BLOCK_BYTES: Final = 64 << 10
"""Asked for at least: page headers and bits of metadata come one after the other."""

AHEAD_BYTES_MAX: Final = 8 << 20
"""Asked for at most beyond what is wanted."""

ReadRange = Callable[[int, int], bytes]


class RangedInput(io.RawIOBase):
    """A file that is read by ranges; seekable, not safe between threads."""

    def __init__(self, read_range: ReadRange, *, size: int, tail: bytes) -> None:
        """Take over what the first request brought.

        Args:
            read_range: Returns (offset, length) of the file, exactly.
            size: Bytes of the file.
            tail: Its last bytes.
        """
        self._read_range = read_range
        self._size = size
        self._tail = tail
        self._window = b""
        self._window_start = 0
        self._position = 0
        self._ahead = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def size(self) -> int:
        """Return the bytes of the file."""
        return self._size

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position and return it."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        """Return up to so many bytes from the position; all that are left without a number."""
        left = max(0, self._size - self._position)
        wanted = left if size is None or size < 0 else min(size, left)
        data = self._at(self._position, wanted) if wanted else b""
        self._position += len(data)
        return data

    def _at(self, offset: int, length: int) -> bytes:
        for start, held in (
            (self._size - len(self._tail), self._tail),
            (self._window_start, self._window),
        ):
            if start <= offset and offset + length <= start + len(held):
                return held[offset - start : offset - start + length]
        is_next = bool(self._window) and offset <= self._window_start + len(self._window)
        is_next = is_next and offset >= self._window_start
        self._ahead = min(AHEAD_BYTES_MAX, max(BLOCK_BYTES, self._ahead * 2)) if is_next else 0
        asked = max(length + self._ahead, BLOCK_BYTES)
        # What the tail holds is never fetched again, unless a read reaches into it.
        end = max(offset + length, min(offset + asked, self._size - len(self._tail)))
        self._window = self._read_range(offset, end - offset)
        self._window_start = offset
        return self._window[:length]
