"""Rows in Avro's binary encoding, encoded from columns without a loop over rows.

Avro stores row after row, and in each row value after value. Here each column is first encoded as a whole, as
the concatenated bytes of its values and the length of each value (`Piece`). A column may have several pieces:
texts have one for their lengths and one for their bytes. Then the bytes of all pieces are scattered to their
positions in the rows. The elements of lists and maps are encoded in the same way, as if each were a row.

A union `["null", T]` is the byte 00 for null, or the byte 02 and then the value. An array or map is
written as the reference writes it: one block (its count, then its items), then a count of 0. An
empty one is only the count of 0.

Source: Apache Avro 1.11 specification, "Binary Encoding".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.format.arrow_types import elements
from braid.lake.format.avro.types import is_text_map, map_parts
from braid.lake.format.data_types import (
    BYTES_ROOTS,
    TEXT_ROOTS,
    TIMESTAMP_ROOTS,
    DataField,
    DataType,
    TypeRoot,
)

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]

_NULL: Final = 0
_PRESENT: Final = 2
_BITS: Final = 7
_DECIMAL_BYTES: Final = 16
_INT32_ROOTS: Final = frozenset({TypeRoot.INT, TypeRoot.DATE, TypeRoot.TIME})


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of the encoding of every value of a column.

    Attributes:
        data: Encoded bytes of all values, concatenated.
        lengths: Bytes of each value; one number if all values have the same.
    """

    data: Bytes
    lengths: Ints | int


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedRows:
    """Encoded rows.

    Attributes:
        data: Encoded bytes of all rows, concatenated.
        lengths: Bytes of each row.
    """

    data: Bytes
    lengths: Ints


def encode_rows(columns: Sequence[pa.Array], fields: Sequence[DataField]) -> EncodedRows:
    """Return rows encoded with the schema `avro_schema(fields)`.

    Args:
        columns: Columns in the Arrow form of their types, all of one length of at least 1.
        fields: Names, types and nullability of the columns.

    Raises:
        ValueError: A null in a NOT NULL column or field.
    """
    pieces = [
        piece
        for column, field in zip(columns, fields, strict=True)
        for piece in _encode(column, field.type)
    ]
    return _interleaved(pieces, len(columns[0]))


def _encode(array: pa.Array, data_type: DataType) -> list[Piece]:
    """Return the pieces of all values, nulls included."""
    if not data_type.nullable:
        if array.null_count:
            text = f"{array.null_count} nulls where {data_type} is NOT NULL"
            raise ValueError(text)
        return _encode_values(array, data_type)
    if not array.null_count:
        present = np.full(len(array), _PRESENT, np.uint8)
        return [Piece(data=present, lengths=1), *_encode_values(array, data_type)]
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    tags = np.where(valid, np.uint8(_PRESENT), np.uint8(_NULL))
    values = _encode_values(array.drop_null(), data_type) if valid.any() else []
    return [Piece(data=tags, lengths=1), *(_spread(piece, valid) for piece in values)]


def _spread(piece: Piece, valid: npt.NDArray[np.bool_]) -> Piece:
    """Return the piece of all values for a piece of the valid values; the others get no bytes."""
    assert isinstance(piece.lengths, int) or len(piece.lengths) == np.count_nonzero(valid)
    lengths = np.zeros(len(valid), np.int64)
    lengths[valid] = piece.lengths
    return Piece(data=piece.data, lengths=lengths)


def _encode_values(array: pa.Array, data_type: DataType) -> list[Piece]:
    """Return the pieces of values that are not null."""
    root = data_type.root
    encode_plain = _PLAIN.get(root)
    if encode_plain is not None:
        return encode_plain(array)
    match root:
        case TypeRoot.ARRAY:
            assert data_type.element is not None
            return _encode_items(array, _encode(elements(array), data_type.element))
        case TypeRoot.ROW:
            parts = zip(array.flatten(), data_type.fields, strict=True)
            return [piece for part, field in parts for piece in _encode(part, field.type)]
        case _:
            return _encode_items(array, _encode_entries(elements(array), data_type))


def _encode_entries(entries: pa.Array, data_type: DataType) -> list[Piece]:
    """Return the pieces of the entries of a MAP or MULTISET."""
    key, value = map_parts(data_type)
    if is_text_map(data_type):
        key = key.with_nullable(False)
    keys, values = entries.flatten()
    return [*_encode(keys, key), *_encode(values, value)]


