"""File indexes: indexes of columns of one data file, with which readers can skip the file.

```
i64 magic | i32 version | i32 length of the head | i32 columns
per column:   text name | i32 indexes
  per index:  text kind | i32 start | i32 length
i32 redundant bytes | the redundant bytes
bodies
```

All numbers are big-endian, starts count from the beginning of the index, and a start of -1 means that the
column has no value at all. A text is as Java writes it: its length in 16 bits, then modified UTF-8. Readers
skip kinds that they do not know.

Source: table-format 16.
"""

import io
import struct
from collections.abc import Mapping
from typing import Final

from braid.lake.errors import CorruptData

BLOOM_FILTER: Final = "bloom-filter"
"""The kind of index whose body is a bloom filter."""

FILE_INDEX_SUFFIX: Final = ".index"
"""Suffix of the name of an index file beside its data file."""

_MAGIC: Final = 1_493_475_289_347_502
_VERSION: Final = 1
_NO_VALUES: Final = -1
_FIXED: Final = struct.Struct(">qii")
_INT: Final = struct.Struct(">i")
_LENGTH: Final = struct.Struct(">H")
_RANGE: Final = struct.Struct(">ii")

Indexes = Mapping[str, Mapping[str, bytes | memoryview | None]]
"""Bodies by column, then by kind; None for a column without any value."""


def encode_file_index(indexes: Indexes) -> bytes:
    """Return the bytes of an index, in the order of the columns and kinds.

    Args:
        indexes: Bodies by column and kind; each name has at most 65 535 bytes.
    """
    # The ranges of the bodies depend on the head's length, which does not depend on the ranges.
    length = len(_head(indexes, 0))
    bodies = [body for kinds in indexes.values() for body in kinds.values() if body is not None]
    head = _head(indexes, length)
    assert len(head) == length, "the ranges have a fixed size"
    return b"".join([head, *bodies])


def decode_file_index(data: bytes) -> dict[str, dict[str, memoryview | None]]:
    """Return the bodies by column and kind, without copying them.

    Raises:
        CorruptData: The bytes are not an index, or end early.
    """
    if len(data) < _FIXED.size:
        message = f"a file index has {len(data)} bytes, expected at least {_FIXED.size}"
        raise CorruptData(message)
    magic, version, length = _FIXED.unpack_from(data)
    if magic != _MAGIC or version != _VERSION:
        message = f"not a file index of version {_VERSION}: magic {magic:#x}, version {version}"
        raise CorruptData(message)
    if not _FIXED.size <= length <= len(data):
        message = f"the head of a file index of {len(data)} bytes cannot have {length} bytes"
        raise CorruptData(message)
    head = _Head(data[_FIXED.size : length])
    try:
        ranges = {
            head.text(): {head.text(): head.range() for _ in range(head.number())}
            for _ in range(head.number())
        }
    except (struct.error, UnicodeDecodeError) as error:
        message = f"the head of a file index cannot be read: {error}"
        raise CorruptData(message) from error
    return {
        column: {kind: _body(data, *found) for kind, found in kinds.items()}
        for column, kinds in ranges.items()
    }


def _body(data: bytes, start: int, length: int) -> memoryview | None:
    if start == _NO_VALUES:
        return None
    if start < _FIXED.size or length < 0 or start + length > len(data):
        message = f"a file index of {len(data)} bytes cannot have {length} bytes at offset {start}"
        raise CorruptData(message)
    return memoryview(data)[start : start + length]


def _head(indexes: Indexes, start: int) -> bytes:
    """Return the head; the first body begins at `start`, which is also the head's length."""
    out = io.BytesIO()
    out.write(_FIXED.pack(_MAGIC, _VERSION, start))
    out.write(_INT.pack(len(indexes)))
    for column, kinds in indexes.items():
        out.write(_text(column))
        out.write(_INT.pack(len(kinds)))
        for kind, body in kinds.items():
            out.write(_text(kind))
            if body is None:
                out.write(_RANGE.pack(_NO_VALUES, 0))
            else:
                out.write(_RANGE.pack(start, len(body)))
                start += len(body)
    out.write(_INT.pack(0))
    return out.getvalue()


class _Head:
    """The head of an index, read from front to back."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        (number,) = self._taken(_INT)
        return int(number)

    def range(self) -> tuple[int, int]:
        start, length = self._taken(_RANGE)
        return int(start), int(length)

    def text(self) -> str:
        (length,) = self._taken(_LENGTH)
        encoded = self._data[self._at : self._at + length]
        if len(encoded) < length:
            message = f"a text of {length} bytes at offset {self._at} is cut off"
            raise struct.error(message)
        self._at += length
        return _decoded(encoded)

    def _taken(self, layout: struct.Struct) -> tuple[int, ...]:
        numbers = layout.unpack_from(self._data, self._at)
        self._at += layout.size
        return numbers


def _text(text: str) -> bytes:
    """Return modified UTF-8: surrogate pairs instead of characters above U+FFFF, and no zero byte."""
    units = text.encode("utf-16-be", errors="surrogatepass")
    characters = "".join(chr(unit) for (unit,) in _LENGTH.iter_unpack(units))
    encoded = characters.encode(errors="surrogatepass").replace(b"\0", b"\xc0\x80")
    return _LENGTH.pack(len(encoded)) + encoded


def _decoded(encoded: bytes) -> str:
    characters = encoded.replace(b"\xc0\x80", b"\0").decode(errors="surrogatepass")
    return characters.encode("utf-16", errors="surrogatepass").decode(
        "utf-16", errors="surrogatepass"
    )
