"""Hash index of a file: from the hash of a key to the rows that may have it.

```
entry     64 bits: the high bits of a hash, then the row's number; sorted
begins    for each value of the highest bits of a hash (a prefix), the first entry that has it; and the
          number of entries at the end
longest   the size of the largest group: the entries of one prefix
```

A row number takes as many bits as the file needs, and the hash gets the others: 40 in a file of 16
million rows, where a key that is absent meets an entry with equal bits once in 65,000 probes (2^24
entries over 2^40 values). Hashes are spread evenly, so a group has at most about one entry on average, and
no group has more than about a dozen unless keys were chosen to collide. A probe costs the same few reads of
memory whether the key is present or not.

Three ways to probe, by the number of keys:

| keys | each is compared with | because |
|---|---|---|
| few, one by one (`candidates`) | the entries from the key's first candidate on, which is found by bisection in its group | no arrays are set up |
| fewer than 64 | `longest` entries: one matrix with rows of equal length | the fewest numpy calls |
| 64 or more | the entries of its group | the fewest entries: a group has one, not a dozen |

If the largest group has more than `_WINDOW_MAX` entries, keys are searched for by bisection, whatever their number.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from braid.lake.merge.order.key_codes import Uints

Rows = npt.NDArray[np.int64]
Match = Callable[[Rows, Rows], npt.NDArray[np.bool_]]
"""Returns for each pair of a wanted key's number and a row whether the row has the key."""

Zeros = Callable[[int, npt.DTypeLike], npt.NDArray[Any]]
"""Returns an array of zeros, given its length and dtype."""

_ROWS_MAX: Final = (1 << 31) - 1
"""`begins` is int32."""

_SMALL_ROWS: Final = 1 << 14
"""Up to this number of rows, `begins` has 16 prefixes per row (1 MB at most), so that most groups
are empty and an absent key ends at `begins`. Above, it has one or two per row, and takes at most as
many bytes as `entries`."""

_PREFIX_BITS_BEYOND_ROWS: Final = 0
_PREFIX_BITS_BEYOND_ROWS_SMALL: Final = 4

_BLOCK_ROWS: Final = 1 << 17
"""Entries whose prefixes are counted at a time: a temporary array has 1 MB."""

_BLOCK_KEYS: Final = 2_048
"""Keys that are probed at a time: with a dozen entries for each, their array has 200 kB and fits
into a cache."""

_COUNTED_KEYS_MIN: Final = 64
"""From this many keys on, comparing with the entries of other groups costs more than counting the
entries of each group."""

