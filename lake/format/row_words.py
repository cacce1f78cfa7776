"""The 8-byte words of binary rows, computed from columns without building the rows.

A binary row of n fields is a run of little-endian 64-bit words:

```
header      (n + 71) // 64 words: byte 0 is the row kind (0), bit 8 + i says that field i is null
slots       n words, one per field: the value, or the length and offset of a variable part
variable    the parts of the fields in order, each padded with zeros to whole words
```

Hashing and encoding both walk these words position by position, over all rows at once instead of row by row.
A null has zeros in its slot. There are two exceptions: timestamps of precision 4 and
more, and decimals of 19 digits and more. For these types, the slot of a null has the offset of a variable
part, which is filled with zeros. NaN always has the same bits: as keys all NaNs are equal, so they have
to be in one bucket and one partition. Nested columns have to be null.

Source: table-format 8.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.errors import UnsupportedFeature
from braid.lake.format.arrow_types import to_arrow_form
from braid.lake.format.data_types import (
    BYTES_ROOTS,
    TEXT_ROOTS,
    TIMESTAMP_ROOTS,
    DataField,
    DataType,
    TypeRoot,
)
from braid.lake.format.float_order import with_one_nan

UInt32Array = npt.NDArray[np.uint32]
UInt64Array = npt.NDArray[np.uint64]
Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Position = int | Int64Array
ScalarT = TypeVar("ScalarT", bound=np.generic)

# The number of fields, big-endian, before a serialised row.
ARITY_BYTES = 4
WORD_BYTES = 8
# Any 18 digits fit into the 64 bits of a slot.
COMPACT_DECIMAL_PRECISION_MAX = 18
MILLIS_PRECISION_MAX = 3
# Longest text, in bytes, that its slot holds; the eighth byte has the length and a mark.
INLINE_BYTES_MAX = 7
# A long decimal always takes two words, whatever its length.
LONG_DECIMAL_WORDS = 2

assert sys.byteorder == "little", "the format's words are read straight from Arrow's buffers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One word of every row, in halves; a half that is known to be zero in every row is None.

    The hash mixes 32 bits at a time, so words are in halves. A half that is None is mixed once instead of for
    every row.
    """

    low: UInt32Array | None
    high: UInt32Array | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VariablePart:
    """The variable part of one field in every row.

    Attributes:
        word_counts: Number of words per row; one number when all rows have the same.
        words: Returns, for a position and rows, the word of each of these rows at that position; each must
            have a word there. For an array of positions, each row has its own position.
    """

    word_counts: Int64Array | int
    words: "Callable[[Position, Int64Array | slice], UInt64Array]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowWords:
    """The words of `row_count` binary rows.

    Attributes:
        row_count: Number of rows.
        fixed: Header and slots, one per word.
        variable: Variable parts in field order.
    """

    row_count: int
    fixed: tuple[Slot, ...]
    variable: tuple[VariablePart, ...]

    def word_counts(self) -> Int64Array | int:
        """Return the number of words of each row; one number when all rows have the same."""
        counts: Int64Array | int = len(self.fixed)
        for part in self.variable:
            counts = counts + part.word_counts
        return counts


def header_word_count(arity: int) -> int:
    """Return the number of words before the slots of a row with `arity` fields."""
    return (arity + 63 + 8) // 64


def type_of(part: DataType | DataField) -> DataType:
    """Return the type itself, or that of the field."""
    return part.type if isinstance(part, DataField) else part


def is_compact_decimal(data_type: DataType) -> bool:
    """Return whether the unscaled value of this DECIMAL lies in the slot."""
    assert data_type.precision is not None, data_type
    return data_type.precision <= COMPACT_DECIMAL_PRECISION_MAX


def is_compact_timestamp(data_type: DataType) -> bool:
    """Return whether this timestamp is milliseconds in the slot and nothing more."""
    assert data_type.precision is not None, data_type
    return data_type.precision <= MILLIS_PRECISION_MAX


