"""Names of the files of snapshots, and which of them are unreferenced after one step of expiry.

A data file that the *delta list* of snapshot N + 1 deletes becomes unreferenced when snapshot N expires, unless the
same delta adds the file again on another level. Every delta must list all deletions of its commit, so expiry need not
compare the live files of two snapshots.

The caller keeps two kinds of such files: those that a tag, for example, still needs (`without`), and appended files
that are the changelog, where a table without a changelog producer keeps changelogs longer than snapshots
(`removed_files`, `keeps_appended`).

Source: table-format 6, 19.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from braid.lake.format.data_file import FileSource
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.snapshot import Snapshot
from braid.lake.snapshots.manifest_store import ManifestGone, ManifestStore

DataFileKey: TypeAlias = tuple[bytes, int, str]
"""Partition, bucket and file name: the identity of a file on storage, without its level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataNames:
    """Names of metadata files.

    Attributes:
        manifests: Files inside `manifest/`: manifests, their lists, index manifests.
        indexes: Files inside `index/`.
        statistics: Files inside `statistics/`.
    """

    manifests: frozenset[str] = frozenset()
    indexes: frozenset[str] = frozenset()
    statistics: frozenset[str] = frozenset()

    def __or__(self, other: "MetadataNames") -> "MetadataNames":
        """Return the union of both."""
        return MetadataNames(
            manifests=self.manifests | other.manifests,
            indexes=self.indexes | other.indexes,
            statistics=self.statistics | other.statistics,
        )

    def __sub__(self, other: "MetadataNames") -> "MetadataNames":
        """Return the names that the other does not have."""
        return MetadataNames(
            manifests=self.manifests - other.manifests,
            indexes=self.indexes - other.indexes,
            statistics=self.statistics - other.statistics,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataParts:
    """A choice among the parts of a snapshot's metadata.

    Attributes:
        data: Base and delta list and their manifests.
        changelog: Changelog list and its manifests.
        rest: Index manifest, index files and statistics.
    """

    data: bool = True
    changelog: bool = True
    rest: bool = True


ALL_PARTS = MetadataParts()


def metadata_names(
    snapshot: Snapshot,
    manifests: ManifestStore,
    *,
    parts: MetadataParts = ALL_PARTS,
    is_partial: bool = False,
) -> MetadataNames:
    """Return the names of a snapshot's metadata files.

    Args:
        snapshot: Any snapshot, also an expired one.
        manifests: Reads the lists.
        parts: Parts of the metadata to return.
        is_partial: Skip lists that are absent: another engine's expiry may have been interrupted, or
            the snapshot is kept for its changelog alone.

    Raises:
        ManifestGone: A list is absent.
        CorruptData: A list cannot be read.
    """
    lists = []
    if parts.data:
        lists += [snapshot.base_manifest_list, snapshot.delta_manifest_list]
    if parts.changelog and snapshot.changelog_manifest_list is not None:
        lists.append(snapshot.changelog_manifest_list)
    names: set[str] = set()
    for name in lists:
        names.add(name)
        names.update(_manifests_of(name, manifests, is_partial=is_partial))
    indexes: set[str] = set()
    if parts.rest and snapshot.index_manifest is not None:
        names.add(snapshot.index_manifest)
        indexes = _indexes_of(snapshot.index_manifest, manifests, is_partial=is_partial)
    statistics = {snapshot.statistics} if parts.rest and snapshot.statistics else set()
    return MetadataNames(
        manifests=frozenset(names), indexes=frozenset(indexes), statistics=frozenset(statistics)
    )


def entries_of(
    list_name: str | None, manifests: ManifestStore, *, is_partial: bool = False
) -> list[ManifestEntry]:
    """Return all entries behind a manifest list, in order; none for None.

    Args:
        list_name: Name of a base, delta or changelog list.
        manifests: Reads the list and its manifests.
        is_partial: Skip a list or manifests that are absent (see `metadata_names`).

    Raises:
        ManifestGone: The list or a manifest is absent.
        CorruptData: The list or a manifest cannot be read.
    """
    if list_name is None:
        return []
    found: list[ManifestEntry] = []
    for name in _manifests_of(list_name, manifests, is_partial=is_partial):
        try:
            found += manifests.read_manifest(name)
        except ManifestGone:
            if not is_partial:
                raise
    return found


def removed_files(
    delta: Collection[ManifestEntry], *, keeps_appended: bool = False
) -> dict[DataFileKey, ManifestEntry]:
    """Return the files that a delta removes from the table for good.

    Args:
        delta: All entries of a delta list.
        keeps_appended: Leave out files that a writer appended: where the appended files *are* the
            changelog, they live as long as it.
    """
    added = {data_file_key(entry) for entry in delta if entry.kind is FileKind.ADD}
    return {
        data_file_key(entry): entry
        for entry in delta
        if entry.kind is FileKind.DELETE
        and data_file_key(entry) not in added
        and not (keeps_appended and entry.file.file_source is not FileSource.COMPACT)
    }


def added_files(entries: Iterable[ManifestEntry]) -> dict[DataFileKey, ManifestEntry]:
    """Return the files that entries add; a changelog list has no other entries."""
    return {data_file_key(entry): entry for entry in entries if entry.kind is FileKind.ADD}


def data_file_key(entry: ManifestEntry) -> DataFileKey:
    """Return the identity of an entry's file on storage."""
    return entry.partition, entry.bucket, entry.file.file_name


def without(
    files: Mapping[DataFileKey, ManifestEntry], kept: Collection[DataFileKey]
) -> dict[DataFileKey, ManifestEntry]:
    """Return the files that are not among those kept."""
    return {key: entry for key, entry in files.items() if key not in kept}


def _manifests_of(list_name: str, manifests: ManifestStore, *, is_partial: bool) -> list[str]:
    try:
        return [manifest.file_name for manifest in manifests.read_list(list_name)]
    except ManifestGone:
        if is_partial:
            return []
        raise


def _indexes_of(name: str, manifests: ManifestStore, *, is_partial: bool) -> set[str]:
    try:
        entries = manifests.read_index_manifest(name)
    except ManifestGone:
        if is_partial:
            return set()
        raise
    # Files outside the table are not deleted with it.
    return {entry.file_name for entry in entries if entry.external_path is None}
