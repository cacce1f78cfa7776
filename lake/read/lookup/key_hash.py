"""64-bit hashes of keys, the same in every call and in every process; and the integers that numbers are compared by.

Keys are equal as merges define it: all NaN are one key, -0.0 and 0.0 are two, TEXT and BYTES are compared byte by
byte. Equal keys have equal hashes. Different keys may have equal hashes, too, so the caller has to compare the keys.

The hash of a column is the sum of its 64-bit words, each multiplied by an odd number that depends on
its index: multiplication by an odd number is a bijection, so values that differ in one word have
different sums. The sums of the columns are mixed one after the other.

Source: the last mixing step is that of splitmix64 (Steele, Lea, Flood 2014).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.format.arrays import combined_array
from braid.lake.merge.order.key_codes import Uints

_ODD: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB
_MASK: Final = (1 << 64) - 1
_ODD_WORD, _FIRST_WORD, _SECOND_WORD = (np.uint64(word) for word in (_ODD, _FIRST, _SECOND))
_SHIFT_27, _SHIFT_30, _SHIFT_31, _SHIFT_32 = (np.uint64(bits) for bits in (27, 30, 31, 32))
_WORD_BYTES: Final = 8
# The low k bytes of a word, for k from 0 to 8.
_KEEP: Final[Uints] = np.array([(1 << (8 * size)) - 1 for size in range(9)], dtype=np.uint64)
# Below this many rows, hashing all words of one row after another is cheaper than one word of all rows.
_VECTOR_ROWS_MIN: Final = 16
# Texts of up to this many words are hashed as one matrix, whatever their lengths.
_MATRIX_WORDS_MAX: Final = 8
# Up to this many keys are hashed as Python ints: arrays of so few take five times as long.
_FEW_ROWS: Final = 4
_FEW_BYTES_MAX: Final = 256
# By type ids: Arrow's predicates on a type take as long as hashing a value.
_NUMBER_DTYPES: Final[Mapping[int, np.dtype[Any]]] = {
    kind.id: np.dtype(f"{'f' if pa.types.is_floating(kind) else 'i'}{kind.bit_width // 8}")
    for kind in (
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
        *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64()),
        *(pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us")),
        *(pa.timestamp("us"), pa.duration("us")),
    )
}


def key_hashes(columns: Sequence[pa.Array | pa.ChunkedArray]) -> Uints:
    """Return one hash per row.

    Args:
        columns: The key, at least one column, equally long, in order; not nested. The hash of a
            null is unspecified.
    """
    assert columns, "a key has columns"
    arrays = [combined_array(column) for column in columns]
    if len(arrays[0]) <= _FEW_ROWS:
        return _few_hashes(arrays)
    hashes = mixed(_column_words(arrays[0]))
    for array in arrays[1:]:
        hashes += _column_words(array)
        hashes = mixed(hashes)
    return hashes


def hash_of_values(values: Sequence[int | bytes]) -> int:
    """Return the hash of one key, as `key_hashes` does.

    Args:
        values: The key, at least one value: integers, dates as days since 1970, or texts in UTF-8.
    """
    assert values, "a key has columns"
    state = 0
    for value in values:
        word = value & _MASK if isinstance(value, int) else _text_word(value)
        state = _mixed_number(state + word & _MASK)
    return state


def _few_hashes(arrays: Sequence[pa.Array]) -> Uints:
    hashes = [0] * len(arrays[0])
    for array in arrays:
        words = _few_words(array)
        hashes = [
            _mixed_number(sum_ + word & _MASK) for sum_, word in zip(hashes, words, strict=True)
        ]
    return np.array(hashes, dtype=np.uint64)


def _few_words(array: pa.Array) -> list[int]:
    kind = array.type
    if is_number(kind):
        return [value & _MASK for value in number_words(array).tolist()]
    if pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
        return [int(word) for word in _column_words(array)]
    texts = [bytes(value.as_buffer() or b"") for value in array]
    if max(map(len, texts), default=0) > _FEW_BYTES_MAX:
        return [int(word) for word in _column_words(array)]
    return [_text_word(text) for text in texts]


def _text_word(text: bytes) -> int:
    """Return the sum of a text's words and its length, each times the factor of its index."""
    word = len(text) * _factor(0)
    for index in range(-(-len(text) // _WORD_BYTES)):
        part = text[index * _WORD_BYTES : (index + 1) * _WORD_BYTES]
        found = int.from_bytes(part, "little")
        word += (found ^ found >> 32) * _factor(index + 1)
    return word & _MASK


def mixed(words: Uints) -> Uints:
    """Return words mixed by splitmix64: a difference in one bit changes about half of the bits."""
    values = words + _ODD_WORD
    values ^= values >> _SHIFT_30
    values *= _FIRST_WORD
    values ^= values >> _SHIFT_27
    values *= _SECOND_WORD
    values ^= values >> _SHIFT_31
    return values


def _mixed_number(word: int) -> int:
    """Return what `mixed` makes of one word."""
    value = word + _ODD & _MASK
    value = (value ^ value >> 30) * _FIRST & _MASK
    value = (value ^ value >> 27) * _SECOND & _MASK
    return value ^ value >> 31


def is_number(kind: pa.DataType) -> bool:
    """Return whether a key column of this type is compared as a number of at most 64 bits."""
    return kind.id in _NUMBER_DTYPES


def number_words(array: pa.Array) -> npt.NDArray[Any]:
    """Return integers that are equal iff the column's numbers are equal as keys; copies only if there is a NaN.

    Args:
        array: Of a type that `is_number`.
    """
    return canonical(_fixed_width(array, _NUMBER_DTYPES[array.type.id]))


def raw_numbers(array: pa.Array) -> npt.NDArray[Any]:
    """Return the values of a column that `is_number`, floats as floats, without a copy."""
    return _fixed_width(array, _NUMBER_DTYPES[array.type.id])


def canonical(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return integers as they are, and floats as their bits, which are the same for all NaNs."""
    if values.dtype.kind != "f":
        return values
    bits = values.view(f"i{values.dtype.itemsize}")
    unordered = np.isnan(values)
    if not unordered.any():
        return bits
    return np.where(unordered, np.iinfo(bits.dtype).max, bits)


def _column_words(array: pa.Array) -> Uints:
    kind = array.type
    if is_number(kind):
        return number_words(array).astype(np.int64).view(np.uint64)
    if pa.types.is_boolean(kind):
        return np.asarray(array.fill_null(False)).astype(np.uint64)
    if pa.types.is_decimal128(kind):
        halves = _fixed_width(array, np.dtype("2u8"))
        return halves[:, 0] + halves[:, 1] * np.uint64(_factor(1))
    return _bytes_words(array)


def _fixed_width(array: pa.Array, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.zeros((len(array), *dtype.shape), dtype=dtype.base)
    return np.frombuffer(data, dtype, count=len(array), offset=dtype.itemsize * array.offset)


@cache
def _factor(index: int) -> int:
    """Return the odd number that a word at an index is multiplied by.

    The number is mixed: if factors were multiples of one number, small differences of two words
    would cancel.
    """
    return _mixed_number(index * _ODD & _MASK) | 1


def _factors(indices: npt.NDArray[np.int64]) -> Uints:
    return mixed(indices.astype(np.uint64) * np.uint64(_ODD)) | np.uint64(1)


def _bytes_words(array: pa.Array) -> Uints:
    starts, lengths, text = _texts(array)
    # The length distinguishes texts that differ only in zero bytes at the end.
    sums: Uints = lengths.astype(np.uint64) * np.uint64(_factor(0))
    words = -(-int(lengths.max(initial=0)) // _WORD_BYTES)
    if words <= _MATRIX_WORDS_MAX:
        return sums + _short_words(starts, lengths, text, words)
    rows: npt.NDArray[np.int64] | slice = slice(None)
    for index in range(words):
        live = np.flatnonzero(lengths > index * _WORD_BYTES)
        if len(live) < len(lengths):
            if len(live) < _VECTOR_ROWS_MIN and words - index > _VECTOR_ROWS_MIN:
                _add_long(sums, text, starts, lengths, live, index)
                break
            rows = live
        remaining = np.minimum(lengths[rows] - index * _WORD_BYTES, _WORD_BYTES)
        found = text[starts[rows] + index * _WORD_BYTES] & _KEEP[remaining]
        sums[rows] += _spread(found) * np.uint64(_factor(index + 1))
    return sums


def _short_words(
    starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], text: Uints, words: int
) -> Uints:
    """Return the sums over the words of short texts, by one matrix product."""
    offsets, factors = _of_words(words)
    found = text.take(starts[:, None] + offsets, mode="clip")
    # Bytes after a text's end are masked off: `clip` limits what a word has of the text to 0..8 bytes.
    found &= _KEEP.take(lengths[:, None] - offsets, mode="clip")
    found ^= found >> _SHIFT_32
    return found @ factors


@cache
def _of_words(words: int) -> tuple[npt.NDArray[np.int64], Uints]:
    """Return the offsets of the words of a text, and their factors."""
    indices = np.arange(words)
    return indices * _WORD_BYTES, _factors(indices + 1)


def _add_long(
    sums: Uints,
    text: Uints,
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    first: int,
) -> None:
    """Add the remaining words of a few long texts, text by text."""
    for row in rows.tolist():
        indices = np.arange(first, -(-int(lengths[row]) // _WORD_BYTES), dtype=np.int64)
        remaining = np.minimum(int(lengths[row]) - indices * _WORD_BYTES, _WORD_BYTES)
        found = text[starts[row] + indices * _WORD_BYTES] & _KEEP[remaining]
        products = _spread(found) * _factors(indices + 1)
        # Arrays, because numpy warns of overflow for scalars, and wraps silently for arrays.
        sums[row : row + 1] += np.add.reduce(products, keepdims=True)


def _spread(words: Uints) -> Uints:
    """Return words with their high bits mixed into the low ones, which a product would not do."""
    return words ^ (words >> _SHIFT_32)


def _texts(array: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Uints]:
    """Return starts and lengths in bytes, and a view of the 8-byte word that begins at every byte."""
    is_large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    dtype = np.dtype(np.int64 if is_large else np.int32)
    _, raw_offsets, raw_bytes = array.buffers()
    if raw_offsets is None or not len(array):
        offsets = np.zeros(len(array) + 1, dtype=np.int64)
    else:
        count, skipped = len(array) + 1, dtype.itemsize * array.offset
        offsets = np.frombuffer(raw_offsets, dtype, count=count, offset=skipped).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    padded = np.zeros(last - first + _WORD_BYTES, dtype=np.uint8)
    if last > first:
        padded[: last - first] = np.frombuffer(raw_bytes, np.uint8, last - first, offset=first)
    offsets -= first
    view: Uints = np.ndarray(
        shape=(last - first + 1,), dtype=np.uint64, buffer=padded.data, strides=(1,)
    )
    return offsets[:-1], np.diff(offsets), view