_WINDOW_MAX: Final = 64
"""Largest group that is probed as a whole. Only keys that were chosen to collide make larger
groups, which are searched by bisection, so that a probe costs a logarithm and not the size of the
group."""


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property needs a dictionary
class HashIndex:
    """Finds rows by the hashes of their keys.

    Attributes:
        entries: Sorted; one per row.
        begins: int32; one entry more than there are prefixes.
        row_bits: Bits of an entry that are the row's number.
        shift: Bits of a hash that are not in the prefix.
        longest: Entries of the largest group.
    """

    entries: Uints
    begins: npt.NDArray[np.int32]
    row_bits: int
    shift: int
    longest: int

    def __post_init__(self) -> None:
        """Check the invariants that are cheap to check."""
        assert 0 < self.row_bits < 64, self.row_bits
        assert self.begins[-1] == len(self.entries), "the last group ends with the entries"

    @property
    def size(self) -> int:
        """Return the size of the two arrays in bytes."""
        return self.entries.nbytes + self.begins.nbytes

    def candidates(self, hash_value: int) -> Iterator[int]:
        """Yield the rows that may have the key of one hash."""
        entries, begins = self._numbers
        wanted = hash_value >> self.row_bits << self.row_bits
        prefix = hash_value >> self.shift
        index = bisect_left(entries, wanted, begins[prefix], begins[prefix + 1])
        # Entries with equal hash bits are neighbours; xor leaves only the row's number of such an
        # entry.
        while index < len(entries) and (row := entries[index] ^ wanted) >> self.row_bits == 0:
            yield row
            index += 1

    def find(self, hashes: Uints, matches: Match) -> Rows:
        """Return for each wanted key its row, -1 where there is none.

        Args:
            hashes: Hashes of the wanted keys.
            matches: Compares keys with candidates. Requires: each key is in one row at most.
        """
        found = np.full(len(hashes), -1, dtype=np.int64)
        keys, rows = self.find_all(hashes, matches)
        found[keys] = rows
        return found

    def find_all(self, hashes: Uints, matches: Match) -> tuple[Rows, Rows]:
        """Return numbers of wanted keys, ascending, and rows that have them; a key may have many rows.

        Args:
            hashes: Hashes of the wanted keys.
            matches: Compares keys with candidates.
        """
        keys, rows = self.all_candidates(hashes)
        if not len(keys):
            return keys, rows
        same = matches(keys, rows)
        return keys[same], rows[same]

    def rows_of(self, hash_value: int) -> Rows:
        """Return the rows that may have a value of one hash, of which there may be many."""
        return self._by_bisection(np.array([hash_value], dtype=np.uint64) & self._hash_mask)[1]

    def all_candidates(self, hashes: Uints) -> tuple[Rows, Rows]:
        """Return numbers of wanted keys, ascending, and rows that may have them, ascending by key.

        Args:
            hashes: Hashes of the wanted keys.
        """
        if len(hashes) <= _BLOCK_KEYS:
            return self._candidates(hashes)
        blocks = range(0, len(hashes), _BLOCK_KEYS)
        parts = [self._candidates(hashes[first : first + _BLOCK_KEYS]) for first in blocks]
        keys = [keys + first for first, (keys, _) in zip(blocks, parts, strict=True)]
        return np.concatenate(keys), np.concatenate([rows for _, rows in parts])

    def _candidates(self, hashes: Uints) -> tuple[Rows, Rows]:
        wanted = hashes & self._hash_mask
        if self.longest > _WINDOW_MAX:
            return self._by_bisection(wanted)
        prefixes = (hashes >> np.uint64(self.shift)).view(np.int64)
        if len(hashes) >= _COUNTED_KEYS_MIN:
            return self._by_group(wanted, prefixes)
        # A window that would reach past the end begins earlier: it still contains the group.
        begins = np.minimum(self.begins.take(prefixes), len(self.entries) - self.longest)
        # Entries with the hash bits of a key differ from it in the row's number alone, so their xor
        # is that number; all others have a bit above it.
        rows = (self._windows[begins] ^ wanted[:, None]).ravel()
        indices = (rows <= ~self._hash_mask).nonzero()[0]
        return indices // self.longest, rows[indices].view(np.int64)

    def _by_group(self, wanted: Uints, prefixes: Rows) -> tuple[Rows, Rows]:
        """Compare each key with the entries of its group."""
        begins = self.begins.take(prefixes)
        prefixes += 1  # in place: an array of its own, which is not used again
        counts = self.begins.take(prefixes) - begins
        ends = counts.cumsum()
        keys = np.arange(len(wanted)).repeat(counts)
        # Pair number n of key k is entry begins[k] + n - (pairs of the keys before k).
        indices = (begins - ends + counts).repeat(counts)
        indices += np.arange(len(keys))
        rows = self.entries.take(indices)
        rows ^= wanted.take(keys)
        alike = (rows <= ~self._hash_mask).nonzero()[0]
        return keys.take(alike), rows.take(alike).view(np.int64)

    def _by_bisection(self, wanted: Uints) -> tuple[Rows, Rows]:
        """Find the entries with the hash bits of each key by binary search among all entries."""
        begins = self.entries.searchsorted(wanted)
        counts = self.entries.searchsorted(wanted | ~self._hash_mask, side="right") - begins
        keys = np.arange(len(wanted)).repeat(counts)
        indices = np.arange(len(keys)) + (begins - counts.cumsum() + counts).repeat(counts)
        return keys, (self.entries[indices] & ~self._hash_mask).view(np.int64)

    @cached_property
    def _hash_mask(self) -> np.uint64:
        """The bits of an entry that are of the hash."""
        return np.uint64((1 << 64) - (1 << self.row_bits))

    @cached_property
    def _windows(self) -> npt.NDArray[np.uint64]:
        """A view whose row n is the entries from n on, as many as the largest group has."""
        return np.lib.stride_tricks.sliding_window_view(self.entries, self.longest)

    @cached_property
    def _numbers(self) -> tuple[memoryview, memoryview]:
        # An item of a memoryview is a Python int at once, in a third of the time of an array's item.
        return self.entries.data, self.begins.data


