"""A Parquet file seen with another footer, so that its INT96 columns can be read as bytes."""

import io
from collections.abc import Collection

import pyarrow as pa

from lake.files.int96 import reveal_int96

_TAIL_BYTES = 8  # length of the footer, magic


def with_revealed_int96(source: pa.NativeFile, columns: Collection[str]) -> pa.PythonFile:
    """Return the file with columns that are INT96 declared as 12-byte binary.

    Args:
        source: A whole Parquet file, seekable; to stay open as long as the result is read.
        columns: Top-level columns that are INT96, or hold such leaves.
    """
    size = source.size()
    source.seek(size - _TAIL_BYTES)
    tail = source.read(_TAIL_BYTES)
    footer_bytes = int.from_bytes(tail[:4], "little")
    start = size - _TAIL_BYTES - footer_bytes
    source.seek(start)
    footer = reveal_int96(source.read(footer_bytes), columns)
    end = footer + len(footer).to_bytes(4, "little") + tail[4:]
    return pa.PythonFile(_WithEnd(source, start, end), mode="r")


class _WithEnd(io.RawIOBase):
    """The first bytes of a file, followed by other ones."""

    def __init__(self, source: pa.NativeFile, start: int, end: bytes) -> None:
        super().__init__()
        self._source = source
        self._start = start
        self._end = end
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origins = {io.SEEK_SET: 0, io.SEEK_CUR: self._position}
        self._position = origins.get(whence, self._start + len(self._end)) + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        stop = self._start + len(self._end)
        if size >= 0:
            stop = min(stop, self._position + size)
        data = b""
        if self._position < self._start:
            self._source.seek(self._position)
            data = self._source.read(min(stop, self._start) - self._position)
        begin = max(self._position, self._start) - self._start
        data += self._end[begin : max(stop - self._start, 0)]
        self._position += len(data)
        return data
