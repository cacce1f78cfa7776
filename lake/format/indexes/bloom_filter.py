"""Bloom filters: which values a column certainly does not have.

```
i32 BE hash functions | bits, the lowest of each byte first
```

A value has as many bits as there are hash functions; it is absent unless all of them are set. A reader
takes the number of bits from the length, so whoever writes chooses the size.

Source: table-format 16.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lake.errors import CorruptData
from lake.format.indexes.value_hash import Hashes

Bytes = npt.NDArray[np.uint8]

BITS_MAX: Final = (1 << 31) - 8
"""Places in a filter are numbered by an int32."""

HASH_FUNCTIONS_MAX: Final = 127
"""Other readers take the count's bytes for signed ones."""

_COUNT_BYTES: Final = 4
_INT_SIGN: Final = 1 << 31
_INT_MASK: Final = (1 << 32) - 1
# So few are looked for as numbers of Python: arrays of them take ten times as long.
_FEW: Final = 4
# A filter for fewer takes for present more than it should: its size is a whole number of bytes.
_ITEMS_MIN: Final = 16
_PENDING_MAX: Final = 1 << 20
# A file of more rows than are kept pending gets a filter for so many times more, folded at the end.
_FOLDS_MAX: Final = 4
# Up to so many bits, to mark bytes and to pack them at the end takes a fifth of setting bits.
_UNPACKED_MAX: Final = 1 << 25
_DENSE: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomShape:
    """How large a filter is.

    Attributes:
        bits: A multiple of 8, at least 8.
        functions: Bits of one value, at least 1.
    """

    bits: int
    functions: int


