"""Slices of the settled manifests: ranges of partitions and buckets that are merged at a bounded cost.

Entries are ordered by partition, then bucket. A manifest has bounds of both, so its entries lie between two keys. A
slice is a range of keys, and settled manifests that may have entries in it: all of them, or the newest. Two rules
choose slices:

- *overlaps* (`overlapping_slice`): where more than three manifests may have the entries of a key, the newest of them
  are merged. Of those that are merged, the oldest has at most a few times the bytes that the newer ones have in the
  same range. So large manifests are rewritten rarely, as in the levels of a log-structured merge tree: the bytes
  written are a small multiple of the bytes of the commits, whatever the table's size.
- *deletes* (`deleted_slice`): all manifests of a range in which many files are deleted.

Nothing tells how the entries of a manifest are distributed over its range. They are taken to be spread evenly over
the bounds of other manifests in it, which are dense where there are many entries.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.format.binary_row import decode_row
from braid.lake.format.data_types import DataField
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.manifest_list import ManifestFileMeta

Key = tuple[tuple[tuple[int, Any], ...], float]
"""Values of the partition columns in a form that sorts, and the bucket."""

# A rank below that of nulls, and one above that of NaN.
_LOWEST: Final[Key] = (((-1, 0),), 0)
_HIGHEST: Final[Key] = (((3, 0),), 0)
_UNKNOWN_LOW, _UNKNOWN_HIGH = float("-inf"), float("inf")

OVERLAPS_MAX: Final = 3
"""Settled manifests that may have the entries of one key."""

_OLDER_TIMES: Final = 3
"""A manifest with this many times the bytes of all newer ones in a range is not merged with them."""

_SEEDS_MAX: Final = 8
"""Places that are tried for a slice, the one with the most manifests first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceBudget:
    """Bounds of the manifests that a slice reads.

    Attributes:
        bytes: Their bytes.
        entries: Their entries.
    """

    bytes: int
    entries: int

    def admits(self, manifests: Sequence[ManifestFileMeta]) -> bool:
        """Return whether some manifests are within the bounds."""
        return (
            sum(manifest.file_size for manifest in manifests) <= self.bytes
            and sum(map(entry_count, manifests)) <= self.entries
        )

    def after(self, manifests: Sequence[ManifestFileMeta]) -> "SliceBudget":
        """Return what is left when some manifests have been read."""
        return SliceBudget(
            bytes=self.bytes - sum(manifest.file_size for manifest in manifests),
            entries=self.entries - sum(map(entry_count, manifests)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySlice:
    """A range of keys, and settled manifests that may have entries in it.

    Attributes:
        low: The lowest key.
        high: The highest key.
        manifests: In list order; no settled manifest that is newer than one of them in the range is missing.
        has_low: Whether `low` belongs to the range.
        has_high: Whether `high` belongs to the range.
        is_whole: Whether no settled manifest is missing.
    """

    low: Key
    high: Key
    manifests: tuple[ManifestFileMeta, ...]
    has_low: bool = True
    has_high: bool = True
    is_whole: bool = True

    def is_below(self, key: Key) -> bool:
        """Return whether a key is below the range."""
        return key < self.low or (key == self.low and not self.has_low)

    def is_above(self, key: Key) -> bool:
        """Return whether a key is above the range."""
        return key > self.high or (key == self.high and not self.has_high)


def entry_count(manifest: ManifestFileMeta) -> int:
    """Return the number of entries of a manifest."""
    return manifest.num_added_files + manifest.num_deleted_files


def entry_key(fields: Sequence[DataField]) -> Callable[[ManifestEntry], Key]:
    """Return a function that returns the key of an entry."""
    known: dict[bytes, tuple[tuple[int, Any], ...]] = {}

    def key(entry: ManifestEntry) -> Key:
        values = known.get(entry.partition)
        if values is None:
            values = known[entry.partition] = _sortable(entry.partition, fields)
        return values, entry.bucket

    return key


def overlapping_slice(
    settled: Sequence[ManifestFileMeta],
    fields: Sequence[DataField],
    *,
    budget: SliceBudget,
    part_bytes: int,
) -> KeySlice | None:
    """Return a slice in which many manifests overlap; None without any.

    Args:
        settled: Settled manifests, oldest first.
        fields: The partition columns.
        budget: Bounds of the manifests to read.
        part_bytes: Size of the manifests that are written.
    """
    if len(settled) <= OVERLAPS_MAX:
        return None
    return next(_Overlaps(settled, fields).slices(budget, part_bytes), None)


class _Overlaps:
    """Which of the settled manifests overlap.

    The bounds of all manifests divide the keys into *cells*, numbered in their order: cell 2n is the n-th bound, cell
    2n + 1 has the keys between that and the next.
    """

    def __init__(self, settled: Sequence[ManifestFileMeta], fields: Sequence[DataField]) -> None:
        self._settled = settled
        bounds = [_bounds(manifest, fields) for manifest in settled]
        self._points = points = sorted({key for pair in bounds for key in pair})
        self._lows = np.array([2 * bisect_left(points, low) for low, _ in bounds])
        self._highs = np.array([2 * bisect_left(points, high) for _, high in bounds])
        self._sizes = np.array([manifest.file_size for manifest in settled])
        # Bytes of each manifest in each of its cells.
        self._densities = self._sizes / (self._highs - self._lows + 1)
        self._cells = 2 * len(points) - 1
        self._levels = self._levels_of()

    def _levels_of(self) -> npt.NDArray[np.int64]:
        """Return the level of each manifest: above all older ones that it overlaps."""
        top = np.full(self._cells, -1)
        levels = np.zeros(len(self._settled), dtype=np.int64)
        for number, (low, high) in enumerate(zip(self._lows, self._highs, strict=True)):
            levels[number] = top[low : high + 1].max() + 1
            top[low : high + 1] = levels[number]
        return levels

    def slices(self, budget: SliceBudget, part_bytes: int) -> Iterator[KeySlice]:
        """Yield a slice for each of the places where most manifests overlap."""
        depths = self._summed(np.ones(len(self._settled)))
        # As many manifests as the entries fill would be left: of one bucket, all of them overlap.
        left = np.maximum(1, self._summed(self._densities) / part_bytes)
        is_due = (depths > OVERLAPS_MAX) & (left <= depths / 2)
        seeds = np.flatnonzero(is_due)
        order = np.argsort(-depths[seeds], kind="stable")
        step = max(1, len(seeds) // _SEEDS_MAX)
        for seed in seeds[order][::step]:
            found = self._slice_at(int(seed), budget)
            if found is not None:
                yield found

    def _summed(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the sum of a value of each manifest over those of each cell."""
        changes = np.zeros(self._cells + 1)
        np.add.at(changes, self._lows, values)
        np.add.at(changes, self._highs + 1, -values)
        return np.cumsum(changes)[:-1]

    def _slice_at(self, seed: int, budget: SliceBudget) -> KeySlice | None:
        """Return the best slice around a cell; None if no two manifests are within the budget."""
        level = self._lowest_level(seed, budget)
        if level is None:
            return None
        low = high = seed
        members = set(self._members(seed, level))
        inside = sum(self._densities[number] for number in members)
        best = self._score(inside, members, budget), low, high
        # One cell more on either side, until that costs too much or there is nothing to merge.
        steps = [1, -1]
        while steps:
            for step in tuple(steps):
                cell = high + 1 if step > 0 else low - 1
                found = self._members(cell, level)
                if len(found) < 2:
                    # Perhaps only the gap between two manifests.
                    cell += step
                    found += self._members(cell, level)
                    if len(self._members(cell, level)) < 2:
                        steps.remove(step)
                        continue
                if not self._are_within({*members, *found}, budget):
                    steps.remove(step)
                    continue
                members.update(found)
                inside += sum(self._densities[number] for number in found)
                low, high = min(low, cell), max(high, cell)
                best = max(best, (self._score(inside, members, budget), low, high))
        return self._slice(level, *best[1:])

    def _lowest_level(self, cell: int, budget: SliceBudget) -> int | None:
        """Return the level from which on the manifests of a cell are merged."""
        found = self._members(cell, 0)
        densities = self._densities[found]
        newer = np.cumsum(densities[::-1])[::-1]
        are_outgrown = densities[:-1] < _OLDER_TIMES * newer[1:]
        first = int(np.argmax(are_outgrown)) if are_outgrown.any() else len(found) - 2
        while not self._are_within(found[first:], budget):
            first += 1
            if first > len(found) - 2:
                return None
        return int(self._levels[found[first]])

    def _members(self, cell: int, level: int) -> list[int]:
        """Return the manifests of a cell from a level on, oldest first."""
        in_cell = (self._lows <= cell) & (cell <= self._highs) & (self._levels >= level)
        found: list[int] = np.flatnonzero(in_cell).tolist()
        return found

    def _are_within(self, members: Iterable[int], budget: SliceBudget) -> bool:
        return budget.admits([self._settled[number] for number in members])

    def _score(self, inside: float, members: Iterable[int], budget: SliceBudget) -> float:
        """Return how much of what is read is merged; less for a slice that leaves most of the budget unused."""
        size = sum(self._settled[number].file_size for number in members)
        return float(inside / max(1, size) * min(1.0, 2 * size / budget.bytes))

    def _slice(self, level: int, low: int, high: int) -> KeySlice:
        in_range = (self._lows <= high) & (low <= self._highs)
        members: list[int] = np.flatnonzero(in_range & (self._levels >= level)).tolist()
        return KeySlice(
            low=self._points[low // 2],
            high=self._points[(high + 1) // 2],
            has_low=low % 2 == 0,
            has_high=high % 2 == 0,
            manifests=tuple(self._settled[number] for number in members),
            is_whole=len(members) == int(np.count_nonzero(in_range)),
        )


def deleted_slice(
    settled: Sequence[ManifestFileMeta], fields: Sequence[DataField], *, budget: SliceBudget
) -> KeySlice | None:
    """Return a slice that has DELETEs and is worth merging; None without any.

    The slice begins where the manifest with the greatest share of DELETEs begins, and extends as far as the manifests
    to read are within the budget.

    Args:
        settled: Settled manifests, oldest first.
        fields: The partition columns.
        budget: Bounds of the manifests to read.
    """
    bounds = [_bounds(manifest, fields) for manifest in settled]
    candidates = [number for number, manifest in enumerate(settled) if manifest.num_deleted_files]
    candidates.sort(key=lambda number: -_share(settled[number]))
    for number in candidates:
        low, last = bounds[number]
        beside = [n for n, (low_n, high_n) in enumerate(bounds) if low_n <= last and low <= high_n]
        # A manifest that begins later is read only if the slice reaches it.
        for high in sorted({min(bounds[n][1], last) for n in beside}, reverse=True):
            members = [settled[n] for n in beside if bounds[n][0] <= high]
            if len(members) > 1 and budget.admits(members):
                return KeySlice(low=low, high=high, manifests=tuple(members))
    return None


def _share(manifest: ManifestFileMeta) -> float:
    return manifest.num_deleted_files / entry_count(manifest)


def _bounds(manifest: ManifestFileMeta, fields: Sequence[DataField]) -> tuple[Key, Key]:
    """Return keys that no entry of a manifest is below or above."""
    stats = manifest.partition_stats
    low = _UNKNOWN_LOW if manifest.min_bucket is None else manifest.min_bucket
    high = _UNKNOWN_HIGH if manifest.max_bucket is None else manifest.max_bucket
    if not fields:
        return ((), low), ((), high)
    if not stats.null_counts or any(stats.null_counts):
        return _LOWEST, _HIGHEST
    try:
        first, last = _sortable(stats.min_values, fields), _sortable(stats.max_values, fields)
    except (CorruptData, UnsupportedFeature):
        return _LOWEST, _HIGHEST
    # A bound that is null or NaN says nothing about the values.
    if any(rank != 1 for rank, _ in (*first, *last)):
        return _LOWEST, _HIGHEST
    return (first, low), (last, high)


def _sortable(partition: bytes, fields: Sequence[DataField]) -> tuple[tuple[int, Any], ...]:
    """Return the values of a serialised row, each with a rank: null, then values, then NaN."""
    return tuple(
        (0, 0) if value is None else (2, 0) if value != value else (1, value)
        for value in decode_row(partition, fields)
    )
