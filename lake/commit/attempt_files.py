"""Manifests, manifest lists and index manifests that attempts of one commit write, reuse and delete.

After a lost race the next attempt is planned on a newer snapshot. It reuses most files of the earlier attempts:

- the manifests and the lists of the delta and of the changelog, unless entries of the delta contain the id of the
  snapshot (only in tables with `sequence.snapshot-ordering`);
- merged manifests, as long as the base still lists all manifests that they replace. A commit that is no append
  merges them before its turn, because that takes longer than all else;
- the index manifest, as long as the newest snapshot names the same index manifest as it did for the
  earlier attempt.

The base list is always written anew.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from braid.lake.commit.commit_changes import CommitChanges
from braid.lake.commit.steps import OnStep, announce_step
from braid.lake.errors import StorageUnavailable
from braid.lake.files.paths import TablePaths
from braid.lake.format.avro.codecs import compress
from braid.lake.format.indexes.index_manifest import replace_indexes
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.manifest_list import ManifestFileMeta
from braid.lake.format.manifest_records import ManifestRecord, new_records, record_bytes
from braid.lake.format.schema import TableSchema
from braid.lake.snapshots.live_files import LiveFiles
from braid.lake.snapshots.manifest_merge import (
    PARTS,
    ManifestMergePlan,
    MergedGroup,
    merge_manifests,
    plan_append_merge,
    plan_manifest_merge,
    replace_manifests,
    sort_records,
)
from braid.lake.snapshots.manifest_slice import SliceBudget, entry_count
from braid.lake.snapshots.manifest_store import ManifestStore

# Records whose compression tells how large a manifest gets.
_SAMPLE_BYTES: Final = 1 << 16

# What a commit merges of settled manifests: some multiples of the target size and this many entries, or of what the
# commit itself adds, which a table needs whose every commit is large.
_MERGED_TARGETS: Final = 16
_MERGED_ENTRIES: Final = 16_000
_MERGED_TIMES: Final = 16
_ROUNDS_MAX: Final = 8


DELTA: Final = "delta"
CHANGELOG: Final = "changelog"
"""Parts of a commit."""


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
            role: `DELTA` or `CHANGELOG`. The entries of a delta are sorted by partition and bucket.
            entries: Entries of that part; may be empty. They differ between attempts only in tables
                with `sequence.snapshot-ordering`, where the snapshot's id is part of them.
            schema: Schema of the table.
        """
        # Compared by value: with `sequence.snapshot-ordering` each attempt has its own entries.
        known = self._changes.get(role)
        if known is not None and known[0] == entries:
            return known[1]
        records = new_records(entries)
        if role == DELTA:
            sort_records(records, schema.partition_fields)
            written = self._write_list(self._write_delta(records, schema), schema)
        else:
            written = self._write_list(self._write_unsorted(records, schema), schema)
        self._changes[role] = (entries, written)
        return written

    def merge_ahead(
        self, previous: Sequence[ManifestFileMeta], delta: WrittenList, schema: TableSchema
    ) -> None:
        """Merge the manifests that are due, for `write_base`; takes up to some seconds.

        Args:
            previous: Base and delta manifests of the newest snapshot, oldest first.
            delta: The manifests of the commit.
            schema: Schema of the table.

        Raises:
            ManifestGone: A manifest to merge has expired; plan on a newer snapshot.
        """
        options = schema.table_options
        budget = left = SliceBudget(
            bytes=max(
                _MERGED_TARGETS * options.manifest_target_file_size_bytes,
                _MERGED_TIMES * sum(m.file_size for m in delta.manifests),
            ),
            entries=max(_MERGED_ENTRIES, _MERGED_TIMES * sum(map(entry_count, delta.manifests))),
        )
        manifests = self._with_merged(previous)
        for _ in range(_ROUNDS_MAX):
            plan = plan_manifest_merge(
                manifests, options, partition_fields=schema.partition_fields, budget=left
            )
            if plan.is_empty:
                return
            manifests = self._execute(plan, manifests, schema)
            left = left.after(() if plan.slice is None else plan.slice.manifests)
            # A slice that fits into a small rest is not worth its overhead.
            if 2 * left.bytes < budget.bytes or 2 * left.entries < budget.entries:
                return

    def write_base(
        self,
        previous: Sequence[ManifestFileMeta],
        schema: TableSchema,
    ) -> WrittenList:
        """Write the list of all manifests before this commit, with those merged that an append merges, and ahead.

        Args:
            previous: Base and delta manifests of the snapshot that the attempt is planned on, oldest
                first.
            schema: Schema of the table.

        Raises:
            ManifestGone: A manifest to merge has expired; plan on a newer snapshot.
        """
        merged = self._with_merged(previous)
        plan = plan_append_merge(merged, schema.table_options)
        merged = self._execute(plan, merged, schema)
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

    def _with_merged(self, manifests: Sequence[ManifestFileMeta]) -> list[ManifestFileMeta]:
        """Return a list with the merges made so far, where all manifests that they replace are still listed."""
        merged = list(manifests)
        for group in self._merged:
            replaced = replace_manifests(merged, group)
            merged = merged if replaced is None else replaced
        return merged

    def _execute(
        self, plan: ManifestMergePlan, manifests: list[ManifestFileMeta], schema: TableSchema
    ) -> list[ManifestFileMeta]:
        """Merge manifests and return the list with those that replace them."""
        fresh = merge_manifests(
            plan,
            partition_fields=schema.partition_fields,
            read=self._manifests.read_records,
            write=lambda records: self._write(records, schema),
            write_parts=lambda records, count: self._write_parts(records, count, schema),
        )
        for group in fresh:
            replaced = replace_manifests(manifests, group)
            assert replaced is not None, "a plan names manifests of its list"
            manifests = replaced
        self._merged.extend(fresh)
        return manifests

    def _write(
        self, records: Sequence[ManifestRecord], schema: TableSchema
    ) -> list[ManifestFileMeta]:
        """Write sorted records as one manifest."""
        make_name = TablePaths.new_sorted_manifest_name
        return [self._write_manifest(records, schema, make_name)] if records else []

    def _write_delta(
        self, records: Sequence[ManifestRecord], schema: TableSchema
    ) -> list[ManifestFileMeta]:
        """Write new records in order as one manifest, or as parts if they reach the target size."""
        target = schema.table_options.manifest_target_file_size_bytes
        size = _compressed_bytes(records, schema)
        if size >= target:
            return self._write_parts(records, size * PARTS // target, schema)
        return self._write(records, schema)

    def _write_unsorted(
        self, records: Sequence[ManifestRecord], schema: TableSchema
    ) -> list[ManifestFileMeta]:
        """Write records in their order as manifests of the target size at most."""
        target = schema.table_options.manifest_target_file_size_bytes
        count = -(-_compressed_bytes(records, schema) // target)
        return [
            self._write_manifest(part, schema, TablePaths.new_manifest_name)
            for part in _cut(records, count)
        ]

    def _write_parts(
        self, records: Sequence[ManifestRecord], count: int, schema: TableSchema
    ) -> list[ManifestFileMeta]:
        """Write sorted records as about so many manifests."""
        return [
            self._write_manifest(part, schema, TablePaths.new_manifest_part_name)
            for part in _cut(records, count, keeps_buckets=True)
        ]

    def _write_manifest(
        self,
        records: Sequence[ManifestRecord],
        schema: TableSchema,
        make_name: Callable[[str, int], str],
    ) -> ManifestFileMeta:
        name = self._new_name(make_name)
        with announce_step(self._on_step, "write-manifest"):
            return self._manifests.write_records(
                name,
                records,
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


def _compressed_bytes(records: Sequence[ManifestRecord], schema: TableSchema) -> int:
    """Return about how many bytes a manifest of new records has."""
    sample: list[bytes] = []
    size = 0
    for record in records:
        sample.append(record.block.compressed)
        size += record_bytes(record)
        if size >= _SAMPLE_BYTES:
            break
    packed = compress(b"".join(sample), schema.table_options.manifest_compression)
    return sum(map(record_bytes, records)) * len(packed) // max(1, size)


def _cut(
    records: Sequence[ManifestRecord], count: int, *, keeps_buckets: bool = False
) -> Iterator[Sequence[ManifestRecord]]:
    """Yield sorted records in about so many parts; those of a bucket in one part, unless they are most of it."""
    each = max(1, -(-len(records) // max(1, count)))
    start = 0
    while start < len(records):
        end = start + each
        while keeps_buckets and end < min(len(records), start + each + each // 2):
            last, following = records[end - 1].entry, records[end].entry
            if (last.partition, last.bucket) != (following.partition, following.bucket):
                break
            end += 1
        yield records[start:end]
        start = end
