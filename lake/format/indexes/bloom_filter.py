"""Bloom filters, which show that a column certainly does not have a value.

```
i32 BE hash functions | bits, the lowest of each byte first
```

A value has one bit for each hash function; it is absent unless all of these are set. Readers derive the number
of bits from the length of the filter, so the writer chooses the size. `BloomFilterBuilder` makes a filter from the
hashes of values (`value_hash`). Its size follows from the declared number of distinct values (`items`), or from the
number of distinct hashes that were added if no number is declared.

Source: table-format 16.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from braid.lake.errors import CorruptData
from braid.lake.format.indexes.value_hash import Hashes

Bytes = npt.NDArray[np.uint8]

BITS_MAX: Final = (1 << 31) - 8
"""Bits of a filter are numbered by an int32."""

HASH_FUNCTIONS_MAX: Final = 127
"""Other readers interpret the bytes of the count as signed."""

_COUNT_BYTES: Final = 4
_INT_SIGN: Final = 1 << 31
_INT_MASK: Final = (1 << 32) - 1
# Up to this many hashes are checked as Python numbers, which takes a tenth of the time of numpy arrays.
_FEW: Final = 4
# Filters are sized for at least this many values. In a smaller filter the bits that double hashing gives to a
# value often coincide, so false positives would be much more frequent than declared.
_ITEMS_MIN: Final = 16
_PENDING_MAX: Final = 1 << 20
# A file with more distinct values than are kept pending gets a filter for 2^4 times as many, which is halved at
# the end as often as the number of its values allows.
_FOLDS_MAX: Final = 4
# Filters up to this size are filled by marking a byte for each bit and packing the bytes at the end: a fifth of
# the time of setting bits, unless fewer than one bit in `_DENSE` is to be set.
_UNPACKED_MAX: Final = 1 << 25
_DENSE: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomShape:
    """The size of a filter.

    Attributes:
        bits: A multiple of 8, at least 8.
        functions: Number of hash functions, which is the number of bits per value; at least 1.
    """

    bits: int
    functions: int

    def __post_init__(self) -> None:
        """Check that the bits are whole bytes."""
        assert self.bits % 8 == 0, self.bits
        assert self.functions >= 1, self.functions


def bloom_shape(items: int, fpp: float) -> BloomShape:
    """Return the size that the format prescribes for a filter.

    Args:
        items: Expected number of distinct values, from 1.
        fpp: False positive probability with that many values, between 0 and 1.

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
    """A complete filter.

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
        """Return for each hash whether a value with that hash may be present."""
        if len(hashes) <= _FEW:
            return np.array([self._may_have(int(value)) for value in hashes], dtype=np.bool_)
        found = np.ones(len(hashes), dtype=np.bool_)
        for bits in _bit_numbers(hashes, self.functions, self.bits):
            found &= (self.data[bits >> 3] >> (bits & 7).astype(np.uint8)) & 1 != 0
        return found

    def _may_have(self, value: int) -> bool:
        low, high = value & _INT_MASK, value >> 32
        for number in range(1, self.functions + 1):
            # The same number as `_bit_numbers` yields.
            combined = low + number * high & _INT_MASK
            bit = (combined if combined < _INT_SIGN else combined ^ _INT_MASK) % self.bits
            if not self.data[bit >> 3] >> (bit & 7) & 1:
                return False
        return True


def encode_bloom_filter(bloom: BloomFilter) -> bytes:
    """Return the filter as the body of an index."""
    return bloom.functions.to_bytes(_COUNT_BYTES, "big") + bloom.data.tobytes()


def decode_bloom_filter(body: bytes | memoryview) -> BloomFilter:
    """Return the filter in the body of an index; the filter shares the body's memory.

    Raises:
        CorruptData: The body cannot be a filter.
    """
    functions = int.from_bytes(body[:_COUNT_BYTES], "big", signed=True)
    if len(body) <= _COUNT_BYTES or not 1 <= functions <= HASH_FUNCTIONS_MAX:
        message = (
            f"a bloom filter has {len(body)} bytes and {functions} hash functions, expected more than "
            f"{_COUNT_BYTES} bytes and 1 to {HASH_FUNCTIONS_MAX} functions"
        )
        raise CorruptData(message)
    return BloomFilter(
        functions=functions, data=np.frombuffer(body, dtype=np.uint8, offset=_COUNT_BYTES)
    )


class BloomFilterBuilder:
    """Builds one filter from hashes.

    Memory between calls: up to 8 MiB of hashes; with more distinct hashes, also the filter.
    """

    def __init__(self, *, fpp: float, items: int | None = None) -> None:
        """Begin an empty filter.

        Args:
            fpp: False positive probability.
            items: Expected number of distinct values. None sizes the filter by the values that are
                added, up to 16 million; with more values, false positives are more frequent.
        """
        self._fpp = fpp
        self._items = items
        self._pending: list[Hashes] = []
        self._pending_count = 0
        self._added = 0
        self._data: Bytes | None = None

    def add(self, hashes: Hashes) -> None:
        """Add hashes; repetitions have no effect."""
        self._pending.append(hashes)
        self._pending_count += len(hashes)
        if self._pending_count <= _PENDING_MAX:
            return
        distinct = self._distinct()
        # With few distinct values the size stays undecided: otherwise a column with repeated values would
        # get a large filter.
        if len(distinct) > _PENDING_MAX // 2:
            self._set(distinct)
        else:
            self._pending = [distinct]
            self._pending_count = len(distinct)

    def finish(self) -> BloomFilter:
        """Return the filter of all added hashes."""
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
        """Return the pending hashes, each once, and clear them."""
        if not self._pending:
            return np.zeros(0, dtype=np.uint64)
        # `np.sort` and a comparison of neighbours take a sixtieth of the time of `np.unique`.
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
        # The size is a power of two times whole bytes, so that it can be halved at the end.
        least = bloom_shape(_PENDING_MAX, self._fpp)
        folds = min(_FOLDS_MAX, (BITS_MAX // least.bits).bit_length() - 1)
        return BloomShape(bits=least.bits << folds, functions=least.functions)


def _empty(bits: int) -> Bytes:
    return np.zeros(bits // 8, dtype=np.uint8)


def _filled(data: Bytes, hashes: Hashes, shape: BloomShape) -> Bytes:
    """Return the filter with the bits of the hashes set."""
    if shape.bits <= _UNPACKED_MAX and len(hashes) * shape.functions > shape.bits // _DENSE:
        marks = np.unpackbits(data, bitorder="little").view(np.bool_)
        for bits in _bit_numbers(hashes, shape.functions, shape.bits):
            marks[bits] = True
        return np.packbits(marks, bitorder="little")
    for bits in _bit_numbers(hashes, shape.functions, shape.bits):
        # Sorted, so that memory is traversed once: a third of the time, sorting included.
        bits.sort()
        np.bitwise_or.at(data, bits >> 3, np.uint8(1) << (bits & 7).astype(np.uint8))
    return data


def _folded(data: Bytes, bits: int) -> Bytes:
    """Return the filter, halved as often as possible with at least `bits` bits left.

    Halving keeps the filter right: (n mod 2m) mod m = n mod m, so bit n of the smaller filter is the union
    of bits n and n + m of the larger one.
    """
    while len(data) % 2 == 0 and 4 * len(data) >= bits:
        half = len(data) // 2
        data = data[:half] | data[half:]
    return data


def _bit_numbers(hashes: Hashes, functions: int, bits: int) -> Iterator[npt.NDArray[np.uint32]]:
    """Yield for each hash function the number of the bit of every hash.

    Double hashing: function n is low + n * high, of the two halves of the hash, as a signed 32-bit number.
    """
    low = hashes.astype(np.uint32)
    high = (hashes >> np.uint64(32)).astype(np.uint32)
    for number in range(1, functions + 1):
        combined = (low + high * np.uint32(number)).view(np.int32)
        # Negative numbers are inverted, as in the reference: the shift gives all ones for them.
        combined ^= combined >> np.int32(31)
        # Unsigned division takes half the time of signed division.
        yield combined.view(np.uint32) % np.uint32(bits)