def row_blocks(
    arrays: Sequence[pa.Array | pa.ChunkedArray],
    types: Sequence[DataType | DataField],
    *,
    block_rows: int,
) -> Iterator[RowWords]:
    """Yield the words of the rows that the columns form, in blocks, in row order.

    Args:
        arrays: One column per field, of one length, in any chunks; a column of another type is cast to
            the Arrow form if its values fit.
        types: One type per field.
        block_rows: Upper bound of the rows of a block; small blocks stay in the processor's cache.

    Raises:
        SchemaMismatch: A column has the wrong type.
        UnsupportedFeature: A nested column has a value that is not null.
    """
    assert len(arrays) == len(types), "one type per column"
    plain = [type_of(part) for part in types]
    names = [str(index) for index in range(len(arrays))]
    columns = [to_arrow_form(array, type_) for array, type_ in zip(arrays, plain, strict=True)]
    for batch in pa.Table.from_arrays(columns, names).to_batches(max_chunksize=block_rows):
        yield _row_words(batch.columns, plain, batch.num_rows)


def _row_words(arrays: Sequence[pa.Array], types: Sequence[DataType], row_count: int) -> RowWords:
    arity = len(arrays)
    header_words = header_word_count(arity)
    header: list[UInt64Array | None] = [None] * header_words
    slots: list[Slot] = []
    variable: list[VariablePart] = []
    # Where the next variable part begins. One number, as long as the variable parts have the same lengths in
    # all rows; an array after the first text that is too long for its slot in some row.
    offset: Int64Array | int = (header_words + arity) * WORD_BYTES
    for index, (array, data_type) in enumerate(zip(arrays, types, strict=True)):
        nulls = _null_mask(array)
        if nulls is not None:
            _mark_nulls(header, index, nulls)
        slot, part = _column_words(array, data_type, nulls, offset)
        slots.append(slot)
        if part is not None:
            variable.append(part)
            offset = offset + part.word_counts * WORD_BYTES
    fixed = (*(_split(word) for word in header), *slots)
    assert len(fixed) == header_words + arity, "one slot per field"
    return RowWords(row_count=row_count, fixed=fixed, variable=tuple(variable))


def _null_mask(array: pa.Array) -> BoolArray | None:
    if array.null_count == 0:
        return None
    mask: BoolArray = array.is_null().to_numpy(zero_copy_only=False)
    return mask


def _mark_nulls(header: list[UInt64Array | None], index: int, nulls: BoolArray) -> None:
    # The first byte of the header is the row kind, always 0 here: +I.
    word, bit = divmod(8 + index, 64)
    bits = nulls.astype(np.uint64) << np.uint64(bit)
    present = header[word]
    header[word] = bits if present is None else present | bits


def _split(word: UInt64Array | None) -> Slot:
    if word is None:
        return Slot(low=None, high=None)
    # Little endian: the low half comes first.
    halves = np.ascontiguousarray(word).view(np.uint32)
    return Slot(low=halves[0::2], high=halves[1::2])


def _column_words(
    array: pa.Array, data_type: DataType, nulls: BoolArray | None, offset: Int64Array | int
) -> tuple[Slot, VariablePart | None]:
    root = data_type.root
    if root in TEXT_ROOTS or root in BYTES_ROOTS:
        return _bytes_words(array, nulls, offset)
    if root is TypeRoot.DECIMAL:
        if is_compact_decimal(data_type):
            return _split(_without_nulls(_decimal_halves(array)[:, 0], nulls)), None
        return _long_decimal_words(array, nulls, offset)
    if root in TIMESTAMP_ROOTS and not is_compact_timestamp(data_type):
        return _long_timestamp_words(array, nulls, offset)
    if not data_type.is_plain:
        return _nested_words(array, data_type), None
    return _number_words(array, nulls), None


def _number_words(array: pa.Array, nulls: BoolArray | None) -> Slot:
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    if pa.types.is_floating(array.type):
        array = with_one_nan(array)
    if array.type.bit_width == 64:
        return _split(_without_nulls(_buffer_values(array, np.uint64), nulls))
    # Unsigned, because the sign is not extended: the rest of the slot is zero for negative values too.
    values = _buffer_values(array, _UNSIGNED[array.type.bit_width])
    low: UInt32Array = _without_nulls(values, nulls).astype(np.uint32, copy=False)
    return Slot(low=low, high=None)


_UNSIGNED: Final[Mapping[int, type[np.unsignedinteger[Any]]]] = {
    8: np.uint8,
    16: np.uint16,
    32: np.uint32,
}


