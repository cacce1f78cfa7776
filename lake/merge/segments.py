"""Rows of one key, found by arithmetic: a sorted order and where each key begins in it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lake.format.system_columns import SEQUENCE_NUMBER
from lake.merge.key_order import key_codes
from lake.merge.order_words import Uints, one_array
from lake.merge.spec import MergeSpec

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

# More runs than this overlap rarely; fewer than 256, so that a byte holds a length.
LAYERS_MAX = 16
# Shorter runs than this on average are no runs to speak of.
_RUN_ROWS_MIN = 32


@dataclass(frozen=True, kw_only=True)
class Segments:
    """The rows of a table in merge order, cut at every change of key.

    A *place* is an index into `order`; a *segment* holds the places of one key.

    Attributes:
        order: Row numbers by key, then sequence fields, then sequence number, then row number.
        starts: First place of each segment, ascending; at least one, the first is 0.
    """

    order: Ints
    starts: Ints

    @property
    def count(self) -> int:
        """Return the number of segments."""
        return len(self.starts)

    @cached_property
    def lasts(self) -> Ints:
        """Return the last place of each segment."""
        lasts = np.empty_like(self.starts)
        np.subtract(self.starts[1:], 1, out=lasts[:-1])
        lasts[-1] = len(self.order) - 1
        return lasts

    @cached_property
    def last_rows(self) -> Ints:
        """Return the row at the last place of each segment; read only."""
        return self.order[self.lasts]

    @cached_property
    def is_single(self) -> Bools:
        """Return which segments have one row."""
        single: Bools = self.starts == self.lasts
        return single

    @cached_property
    def by_length(self) -> Ints:
        """Return the segments sorted by length, longest first; those beyond all layers as equals.

        Sorting one byte per segment is a radix sort, linear.
        """
        lengths = np.minimum(self.lasts - self.starts, LAYERS_MAX)
        return np.argsort((LAYERS_MAX - lengths).astype(np.uint8), kind="stable")

    @cached_property
    def layers(self) -> tuple[Ints, ...]:
        """Return rows layer by layer: of layer n the n-th row from the end of each segment.

        Segments are in the order of `by_length` and those with n rows or fewer have no part, so a
        layer is about a prefix of the segments. At most `LAYERS_MAX` layers; read only.
        """
        lasts = self.lasts[self.by_length]
        lengths = lasts - self.starts[self.by_length] + 1
        depth = min(int(lengths.max()), LAYERS_MAX)
        counts = [int(np.count_nonzero(lengths > back)) for back in range(depth)]
        return tuple(self.order[lasts[:count] - back] for back, count in enumerate(counts))

    @cached_property
    def long_count(self) -> int:
        """Return how many segments have more rows than there are layers; first in `by_length`."""
        return int(np.count_nonzero(self.lasts - self.starts >= LAYERS_MAX))

    def in_key_order(self, rows: Ints) -> Ints:
        """Return one row per segment, given in the order of `by_length`, in the order of keys."""
        result = np.empty_like(rows)
        result[self.by_length] = rows
        return result

    @cached_property
    def segment_of(self) -> Ints:
        """Return the segment of each place."""
        return np.repeat(np.arange(self.count), self.lasts - self.starts + 1)


def find_segments(table: pa.Table, spec: MergeSpec, codes: Uints) -> Segments:
    """Return the segments of a key-value table of at least one row.

    Args:
        table: Rows in any order; sorted runs one after another are the cheapest.
        spec: How its records merge.
        codes: One code per row that orders rows by key.
    """
    order = _sorted_order(codes)
    sorted_codes = codes[order]
    is_start = np.ones(len(order), dtype=np.bool_)
    np.not_equal(sorted_codes[1:], sorted_codes[:-1], out=is_start[1:])
    _order_versions(table, spec, order, is_start)
    return Segments(order=order, starts=np.flatnonzero(is_start))


def _sorted_order(codes: Uints) -> Ints:
    """Return the rows sorted by code, rows of equal codes in row order."""
    falls = int(np.count_nonzero(codes[1:] < codes[:-1]))
    if not falls:
        return np.arange(len(codes))
    bits = (len(codes) - 1).bit_length()
    if falls * _RUN_ROWS_MIN < len(codes) or int(codes.max()).bit_length() + bits > 64:
        # A merge sort that knows runs: sorted runs cost one comparison per row and merge.
        return np.argsort(codes, kind="stable")
    # No runs, as in a write buffer: with the row number below the code, numpy's vectorised sort of
    # plain numbers is stable, and ten times as fast.
    packed = np.sort((codes << np.uint64(bits)) | np.arange(len(codes), dtype=np.uint64))
    return (packed & np.uint64((1 << bits) - 1)).astype(np.int64)


def _order_versions(table: pa.Table, spec: MergeSpec, order: Ints, is_start: Bools) -> None:
    """Put the rows of each key into merge order, in place.

    Runs laid oldest first are in order already, so this looks before it sorts.
    """
    sequence_numbers = one_array(table.column(SEQUENCE_NUMBER)).to_numpy()
    inside = ~is_start[1:]
    numbers = sequence_numbers[order]
    wrong = numbers[1:] < numbers[:-1]
    ranks = None
    if spec.sequence_fields:
        fields = [table.column(name) for name in spec.sequence_fields]
        ranks = key_codes(fields, descending=spec.sequence_descending)[order]
        wrong &= ranks[1:] == ranks[:-1]
        wrong |= ranks[1:] < ranks[:-1]
    wrong &= inside
    if not wrong.any():
        return
    segment_of = np.cumsum(is_start) - 1
    affected = np.zeros(int(segment_of[-1]) + 1, dtype=np.bool_)
    affected[segment_of[1:][wrong]] = True
    places = np.flatnonzero(affected[segment_of])
    keys = [numbers[places], segment_of[places]]
    if ranks is not None:
        keys.insert(1, ranks[places])
    order[places] = order[places][np.lexsort(keys)]
