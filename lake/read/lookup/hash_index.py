"""From hashes to the rows that may have the keys: one sorted array, and a table of where to begin.

```
entry     64 bits: the high bits of a hash, then the row's number; sorted
begins    for each value of a hash's highest bits, the first entry that has them
```

A row number takes as many bits as the file has rows, the hash gets the others: 40 of them in a file
of 16 million rows, where about one key in 65,000 meets a stranger with its bits. Hashes are
spread evenly, so a stretch of `begins` holds one entry on average, and a probe costs the same few
reads of memory whether the key is there or not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lake.merge.words import Uints

Rows = npt.NDArray[np.int64]
Match = Callable[[Rows, Rows], npt.NDArray[np.bool_]]
"""From numbers of wanted keys and rows, pair by pair, to whether the row has the key."""

_BEGINS_BITS_MIN: Final = 1
_BEGINS_ROWS_MAX: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HashIndex:
    """Finds rows by the hashes of their keys.

    Attributes:
        entries: Sorted; one per row.
        begins: int32; one more than there are values of the highest bits.
    """

    entries: Uints
    begins: npt.NDArray[np.int32]

    @property
    def row_bits(self) -> int:
        """Return how many bits of an entry are the row's number."""
        return _row_bits(len(self.entries))

    @property
    def size(self) -> int:
        """Return the bytes of the two arrays."""
        return self.entries.nbytes + self.begins.nbytes

    def find(self, hashes: Uints, matches: Match) -> Rows:
        """Return for each wanted key its row, -1 where there is none.

        Args:
            hashes: Of the wanted keys.
            matches: Says which candidates have the keys; each key is in one row at most.
        """
        found = np.full(len(hashes), -1, dtype=np.int64)
        count = len(self.entries)
        if not count or not len(hashes):
            return found
        row_bits = np.uint64(self.row_bits)
        firsts = (hashes >> row_bits) << row_bits
        places = self._places(firsts)
        wanted: Rows = np.arange(len(hashes))
        while True:
            # A place behind the end is clipped to the last entry, which may be one that was seen.
            entries = self.entries.take(places, mode="clip")
            alike = np.flatnonzero(((entries ^ firsts) >> row_bits == 0) & (places < count))
            if not len(alike):
                return found
            if len(alike) < len(wanted):
                wanted, places = wanted[alike], places[alike]
                firsts, entries = firsts[alike], entries[alike]
            rows = (entries ^ firsts).view(np.int64)
            same = matches(wanted, rows)
            if same.all():
                found[wanted] = rows
                return found
            found[wanted[same]] = rows[same]
            others = ~same
            wanted, firsts, places = wanted[others], firsts[others], places[others] + 1

    def _places(self, firsts: Uints) -> Rows:
        """Return the first entry that is not below each number."""
        shift = np.uint64(65 - (len(self.begins)).bit_length())
        places = self.begins.take((firsts >> shift).view(np.int64)).astype(np.int64)
        count = len(self.entries)
        while True:
            is_below = (self.entries.take(places, mode="clip") < firsts) & (places < count)
            if not is_below.any():
                return places
            places += is_below


def build_index(hashes: Uints) -> HashIndex:
    """Return the index of rows with these hashes, in row order; `hashes` is used up."""
    count = len(hashes)
    assert count <= _BEGINS_ROWS_MAX, "rows of one data file"
    bits = np.uint64(_row_bits(count))
    hashes >>= bits
    hashes <<= bits
    hashes |= np.arange(count, dtype=np.uint64)
    hashes.sort()
    return HashIndex(entries=hashes, begins=_begins(hashes))


def _row_bits(rows: int) -> int:
    # At least one: a shift by all 64 bits is undefined.
    return max(1, (rows - 1).bit_length())


def _begins(entries: Uints) -> npt.NDArray[np.int32]:
    """Return where each stretch begins; one entry each on average, or two."""
    bits = max(_BEGINS_BITS_MIN, len(entries).bit_length() - 1)
    begins = np.zeros((1 << bits) + 1, dtype=np.int32)
    stretches = (entries >> np.uint64(64 - bits)).view(np.int64)
    np.cumsum(np.bincount(stretches, minlength=1 << bits), out=begins[1:])
    return begins