def _nested_words(array: pa.Array, data_type: DataType) -> Slot:
    # Only the rows of bounds have nested columns, which are null there; keys and partitions have none.
    if array.null_count != len(array):
        text = f"a value of type `{data_type}` cannot be part of a binary row in this version"
        raise UnsupportedFeature(text)
    return Slot(low=None, high=None)


def _long_timestamp_words(
    array: pa.Array, nulls: BoolArray | None, offset: Int64Array | int
) -> tuple[Slot, VariablePart]:
    # The variable part has the milliseconds; the slot has the offset and the nanoseconds of the millisecond.
    per_milli, nanos_per_unit = {"us": (1_000, 1_000), "ns": (1_000_000, 1)}[array.type.unit]
    values = _without_nulls(_buffer_values(array, np.int64), nulls)
    millis = values // per_milli  # rounded down before 1970 too, so nanoseconds are not negative
    nanos = ((values - millis * per_milli) * nanos_per_unit).astype(np.uint32)
    words = millis.view(np.uint64)
    slot = Slot(low=nanos, high=_as_offsets(offset, len(array)))
    return slot, VariablePart(word_counts=1, words=lambda _, rows: words[rows])


def _long_decimal_words(
    array: pa.Array, nulls: BoolArray | None, offset: Int64Array | int
) -> tuple[Slot, VariablePart]:
    halves = _decimal_halves(array)
    low = _without_nulls(halves[:, 0], nulls)
    high = _without_nulls(halves[:, 1], nulls)
    # The variable part is the shortest big-endian two's complement form, followed by zeros. Shifting the
    # number to the left end of the 16 bytes, then swapping the bytes of each half, gives exactly that.
    lengths = _minimal_lengths(low, high)
    words = [word.byteswap() for word in _shift_left(low, high, 8 * (16 - lengths))]
    if nulls is not None:
        # The variable part of a null has its zeros already; its length is 0.
        lengths = np.where(nulls, 0, lengths)
    slot = Slot(low=lengths.astype(np.uint32), high=_as_offsets(offset, len(array)))
    part = VariablePart(
        word_counts=LONG_DECIMAL_WORDS, words=lambda position, rows: words[int(position)][rows]
    )
    return slot, part


def _minimal_lengths(low: UInt64Array, high: UInt64Array) -> Int64Array:
    """Return the number of bytes of the shortest two's complement form of each 128-bit value."""
    sign = (high.view(np.int64) >> 63).view(np.uint64)
    # A number fits into k bytes iff its magnitude is below 2^(8k-1), where the magnitude of a negative number
    # is its complement. XOR with the sign gives the magnitude of each half, without carries.
    bounds = np.array([1 << (8 * k - 1) for k in range(1, 9)], dtype=np.uint64)
    of_low = 1 + np.searchsorted(bounds, low ^ sign, side="right")
    of_high = 9 + np.searchsorted(bounds, high ^ sign, side="right")
    return np.where((high ^ sign) == 0, of_low, of_high).astype(np.int64)


def _shift_left(
    low: UInt64Array, high: UInt64Array, bits: Int64Array
) -> tuple[UInt64Array, UInt64Array]:
    """Return (high, low) of each 128-bit value shifted left by 0 to 120 bits."""
    assert ((bits >= 0) & (bits <= 120)).all(), "at least one byte is stored"
    amount = bits.astype(np.uint64)
    # Shifting a word by 64 or more is undefined. So two forms are computed for all rows, each from amounts
    # clamped to its legal range, and one is chosen for each row.
    small = np.minimum(amount, np.uint64(63))
    carry = np.where(small == 0, np.uint64(0), low >> (np.uint64(64) - np.maximum(small, 1)))
    large = np.where(amount < 64, np.uint64(0), amount - np.uint64(64))
    is_small = amount < 64
    shifted_high = np.where(is_small, (high << small) | carry, low << large)
    shifted_low = np.where(is_small, low << small, np.uint64(0))
    return shifted_high, shifted_low


