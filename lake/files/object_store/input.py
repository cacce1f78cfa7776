"""The input of a file in an object store: read in blocks, few and large.

A request costs about as much as reading a mebibyte, so reads are gathered:

1. To open a file, `store` requests its length and its last 256 KiB. They usually contain the whole
   footer, or all of a small file.
2. A read that needs other bytes fetches whole blocks of 1 MiB with one request. A few blocks are
   kept, because column chunks that are decoded alternately may share blocks.
3. For a sequential reader the blocks that follow are fetched too: first one, then two, then three.
4. Announced ranges are fetched without the blocks around them (see `prefetch`).
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from braid.lake.files.object_store.prefetch import PrefetchedRanges, ReadRanges
from braid.lake.files.storage.positioned_input import ByteRange, PositionedInput

TAIL_BYTES: Final = 256 << 10
"""Bytes of the first request. The footer of a wide table takes some tens of kilobytes."""

BLOCK_BYTES: Final = 1 << 20

BLOCKS_KEPT: Final = 4
"""Number of blocks in memory per open file; small, because merging many runs reads many files at once."""

BLOCKS_AHEAD_MAX: Final = 3
"""Largest number of blocks fetched ahead; with one requested block they are as many as are kept."""


class RangedInput(PositionedInput):
    """A file that is read by byte ranges; seekable, not safe between threads."""

    def __init__(self, read_ranges: ReadRanges, *, size: int, tail: bytes) -> None:
        """Open a file with the result of the first request.

        Args:
            read_ranges: Returns exactly the given ranges of the file; fetches them concurrently.
            size: Size of the file in bytes.
            tail: The last bytes of the file.
        """
        assert len(tail) <= size, "the tail is a part of the file"
        super().__init__(size)
        self._read_ranges = read_ranges
        self._tail = tail
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._ahead = 0
        self._next_block = 0
        self._prefetched = PrefetchedRanges(read_ranges)

    def prefetch(self, ranges: Iterable[ByteRange]) -> None:
        """Announce the ranges that will be read next (see `PositionedInput`), replacing earlier ones."""
        tail_start = self._size - len(self._tail)
        self._prefetched.prefetch(each for each in ranges if each[0] < tail_start)

    def _at(self, start: int, end: int) -> bytes:
        tail_start = self._size - len(self._tail)
        if start >= tail_start:
            return self._tail[start - tail_start : end - tail_start]
        prefetched = self._prefetched.read(start, end)
        if prefetched is not None:
            return prefetched
        first, last = start // BLOCK_BYTES, (end - 1) // BLOCK_BYTES
        found = {n: self._blocks[n] for n in range(first, last + 1) if n in self._blocks}
        missing = [number for number in range(first, last + 1) if number not in found]
        if missing:
            found |= self._fetched(missing[0], missing[-1])
        for number in sorted(found):
            self._blocks[number] = found[number]
            self._blocks.move_to_end(number)
        while len(self._blocks) > BLOCKS_KEPT:
            self._blocks.popitem(last=False)
        # Views, because most reads are much smaller than a block, which would be copied for each.
        begins = ((number, number * BLOCK_BYTES) for number in range(first, last + 1))
        return b"".join(
            memoryview(found[number])[max(0, start - begin) : end - begin]
            for number, begin in begins
        )

    def _fetched(self, first: int, last: int) -> dict[int, bytes]:
        """Return some blocks, and the blocks after them if the file is read sequentially."""
        # `_next_block` is 0 before the first fetch: a read from block 0 does not show a sequential reader.
        is_next = first == self._next_block and first > 0
        self._ahead = min(BLOCKS_AHEAD_MAX, max(1, self._ahead * 2)) if is_next else 0
        start = first * BLOCK_BYTES
        end = min((last + 1 + self._ahead) * BLOCK_BYTES, self._size)
        self._next_block = -(-end // BLOCK_BYTES)
        # Bytes of the tail are not fetched again.
        tail_start = self._size - len(self._tail)
        stop = min(end, tail_start)
        data = self._read_ranges([(start, stop)])[0] if start < stop else b""
        data += self._tail[max(0, start - tail_start) : max(0, end - tail_start)]
        return {
            first + number: data[number * BLOCK_BYTES : (number + 1) * BLOCK_BYTES]
            for number in range(self._next_block - first)
        }
