"""File of one column in one piece: written batch by batch, and read as a mapped array.

```
head       three numbers of 8 bytes: rows, nulls, bytes of all texts
validity   one bit per row
values     of a fixed width; bits of BOOLEAN; or where each text ends, before it where the first begins
texts      one after another
```

Each section begins at a multiple of 64 bytes. The sizes of all but the last follow from the number of rows, so values
are written as they come, and writing takes the memory of one batch and of one byte per row. Byte order is the
machine's, because only processes of one machine share these files.
"""

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_HEAD_BYTES: Final = 64
_ALIGNMENT: Final = 64

_TEXT_OFFSETS: Final[Mapping[int, np.dtype[Any]]] = {
    pa.string().id: np.dtype(np.int32),
    pa.binary().id: np.dtype(np.int32),
    pa.large_string().id: np.dtype(np.int64),
    pa.large_binary().id: np.dtype(np.int64),
}


class TextsTooLong(Exception):
    """The texts of a column have more bytes than the offsets of one array can tell."""


def has_column_file(kind: pa.DataType) -> bool:
    """Return whether columns of a type can be in such a file: all but nested ones."""
    return kind.id in _TEXT_OFFSETS or pa.types.is_boolean(kind) or _width(kind) is not None


class ColumnWriter:
    """Writes one column; for one thread."""

    def __init__(
        self, file: BinaryIO, kind: pa.DataType, rows: int, *, reserve: Callable[[int], None]
    ) -> None:
        """Begin the file.

        Args:
            file: An empty file that can be sought.
            kind: Type of the column. Requires: `has_column_file`.
            rows: Number of rows.
            reserve: Called with a number of bytes before they are written; raises what ends the writing.
        """
        self._file = file
        self._kind = kind
        self._layout = _Layout(kind, rows)
        self._reserve = reserve
        self._valid: npt.NDArray[np.bool_] | None = None
        self._bits = np.zeros(rows if pa.types.is_boolean(kind) else 0, dtype=np.bool_)
        self._written = 0
        self._text_bytes = 0
        reserve(self._layout.texts_begin)

    def add(self, array: pa.Array) -> None:
        """Append values.

        Raises:
            TextsTooLong: All texts together are too long for the type.
        """
        first, count = self._written, len(array)
        rows = slice(first, first + count)
        assert rows.stop <= self._layout.rows, "no more rows than were announced"
        if array.null_count:
            if self._valid is None:
                self._valid = np.ones(self._layout.rows, dtype=np.bool_)
            self._valid[rows] = np.asarray(array.is_valid())
        if not count:
            return
        if self._layout.offsets is not None:
            self._add_texts(array, self._layout.offsets)
        elif pa.types.is_boolean(self._kind):
            self._bits[rows] = np.asarray(array.fill_null(False))
        else:
            width = self._layout.width
            begin = array.offset * width
            values = array.buffers()[1].slice(begin, count * width)
            self._write_at(self._layout.values_begin + first * width, values)
        self._written += count

    def finish(self) -> None:
        """Write what is known only at the end. Requires: all rows were added."""
        layout = self._layout
        assert self._written == layout.rows, "all rows of the column"
        nulls = 0
        if self._valid is not None:
            nulls = layout.rows - int(np.count_nonzero(self._valid))
            self._write_at(layout.validity_begin, _packed(self._valid))
        if pa.types.is_boolean(self._kind):
            self._write_at(layout.values_begin, _packed(self._bits))
        # The file is as long as its layout even where the last values are not written.
        self._file.truncate(layout.texts_begin + self._text_bytes)
        self._write_at(0, np.array([layout.rows, nulls, self._text_bytes], dtype=np.int64))

    def _add_texts(self, array: pa.Array, dtype: np.dtype[Any]) -> None:
        _, raw_offsets, raw_texts = array.buffers()
        skipped = dtype.itemsize * array.offset
        offsets = np.frombuffer(raw_offsets, dtype, count=len(array) + 1, offset=skipped)
        begin, end = int(offsets[0]), int(offsets[-1])
        if self._text_bytes + end - begin > np.iinfo(dtype).max:
            raise TextsTooLong
        ends = offsets[1:] + dtype.type(self._text_bytes - begin)
        # The offset before the first text is the zero that the file has there.
        place = self._layout.values_begin + (self._written + 1) * dtype.itemsize
        self._write_at(place, ends)
        if end > begin:
            self._reserve(end - begin)
            texts_end = self._layout.texts_begin + self._text_bytes
            self._write_at(texts_end, raw_texts.slice(begin, end - begin))
        self._text_bytes += end - begin

    def _write_at(self, place: int, content: Any) -> None:
        """Write a buffer of Arrow or an array."""
        self._file.seek(place)
        self._file.write(memoryview(content).cast("B"))


def read_column(content: pa.Buffer, kind: pa.DataType) -> pa.Array:
    """Return the column of a file, without a copy."""
    rows, nulls, text_bytes = np.frombuffer(content, np.int64, count=3).tolist()
    layout = _Layout(kind, rows)
    buffers = [
        content.slice(layout.validity_begin, -(-rows // 8)) if nulls else None,
        content.slice(layout.values_begin, layout.values_bytes),
    ]
    if layout.offsets is not None:
        buffers.append(content.slice(layout.texts_begin, text_bytes))
    return pa.Array.from_buffers(kind, rows, buffers, null_count=nulls)


class _Layout:
    """Where the sections of a file begin."""

    def __init__(self, kind: pa.DataType, rows: int) -> None:
        self.rows = rows
        self.offsets = _TEXT_OFFSETS.get(kind.id)
        bits = -(-rows // 8)
        self.width = _width(kind) or 0
        if self.offsets is not None:
            self.values_bytes = (rows + 1) * self.offsets.itemsize
        else:
            self.values_bytes = rows * self.width or bits
        self.validity_begin = _HEAD_BYTES
        self.values_begin = self.validity_begin + _aligned(bits)
        self.texts_begin = self.values_begin + _aligned(self.values_bytes)


def _width(kind: pa.DataType) -> int | None:
    """Return the bytes of a value; None for BOOLEAN and for types without a fixed width."""
    if pa.types.is_fixed_size_binary(kind):
        return int(kind.byte_width)
    is_plain = pa.types.is_primitive(kind) and not pa.types.is_boolean(kind)
    return int(kind.bit_width) // 8 if is_plain or pa.types.is_decimal(kind) else None


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _packed(bits: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    return np.packbits(bits, bitorder="little")
