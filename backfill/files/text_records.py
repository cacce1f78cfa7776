"""Records of text files: lines of JSON, and records of CSV, whose quoted values may have line breaks.

A file is read in blocks. Only the last, incomplete record of a block is kept for the next one, so memory is that of
a block and of the longest record.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_BLOCK_BYTES: Final = 4 << 20
_BREAK: Final = 10
_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = (b"", b"\n", b"\r\n", b"\r")
_Ends: TypeAlias = Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.int64]]


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
    return _records(file, _line_ends, record_bytes_max)


def csv_records(file: IO[bytes], *, quote: str, record_bytes_max: int) -> Iterator[TextRecords]:
    """Yield the records of a CSV file, the line of names among them.

    A line break between quotes does not end a record. A quote that nothing closes would take all the rest of the
    file in: a record that becomes longer than the bound ends at its first line break instead.

    Args:
        file: The file, at its beginning.
        quote: The character around values.
        record_bytes_max: The bound.
    """
    code = ord(quote)

    def ends(block: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        breaks = np.flatnonzero(block == _BREAK)
        quotes = np.flatnonzero(block == code)
        if not len(quotes):
            return breaks + 1
        found: npt.NDArray[np.int64] = breaks[np.searchsorted(quotes, breaks) % 2 == 0] + 1
        return found

    return _records(file, ends, record_bytes_max)


def is_blank(record: bytes) -> bool:
    """Return whether a record is an empty line."""
    return record in _BLANK


def _line_ends(block: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    return np.flatnonzero(block == _BREAK) + 1


def _records(file: IO[bytes], ends_of: _Ends, record_bytes_max: int) -> Iterator[TextRecords]:
    number, rest = 0, b""
    while True:
        block = file.read(_BLOCK_BYTES)
        data = rest + block
        if number == 0 and data.startswith(_BOM):
            data = data.removeprefix(_BOM)
        bounds = _bounds(data, ends_of, record_bytes_max, is_last=not block)
        if len(bounds) > 1:
            found = TextRecords(first=number, texts=_texts(data, bounds))
            yield found
            number, data = found.end, data[int(bounds[-1]) :]
        rest = data
        if not block:
            return


def _bounds(
    data: bytes, ends_of: _Ends, record_bytes_max: int, *, is_last: bool
) -> npt.NDArray[np.int64]:
    """Return the bounds of the complete records, from 0 on."""
    found = [np.zeros(1, np.int64)]
    start = 0
    while True:
        ends = ends_of(np.frombuffer(data, np.uint8)[start:]) + start
        starts = np.concatenate(([start], ends[:-1])) if len(ends) else ends
        long = np.flatnonzero(ends - starts > record_bytes_max)
        kept = ends[: long[0]] if len(long) else ends
        found.append(kept)
        start = int(kept[-1]) if len(kept) else start
        left = len(data) - start
        if not len(long) and left <= record_bytes_max:
            break
        # Too long to be one record: cut at the first line break, at the bound at the latest.
        cut = data.find(b"\n", start, start + record_bytes_max) + 1
        start = cut or min(len(data), start + record_bytes_max)
        found.append(np.array([start]))
    if is_last and start < len(data):
        found.append(np.array([len(data)]))
    return np.concatenate(found)


def _texts(data: bytes, bounds: npt.NDArray[np.int64]) -> pa.BinaryArray:
    offsets = pa.py_buffer(bounds.astype(np.int32).tobytes())
    return pa.Array.from_buffers(
        pa.binary(), len(bounds) - 1, [None, offsets, pa.py_buffer(data[: int(bounds[-1])])]
    )
