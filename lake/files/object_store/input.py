"""Reading a file of an object store in blocks, few and large.

A request costs about as much as reading a mebibyte, so reads are gathered:

1. the first request takes the end of the file: it says how long the file is, holds the footer, and
   is the whole of a small file, which level 0 consists of;
2. what is missing of a read is fetched in whole blocks and with one request, and some blocks are
   kept: column chunks that lie side by side, and are decoded side by side, share them;
3. a reader that goes on where it left off gets more than it asked for, twice as much every time;
4. what was announced is fetched as such (see `announced_reads`), without what lies around it.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from lake.files.object_store.prefetch import PrefetchedRanges, ReadRanges
from lake.files.storage.positioned_input import ByteRange, PositionedInput

TAIL_BYTES: Final = 256 << 10
"""Taken with the first request. A footer of a wide table is some tens of kilobytes."""

BLOCK_BYTES: Final = 1 << 20

BLOCKS_KEPT: Final = 4
"""Of a file that is read; many are, when many runs are merged."""

BLOCKS_AHEAD_MAX: Final = 3
"""Fetched at most beyond what is asked for, so that what is fetched is kept."""


class RangedInput(PositionedInput):
    """A file that is read by ranges; seekable, not safe between threads."""

    def __init__(self, read_ranges: ReadRanges, *, size: int, tail: bytes) -> None:
        """Take over what the first request brought.

        Args:
            read_ranges: Returns parts of the file, exactly; fetches them at the same time.
            size: Bytes of the file.
            tail: Its last bytes.
        """
        super().__init__(size)
        self._read_ranges = read_ranges
        self._tail = tail
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._ahead = 0
        self._next_block = 0
        self._announced = PrefetchedRanges(read_ranges)

    def prefetch(self, parts: Iterable[ByteRange]) -> None:
        """Take parts that will be read next (see `PositionedInput`); others are forgotten."""
        tail_start = self._size - len(self._tail)
        self._announced.prefetch(part for part in parts if part[0] < tail_start)

    def _at(self, start: int, end: int) -> bytes:
        tail_start = self._size - len(self._tail)
        if start >= tail_start:
            return self._tail[start - tail_start : end - tail_start]
        announced = self._announced.read(start, end)
        if announced is not None:
            return announced
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
        # A column chunk is small beside its block: the block is not copied for it.
        begins = ((number, number * BLOCK_BYTES) for number in range(first, last + 1))
        return b"".join(
            memoryview(found[number])[max(0, start - begin) : end - begin]
            for number, begin in begins
        )

    def _fetched(self, first: int, last: int) -> dict[int, bytes]:
        """Return some blocks, and those that come next when reading goes on."""
        is_next = first == self._next_block and first > 0
        self._ahead = min(BLOCKS_AHEAD_MAX, max(1, self._ahead * 2)) if is_next else 0
        start = first * BLOCK_BYTES
        end = min((last + 1 + self._ahead) * BLOCK_BYTES, self._size)
        self._next_block = -(-end // BLOCK_BYTES)
        # What the tail holds is not fetched again.
        tail_start = self._size - len(self._tail)
        stop = min(end, tail_start)
        data = self._read_ranges([(start, stop)])[0] if start < stop else b""
        data += self._tail[max(0, start - tail_start) : max(0, end - tail_start)]
        return {
            first + number: data[number * BLOCK_BYTES : (number + 1) * BLOCK_BYTES]
            for number in range(self._next_block - first)
        }
