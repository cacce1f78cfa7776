"""Segments of rows with equal keys: an order of the rows by key, and where each segment begins in it.

`order.merge_order` sorts the rows of a table. Histories and steps are also stored as segments; in those, one key can
have several segments or none, and a row can occur twice.

Source: merge-semantics 1.5.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

# More sorted runs than this overlap rarely, so few segments are longer. Below 256, so that a byte holds
# a length.
LAYERS_MAX = 16


@dataclass(frozen=True, kw_only=True)
class Segments:
    """The rows of a table in merge order, cut at every change of key.

    A *position* is an index into `order`; a *segment* holds the positions of one key.

    Attributes:
        order: Row numbers by key, then sequence fields, then sequence number, then retracts before
            adds, then row number.
        starts: First position of each segment, ascending; the first is 0. Empty iff there are no
            segments: then no property but `count` may be used.
    """

    order: Ints
    starts: Ints

    def __post_init__(self) -> None:
        """Check what arithmetic on `starts` relies on."""
        assert not len(self.starts) or self.starts[0] == 0, "the first segment starts at 0"
        assert len(self.starts) <= len(self.order), "every segment has a position"

    @property
    def count(self) -> int:
        """Return the number of segments."""
        return len(self.starts)

    @cached_property
    def lasts(self) -> Ints:
        """Return the last position of each segment."""
        lasts = np.empty_like(self.starts)
        np.subtract(self.starts[1:], 1, out=lasts[:-1])
        lasts[-1] = len(self.order) - 1
        return lasts

    @cached_property
    def last_rows(self) -> Ints:
        """Return the row at the last position of each segment; read only."""
        return self.order[self.lasts]

    @cached_property
    def is_single(self) -> Bools:
        """Return which segments have one row."""
        single: Bools = self.starts == self.lasts
        return single

    @cached_property
    def by_length(self) -> Ints:
        """Return the segments by length, longest first; all above `LAYERS_MAX` count as equal.

        A stable sort of one byte per segment is a radix sort in numpy, so it is linear.
        """
        lengths = np.minimum(self.lasts - self.starts, LAYERS_MAX)
        return np.argsort((LAYERS_MAX - lengths).astype(np.uint8), kind="stable")

    @cached_property
    def layers(self) -> tuple[Ints, ...]:
        """Return the rows in layers: layer n holds the n-th row from the end of each segment.

        Segments are in the order of `by_length`, and segments with n rows or fewer have no row in
        layer n, so a layer belongs to a prefix of the segments. At most `LAYERS_MAX` layers; read
        only.
        """
        lasts = self.lasts[self.by_length]
        lengths = lasts - self.starts[self.by_length] + 1
        depth = min(int(lengths.max()), LAYERS_MAX)
        counts = [int(np.count_nonzero(lengths > back)) for back in range(depth)]
        return tuple(self.order[lasts[:count] - back] for back, count in enumerate(counts))

    @cached_property
    def long_count(self) -> int:
        """Return how many segments have more rows than `LAYERS_MAX`; they come first in `by_length`."""
        return int(np.count_nonzero(self.lasts - self.starts >= LAYERS_MAX))

    def in_key_order(self, rows: Ints) -> Ints:
        """Return rows, one per segment in the order of `by_length`, in the order of keys."""
        assert len(rows) == self.count, "one row per segment"
        result = np.empty_like(rows)
        result[self.by_length] = rows
        return result

    @cached_property
    def segment_of(self) -> Ints:
        """Return the segment of each position."""
        return np.repeat(np.arange(self.count), self.lasts - self.starts + 1)

    def subset(self, segments: Ints) -> "Segments":
        """Return some of the segments, given ascending, as segments of their own."""
        firsts = self.starts[segments]
        return self._cut_out(firsts, self.lasts[segments] - firsts + 1)

    def tails(self, firsts: Ints) -> "Segments":
        """Return every segment from a position on, given one position of each segment."""
        return self._cut_out(firsts, self.lasts - firsts + 1)

    def where(self, chosen: Bools) -> tuple["Segments", Ints]:
        """Return the segments of some positions only, and the numbers of the segments that have one.

        Args:
            chosen: One boolean per position.
        """
        segment_of = self.segment_of[chosen]
        starts = np.flatnonzero(run_starts(segment_of))
        return Segments(order=self.order[chosen], starts=starts), segment_of[starts]

    def positions_of(self, segments: Ints) -> Ints:
        """Return the positions of some segments, one segment after another."""
        firsts = self.starts[segments]
        return concatenated_ranges(firsts, self.lasts[segments] - firsts + 1)

    def any_of(self, chosen: Bools) -> Bools:
        """Return which segments have a chosen position.

        Args:
            chosen: One boolean per position.
        """
        found = np.zeros(self.count, dtype=np.bool_)
        found[self.segment_of[chosen]] = True
        return found

    def _cut_out(self, firsts: Ints, lengths: Ints) -> "Segments":
        starts = np.cumsum(lengths) - lengths
        return Segments(order=self.order[concatenated_ranges(firsts, lengths)], starts=starts)


def run_starts(values: npt.NDArray[Any]) -> Bools:
    """Return true for the first value of each run of equal values.

    Example:
        >>> run_starts(np.array([4, 4, 7, 4])).tolist()
        [True, False, True, True]
    """
    starts = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=starts[1:])
    return starts


def concatenated_ranges(firsts: Ints, lengths: Ints) -> Ints:
    """Return ranges of numbers, given by first number and length, one after another.

    Example:
        >>> concatenated_ranges(np.array([5, 0]), np.array([2, 3])).tolist()
        [5, 6, 0, 1, 2]
    """
    # The n-th number of the result is n, plus the first number of its range, minus the index in the
    # result at which the range begins.
    begins = np.cumsum(lengths) - lengths
    positions: Ints = np.arange(int(lengths.sum())) + np.repeat(firsts - begins, lengths)
    return positions
