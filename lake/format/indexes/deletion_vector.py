"""Files of deletion vectors: for each data file of a bucket, the rows that are deleted.

```
u8 1 (version) | vector | vector | …          one per data file, found by offset and length

32 bits   i32 BE size | i32 BE magic 1581511376 | bitmap                  | u32 BE crc32
64 bits   i32 BE size | i32 LE magic 1681511377 | i64 LE count | entries  | u32 BE crc32
          entry = i32 LE high words | bitmap of the low words
```

A bitmap is a Roaring bitmap, in its portable form, of positions: 0-based numbers of rows in file
order. `size` counts the bytes from the magic up to the checksum, and the checksum is over the same
bytes. For each vector, the index manifest has the offset of the field `size`, and a length. For a
vector of 32 bits the length is the value of `size`. For a vector of 64 bits it is 8 bytes more,
because it includes the field `size` and the checksum. A file may have vectors of both forms.

Positions from 2^32 on, which only vectors of 64 bits can hold, are not supported: no writer makes data files
with so many rows.

Source: table-format 14.
"""

import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Final

from pyroaring import AbstractBitMap, BitMap, FrozenBitMap

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.format.indexes.index_manifest import DeletionVectorRange

_VERSION: Final = b"\x01"
_MAGIC_32: Final = struct.pack(">i", 1_581_511_376)
_MAGIC_64: Final = struct.pack("<i", 1_681_511_377)
_WORD_BYTES: Final = 4
_MAGIC_BYTES: Final = 4
_COUNT_BYTES: Final = 8
_FRAME_BYTES: Final = 8
"""Size and checksum."""


def encode_deletion_vectors(
    vectors: Mapping[str, AbstractBitMap], *, is_64_bit: bool
) -> tuple[bytes, tuple[DeletionVectorRange, ...]]:
    """Return the bytes of an index file, and the range of each vector.

    Args:
        vectors: Positions by data file name; no vector is empty.
        is_64_bit: Whether the vectors get the form of 64 bits (`deletion-vectors.bitmap64`).

    Returns:
        The file, and the ranges in the order of the data files' names.

    Example:
        >>> data, _ = encode_deletion_vectors({"data-0.parquet": BitMap([1])}, is_64_bit=False)
        >>> data.hex()
        '01000000165e43f2d03a3000000100000000000000100000000100fa2b5192'
    """
    parts = [_VERSION]
    ranges: list[DeletionVectorRange] = []
    offset = len(_VERSION)
    for name in sorted(vectors):
        vector = vectors[name]
        assert vector, f"the vector of {name} marks no row"
        body = _body_64(vector) if is_64_bit else _MAGIC_32 + _portable(vector)
        part = struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))
        assert len(part) == len(body) + _FRAME_BYTES, "size and checksum around the body"
        length = len(part) if is_64_bit else len(body)
        parts.append(part)
        ranges.append(
            DeletionVectorRange(
                data_file_name=name, offset=offset, length=length, cardinality=len(vector)
            )
        )
        offset += len(part)
    return b"".join(parts), tuple(ranges)


def decode_deletion_vectors(
    data: bytes, ranges: Iterable[DeletionVectorRange]
) -> dict[str, FrozenBitMap]:
    """Return the positions that an index file marks, by data file name.

    Args:
        data: The whole file.
        ranges: Ranges of the vectors, from the file's entry in the index manifest.

    Raises:
        CorruptData: The bytes do not match the ranges and the format.
        UnsupportedFeature: A file of another version, or a position beyond 32 bits.
    """
    if data[:1] != _VERSION:
        text = f"deletion vectors have version {data[:1].hex() or 'none'}, expected 01"
        raise UnsupportedFeature(text) if data else CorruptData(text)
    return {entry.data_file_name: _decode(data, entry) for entry in ranges}


def _portable(vector: AbstractBitMap) -> bytes:
    # Copied, because `run_optimize` changes the representation of a vector, which may be shared.
    compact = BitMap(vector)
    compact.run_optimize()
    return compact.serialize()


def _body_64(vector: AbstractBitMap) -> bytes:
    # One entry: all positions of a bitmap of 32-bit numbers have the high word 0.
    return _MAGIC_64 + struct.pack("<qi", 1, 0) + _portable(vector)


def _decode(data: bytes, entry: DeletionVectorRange) -> FrozenBitMap:
    body = _checked_body(data, entry)
    magic, bitmap = body[:_MAGIC_BYTES], body[_MAGIC_BYTES:]
    # The form follows from the magic, not from the option, which the table may have changed since.
    if magic == _MAGIC_32:
        expected_length = len(body)
    elif magic == _MAGIC_64:
        expected_length = len(body) + _FRAME_BYTES
        bitmap = _low_bitmap(bitmap, entry)
    else:
        raise _corrupt(entry, f"has the unknown magic {magic.hex()}")
    if entry.length != expected_length:
        raise _corrupt(entry, f"has {expected_length} bytes, its entry says {entry.length}")
    try:
        vector = FrozenBitMap.deserialize(bitmap)
    except (ValueError, IndexError) as error:
        raise _corrupt(entry, f"has no bitmap: {error}") from error
    if entry.cardinality not in (None, len(vector)):
        raise _corrupt(entry, f"marks {len(vector)} rows, its entry says {entry.cardinality}")
    return vector


def _checked_body(data: bytes, entry: DeletionVectorRange) -> bytes:
    """Return magic and bitmap; CorruptData unless size and checksum are right."""
    begin = entry.offset + _WORD_BYTES
    size = int.from_bytes(data[entry.offset : begin], "big", signed=True)
    end = begin + size
    if entry.offset < len(_VERSION) or size < _MAGIC_BYTES or end + _WORD_BYTES > len(data):
        raise _corrupt(
            entry,
            f"cannot have {size} bytes at offset {entry.offset} in a file of {len(data)} bytes",
        )
    body = data[begin:end]
    checksum = int.from_bytes(data[end : end + _WORD_BYTES], "big")
    if zlib.crc32(body) != checksum:
        raise _corrupt(entry, f"has the checksum {zlib.crc32(body):08x}, expected {checksum:08x}")
    return body


def _low_bitmap(body: bytes, entry: DeletionVectorRange) -> bytes:
    """Return the bitmap of the positions below 2^32 in the body of a vector of 64 bits."""
    count = int.from_bytes(body[:_COUNT_BYTES], "little", signed=True)
    if count == 0:
        return BitMap().serialize()
    begin = _COUNT_BYTES + _WORD_BYTES
    high = int.from_bytes(body[_COUNT_BYTES:begin], "little", signed=True)
    if count != 1 or high != 0:
        text = f"the deletion vector of {entry.data_file_name} marks rows beyond the 2^32th"
        raise UnsupportedFeature(text)
    return body[begin:]


def _corrupt(entry: DeletionVectorRange, what: str) -> CorruptData:
    text = f"the deletion vector of {entry.data_file_name} {what}"
    return CorruptData(text)
