"""Normalized keys of columns: unsigned words (`key_codes`) whose order is the order of the values.

A column becomes a list of words, the most significant first; if all its values are equal, it needs no word. The order
of rows, compared word by word, is the order of values of table-format 13.1. Null comes before everything. Integers
and dates compare as numbers, FLOAT and DOUBLE in Java's total order (-0.0 < 0.0, NaN largest, all NaNs equal). Text
and bytes compare by unsigned bytes, and a prefix comes first. A ROW has the words of its fields. An ARRAY has one
word for each position, which is 0 for arrays that end before it. A MAP has its length, then its keys and its values
as two ARRAYs.

Some columns are ranked instead: they become one word, the rank of the value in the column. These are columns with a text
of more than 32 bytes (more than 128 bytes if all texts of the column have the same length), and columns with an ARRAY or
MAP of more than 16 elements.

`key_codes` packs narrow words into one 64-bit code. Three steps make words narrow:

- the smallest value of a word in the column is subtracted from all its values;
- if all texts of the column have the same length, bytes that are the same in all rows are left out;
- trailing zero bits that all texts share are shifted out.

Source: merge-semantics 3.1; table-format 13.1.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.arrays import combined_array, unpack_bits, validity
from braid.lake.format.arrow_types import elements
from braid.lake.merge.order.key_codes import Numbers, Uints, Word, narrow, word_codes
from braid.lake.merge.order.order_values import order_values

_SIGN = np.uint64(1 << 63)
# Texts of more words (32 bytes) are ranked through a dictionary: every row has as many words as the
# longest text, which would take more memory than the texts.
_TEXT_WORDS_MAX = 4
# Texts of one length take no more memory as words, of which most are then equal in all rows.
_WORDS_OF_ONE_LENGTH_MAX = 16
# DECIMALs of at most these digits fit the lower 64 bits.
_DECIMAL64_PRECISION = 18
# Longer ARRAYs and MAPs are ranked in Python: every row has a word for every position of the longest.
_POSITIONS_MAX = 16


def normalized_keys(column: pa.Array | pa.ChunkedArray, *, descending: bool = False) -> list[Word]:
    """Return the words of one column, most significant first; none when all rows are equal.

    Args:
        column: A column of any type; ARRAYs and MAPs of more than 16 elements are ranked in Python,
            value by value.
        descending: Larger values get smaller words; null stays before everything.
    """
    array = combined_array(column)
    if array.null_count == len(array):
        return []
    if array.null_count == 0:
        narrowed = [narrow(values, descending=descending) for values in _ordered_values(array)]
        is_text = pa.types.is_string(array.type) or pa.types.is_binary(array.type)
        return [_without_trailing_zeros(w) if is_text else w for w in narrowed if w is not None]
    valid = validity(array)
    # The first word is 0 for null and 1 for a value, in either direction: null stays first.
    words = [Word(values=valid.astype(np.uint64), bits=1)]
    rows = np.flatnonzero(valid)
    for word in normalized_keys(array.drop_null(), descending=descending):
        values = np.zeros(len(array), dtype=np.uint64)
        values[rows] = word.values
        words.append(Word(values=values, bits=word.bits))
    return words


def _without_trailing_zeros(word: Word) -> Word:
    """Return the word without the trailing zero bits that all values share, as in padded texts."""
    seen = int(np.bitwise_or.reduce(word.values))
    shift = (seen & -seen).bit_length() - 1
    return Word(values=word.values >> np.uint64(shift), bits=word.bits - shift)


def _ordered_values(array: pa.Array) -> list[Numbers]:
    """Return integers, most significant first, that compare as the values do. Requires: no nulls."""
    kind = array.type
    if pa.types.is_boolean(kind):
        return [unpack_bits(array.buffers()[1], array.offset, len(array)).view(np.uint8)]
    if pa.types.is_signed_integer(kind) or pa.types.is_temporal(kind):
        return [_fixed_width(array, np.dtype(f"i{kind.bit_width // 8}"))]
    if pa.types.is_floating(kind):
        return [from_floating(_fixed_width(array, np.dtype(f"f{kind.bit_width // 8}")))]
    if pa.types.is_decimal128(kind):
        return _from_decimal(array)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _from_bytes(array)
    if pa.types.is_struct(kind):
        return [word.values for field in array.flatten() for word in normalized_keys(field)]
    return _from_elements(array)


def _from_elements(array: pa.Array) -> list[Numbers]:
    offsets = np.asarray(array.offsets).astype(np.int64)
    lengths = np.diff(offsets)
    if lengths.max() > _POSITIONS_MAX:
        return [_ranks(array)]
    inside, starts = elements(array), offsets[:-1] - offsets[0]
    if not pa.types.is_map(array.type):
        return _by_position(inside, starts, lengths)
    keys = _by_position(inside.field(0), starts, lengths)
    return [lengths, *keys, *_by_position(inside.field(1), starts, lengths)]


def _by_position(
    values: pa.Array, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> list[Numbers]:
    """Return for each position one number per row: the value's code there, 0 where there is none."""
    codes = word_codes(normalized_keys(values), rows=len(values))
    # 1 is added below to keep 0 free. The largest possible code would then wrap around, so if it
    # occurs, codes are made dense.
    if len(codes) and codes.max() == np.iinfo(np.uint64).max:
        codes = np.unique(codes, return_inverse=True)[1].astype(np.uint64)
    found: list[Numbers] = []
    for position in range(int(lengths.max())):
        rows = np.flatnonzero(lengths > position)
        numbers = np.zeros(len(lengths), dtype=np.uint64)
        numbers[rows] = codes[starts[rows] + position] + np.uint64(1)
        found.append(numbers)
    return found


