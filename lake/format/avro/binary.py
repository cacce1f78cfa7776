"""Avro's binary encoding of the few types that manifests use.

A long or int is a zigzag varint. Bytes or a string are their length as a long, then the bytes. An array
is a sequence of blocks, each a count (a long) and that many items; a count of 0 ends the array. After a
negative count comes the size of the block in bytes, and the number of items is the count without its sign.
A union `["null", T]` is the byte 00 for null, or the byte 02 and then the value.

These functions and `AvroDecoder` exist because manifests have thousands of small records, and a
general codec spends most of its time on the branches of unions. An encoding function returns the
bytes of a number, or appends to a list of pieces, which the caller joins.

Source: Apache Avro 1.11 specification, "Binary Encoding".
"""

from collections.abc import Sequence
from typing import Final

NULL: Final = b"\x00"
PRESENT: Final = b"\x02"


def _varint(number: int) -> bytes:
    rest = (number << 1) ^ (number >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


# Small numbers are encoded in advance: lengths, counts, levels and buckets are mostly small.
_SMALL: Final = tuple(_varint(number) for number in range(2048))
_PRESENT_SMALL: Final = tuple(PRESENT + encoded for encoded in _SMALL)
_SMALL_COUNT: Final = len(_SMALL)
# Translation table that decodes one-byte numbers that are not negative: zigzag doubles them.
_HALVED: Final = bytes(byte >> 1 for byte in range(256))


def encode_long(number: int) -> bytes:
    """Return the encoding of a long, or int, of at most 64 bits."""
    return _SMALL[number] if 0 <= number < _SMALL_COUNT else _varint(number)


def encode_optional_long(number: int | None) -> bytes:
    """Return a `["null", "long"]`."""
    if number is None:
        return NULL
    return _PRESENT_SMALL[number] if 0 <= number < _SMALL_COUNT else PRESENT + _varint(number)


def encode_bytes(out: list[bytes], data: bytes) -> None:
    """Append bytes, or the UTF-8 of a string."""
    out.append(encode_long(len(data)))
    out.append(data)


def encode_optional_bytes(out: list[bytes], data: bytes | None) -> None:
    """Append a `["null", "bytes"]`, or the UTF-8 of a `["null", "string"]`."""
    if data is None:
        out.append(NULL)
    else:
        out.append(PRESENT)
        encode_bytes(out, data)


def encode_strings(out: list[bytes], texts: Sequence[str]) -> None:
    """Append an array of strings."""
    if texts:
        out.append(encode_long(len(texts)))
        for text in texts:
            encode_bytes(out, text.encode())
    out.append(NULL)


def encode_optional_strings(out: list[bytes], texts: Sequence[str] | None) -> None:
    """Append a `["null", array of strings]`."""
    if texts is None:
        out.append(NULL)
    else:
        out.append(PRESENT)
        encode_strings(out, texts)


def encode_longs(out: list[bytes], numbers: Sequence[int]) -> None:
    """Append an array of longs."""
    if numbers:
        out.append(encode_long(len(numbers)))
        out.extend(map(encode_long, numbers))
    out.append(NULL)


def encode_null_counts(out: list[bytes], counts: Sequence[int | None]) -> None:
    """Append an array of `["null", "long"]`."""
    if counts:
        out.append(encode_long(len(counts)))
        out.extend(map(encode_optional_long, counts))
    out.append(NULL)


class AvroDecoder:
    """Reads values in sequence; raises IndexError if the bytes end early.

    Attributes:
        data: The bytes.
        position: Index of the next byte.
    """

    __slots__ = ("_texts", "data", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        # The last array of strings: entries of one writer repeat it, and thousands of columns take long to decode.
        self._texts: tuple[bytes, tuple[str, ...]] | None = None

    @property
    def is_at_end(self) -> bool:
        """Return whether the position is exactly at the end of the bytes."""
        return self.position == len(self.data)

    def long(self) -> int:
        """Return a long or int."""
        data, position = self.data, self.position
        byte = data[position]
        position += 1
        if byte < 0x80:
            self.position = position
            return (byte >> 1) ^ -(byte & 1)
        number, shift = byte & 0x7F, 7
        while True:
            byte = data[position]
            position += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        self.position = position
        return (number >> 1) ^ -(number & 1)

    def byte_string(self) -> bytes:
        """Return bytes."""
        # Most strings are shorter than 64 bytes, so their length takes one byte.
        start = self.position + 1
        length = self.data[start - 1]
        if length < 0x80 and not length & 1:
            length >>= 1
        else:
            length = self.long()
            start = self.position
        end = start + length
        if length < 0 or end > len(self.data):
            text = f"{length} bytes at offset {start} are not within {len(self.data)} bytes"
            raise IndexError(text)
        self.position = end
        return self.data[start:end]

    def fixed(self, length: int) -> bytes:
        """Return exactly `length` bytes."""
        data = self.data[self.position : self.position + length]
        if len(data) < length:
            text = f"{length} bytes at offset {self.position} are not within {len(self.data)} bytes"
            raise IndexError(text)
        self.position += length
        return data

    def string(self) -> str:
        """Return a string."""
        return self.byte_string().decode()

    def is_present(self) -> bool:
        """Return the branch of a `["null", T]`: False for null, True before the value."""
        branch = self.data[self.position]
        self.position += 1
        if branch not in (0, 2):
            text = f"found branch {branch >> 1} of a union that has two types"
            raise IndexError(text)
        return branch == 2

    def optional_long(self) -> int | None:
        """Return a `["null", "long"]`."""
        return self.long() if self.is_present() else None

    def skip_optional_longs(self, count: int) -> None:
        """Advance past some `["null", "long"]`."""
        data, position = self.data, self.position
        for _ in range(count):
            branch = data[position]
            position += 1
            if branch == 2:
                while data[position] >= 0x80:
                    position += 1
                position += 1
            elif branch:
                text = f"found branch {branch >> 1} of a union that has two types"
                raise IndexError(text)
        self.position = position

    def skip_longs(self, count: int) -> None:
        """Advance past some longs or ints."""
        data, position = self.data, self.position
        for _ in range(count):
            while data[position] >= 0x80:
                position += 1
            position += 1
        self.position = position

    def skip_bytes(self) -> int:
        """Advance past bytes or a string; return how many bytes it has."""
        position = self.position
        length = self.data[position]
        if length < 0x80 and not length & 1:
            # The usual case: fewer than 64 bytes.
            self.position = end = position + 1 + (length >> 1)
            if end > len(self.data):
                text = f"{length >> 1} bytes at offset {position} are not within the data"
                raise IndexError(text)
            return length >> 1
        length = self.long()
        if length < 0 or self.position + length > len(self.data):
            text = f"{length} bytes at offset {self.position} are not within {len(self.data)} bytes"
            raise IndexError(text)
        self.position += length
        return length

    def skip_strings(self) -> None:
        """Advance past an array of strings."""
        known = self._texts
        if known is not None and self.data.startswith(known[0], self.position):
            self.position += len(known[0])
            return
        while count := self.block_count():
            for _ in range(count):
                self.skip_bytes()

    def optional_bytes(self) -> bytes | None:
        """Return a `["null", "bytes"]`."""
        return self.byte_string() if self.is_present() else None

    def optional_string(self) -> str | None:
        """Return a `["null", "string"]`."""
        return self.string() if self.is_present() else None

    def strings(self) -> tuple[str, ...]:
        """Return an array of strings."""
        start, known = self.position, self._texts
        if known is not None and self.data.startswith(known[0], start):
            self.position += len(known[0])
            return known[1]
        texts: list[str] = []
        while count := self.block_count():
            texts.extend([self.string() for _ in range(count)])
        found = tuple(texts)
        if texts:
            self._texts = self.data[start : self.position], found
        return found

    def optional_strings(self) -> tuple[str, ...] | None:
        """Return a `["null", array of strings]`."""
        return self.strings() if self.is_present() else None

    def longs(self) -> tuple[int, ...]:
        """Return an array of longs."""
        numbers: list[int] = []
        while count := self.block_count():
            numbers.extend([self.long() for _ in range(count)])
        return tuple(numbers)

    def null_counts(self) -> tuple[int | None, ...]:
        """Return an array of `["null", "long"]`."""
        counts: list[int | None] = []
        while count := self.block_count():
            end = self.position + 2 * count
            chunk = self.data[self.position : end]
            # The usual case: every count is present and from 0 to 63. Then every second byte is a count, and
            # the whole chunk is decoded without a loop.
            if chunk[0::2] == PRESENT * count and len(chunk) == 2 * count and chunk.isascii():
                self.position = end
                counts.extend(chunk[1::2].translate(_HALVED))
            else:
                counts.extend([self.optional_long() for _ in range(count)])
        return tuple(counts)

    def block_count(self) -> int:
        """Return the number of items in the next block of an array or map; 0 at its end."""
        count = self.long()
        if count < 0:
            # After a negative count comes the size of the block in bytes.
            self.long()
            return -count
        return count