def _encode_items(array: pa.Array, pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces of lists from those of their elements: count, elements, 0."""
    counts = np.diff(array.offsets.to_numpy(zero_copy_only=False)).astype(np.int64)
    items = _interleaved(pieces, int(counts.sum()))
    ends = np.concatenate([[0], np.cumsum(items.lengths)])
    last = np.cumsum(counts)
    filled = counts > 0
    header = _varints(counts[filled])
    return [
        _spread(header, filled),
        Piece(data=items.data, lengths=ends[last] - ends[last - counts]),
        Piece(data=np.zeros(len(array), np.uint8), lengths=1),
    ]


def _encode_booleans(array: pa.Array) -> list[Piece]:
    return [Piece(data=array.to_numpy(zero_copy_only=False).astype(np.uint8), lengths=1)]


def _encode_integers(array: pa.Array) -> list[Piece]:
    return [_varints(array.to_numpy(zero_copy_only=False).astype(np.int64))]


def _encode_int32s(array: pa.Array) -> list[Piece]:
    """Encode Arrow types of 32 bits: integers, days, and milliseconds of a day."""
    return _encode_integers(array.view(pa.int32()))


def _encode_timestamps(array: pa.Array) -> list[Piece]:
    return _encode_integers(array.view(pa.int64()))


def _encode_floats(array: pa.Array) -> list[Piece]:
    values = np.ascontiguousarray(array.to_numpy(zero_copy_only=False))
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return [Piece(data=little.view(np.uint8), lengths=values.itemsize)]


def _encode_bytes(array: pa.Array) -> list[Piece]:
    """Encode texts and binaries: the length, then the bytes."""
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    lengths = np.diff(ends).astype(np.int64)
    values = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return [_varints(lengths), Piece(data=values[ends[0] : ends[-1]], lengths=lengths)]


def _encode_decimals(array: pa.Array) -> list[Piece]:
    """Encode unscaled numbers: the length, then the shortest big-endian two's complement form."""
    start = array.offset * _DECIMAL_BYTES
    little = np.frombuffer(array.buffers()[1], np.uint8)[start:][: len(array) * _DECIMAL_BYTES]
    big = little.reshape(-1, _DECIMAL_BYTES)[:, ::-1]
    sign = np.where(big[:, 0] >= 0x80, np.uint8(0xFF), np.uint8(0))
    # Drop leading bytes that only repeat the sign, but keep at least one byte.
    differs = big != sign[:, None]
    first = np.where(differs.any(axis=1), differs.argmax(axis=1), _DECIMAL_BYTES - 1)
    # If the first kept byte has the wrong sign in its top bit, one sign byte is needed before it.
    top = big[np.arange(len(big)), first]
    first = np.where((top >= 0x80) != (sign > 0), first - 1, first)
    lengths = _DECIMAL_BYTES - first.astype(np.int64)
    kept = big[np.arange(_DECIMAL_BYTES) >= first[:, None]]
    return [
        Piece(data=(lengths << 1).astype(np.uint8), lengths=1),
        Piece(data=kept, lengths=lengths),
    ]


_PLAIN: Final[dict[TypeRoot, Callable[[pa.Array], list[Piece]]]] = {
    TypeRoot.BOOLEAN: _encode_booleans,
    TypeRoot.TINYINT: _encode_integers,
    TypeRoot.SMALLINT: _encode_integers,
    TypeRoot.BIGINT: _encode_integers,
    TypeRoot.FLOAT: _encode_floats,
    TypeRoot.DOUBLE: _encode_floats,
    TypeRoot.DECIMAL: _encode_decimals,
    **dict.fromkeys(_INT32_ROOTS, _encode_int32s),
    **dict.fromkeys(TIMESTAMP_ROOTS, _encode_timestamps),
    **dict.fromkeys((*TEXT_ROOTS, *BYTES_ROOTS), _encode_bytes),
}


def _varints(numbers: Ints) -> Piece:
    """Return longs as zigzag varints."""
    zigzag = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    # A matrix with a row per number, as wide as the longest varint; a number keeps the first bytes of its row.
    greatest = int(zigzag.max()) if len(zigzag) else 0
    width = max(1, -(-greatest.bit_length() // _BITS))
    if width == 1:
        return Piece(data=zigzag.astype(np.uint8), lengths=1)
    lengths = np.ones(len(numbers), np.int64)
    for index in range(1, width):
        lengths += zigzag >= np.uint64(1 << _BITS * index)
    groups = (zigzag[:, None] >> (np.arange(width, dtype=np.uint64) * np.uint64(_BITS))).astype(
        np.uint8
    )
    indexes = np.arange(width)
    groups &= np.uint8(0x7F)
    # All bytes but the last have the continuation bit.
    groups[indexes < lengths[:, None] - 1] |= np.uint8(0x80)
    return Piece(data=groups[indexes < lengths[:, None]], lengths=lengths)


def _interleaved(pieces: Sequence[Piece], count: int) -> EncodedRows:
    """Return the rows: each is the concatenation of its part of every piece, in order."""
    row_lengths = np.zeros(count, np.int64)
    for piece in pieces:
        row_lengths += piece.lengths
    # Where the next part of each row is written.
    positions = np.cumsum(row_lengths) - row_lengths
    data = np.empty(int(row_lengths.sum()), np.uint8)
    for piece in pieces:
        _scatter(piece, positions, data)
        positions += piece.lengths
    return EncodedRows(data=data, lengths=row_lengths)


def _scatter(piece: Piece, positions: Ints, data: Bytes) -> None:
    """Write the bytes of a piece to their positions, one position for each row."""
    lengths = piece.lengths
    if isinstance(lengths, int):
        for index in range(lengths):
            data[positions + index] = piece.data[index::lengths]
        return
    sources = np.cumsum(lengths) - lengths
    # The target of each byte: the position of its row plus its index within the row's part.
    targets = np.repeat(positions - sources, lengths)
    targets += np.arange(len(piece.data))
    data[targets] = piece.data
