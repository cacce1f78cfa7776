"""Parquet files whose footer is replaced while they are written or read, for INT96 columns.

`Int96Output` receives the bytes of a file with columns of 12-byte binary, and writes a file in which these
columns are INT96. `with_revealed_int96` is the inverse for reading.
"""

from collections.abc import Collection

import pyarrow as pa

from braid.lake.files.parquet.int96 import declare_int96, reveal_int96
from braid.lake.files.storage.positioned_input import InputFile, PositionedInput

_TAIL_BYTES = 8  # length of the footer, magic


def with_revealed_int96(source: InputFile, columns: Collection[str]) -> pa.PythonFile:
    """Return the file with its INT96 columns declared as 12-byte binary.

    Args:
        source: A whole Parquet file, seekable; must stay open as long as the result is read.
        columns: Top-level columns that are INT96, or hold such leaves.
    """
    size = source.size()
    source.seek(size - _TAIL_BYTES)
    tail = source.read(_TAIL_BYTES)
    footer_bytes = int.from_bytes(tail[:4], "little")
    start = size - _TAIL_BYTES - footer_bytes
    assert start > 0, "Arrow has read this footer before"
    source.seek(start)
    footer = reveal_int96(source.read(footer_bytes), columns)
    end = footer + len(footer).to_bytes(4, "little") + tail[4:]
    return pa.PythonFile(_WithEnd(source, start, end), mode="r")


class Int96Output:
    """A file object for Arrow that forwards a Parquet file as it is written, except its footer."""

    closed = False

    def __init__(self, sink: pa.NativeFile) -> None:
        """Write to a sink, which the caller closes."""
        self._sink = sink
        self._tail: bytes | None = None

    def write(self, data: bytes) -> int:
        """Forward the next bytes, or keep them if they belong to the footer."""
        if self._tail is None:
            self._sink.write(data)
        else:
            self._tail += data
        return len(data)

    def close(self) -> None:
        """Do nothing: `write_footer` is called later."""

    def expect_footer(self) -> None:
        """Keep the bytes that are written from now on: the end of the file, with the whole footer."""
        self._tail = b""

    def write_footer(self, columns: Collection[str]) -> None:
        """Write the end of the file with a footer that declares INT96.

        Args:
            columns: Top-level columns that were written as 12-byte binary, or hold such leaves.
        """
        assert self._tail is not None, "`expect_footer` comes first"
        end = len(self._tail) - _TAIL_BYTES
        start = end - int.from_bytes(self._tail[end : end + 4], "little")
        assert start >= 0, "the tail has the whole footer"
        footer = declare_int96(self._tail[start:end], columns)
        magic = self._tail[-4:]
        # The bytes before the footer are unchanged, so all offsets in the footer stay right.
        self._sink.write(self._tail[:start])
        self._sink.write(footer + len(footer).to_bytes(4, "little") + magic)


class _WithEnd(PositionedInput):
    """The first bytes of a file, followed by given bytes."""

    def __init__(self, source: InputFile, start: int, end: bytes) -> None:
        super().__init__(start + len(end))
        self._source = source
        self._start = start
        self._end = end

    def _at(self, start: int, end: int) -> bytes:
        data = b""
        if start < self._start:
            self._source.seek(start)
            data = self._source.read(min(end, self._start) - start)
        return data + self._end[max(start - self._start, 0) : max(end - self._start, 0)]
