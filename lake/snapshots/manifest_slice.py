"""Slices of the settled manifests: ranges of partitions and buckets that are merged at a bounded cost.

Entries are ordered by partition, then bucket. A manifest has bounds of both, so its entries lie between two keys. A
slice is a range of keys and all settled manifests that may have entries in it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

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


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySlice:
    """A range of keys, and the settled manifests that may have entries in it.

    Attributes:
        low: The lowest key.
        high: The highest key, which belongs to the range.
        manifests: In list order.
    """

    low: Key
    high: Key
    manifests: tuple[ManifestFileMeta, ...]

    def holds(self, key: Key) -> bool:
        """Return whether a key is in the range."""
        return self.low <= key <= self.high


def entry_key(fields: Sequence[DataField]) -> Callable[[ManifestEntry], Key]:
    """Return a function that returns the key of an entry."""
    known: dict[bytes, tuple[tuple[int, Any], ...]] = {}

    def key(entry: ManifestEntry) -> Key:
        values = known.get(entry.partition)
        if values is None:
            values = known[entry.partition] = _sortable(entry.partition, fields)
        return values, entry.bucket

    return key


def largest_slice(
    settled: Sequence[ManifestFileMeta], fields: Sequence[DataField], *, bytes_max: int
) -> KeySlice | None:
    """Return a slice that has DELETEs and is worth merging; None without any.

    The slice begins where the manifest with the greatest share of DELETEs begins, and extends as far as the manifests
    to read have at most `bytes_max` bytes.

    Args:
        settled: Settled manifests, oldest first.
        fields: The partition columns.
        bytes_max: Bound of the bytes to read.
    """
    bounds = [_bounds(manifest, fields) for manifest in settled]
    candidates = [number for number, manifest in enumerate(settled) if manifest.num_deleted_files]
    candidates.sort(key=lambda number: -_share(settled[number]))
    for number in candidates:
        low, last = bounds[number]
        beside = [n for n, (low_n, high_n) in enumerate(bounds) if low_n <= last and low <= high_n]
        # A manifest that begins later is read only if the slice reaches it.
        for high in sorted({min(bounds[n][1], last) for n in beside}, reverse=True):
            members = [n for n in beside if bounds[n][0] <= high]
            if len(members) > 1 and sum(settled[n].file_size for n in members) <= bytes_max:
                manifests = tuple(settled[n] for n in members)
                return KeySlice(low=low, high=high, manifests=manifests)
    return None


def _share(manifest: ManifestFileMeta) -> float:
    entries = manifest.num_added_files + manifest.num_deleted_files
    return manifest.num_deleted_files / entries


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