def bloom_shape(items: int, fpp: float) -> BloomShape:
    """Return the shape that the format gives a filter.

    Args:
        items: Distinct values that are expected, from 1.
        fpp: The share of absent values that it may take for present then, between 0 and 1.

    Example:
        >>> bloom_shape(1_000_000, 0.1)
        BloomShape(bits=4792536, functions=3)
    """
    least = int(-items * math.log(fpp) / math.log(2) ** 2)
    bits = least + 8 - least % 8
    # Half up, as Java rounds.
    functions = max(1, math.floor(bits / items * math.log(2) + 0.5))
    return BloomShape(bits=bits, functions=functions)


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomFilter:
    """A filter that is complete.

    Attributes:
        functions: Number of hash functions.
        data: The bits, eight to a byte; at least one byte.
    """

    functions: int
    data: Bytes

    @property
    def bits(self) -> int:
        """The number of bits."""
        return 8 * len(self.data)

    def may_have(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Return for each hash whether a value with it may be there."""
        if len(hashes) <= _FEW:
            return np.array([self._may_have(int(value)) for value in hashes], dtype=np.bool_)
        found = np.ones(len(hashes), dtype=np.bool_)
        for places in _places(hashes, self.functions, self.bits):
            found &= (self.data[places >> 3] >> (places & 7).astype(np.uint8)) & 1 != 0
        return found

    def _may_have(self, value: int) -> bool:
        low, high = value & _INT_MASK, value >> 32
        for number in range(1, self.functions + 1):
            combined = low + number * high & _INT_MASK
            place = (combined if combined < _INT_SIGN else combined ^ _INT_MASK) % self.bits
            if not self.data[place >> 3] >> (place & 7) & 1:
                return False
        return True


def encode_bloom_filter(bloom: BloomFilter) -> bytes:
    """Return the body of an index."""
    return bloom.functions.to_bytes(_COUNT_BYTES, "big") + bloom.data.tobytes()


def decode_bloom_filter(body: bytes | memoryview) -> BloomFilter:
    """Return the filter of a body, which it keeps.

    Raises:
        CorruptData: The body cannot be one.
    """
    functions = int.from_bytes(body[:_COUNT_BYTES], "big", signed=True)
    if len(body) <= _COUNT_BYTES or not 1 <= functions <= HASH_FUNCTIONS_MAX:
        message = f"a bloom filter of {len(body)} bytes with {functions} hash functions"
        raise CorruptData(message)
    return BloomFilter(
        functions=functions, data=np.frombuffer(body, dtype=np.uint8, offset=_COUNT_BYTES)
    )


class BloomFilterBuilder:
    """Makes one filter of the hashes that come.

    Memory: 8 MiB of hashes, and the filter once there are more of them.
    """

    def __init__(self, *, fpp: float, items: int | None = None) -> None:
        """Take the size.

        Args:
            fpp: The share of absent values that may be taken for present.
            items: Distinct values that are expected; None makes the filter as large as those that
                come need, up to 16 million of them, and larger files may have a larger share.
        """
        self._fpp = fpp
        self._items = items
        self._pending: list[Hashes] = []
        self._pending_count = 0
        self._added = 0
        self._data: Bytes | None = None

    def add(self, hashes: Hashes) -> None:
        """Take hashes over; the same one may come again."""
        self._pending.append(hashes)
        self._pending_count += len(hashes)
        if self._pending_count <= _PENDING_MAX:
            return
        distinct = self._distinct()
        if len(distinct) > _PENDING_MAX // 2:
            self._set(distinct)
        else:
            self._pending = [distinct]
            self._pending_count = len(distinct)

    def finish(self) -> BloomFilter:
        """Return the filter of all that came."""
        distinct = self._distinct()
        if self._data is None and self._items is None:
            shape = bloom_shape(max(_ITEMS_MIN, len(distinct)), self._fpp)
            return BloomFilter(
                functions=shape.functions, data=_filled(_empty(shape.bits), distinct, shape)
            )
        self._set(distinct)
        assert self._data is not None
        data = self._data
        if self._items is None:
            needed = bloom_shape(self._added, self._fpp).bits
            data = _folded(data, needed)
        return BloomFilter(functions=self._large_shape().functions, data=data)

    def _distinct(self) -> Hashes:
        """Return what is pending, each hash once, and forget it."""
        if not self._pending:
            return np.zeros(0, dtype=np.uint64)
        # Sorting takes a sixtieth of `np.unique`.
        hashes = np.sort(np.concatenate(self._pending))
        self._pending = []
        self._pending_count = 0
        is_first = np.ones(len(hashes), dtype=np.bool_)
        is_first[1:] = hashes[1:] != hashes[:-1]
        return hashes[is_first]

    def _set(self, hashes: Hashes) -> None:
        shape = self._large_shape()
        if self._data is None:
            self._data = _empty(shape.bits)
        self._data = _filled(self._data, hashes, shape)
        self._added += len(hashes)

    def _large_shape(self) -> BloomShape:
        if self._items is not None:
            return bloom_shape(self._items, self._fpp)
        # Folding halves the bits, so the size is a whole number of bytes times a power of two.
        least = bloom_shape(_PENDING_MAX, self._fpp)
        folds = min(_FOLDS_MAX, (BITS_MAX // least.bits).bit_length() - 1)
        return BloomShape(bits=least.bits << folds, functions=least.functions)


def _empty(bits: int) -> Bytes:
    return np.zeros(bits // 8, dtype=np.uint8)


def _filled(data: Bytes, hashes: Hashes, shape: BloomShape) -> Bytes:
    """Return the bits with those of the hashes set as well."""
    if shape.bits <= _UNPACKED_MAX and len(hashes) * shape.functions > shape.bits // _DENSE:
        marks = np.unpackbits(data, bitorder="little").view(np.bool_)
        for places in _places(hashes, shape.functions, shape.bits):
            marks[places] = True
        return np.packbits(marks, bitorder="little")
    for places in _places(hashes, shape.functions, shape.bits):
        # In order memory is gone through once, which takes a third, the sorting included.
        places.sort()
        np.bitwise_or.at(data, places >> 3, np.uint8(1) << (places & 7).astype(np.uint8))
    return data


def _folded(data: Bytes, bits: int) -> Bytes:
    """Return a filter of half as many bits as often as at least `bits` remain.

    A place modulo a size stays the same modulo half of it.
    """
    while len(data) % 2 == 0 and 4 * len(data) >= bits:
        half = len(data) // 2
        data = data[:half] | data[half:]
    return data


def _places(hashes: Hashes, functions: int, bits: int) -> Iterator[npt.NDArray[np.uint32]]:
    """Yield for each hash function the place of every hash."""
    low = hashes.astype(np.uint32)
    high = (hashes >> np.uint64(32)).astype(np.uint32)
    for number in range(1, functions + 1):
        combined = (low + high * np.uint32(number)).view(np.int32)
        # A number below 0 has all its bits turned.
        combined ^= combined >> np.int32(31)
        # Without a sign the division takes half the time.
        yield combined.view(np.uint32) % np.uint32(bits)
