"""The 64-bit hashes of values, as the format's bloom filters use them.

| type | hashed |
|---|---|
| TINYINT SMALLINT INT BIGINT DATE TIME | the number; of a DATE the days, of a TIME the milliseconds |
| FLOAT DOUBLE | the bits, as a signed number of that width, extended to 64 bits; every NaN has the same bits |
| TIMESTAMP, with and without local time zone | milliseconds for precisions up to 3, else microseconds, rounded down |
| CHAR VARCHAR BINARY VARBINARY | the bytes, by XXH64 with seed 0 |

Numbers are hashed by Wang's mix, with right shifts that keep the sign. Values of other types have no hash.
`hashes_stay` returns whether a change of a column's type certainly keeps the hashes.

Source: table-format 16. Thomas Wang's 64-bit mix, 1997; XXH64, https://xxhash.com.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from braid.lake.format.data_types import (
    BYTES_ROOTS,
    TEXT_ROOTS,
    TIMESTAMP_ROOTS,
    DataType,
    TypeRoot,
)
from braid.lake.format.float_order import with_one_nan

Hashes = npt.NDArray[np.uint64]

_BYTES: Final = TEXT_ROOTS | BYTES_ROOTS
_INTEGERS: Final = frozenset({TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT})
_FLOATS: Final = {TypeRoot.FLOAT: np.int32, TypeRoot.DOUBLE: np.int64}
_DAYS_AND_TIMES: Final = frozenset({TypeRoot.DATE, TypeRoot.TIME})
HASHED_ROOTS: Final = frozenset({*_BYTES, *_INTEGERS, *_FLOATS, *_DAYS_AND_TIMES, *TIMESTAMP_ROOTS})
"""Kinds of type whose values have a hash."""

# Each type is wider than the one before.
_WIDENING: Final = (TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT)
_NANOSECONDS_PER_MICROSECOND: Final = 1_000
_MICROSECOND_DIGITS: Final = 6


def value_hashes(column: pa.Array | pa.ChunkedArray, data_type: DataType) -> Hashes:
    """Return the hash of every value that is not null, in order.

    Args:
        column: Column in the Arrow form of the type.
        data_type: A type of a kind in `HASHED_ROOTS`.
    """
    assert data_type.root in HASHED_ROOTS, data_type
    if isinstance(column, pa.ChunkedArray):
        parts = [value_hashes(chunk, data_type) for chunk in column.chunks]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint64)
    array = column.drop_null() if column.null_count else column
    if data_type.root in _BYTES:
        return _bytes_hashes(array)
    return _mixed(_numbers(array, data_type))


def hashes_stay(old: DataType, new: DataType) -> bool:
    """Return whether values certainly have the same hashes after their column's type has changed.

    Args:
        old: The type under which the values were written and hashed.
        new: The type under which they are read and searched.
    """
    if old.root not in HASHED_ROOTS:
        return False
    if old.root in _INTEGERS and new.root in _INTEGERS:
        return _WIDENING.index(old.root) <= _WIDENING.index(new.root)
    if old.root is not new.root:
        return False
    if old.root in (TypeRoot.VARCHAR, TypeRoot.VARBINARY):
        # A shorter type truncates values, which changes their hashes.
        return (old.length or 0) <= (new.length or 0)
    return old.with_nullable(True) == new.with_nullable(True)


def _bytes_hashes(array: pa.Array) -> Hashes:
    # A call of the C library for each value. Measured: it takes 100 ns; numpy over all values would take from
    # 50 ns per value, for texts of one short length, to 500 ns.
    values = array.cast(pa.large_binary()).to_pylist()
    return np.fromiter(map(xxhash.xxh64_intdigest, values), dtype=np.uint64, count=len(values))


def _numbers(array: pa.Array, data_type: DataType) -> npt.NDArray[np.int64]:
    root = data_type.root
    if root in _FLOATS:
        floats = np.asarray(with_one_nan(array))
        return floats.view(_FLOATS[root]).astype(np.int64)
    width = pa.int32() if array.type.bit_width == 32 else pa.int64()
    numbers: npt.NDArray[Any] = np.asarray(array if root in _INTEGERS else array.view(width))
    if root in TIMESTAMP_ROOTS and (data_type.precision or 0) > _MICROSECOND_DIGITS:
        numbers = numbers // _NANOSECONDS_PER_MICROSECOND
    return numbers.astype(np.int64)


def _mixed(numbers: npt.NDArray[np.int64]) -> Hashes:
    # numpy wraps around silently in arrays, even of length 1; for scalars it would warn of overflow.
    keys = ~numbers
    keys += numbers << np.int64(21)
    keys ^= keys >> np.int64(24)
    keys += (keys << np.int64(3)) + (keys << np.int64(8))
    keys ^= keys >> np.int64(14)
    keys += (keys << np.int64(2)) + (keys << np.int64(4))
    keys ^= keys >> np.int64(28)
    keys += keys << np.int64(31)
    return keys.view(np.uint64)
