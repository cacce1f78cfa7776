"""Base class of Python file objects over byte ranges: it keeps the position, and subclasses fetch the bytes."""

import io
from abc import abstractmethod
from collections.abc import Iterable
from typing import TypeAlias

import pyarrow as pa

ByteRange: TypeAlias = tuple[int, int]
"""Positions of the first byte and of the byte after the last one."""


class PositionedInput(io.RawIOBase):
    """A seekable file of a known size with a position; not safe between threads."""

    def __init__(self, size: int) -> None:
        """Open at the beginning of a file of `size` bytes."""
        super().__init__()
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def size(self) -> int:
        """Return the size of the file in bytes."""
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
        """Return up to `size` bytes from the position on; all bytes from there if None or negative."""
        # The position may be behind the end of the file, as for any file object.
        left = max(0, self._size - self._position)
        wanted = left if size is None or size < 0 else min(size, left)
        data = self._at(self._position, self._position + wanted) if wanted else b""
        self._position += len(data)
        return data

    def prefetch(self, ranges: Iterable[ByteRange]) -> None:
        """Announce the ranges that will be read next, once each and about in this order.

        This is only a hint: reads of other ranges stay possible. This class ignores the hint.
        """
        del ranges

    @abstractmethod
    def _at(self, start: int, end: int) -> bytes:
        """Return the bytes in [start, end): at least one byte, and all of them in the file."""


InputFile: TypeAlias = pa.NativeFile | PositionedInput
"""A seekable file to read; its opener closes it."""