def build_index(hashes: Uints) -> HashIndex:
    """Return the index of rows with these hashes.

    Args:
        hashes: One hash per row.
    """
    count = len(hashes)
    return index_of_blocks([(np.arange(count), hashes)], row_count=count)


def index_of_blocks(
    blocks: Iterable[tuple[Rows, Uints]], *, row_count: int, zeros: Zeros = np.zeros
) -> HashIndex:
    """Return the index of rows, which come with their hashes in blocks.

    Args:
        blocks: Numbers of rows, and one hash for each; each row at most once.
        row_count: Number of rows of the file.
        zeros: Makes the two arrays of the index: `entries` for all rows, then `begins`.
    """
    assert row_count <= _ROWS_MAX, "rows of one data file"
    # At least one bit: a shift by all 64 is undefined.
    row_bits = max(1, (row_count - 1).bit_length())
    bits = np.uint64(row_bits)
    entries = zeros(row_count, np.uint64)
    used = 0
    for rows, hashes in blocks:
        block = entries[used : used + len(hashes)]
        np.right_shift(hashes, bits, out=block)
        block <<= bits
        block |= rows.view(np.uint64)
        used += len(hashes)
    entries = entries[:used]
    entries.sort()
    is_small = row_count <= _SMALL_ROWS
    beyond = _PREFIX_BITS_BEYOND_ROWS_SMALL if is_small else _PREFIX_BITS_BEYOND_ROWS
    prefix_bits = row_bits + beyond
    begins = zeros((1 << prefix_bits) + 1, np.int32)
    longest = _count_groups(entries, begins, prefix_bits)
    return HashIndex(
        entries=entries, begins=begins, row_bits=row_bits, shift=64 - prefix_bits, longest=longest
    )


def index_bytes(row_count: int) -> int:
    """Return how many bytes the arrays of an index of all rows of a file have at most."""
    prefixes = 1 << (max(1, (row_count - 1).bit_length()) + _PREFIX_BITS_BEYOND_ROWS_SMALL)
    if row_count > _SMALL_ROWS:
        prefixes >>= _PREFIX_BITS_BEYOND_ROWS_SMALL - _PREFIX_BITS_BEYOND_ROWS
    return row_count * 8 + (prefixes + 1) * 4


def _count_groups(entries: Uints, begins: npt.NDArray[np.int32], bits: int) -> int:
    """Fill in where the group of each prefix begins, and return the size of the largest group."""
    counts = begins[1:]
    # In blocks, so that temporary arrays stay small: entries are sorted, so a block has few prefixes.
    for first in range(0, len(entries), _BLOCK_ROWS):
        prefixes = (entries[first : first + _BLOCK_ROWS] >> np.uint64(64 - bits)).view(np.int64)
        low = int(prefixes[0])
        block = np.bincount(prefixes - low)
        counts[low : low + len(block)] += block.astype(np.int32)
    longest = int(counts.max())
    # Counts become ends in place; behind the zero at the front these are the begins.
    np.cumsum(counts, dtype=np.int32, out=counts)
    return longest
