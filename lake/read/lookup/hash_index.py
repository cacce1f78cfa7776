"""From hashes to the rows that may have the keys: one sorted array, and a table of where to begin.

```
entry     64 bits: the high bits of a hash, then the row's number; sorted
begins    for each value of a hash's highest bits, the first entry that has them; one more at the end
longest   how many entries the longest stretch has: those of one value of the highest bits
```

A row number takes as many bits as the file has rows, the hash gets the others: 40 of them in a file
of 16 million rows, where about one key in 65,000 meets a stranger with its bits. Hashes are spread
evenly, so a stretch holds one entry or less on average and a dozen at most. A probe costs the same
few reads of memory whether the key is there or not. Some keys are compared with as many entries each as
the longest stretch has, which takes the fewest steps; many with the entries of their stretches alone,
which takes the fewest entries.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from lake.merge.order.key_codes import Uints

Rows = npt.NDArray[np.int64]
Match = Callable[[Rows, Rows], npt.NDArray[np.bool_]]
"""From numbers of wanted keys and rows, pair by pair, to whether the row has the key."""

_ROWS_MAX: Final = (1 << 31) - 1
_SMALL_ROWS: Final = 1 << 14
_STRETCHES_PER_ROW_BITS: Final = 0
_STRETCHES_PER_ROW_BITS_SMALL: Final = 4
_BLOCK_ROWS: Final = 1 << 20
_BLOCK_KEYS: Final = 2_048
# From so many keys on, to read what no stretch has costs more than to count what they have.
_COUNTED_KEYS_MIN: Final = 64
# Only hashes that were made to collide have longer stretches; they are searched in halves.
_WINDOW_MAX: Final = 64


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property needs a dictionary
class HashIndex:
    """Finds rows by the hashes of their keys.

    Attributes:
        entries: Sorted; one per row.
        begins: int32; one more than there are values of the highest bits.
        row_bits: How many bits of an entry are the row's number.
        shift: How many bits of a hash are not among its highest.
        longest: Entries of the longest stretch.
    """

    entries: Uints
    begins: npt.NDArray[np.int32]
    row_bits: int
    shift: int
    longest: int

    @property
    def size(self) -> int:
        """Return the bytes of the two arrays."""
        return self.entries.nbytes + self.begins.nbytes

    def candidates(self, hash_value: int) -> Iterator[int]:
        """Yield the rows that may have the key of one hash."""
        entries, begins = self._numbers
        wanted = hash_value >> self.row_bits << self.row_bits
        stretch = hash_value >> self.shift
        place = bisect_left(entries, wanted, begins[stretch], begins[stretch + 1])
        while place < len(entries) and (row := entries[place] ^ wanted) >> self.row_bits == 0:
            yield row
            place += 1

    def find(self, hashes: Uints, matches: Match) -> Rows:
        """Return for each wanted key its row, -1 where there is none.

        Args:
            hashes: Of the wanted keys.
            matches: Says which candidates have the keys; each key is in one row at most.
        """
        found = np.full(len(hashes), -1, dtype=np.int64)
        keys, rows = self.find_all(hashes, matches)
        found[keys] = rows
        return found

    def find_all(self, hashes: Uints, matches: Match) -> tuple[Rows, Rows]:
        """Return numbers of wanted keys, ascending, and rows that have them; a key may be in many.

        Args:
            hashes: Of the wanted keys.
            matches: Says which candidates have the keys.
        """
        keys, rows = self.all_candidates(hashes)
        if not len(keys):
            return keys, rows
        same = matches(keys, rows)
        return keys[same], rows[same]

    def all_candidates(self, hashes: Uints) -> tuple[Rows, Rows]:
        """Return numbers of wanted keys, ascending, and rows that may have them, ascending by key.

        Args:
            hashes: Of the wanted keys.
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
            return self._searched(wanted)
        stretches = (hashes >> np.uint64(self.shift)).view(np.int64)
        if len(hashes) >= _COUNTED_KEYS_MIN:
            return self._counted(wanted, stretches)
        # A window at the end begins earlier, and has the stretch in it all the same.
        begins = np.minimum(self.begins.take(stretches), len(self.entries) - self.longest)
        # What differs from a hash in the row's number alone is the number.
        rows = (self._windows[begins] ^ wanted[:, None]).ravel()
        places = (rows <= ~self._hash_mask).nonzero()[0]
        return places // self.longest, rows[places].view(np.int64)

    def _counted(self, wanted: Uints, stretches: Rows) -> tuple[Rows, Rows]:
        begins = self.begins.take(stretches)
        stretches += 1
        counts = self.begins.take(stretches) - begins
        ends = counts.cumsum()
        keys = np.arange(len(wanted)).repeat(counts)
        places = (begins - ends + counts).repeat(counts)
        places += np.arange(len(keys))
        rows = self.entries.take(places)
        rows ^= wanted.take(keys)
        alike = (rows <= ~self._hash_mask).nonzero()[0]
        return keys.take(alike), rows.take(alike).view(np.int64)

    def _searched(self, wanted: Uints) -> tuple[Rows, Rows]:
        begins = self.entries.searchsorted(wanted)
        counts = self.entries.searchsorted(wanted | ~self._hash_mask, side="right") - begins
        keys = np.arange(len(wanted)).repeat(counts)
        places = np.arange(len(keys)) + (begins - counts.cumsum() + counts).repeat(counts)
        return keys, (self.entries[places] & ~self._hash_mask).view(np.int64)

    @cached_property
    def _hash_mask(self) -> np.uint64:
        return np.uint64((1 << 64) - (1 << self.row_bits))

    @cached_property
    def _windows(self) -> npt.NDArray[np.uint64]:
        """Row n is the entries from n on, as many as the longest stretch has."""
        return np.lib.stride_tricks.sliding_window_view(self.entries, self.longest)

    @cached_property
    def _numbers(self) -> tuple[memoryview, memoryview]:
        # Single items of these are numbers of Python at once, in a third of the time of an array's.
        return self.entries.data, self.begins.data


def build_index(hashes: Uints) -> HashIndex:
    """Return the index of rows with these hashes, in row order; `hashes` is used up."""
    count = len(hashes)
    assert count <= _ROWS_MAX, "rows of one data file"
    # At least one bit: a shift by all 64 is undefined.
    row_bits = max(1, (count - 1).bit_length())
    bits = np.uint64(row_bits)
    hashes >>= bits
    hashes <<= bits
    hashes |= np.arange(count, dtype=np.uint64)
    hashes.sort()
    is_small = count <= _SMALL_ROWS
    more = _STRETCHES_PER_ROW_BITS_SMALL if is_small else _STRETCHES_PER_ROW_BITS
    stretch_bits = row_bits + more
    begins, longest = _begins(hashes, stretch_bits)
    return HashIndex(
        entries=hashes, begins=begins, row_bits=row_bits, shift=64 - stretch_bits, longest=longest
    )


def _begins(entries: Uints, bits: int) -> tuple[npt.NDArray[np.int32], int]:
    """Return where each stretch begins, and how long the longest is."""
    begins = np.zeros((1 << bits) + 1, dtype=np.int32)
    counts = begins[1:]
    # In blocks, so that what is made on the way stays small: entries are sorted.
    for first in range(0, len(entries), _BLOCK_ROWS):
        stretches = (entries[first : first + _BLOCK_ROWS] >> np.uint64(64 - bits)).view(np.int64)
        low = int(stretches[0])
        block = np.bincount(stretches - low)
        counts[low : low + len(block)] += block.astype(np.int32)
    longest = int(counts.max())
    np.cumsum(counts, out=counts)
    return begins, longest