def _bytes_words(
    array: pa.Array, nulls: BoolArray | None, offset: Int64Array | int
) -> tuple[Slot, VariablePart]:
    starts, lengths, view = _bytes_view(array)
    if nulls is not None:
        # A null may have bytes in Arrow's buffer.
        lengths = np.where(nulls, 0, lengths)
    is_inline = lengths <= INLINE_BYTES_MAX
    all_inline = bool(is_inline.all())
    # A short value: up to 7 bytes, and in the last byte the length with a mark of 0x80.
    word = view[starts] & _BYTE_MASKS[np.minimum(lengths, INLINE_BYTES_MAX)]
    word |= (lengths.astype(np.uint64) | np.uint64(0x80)) << np.uint64(56)
    counts: Int64Array | int = 0
    if not all_inline:
        # A long value: its length in the low half, its offset in the high half, whose mark bit is then 0.
        pointer = lengths.astype(np.uint64) | (np.asarray(offset, dtype=np.uint64) << np.uint64(32))
        word = np.where(is_inline, word, pointer)
        counts = np.where(is_inline, 0, (lengths + 7) // WORD_BYTES)

    def words(position: Position, rows: Int64Array | slice) -> UInt64Array:
        # The last word may have fewer bytes of the value; the rest belongs to the next value and is masked
        # away.
        remaining = lengths[rows] - position * WORD_BYTES
        found: UInt64Array = view[starts[rows] + position * WORD_BYTES]
        masks: UInt64Array = _BYTE_MASKS[np.minimum(remaining, WORD_BYTES)]
        return found & masks

    if nulls is not None:
        word = np.where(nulls, np.uint64(0), word)
    return _split(word), VariablePart(word_counts=counts, words=words)


# The low k bytes of a word, for k from 0 to 8.
_BYTE_MASKS: Final[UInt64Array] = np.array([(1 << (8 * k)) - 1 for k in range(9)], dtype=np.uint64)


def _bytes_view(array: pa.Array) -> tuple[Int64Array, Int64Array, UInt64Array]:
    """Return starts, lengths, and the overlapping words of the data: element i is the word from byte i on."""
    offsets_buffer = array.buffers()[1]
    if offsets_buffer is None or len(array) == 0:
        offsets = np.zeros(len(array) + 1, dtype=np.int64)
    else:
        offsets = np.frombuffer(
            offsets_buffer, dtype=np.int32, count=len(array) + 1, offset=4 * array.offset
        ).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    data = array.buffers()[2]
    # A copy with room for a whole word at the last byte, and at the position just behind it, where empty
    # values begin.
    padded = np.zeros(last - first + WORD_BYTES, dtype=np.uint8)
    if last > first:
        padded[: last - first] = np.frombuffer(
            data, dtype=np.uint8, count=last - first, offset=first
        )
    offsets -= first
    # Stride 1: element i is the 8 bytes from byte i on.
    view: UInt64Array = np.ndarray(
        shape=(len(padded) - WORD_BYTES + 1,), dtype=np.uint64, buffer=padded, strides=(1,)
    )
    return offsets[:-1], np.diff(offsets), view


def _decimal_halves(array: pa.Array) -> UInt64Array:
    """Return n x 2 words, the low and high half of each unscaled value; arbitrary for null."""
    data = array.buffers()[1]
    if data is None:
        return np.zeros((len(array), 2), dtype=np.uint64)
    words = np.frombuffer(data, dtype=np.uint64, count=2 * len(array), offset=16 * array.offset)
    halves: UInt64Array = words.reshape(-1, 2)
    assert len(halves) == len(array), "16 bytes per value"
    return halves


def _buffer_values(array: pa.Array, dtype: type[ScalarT]) -> npt.NDArray[ScalarT]:
    """Return the values of a fixed-width array; arbitrary for null."""
    data = array.buffers()[1]
    if data is None:
        return np.zeros(len(array), dtype=dtype)
    skipped = np.dtype(dtype).itemsize * array.offset
    return np.frombuffer(data, dtype=dtype, count=len(array), offset=skipped)


def _without_nulls(values: npt.NDArray[ScalarT], nulls: BoolArray | None) -> npt.NDArray[ScalarT]:
    """Return the values, with 0 for null."""
    return values if nulls is None else np.where(nulls, values.dtype.type(0), values)


def _as_offsets(offset: Int64Array | int, row_count: int) -> UInt32Array:
    return np.broadcast_to(np.asarray(offset, dtype=np.uint32), (row_count,))
