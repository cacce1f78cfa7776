"""From hashes to the rows that may have the keys: one sorted array, and a table of where to begin.

```
entry     64 bits: the high bits of a hash, then the row's number; sorted
begins    for each value of a hash's highest bits, the first entry that has them; one more at the end
```

A row number takes as many bits as the file has rows, the hash gets the others: 40 of them in a file
of 16 million rows, where about one key in 65,000 meets a stranger with its bits. Hashes are spread
evenly, so the stretch of entries between two of `begins` holds less than one on average: a probe
costs the same few reads of memory whether the key is there or not, and most absent keys are told by
`begins` alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lake.merge.words import Uints

Rows = npt.NDArray[np.int64]
Match = Callable[[Rows, Rows], npt.NDArray[np.bool_]]
"""From numbers of wanted keys and rows, pair by pair, to whether the row has the key."""

_ROWS_MAX: Final = (1 << 31) - 1
_SMALL_ROWS: Final = 1 << 14
_STRETCHES_PER_ROW_BITS: Final = 1
_STRETCHES_PER_ROW_BITS_SMALL: Final = 4
_BLOCK_ROWS: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class HashIndex:
    """Finds rows by the hashes of their keys.

    Attributes:
        entries: Sorted; one per row.
        begins: int32; one more than there are values of the highest bits.
        row_bits: How many bits of an entry are the row's number.
        shift: How many bits of a hash are not among its highest.
    """

    entries: Uints
    begins: npt.NDArray[np.int32]
    row_bits: int
    shift: int

    @property
    def size(self) -> int:
        """Return the bytes of the two arrays."""
        return self.entries.nbytes + self.begins.nbytes

    def candidates(self, hash_value: int) -> Iterator[int]:
        """Yield the rows that may have the key of one hash."""
        stretch = hash_value >> self.shift
        begin, end = int(self.begins[stretch]), int(self.begins[stretch + 1])
        wanted = hash_value >> self.row_bits
        for place in range(begin, end):
            entry = int(self.entries[place])
            if entry >> self.row_bits == wanted:
                yield entry & ((1 << self.row_bits) - 1)

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
        stretches = (hashes >> np.uint64(self.shift)).view(np.int64)
        begins = self.begins.take(stretches)
        counts = self.begins.take(stretches + 1) - begins
        # All entries of all stretches at once: few keys have more than one or two.
        ends = counts.cumsum()
        keys = np.arange(len(hashes)).repeat(counts)
        entries = self.entries.take(np.arange(len(keys)) + (begins - ends + counts).repeat(counts))
        differences = entries ^ hashes.take(keys)
        alike = (differences >> np.uint64(self.row_bits) == 0).nonzero()[0]
        keys, rows = keys[alike], (entries[alike] & np.uint64((1 << self.row_bits) - 1))
        if not len(alike):
            return keys, rows.view(np.int64)
        same = matches(keys, rows.view(np.int64))
        return keys[same], rows.view(np.int64)[same]


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
    begins = _begins(hashes, stretch_bits)
    return HashIndex(entries=hashes, begins=begins, row_bits=row_bits, shift=64 - stretch_bits)


def _begins(entries: Uints, bits: int) -> npt.NDArray[np.int32]:
    """Return where each stretch begins."""
    begins = np.zeros((1 << bits) + 1, dtype=np.int32)
    counts = begins[1:]
    # In blocks, so that what is made on the way stays small: entries are sorted.
    for first in range(0, len(entries), _BLOCK_ROWS):
        stretches = (entries[first : first + _BLOCK_ROWS] >> np.uint64(64 - bits)).view(np.int64)
        low = int(stretches[0])
        block = np.bincount(stretches - low)
        counts[low : low + len(block)] += block.astype(np.int32)
    np.cumsum(counts, out=counts)
    return begins
