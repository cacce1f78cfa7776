"""The default bucket function, which gives a row's bucket from its bucket key; no other is supported.

The hash is Murmur3 (32 bit, seed 42) over the words of the binary row of the bucket key, header
included. The bucket is the absolute value of the remainder of the hash by the bucket count, where
the remainder has the sign of the hash. Lookups by key search only the key's bucket, so they never
find a row in a wrong bucket, although scans show it. For dynamic buckets only the hash is computed
here (`key_hashes`).

Source: table-format 11. Murmur3: Appleby 2011, https://github.com/aappleby/smhasher.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.errors import Problem, UnsupportedFeature
from braid.lake.format.data_types import DataField, DataType
from braid.lake.format.row_words import (
    WORD_BYTES,
    Int64Array,
    RowWords,
    UInt32Array,
    UInt64Array,
    VariablePart,
    row_blocks,
)
from braid.lake.format.schema import TableSchema
from braid.lake.options.table_options import BucketFunction

Int32Array = npt.NDArray[np.int32]

BucketId: TypeAlias = tuple[bytes, int]
"""Serialised partition row and bucket number."""

_SEED = 42
_MASK = 0xFFFFFFFF
# Temporary arrays of this many 4-byte words stay in a core's second-level cache.
_BLOCK_ROWS = 16_384
# With fewer rows, a Python loop over the words of each row is cheaper than one numpy step per word position.
_VECTOR_ROWS_MIN = 16


def assign_buckets(table: pa.Table | pa.RecordBatch, schema: TableSchema) -> Int32Array:
    """Return the bucket of every row.

    Args:
        table: Holds the bucket key columns of the schema, in any chunks.
        schema: Schema of a table with a fixed bucket count and the default bucket function.

    Returns:
        n int32 in [0, bucket count), in row order.

    Raises:
        UnsupportedFeature: The bucket count is not fixed, or the bucket function is not the default.
        SchemaMismatch: A bucket key column has the wrong type.
    """
    options = schema.table_options
    if options.bucket < 1 or options.bucket_function_type is not BucketFunction.DEFAULT:
        problem = Problem(
            field="bucket",
            value=str(options.bucket),
            message="rows can be routed only to a fixed number of buckets, by the default bucket "
            "function",
            hint="set `bucket` to a number from 1, and leave `bucket-function.type` out",
        )
        text = f"rows of schema {schema.id} cannot be routed to buckets"
        raise UnsupportedFeature(text, problems=[problem])
    if options.bucket == 1:
        return np.zeros(table.num_rows, dtype=np.int32)
    return buckets_of(key_hashes(table, schema), options.bucket)


def key_hashes(table: pa.Table | pa.RecordBatch, schema: TableSchema) -> Int32Array:
    """Return the hash of every row's bucket key, in row order.

    Args:
        table: Holds the bucket key columns of the schema, in any chunks.
        schema: Schema of the table.

    Raises:
        SchemaMismatch: A bucket key column has the wrong type.
    """
    fields = [schema.field(name) for name in schema.bucket_keys]
    return bucket_hashes([table.column(field.name) for field in fields], fields)


def buckets_of(hashes: Int32Array, bucket_count: int) -> Int32Array:
    """Return the bucket of each hash, in [0, bucket_count)."""
    assert bucket_count > 0, bucket_count
    # In 64 bits, because the magnitude of the lowest int32 is not an int32.
    return (np.abs(hashes.astype(np.int64)) % bucket_count).astype(np.int32)


def bucket_of_row(words: bytes, bucket_count: int) -> int:
    """Return the bucket of one row, in [0, bucket_count).

    Args:
        words: The words of the binary row of the bucket key, header included (`row_words`).
        bucket_count: Number of buckets.
    """
    assert len(words) % WORD_BYTES == 0, "whole words"
    state = _SEED
    for word in memoryview(words).cast("I").tolist():
        state = _mix_number(state, word)
    state ^= len(words)
    state ^= state >> 16
    state = state * 0x85EBCA6B & _MASK
    state ^= state >> 13
    state = state * 0xC2B2AE35 & _MASK
    state ^= state >> 16
    return abs(state - ((state >> 31) << 32)) % bucket_count


def bucket_hashes(
    arrays: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType | DataField]
) -> Int32Array:
    """Return the hash of every row that the key columns form, in row order.

    Args:
        arrays: One array per key column, in hash order, of one length; nulls are allowed.
        types: One type per key column; the precision of decimals and timestamps matters.

    Returns:
        n int32. Each word position is mixed for all rows at once; only the ends of a few long rows are
        mixed row by row.

    Raises:
        SchemaMismatch: A column has the wrong type.
        UnsupportedFeature: A nested column has a value that is not null.
    """
    blocks = [_hash_rows(words) for words in row_blocks(arrays, types, block_rows=_BLOCK_ROWS)]
    return np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.int32)


def _hash_rows(rows: RowWords) -> Int32Array:
    # Headers without nulls are the same in every row, so the state of all rows is one number until the first
    # word that differs between rows.
    state: UInt32Array | int = _SEED
    for slot in rows.fixed:
        state = _mix(_mix(state, slot.low), slot.high)
    hashes = np.full(rows.row_count, state, np.uint32) if isinstance(state, int) else state
    for part in rows.variable:
        _mix_variable(hashes, part)
    hashes ^= np.asarray(rows.word_counts() * WORD_BYTES, dtype=np.uint32)
    return _finish(hashes).view(np.int32)


def _mix(state: UInt32Array | int, word: UInt32Array | None) -> UInt32Array | int:
    """Return the state after one more word.

    If state and word are both the same for all rows, the result is a number. If only the word is, it is the
    array of the state, changed in place. Otherwise it is a new array.
    """
    if word is None:
        if isinstance(state, int):
            return _mix_number(state, 0)
        mixed = state
    else:
        mixed = word * np.uint32(0xCC9E2D51)
        _rotate_left(mixed, 15)
        mixed *= np.uint32(0x1B873593)
        mixed ^= np.uint32(state) if isinstance(state, int) else state
    _rotate_left(mixed, 13)
    mixed *= np.uint32(5)
    mixed += np.uint32(0xE6546B64)
    return mixed


def _rotate_left(values: UInt32Array, bits: int) -> None:
    carried = values >> np.uint32(32 - bits)
    values <<= np.uint32(bits)
    values |= carried


def _finish(hashes: UInt32Array) -> UInt32Array:
    hashes ^= hashes >> np.uint32(16)
    hashes *= np.uint32(0x85EBCA6B)
    hashes ^= hashes >> np.uint32(13)
    hashes *= np.uint32(0xC2B2AE35)
    hashes ^= hashes >> np.uint32(16)
    return hashes


def _mix_variable(hashes: UInt32Array, part: VariablePart) -> None:
    counts = part.word_counts
    if isinstance(counts, int):
        for position in range(counts):
            _mix_rows(hashes, slice(None), part.words(position, slice(None)))
        return
    # Rows with the longest part first, so that the rows with a word at a position are always the first ones.
    rows = np.flatnonzero(counts)
    rows = rows[np.argsort(-counts[rows], kind="stable")]
    ascending = counts[rows][::-1]
    for position in range(int(ascending[-1]) if len(rows) else 0):
        # The number of rows with more than `position` words.
        live = len(rows) - int(np.searchsorted(ascending, position, side="right"))
        if live < _VECTOR_ROWS_MIN:
            _mix_tails(hashes, part, rows[:live], position)
            return
        _mix_rows(hashes, rows[:live], part.words(position, rows[:live]))


def _mix_rows(hashes: UInt32Array, rows: Int64Array | slice, words: UInt64Array) -> None:
    halves = np.ascontiguousarray(words).view(np.uint32)
    hashes[rows] = _mix(_mix(hashes[rows], halves[0::2]), halves[1::2])


def _mix_tails(hashes: UInt32Array, part: VariablePart, rows: Int64Array, position: int) -> None:
    """Mix the remaining words of a few long rows, row by row."""
    assert not isinstance(part.word_counts, int), "rows of one length are mixed together"
    for row in rows:
        positions = np.arange(position, part.word_counts[row])
        words = part.words(positions, np.full(len(positions), row))
        state = int(hashes[row])
        for word in words.view(np.uint32).tolist():
            state = _mix_number(state, word)
        hashes[row] = state


def _mix_number(state: int, word: int) -> int:
    word = word * 0xCC9E2D51 & _MASK
    word = (word << 15 | word >> 17) & _MASK
    state ^= word * 0x1B873593 & _MASK
    state = (state << 13 | state >> 19) & _MASK
    return (state * 5 + 0xE6546B64) & _MASK