def _ranks(array: pa.Array) -> Uints:
    values = order_values(array)
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
    return np.array([ranks[value] for value in values], dtype=np.uint64)


def _fixed_width(array: pa.Array, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    values = np.frombuffer(array.buffers()[1], dtype=dtype)
    return values[array.offset : array.offset + len(array)]


def from_floating(values: npt.NDArray[Any]) -> Uints:
    """Return numbers whose order is Java's total order of FLOAT and DOUBLE: -0.0 < 0.0, NaN largest."""
    # FLOAT widens to DOUBLE without loss and in order. One NaN stands for all, as in Java.
    wide = values.astype(np.float64)
    wide[np.isnan(wide)] = np.nan
    bits = wide.view(np.uint64)
    # IEEE 754: positive numbers are ordered as their bits, so the set sign puts them above; negative
    # ones are ordered the other way round, so all their bits are flipped.
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _from_decimal(array: pa.Array) -> list[Numbers]:
    halves = np.frombuffer(array.buffers()[1], dtype=np.int64).reshape(-1, 2)
    halves = halves[array.offset : array.offset + len(array)]
    low, high = halves[:, 0], halves[:, 1]
    if array.type.precision <= _DECIMAL64_PRECISION:
        return [low]
    return [high, low.copy().view(np.uint64)]


def _from_bytes(array: pa.Array) -> list[Numbers]:
    raw_offsets, raw_bytes = array.buffers()[1:3]
    offsets = np.frombuffer(raw_offsets, dtype=np.int32)
    wide = offsets[array.offset : array.offset + len(array) + 1].astype(np.int64)
    lengths = np.diff(wide)
    count = -(-int(lengths.max()) // 8)
    is_one_length = bool((lengths == lengths[0]).all())
    if count > (_WORDS_OF_ONE_LENGTH_MAX if is_one_length else _TEXT_WORDS_MAX):
        return [_dictionary_ranks(array)]
    # Eight bytes of padding, so that a word can be read at every byte.
    start, stop = int(wide[0]), int(wide[-1])
    text = np.zeros(stop - start + 8, dtype=np.uint8)
    if stop > start:
        text[: stop - start] = np.frombuffer(raw_bytes, dtype=np.uint8)[start:stop]
    if is_one_length:
        return [*_words_of_one_length(text, len(lengths), int(lengths[0]))]
    values: list[Numbers] = [*_big_endian_words(text, wide[:-1] - start, lengths, count)]
    if count and not text[: stop - start].all():
        # A zero byte in a text equals the padding: texts with equal words are ordered by length.
        values.append(lengths.astype(np.uint64))
    return values


def _big_endian_words(
    text: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    count: int,
) -> list[Uints]:
    """Return `count` words of eight bytes per text, padded with zero bytes."""
    # A view that reads eight bytes from every byte on, big endian: no copy, whatever the offsets.
    every = np.ndarray(
        shape=(len(text) - 7,), dtype=np.dtype(">u8"), buffer=text.data, strides=(1,)
    )
    # keep[n] keeps the first n of eight bytes.
    keep = np.array([(1 << 64) - (1 << 64 >> 8 * size) for size in range(9)], dtype=np.uint64)
    words = []
    for index in range(count):
        # Number of the text's bytes in this word; the bytes behind belong to the next text and are
        # masked out.
        remaining = np.clip(lengths - 8 * index, 0, 8)
        at = np.where(remaining > 0, starts + 8 * index, 0)
        words.append(every[at].astype(np.uint64) & keep[remaining])
    return words


def _words_of_one_length(text: npt.NDArray[np.uint8], rows: int, length: int) -> list[Uints]:
    """Return the words of texts of one length, without the bytes that are the same in all rows.

    Such bytes decide nothing, and numbers of eight bytes have many of them: of several numbers one after the
    other only narrow words are left.

    Args:
        text: The texts, then at least eight more bytes.
        rows: Number of texts.
        length: Bytes of each text.
    """
    words = []
    for begin in range(0, length, 8):
        every = np.ndarray(
            shape=(rows,), dtype=np.dtype(">u8"), buffer=text.data, offset=begin, strides=(length,)
        )
        # The bytes behind the text's end belong to the next text.
        word = every.astype(np.uint64) >> np.uint64(8 * max(begin + 8 - length, 0))
        varying = int(np.bitwise_or.reduce(word ^ word[0]))
        for first, count in _byte_runs(varying):
            mask = np.uint64((1 << 8 * count) - 1)
            words.append((word >> np.uint64(8 * first)) & mask)
    return words


def _byte_runs(bits: int) -> list[tuple[int, int]]:
    """Return the runs of bytes that are not 0, most significant first: the lowest byte and the length of each."""
    runs: list[tuple[int, int]] = []
    for byte in range(7, -1, -1):
        if not bits >> 8 * byte & 255:
            continue
        if runs and runs[-1][0] == byte + 1:
            runs[-1] = (byte, runs[-1][1] + 1)
        else:
            runs.append((byte, 1))
    return runs


def _dictionary_ranks(array: pa.Array) -> Uints:
    encoded = array.dictionary_encode()
    ranks = np.empty(len(encoded.dictionary), dtype=np.uint64)
    ranks[pc.array_sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(ranks))
    indices: npt.NDArray[np.int32] = encoded.indices.to_numpy()
    return ranks[indices]
