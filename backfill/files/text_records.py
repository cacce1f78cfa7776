"""Splitting of text files into records: lines of JSON, and records of CSV, whose quoted values may have line breaks.

A file is read in blocks. The incomplete record at the end of a block is kept until the next block is read, so memory is
bounded by a block and the longest record. The next block is at least as long as the kept part of the record. So each
byte is scanned only a few times, even if records are long. A record that is longer than a bound is cut, and each part
is yielded as a record.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_BLOCK_BYTES: Final = 4 << 20
_BREAK: Final = 10
_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = (b"", b"\n", b"\r\n", b"\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRecords:
    """Some records of a file.

    Attributes:
        first: Number of the first of them in the file.
        texts: The records with their line ends, the last of a file perhaps without.
    """

    first: int
    texts: pa.BinaryArray

    @property
    def end(self) -> int:
        """The number of the record after the last one."""
        return self.first + len(self.texts)


def line_records(file: IO[bytes], *, record_bytes_max: int) -> Iterator[TextRecords]:
    """Yield the lines of a file.

    Args:
        file: The file, at its beginning.
        record_bytes_max: A longer line is not kept as a whole: what exceeds the bound is a record of its own.
    """
    return _records(file, None, record_bytes_max)


def csv_records(file: IO[bytes], *, quote: str, record_bytes_max: int) -> Iterator[TextRecords]:
    """Yield the records of a CSV file, the line of names among them.

    A line break between quotes does not end a record. A quote that nothing closes would take all the rest of the
    file in: a record that becomes longer than the bound ends at its first line break instead.

    Args:
        file: The file, at its beginning.
        quote: The character around values.
        record_bytes_max: The bound.
    """
    return _records(file, quote, record_bytes_max)


def is_blank(record: bytes) -> bool:
    """Return whether a record is an empty line."""
    return record in _BLANK


def _records(file: IO[bytes], quote: str | None, record_bytes_max: int) -> Iterator[TextRecords]:
    number, rest = 0, b""
    while True:
        block = file.read(max(_BLOCK_BYTES, len(rest)))
        data = rest + block
        if number == 0 and data.startswith(_BOM):
            data = data.removeprefix(_BOM)
        bounds = _bounds(data, quote, record_bytes_max, is_last=not block)
        if len(bounds) > 1:
            found = TextRecords(first=number, texts=_texts(data, bounds))
            yield found
            number, data = found.end, data[int(bounds[-1]) :]
        rest = data
        if not block:
            return


def _bounds(
    data: bytes, quote: str | None, record_bytes_max: int, *, is_last: bool
) -> npt.NDArray[np.int64]:
    """Return the bounds of the complete records, from 0 on."""
    line_ends = _LineEnds(data, quote, record_bytes_max)
    found = [np.zeros(1, np.int64)]
    start = 0
    while True:
        kept, is_cut = line_ends.after(start)
        found.append(kept)
        start = int(kept[-1]) if len(kept) else start
        if not is_cut and len(data) - start <= record_bytes_max:
            break
        # Too long to be one record: cut at the first line break, at the bound at the latest.
        cut = data.find(b"\n", start, start + record_bytes_max) + 1
        start = cut or min(len(data), start + record_bytes_max)
        found.append(np.array([start]))
    if is_last and start < len(data):
        found.append(np.array([len(data)]))
    return np.concatenate(found)


class _LineEnds:
    """The ends of lines in some data, which is searched once, from whichever record on they are asked for."""

    def __init__(self, data: bytes, quote: str | None, record_bytes_max: int) -> None:
        codes = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(codes == _BREAK) + 1
        self._bound = record_bytes_max
        self._quotes = np.flatnonzero(codes == ord(quote)) if quote else np.zeros(0, np.int64)
        # A line ends a record that begins at X if the number of quotes between them is even: if as many quotes are
        # before the one as before the other, modulo 2.
        parity = np.searchsorted(self._quotes, ends) % 2
        self._ends = [ends[parity == even_or_odd] for even_or_odd in (0, 1)]
        self._long = [np.flatnonzero(np.diff(some) > record_bytes_max) + 1 for some in self._ends]

    def after(self, start: int) -> tuple[npt.NDArray[np.int64], bool]:
        """Return the ends of records from one on that begins at `start`, and whether a longer one than allowed follows.

        The ends are those before the first record that is too long.
        """
        parity = int(np.searchsorted(self._quotes, start)) % 2
        ends, long = self._ends[parity], self._long[parity]
        first = int(np.searchsorted(ends, start, side="right"))
        if first == len(ends):
            return ends[first:], False
        if ends[first] - start > self._bound:
            return ends[first:first], True
        next_long = int(np.searchsorted(long, first, side="right"))
        if next_long == len(long):
            return ends[first:], False
        return ends[first : long[next_long]], True


def _texts(data: bytes, bounds: npt.NDArray[np.int64]) -> pa.BinaryArray:
    offsets = pa.py_buffer(bounds.astype(np.int32).tobytes())
    return pa.Array.from_buffers(
        pa.binary(), len(bounds) - 1, [None, offsets, pa.py_buffer(data[: int(bounds[-1])])]
    )
