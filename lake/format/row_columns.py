"""Columns decoded from serialised binary rows, without a loop over rows.

For example, the bounds of thousands of files are decoded to one table, and a predicate is evaluated
on all of them at once. Partitions and keys are decoded in the same way. Decoded fields of nested
types and VARIANT have to be null in every row.

Source: table-format 8.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.data_types import (
    BYTES_ROOTS,
    TEXT_ROOTS,
    TIMESTAMP_ROOTS,
    DataField,
    DataType,
    TypeRoot,
)
from braid.lake.format.row_words import (
    ARITY_BYTES,
    WORD_BYTES,
    BoolArray,
    Int64Array,
    UInt64Array,
    header_word_count,
    is_compact_decimal,
    is_compact_timestamp,
)

_LOW_HALF = np.uint64(0xFFFFFFFF)
_NUMPY_TYPES: Final[Mapping[TypeRoot, np.dtype[Any]]] = {
    TypeRoot.TINYINT: np.dtype(np.int8),
    TypeRoot.SMALLINT: np.dtype(np.int16),
    TypeRoot.INT: np.dtype(np.int32),
    TypeRoot.BIGINT: np.dtype(np.int64),
    TypeRoot.FLOAT: np.dtype(np.float32),
    TypeRoot.DOUBLE: np.dtype(np.float64),
    TypeRoot.DATE: np.dtype(np.int32),
    TypeRoot.TIME: np.dtype(np.int32),
    TypeRoot.TIMESTAMP: np.dtype(np.int64),
    TypeRoot.TIMESTAMP_LTZ: np.dtype(np.int64),
}


def decode_rows(
    rows: Sequence[bytes], fields: Sequence[DataField], *, only: Collection[str] | None = None
) -> pa.Table:
    """Return serialised rows as a table.

    Args:
        rows: Serialised rows, any number, all with one field per entry of `fields`.
        fields: Names and types of the fields; nested fields must be null in every row.
        only: Names of the fields to decode; None means all.

    Returns:
        len(rows) rows x the requested fields, in Arrow form, all nullable, in the given order.

    Raises:
        CorruptData: A row has another arity or ends too early; the message has the row's number.
        UnsupportedFeature: A nested field is not null.
    """
    matrix = _RowMatrix.of(rows, len(fields))
    chosen = [
        (index, field) for index, field in enumerate(fields) if only is None or field.name in only
    ]
    columns = [_column(matrix, index, field.type) for index, field in chosen]
    assert all(len(column) == len(rows) for column in columns), "one value per row"
    schema = pa.schema([pa.field(field.name, to_arrow_type(field.type)) for _, field in chosen])
    return pa.Table.from_arrays(columns, schema=schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowMatrix:
    """Many rows, concatenated.

    Attributes:
        view: Overlapping words of the data: element i is the word that begins at byte i.
        starts: First byte of each row, after its arity.
        ends: One past the last byte of each row.
        arity: Fields per row.
    """

    view: UInt64Array
    starts: Int64Array
    ends: Int64Array
    arity: int

    @classmethod
    def of(cls, rows: Sequence[bytes], arity: int) -> "_RowMatrix":
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        _check_lengths(lengths, arity)
        # Padded, so that a whole word can be read from the last byte on.
        data = np.frombuffer(b"".join([*rows, bytes(WORD_BYTES)]), dtype=np.uint8)
        view: UInt64Array = np.ndarray(
            shape=(len(data) - WORD_BYTES + 1,), dtype=np.uint64, buffer=data, strides=(1,)
        )
        ends = np.cumsum(lengths)
        first = ends - lengths
        # The arity is big endian.
        found = (view[first] & _LOW_HALF).astype(np.uint32).byteswap()
        if (found != arity).any():
            row = int(np.argmax(found != arity))
            text = f"binary row {row} of {len(rows)} has {found[row]} fields, expected {arity}"
            raise CorruptData(text)
        return cls(view=view, starts=first + ARITY_BYTES, ends=ends, arity=arity)

    def nulls(self, index: int) -> BoolArray:
        """Return whether a field is null in each row."""
        # The first byte of the header is the row kind.
        word, bit = divmod(8 + index, 64)
        header = self.view[self.starts + word * WORD_BYTES]
        return (header >> np.uint64(bit) & np.uint64(1)).astype(np.bool_)

    def slots(self, index: int) -> UInt64Array:
        """Return the slot of a field in each row."""
        position = header_word_count(self.arity) + index
        return self.view[self.starts + position * WORD_BYTES]

    def words(self, offsets: Int64Array, position: int, nulls: BoolArray) -> UInt64Array:
        """Return the word at a position of each variable part; zero for null.

        Args:
            offsets: Offset of each variable part from the first byte of its row; arbitrary for null.
            position: Index of the word within the variable part.
            nulls: Whether the field is null in each row.
        """
        begins = self.starts + offsets + position * WORD_BYTES
        begins = self.checked(begins, np.full(len(begins), WORD_BYTES), nulls)
        return np.where(nulls, np.uint64(0), self.view[begins])

    def checked(self, begins: Int64Array, lengths: Int64Array, nulls: BoolArray) -> Int64Array:
        """Return `begins`, with 0 for null, after a check that all values are inside their rows.

        Raises:
            CorruptData: A value reaches beyond its row. Offsets come from storage, and without the check
                a damaged offset would return bytes of another row.
        """
        outside = ((begins + lengths > self.ends) | (begins < self.starts)) & ~nulls
        if outside.any():
            row = int(np.argmax(outside))
            text = (
                f"binary row {row} refers to bytes up to {begins[row] + lengths[row]}, but ends at "
                f"{self.ends[row]}"
            )
            raise CorruptData(text)
        return np.where(nulls, 0, begins)


def _check_lengths(lengths: Int64Array, arity: int) -> None:
    least = ARITY_BYTES + WORD_BYTES * (header_word_count(arity) + arity)
    if (lengths < least).any():
        row = int(np.argmax(lengths < least))
        text = f"binary row {row} has {lengths[row]} bytes, expected at least {least} for {arity} fields"
        raise CorruptData(text)


def _column(matrix: _RowMatrix, index: int, data_type: DataType) -> pa.Array:
    nulls = matrix.nulls(index)
    slots = matrix.slots(index)
    if data_type.root in TEXT_ROOTS or data_type.root in BYTES_ROOTS:
        return _bytes_column(matrix, index, nulls, data_type)
    if data_type.root is TypeRoot.DECIMAL:
        return _decimal_column(matrix, slots, nulls, data_type)
    if data_type.root is TypeRoot.BOOLEAN:
        return pa.array((slots & np.uint64(1)).astype(np.bool_), mask=nulls)
    if not data_type.is_plain:
        if not nulls.all():
            text = f"a binary row holds a value of `{data_type}`, which this version cannot read"
            raise UnsupportedFeature(text)
        return pa.nulls(len(nulls), to_arrow_type(data_type))
    # Values of all other types are a number in the slot, or are made from one.
    dtype = _NUMPY_TYPES[data_type.root]
    if data_type.root in TIMESTAMP_ROOTS and not is_compact_timestamp(data_type):
        slots = _timestamp_units(matrix, slots, nulls, data_type)
    unsigned = slots.astype(f"<u{dtype.itemsize}")  # the low bytes of the slot
    values = pa.array(unsigned.view(dtype), mask=nulls)
    return values.view(to_arrow_type(data_type))


def _timestamp_units(
    matrix: _RowMatrix, slots: UInt64Array, nulls: BoolArray, data_type: DataType
) -> UInt64Array:
    assert data_type.precision is not None, data_type
    nanos = (slots & _LOW_HALF).astype(np.int64)
    millis = matrix.words(_high_half(slots), 0, nulls).view(np.int64)
    if data_type.precision > 6:
        return (millis * 1_000_000 + nanos).view(np.uint64)
    return (millis * 1_000 + nanos // 1_000).view(np.uint64)


def _decimal_column(
    matrix: _RowMatrix, slots: UInt64Array, nulls: BoolArray, data_type: DataType
) -> pa.Array:
    if is_compact_decimal(data_type):
        low, high = slots, (slots.view(np.int64) >> 63).view(np.uint64)
    else:
        offsets = _high_half(slots)
        # Big endian and left-aligned in 16 bytes: shifting right aligns it and extends the sign.
        top = matrix.words(offsets, 0, nulls).byteswap().view(np.int64)
        bottom = matrix.words(offsets, 1, nulls).byteswap()
        # Clipped, because a null has length 0 and a damaged row any length; the shift is at most 120 bits.
        unused = 8 * (16 - np.clip((slots & _LOW_HALF).astype(np.int64), 1, 16))
        low, high = _shift_right(top, bottom, unused)
    halves = np.ascontiguousarray(np.stack([low, high], axis=1))
    validity = pa.array(~nulls).buffers()[1]
    buffers = [validity, pa.py_buffer(halves)]
    return pa.Array.from_buffers(to_arrow_type(data_type), len(slots), buffers)


def _shift_right(
    high: Int64Array, low: UInt64Array, bits: Int64Array
) -> tuple[UInt64Array, UInt64Array]:
    """Return (low, high) of each signed 128-bit value shifted right by 0 to 120 bits."""
    assert ((bits >= 0) & (bits <= 120)).all(), "at least one byte is stored"
    # Shifting a word by 64 or more is undefined. So two forms are computed for all rows, each from amounts
    # clamped to its legal range, and one is chosen for each row.
    small = np.minimum(bits, 63)
    carry = np.where(small == 0, 0, high << (64 - np.maximum(small, 1))).view(np.uint64)
    of_small = (low >> small.astype(np.uint64)) | carry
    of_large = (high >> np.clip(bits - 64, 0, 63)).view(np.uint64)
    is_small = bits < 64
    shifted_high = np.where(is_small, high >> small, high >> 63).view(np.uint64)
    return np.where(is_small, of_small, of_large), shifted_high


def _bytes_column(
    matrix: _RowMatrix, index: int, nulls: BoolArray, data_type: DataType
) -> pa.Array:
    slots = matrix.slots(index)
    # The last byte of the slot is 0x80 plus the length of a short value, or the top of a long value's offset.
    mark = (slots >> np.uint64(56)).astype(np.int64)
    is_inline = mark >= 0x80
    lengths = np.where(is_inline, mark & 0x7F, (slots & _LOW_HALF).astype(np.int64))
    lengths = np.where(nulls, 0, lengths)
    # A short value is in the slot itself, so with the offset of the slot both kinds are bytes at an offset.
    slot_offset = (header_word_count(matrix.arity) + index) * WORD_BYTES
    offsets = np.where(is_inline, slot_offset, _high_half(slots))
    begins = matrix.checked(matrix.starts + offsets, lengths, nulls)
    ends = np.cumsum(lengths)
    # The position in the data of each byte of the result.
    sources = np.repeat(begins - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
    # The low byte of the word at a position is the byte there.
    data = (matrix.view[sources] & np.uint64(0xFF)).astype(np.uint8)
    starts = np.concatenate([np.zeros(1, np.int32), ends.astype(np.int32)])
    buffers = [pa.array(~nulls).buffers()[1], pa.py_buffer(starts), pa.py_buffer(data)]
    column = pa.Array.from_buffers(to_arrow_type(data_type), len(slots), buffers)
    try:
        # Texts from storage are not necessarily UTF-8.
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        text = f"a binary row holds a text that is not UTF-8: {error}"
        raise CorruptData(text) from error
    return column


def _high_half(slots: UInt64Array) -> Int64Array:
    return (slots >> np.uint64(32)).astype(np.int64)
