"""Changes of manifests: those that a new Iceberg snapshot keeps, and those that it writes. Pure.

A manifest that names a removed file is written anew, without the deletions of earlier snapshots; new files get a
manifest of their own. Small manifests are merged when there are many: from `compaction.min.file-num` on if together
they have the target size, from `compaction.max.file-num` on in any case. Merged entries are in the order of their
paths, and a manifest has a bounded number of entries: then the files of a bucket are in one manifest or two, and the
next compaction of the bucket writes only these.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from braid.lake.iceberg.manifest_entries import (
    IcebergDataFile,
    IcebergEntry,
    IcebergManifest,
    added_entry,
)

_ENTRIES_MAX: Final = 1_000
"""Entries of a manifest: rewriting that many takes some 50 ms."""
_SMALL: Final = 2 / 3
_ENTRY_BYTES: Final = 120
_COLUMN_BYTES: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeLimits:
    """When manifests are merged.

    Attributes:
        target_bytes: Size of a manifest.
        files_min: Number of small manifests from which they are merged if they have that size together.
        files_max: Number from which they are merged in any case.
    """

    target_bytes: int
    files_min: int
    files_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadManifest:
    """A manifest with its entries."""

    manifest: IcebergManifest
    entries: Sequence[IcebergEntry]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestPlan:
    """The manifests of a new snapshot.

    Attributes:
        kept: Manifests that stay as they are.
        written: The entries of each manifest to write.
    """

    kept: tuple[IcebergManifest, ...]
    written: tuple[tuple[IcebergEntry, ...], ...]


def plan_manifests(
    base: Iterable[ReadManifest],
    *,
    removed: Collection[str],
    added: Sequence[IcebergDataFile],
    snapshot_id: int,
    limits: MergeLimits,
) -> ManifestPlan:
    """Return the manifests of a new snapshot.

    Args:
        base: The manifests of the snapshot before.
        removed: Names of live files that the new snapshot does not have.
        added: Files that only the new snapshot has.
        snapshot_id: The new snapshot.
        limits: When manifests are merged.
    """
    kept: list[ReadManifest] = []
    written: list[list[IcebergEntry]] = []
    for read in base:
        if read.manifest.is_dead:
            continue
        if any(entry.is_live and entry.file.name in removed for entry in read.entries):
            written.append(list(_rewritten(read.entries, removed, snapshot_id)))
        else:
            kept.append(read)
    if added:
        written.append([added_entry(file, snapshot_id) for file in added])
    small = [read for read in kept if _is_small(read, limits)]
    if _are_merged(small, written, limits):
        kept = [read for read in kept if not _is_small(read, limits)]
        old = [entry.as_existing() for read in small for entry in read.entries if entry.is_live]
        written = [[*old, *(entry for group in written for entry in group)]]
    return ManifestPlan(
        kept=tuple(read.manifest for read in kept),
        written=tuple(
            part for group in written for part in _parts(group, limits.target_bytes) if part
        ),
    )


def _rewritten(
    entries: Iterable[IcebergEntry], removed: Collection[str], snapshot_id: int
) -> Iterator[IcebergEntry]:
    for entry in entries:
        if entry.is_live:
            is_removed = entry.file.name in removed
            yield entry.as_deleted(snapshot_id) if is_removed else entry.as_existing()


def _is_small(read: ReadManifest, limits: MergeLimits) -> bool:
    is_short = len(read.entries) < _SMALL * _ENTRIES_MAX
    return is_short and read.manifest.length < _SMALL * limits.target_bytes


def _are_merged(
    small: Sequence[ReadManifest], written: Sequence[Sequence[IcebergEntry]], limits: MergeLimits
) -> bool:
    count = len(small) + len(written)
    if count < max(limits.files_min, 2):
        return False
    size = sum(read.manifest.length for read in small)
    size += sum(_size(entry) for group in written for entry in group)
    return count >= limits.files_max or size >= limits.target_bytes


def _parts(
    entries: Sequence[IcebergEntry], target_bytes: int
) -> Iterator[tuple[IcebergEntry, ...]]:
    part: list[IcebergEntry] = []
    size = 0
    for entry in sorted(entries, key=lambda entry: entry.file.path):
        part.append(entry)
        size += _size(entry)
        if len(part) >= _ENTRIES_MAX or size >= target_bytes:
            yield tuple(part)
            part, size = [], 0
    yield tuple(part)


def _size(entry: IcebergEntry) -> int:
    """Return the approximate bytes of an entry, uncompressed."""
    file = entry.file
    bounds = (*file.lower_bounds.values(), *file.upper_bounds.values())
    columns = len(file.null_counts) + len(bounds)
    return _ENTRY_BYTES + len(file.path) + _COLUMN_BYTES * columns + sum(map(len, bounds))
