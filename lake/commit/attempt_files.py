"""Manifests, manifest lists and index manifests that attempts of one commit write, reuse and delete.

After a lost race the next attempt is planned on a newer snapshot. It reuses most files of the earlier attempts:

- the manifests and the lists of the delta and of the changelog, unless entries of the delta contain the id of the
  snapshot (only in tables with `sequence.snapshot-ordering`);
- merged manifests, as long as the base still lists all manifests that they replace;
- the index manifest, as long as the newest snapshot names the same index manifest as it did for the
  earlier attempt.

The base list is always written anew.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from braid.lake.commit.commit_changes import CommitChanges
from braid.lake.commit.steps import OnStep, announce_step
from braid.lake.errors import StorageUnavailable
from braid.lake.files.paths import TablePaths
from braid.lake.format.indexes.index_manifest import replace_indexes
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.manifest_list import ManifestFileMeta
from braid.lake.format.schema import TableSchema
from braid.lake.snapshots.live_files import LiveFiles
from braid.lake.snapshots.manifest_merge import (
    MergedGroup,
    merge_manifests,
    plan_manifest_merge,
    replace_manifests,
)
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.metadata_cache import statistics_bytes

# An estimate for a table of a few dozen columns; it decides only where a manifest is split. Wider entries take
# about the bytes of their statistics.
_ENTRY_BYTES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenList:
    """A manifest list on storage.

    Attributes:
        name: Name of the file inside `manifest/`.
        size: Size of the file in bytes.
        manifests: The manifests that the list names, oldest first.
    """

    name: str
    size: int
    manifests: tuple[ManifestFileMeta, ...]


class AttemptFiles:
    """Writes the manifests of one commit and remembers them, for reuse and for deletion."""

    def __init__(
        self, manifests: ManifestStore, live: LiveFiles, *, on_step: OnStep, uuid: str
    ) -> None:
        self._manifests = manifests
        self._live = live
        self._on_step = on_step
        self._uuid = uuid
        self._names: list[str] = []
        self._name_count = 0
        self._changes: dict[str, tuple[Sequence[ManifestEntry], WrittenList]] = {}
        self._merged: list[MergedGroup] = []
        self._indexes: dict[str | None, str] = {}

    def write_changes(
        self, role: str, entries: Sequence[ManifestEntry], schema: TableSchema
    ) -> WrittenList:
        """Write the manifests and the list of one part of a commit; reuse those of equal entries.

        Args:
            role: `delta` or `changelog`.
            entries: Entries of that part; may be empty. They differ between attempts only in tables
                with `sequence.snapshot-ordering`, where the snapshot's id is part of them.
            schema: Schema of the table.
        """
        # Compared by value: with `sequence.snapshot-ordering` each attempt has its own entries.
        known = self._changes.get(role)
        if known is not None and known[0] == entries:
            return known[1]
        written = self._write_list(self._write(entries, schema), schema)
        self._changes[role] = (entries, written)
        return written

    def write_base(
        self,
        previous: Sequence[ManifestFileMeta],
        schema: TableSchema,
        *,
        merges_slices: bool = False,
    ) -> WrittenList:
        """Merge the manifests that are due, and write the list of all manifests before this commit.

        Args:
            previous: Base and delta manifests of the snapshot that the attempt is planned on, oldest
                first.
            schema: Schema of the table.
            merges_slices: Whether settled manifests are merged, if need be (`braid.lake.snapshots.manifest_merge`).

        Raises:
            ManifestGone: A manifest to merge has expired; plan on a newer snapshot.
        """
        merged = self._merge(list(previous), schema, merges_slices=merges_slices)
        # The merged list has the same live files, so the next attempt need not read them again.
        self._live.register_equivalent(merged, same_as=previous)
        return self._write_list(merged, schema)

    def write_indexes(
        self, previous: str | None, changes: CommitChanges, schema: TableSchema
    ) -> str:
        """Return the name of the commit's index manifest; write it once for each `previous`.

        Args:
            previous: Index manifest of the snapshot that the attempt is planned on, None without any.
            changes: Changes of the commit; their index files are the same in every attempt.
            schema: Schema of the table.

        Raises:
            ManifestGone: The previous index manifest has expired; plan on a newer snapshot.
        """
        if previous not in self._indexes:
            entries = () if previous is None else self._manifests.read_index_manifest(previous)
            name = self._new_name(TablePaths.new_index_manifest_name)
            with announce_step(self._on_step, "write-index-manifest"):
                self._manifests.write_index_manifest(
                    name,
                    replace_indexes(entries, changes.indexes, changes.removed_indexes),
                    compression=schema.table_options.manifest_compression,
                )
            self._indexes[previous] = name
        return self._indexes[previous]

    def clean(
        self, *, keep: Sequence[WrittenList] = (), keep_index_manifest: str | None = None
    ) -> None:
        """Delete the files that no snapshot names; orphan cleaning finds those that cannot be deleted.

        Args:
            keep: Lists that the published snapshot names; none after a failure.
            keep_index_manifest: Index manifest that the published snapshot names; None without any, and
                after a failure.

        Requires:
            The outcome of every attempt is known.
        """
        kept = {written.name for written in keep} | {keep_index_manifest}
        kept |= {manifest.file_name for written in keep for manifest in written.manifests}
        for name in self._names:
            if name in kept:
                continue
            try:
                with announce_step(self._on_step, "delete-manifest"):
                    self._manifests.delete(name)
            except (OSError, StorageUnavailable):
                continue
        self._names = [name for name in self._names if name in kept]

    def _merge(
        self, manifests: list[ManifestFileMeta], schema: TableSchema, *, merges_slices: bool
    ) -> list[ManifestFileMeta]:
        # Merges of earlier attempts are reused where all manifests that they replace are still listed.
        for group in self._merged:
            replaced = replace_manifests(manifests, group)
            manifests = manifests if replaced is None else replaced
        plan = plan_manifest_merge(
            manifests,
            schema.table_options,
            partition_fields=schema.partition_fields,
            merges_slices=merges_slices,
        )
        fresh = merge_manifests(
            plan,
            partition_fields=schema.partition_fields,
            read=self._manifests.read_uncached,
            write=lambda entries: self._write(entries, schema, TablePaths.new_sorted_manifest_name),
            write_parts=lambda entries, count: self._write_parts(entries, count, schema),
        )
        for group in fresh:
            replaced = replace_manifests(manifests, group)
            assert replaced is not None, "a plan names manifests of its list"
            manifests = replaced
        self._merged.extend(fresh)
        return manifests

    def _write(
        self,
        entries: Sequence[ManifestEntry],
        schema: TableSchema,
        make_name: Callable[[str, int], str] = TablePaths.new_manifest_name,
    ) -> list[ManifestFileMeta]:
        target = schema.table_options.manifest_target_file_size_bytes
        written: list[ManifestFileMeta] = []
        part: list[ManifestEntry] = []
        size = 0
        for entry in entries:
            entry_bytes = max(_ENTRY_BYTES, statistics_bytes(entry.file.value_stats))
            if part and size + entry_bytes > target:
                written.append(self._write_manifest(part, schema, make_name))
                part, size = [], 0
            part.append(entry)
            size += entry_bytes
        if part:
            written.append(self._write_manifest(part, schema, make_name))
        return written

    def _write_parts(
        self, entries: Sequence[ManifestEntry], count: int, schema: TableSchema
    ) -> list[ManifestFileMeta]:
        """Write sorted entries as about so many manifests."""
        each = max(1, -(-len(entries) // count))
        return [
            self._write_manifest(
                entries[start : start + each], schema, TablePaths.new_manifest_part_name
            )
            for start in range(0, len(entries), each)
        ]

    def _write_manifest(
        self,
        entries: Sequence[ManifestEntry],
        schema: TableSchema,
        make_name: Callable[[str, int], str] = TablePaths.new_manifest_name,
    ) -> ManifestFileMeta:
        name = self._new_name(make_name)
        with announce_step(self._on_step, "write-manifest"):
            return self._manifests.write_manifest(
                name,
                entries,
                partition_fields=schema.partition_fields,
                compression=schema.table_options.manifest_compression,
            )

    def _write_list(
        self, manifests: Sequence[ManifestFileMeta], schema: TableSchema
    ) -> WrittenList:
        name = self._new_name(TablePaths.new_manifest_list_name)
        compression = schema.table_options.manifest_compression
        with announce_step(self._on_step, "write-manifest-list"):
            size = self._manifests.write_list(name, manifests, compression=compression)
        return WrittenList(name=name, size=size, manifests=tuple(manifests))

    def _new_name(self, make: Callable[[str, int], str]) -> str:
        """Return a fresh name, recorded before the file exists so that a partial write is deleted too."""
        name = make(self._uuid, self._name_count)
        self._name_count += 1
        self._names.append(name)
        return name
