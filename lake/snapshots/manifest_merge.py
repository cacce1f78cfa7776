"""Merging of manifests, which keeps the base list short and its manifests narrow, so that planning is cheap.

Every commit of files adds a manifest. Merging replaces manifests by others that leave the same files live:

- *minor*: merges consecutive manifests. The newest ones are the tail, which is merged in tiers: when it
  has more than `merge-min-count` + log2(its entries) manifests, the newest `merge-min-count` (2 at least) become one
  manifest, together with each older neighbour that has no more entries than the group so far. So an entry is
  rewritten about once for each doubling of its manifest, not with every merge. A tail that reaches the target size is
  *closed*: its entries are sorted by partition and bucket, and cut into parts of a quarter of the target size. Each
  part has a narrow range of buckets, so who looks for the files of a bucket reads one of them. Parts are *settled*:
  minor merges leave them alone. So are the manifests of the target size that other writers have made.
- *slice*: happens when the settled manifests that have DELETEs reach the threshold in bytes, and a quarter of all
  manifests. All settled entries of one range of partitions and buckets are merged, sorted and cut anew, so that no
  DELETE is left in the range (`braid.lake.snapshots.manifest_slice`). The range is chosen so that the manifests to
  read are bounded in bytes, whatever the table's size. Appends never do this, because streams wait for them; each
  compaction merges one slice, if need be.

In a minor merge an ADD and its DELETE cancel each other; a DELETE whose ADD is in another manifest is kept. The live
files are a set difference of ADDs and DELETEs, so the order of entries does not matter to readers. Writers of other
engines expect that a DELETE comes after its ADD, so manifests keep their order.

Source:
    Table format, section 6.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from braid.lake.files.paths import is_manifest_part
from braid.lake.format.data_types import DataField
from braid.lake.format.manifest import FileIdentity, FileKind, ManifestEntry
from braid.lake.format.manifest_list import ManifestFileMeta
from braid.lake.options.table_options import TableOptions
from braid.lake.snapshots.manifest_slice import (
    KeySlice,
    entry_key,
    largest_slice,
)

ReadManifest = Callable[[str], Sequence[ManifestEntry]]
WriteManifests = Callable[[Sequence[ManifestEntry]], list[ManifestFileMeta]]
WriteParts = Callable[[Sequence[ManifestEntry], int], list[ManifestFileMeta]]
"""Writes sorted entries as a number of manifests of about equal size, and returns these; [] for no entries."""

PARTS: Final = 4
"""Parts of the target size."""

_SLICE_TARGETS: Final = 4
"""The manifests that a slice reads, as a multiple of the target size: some seconds of work at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestMergePlan:
    """The manifests to merge.

    Attributes:
        groups: Manifests to merge together, each group in list order; disjoint.
        slice: Range of keys to merge, None for no slice; none of its manifests is in a group.
        target_bytes: Size from which the entries of a group are sorted and cut into parts.
    """

    groups: tuple[tuple[ManifestFileMeta, ...], ...] = ()
    slice: KeySlice | None = None
    target_bytes: int = TableOptions().manifest_target_file_size_bytes

    @property
    def part_bytes(self) -> int:
        """Size of a part."""
        return max(1, self.target_bytes // PARTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedGroup:
    """The replacement of some manifests; valid for every list that contains all of `before`.

    Attributes:
        before: Names of the replaced manifests.
        after: The manifests that replace them, in the place of the first, or of the last if there is a `rest`;
            empty when no entry is left.
        rest: By the name of a replaced manifest, the manifest that takes its place with the entries outside of the
            range that was merged. None: whole manifests were merged.
    """

    before: frozenset[str]
    after: tuple[ManifestFileMeta, ...]
    rest: Mapping[str, ManifestFileMeta] | None = field(default=None, hash=False)


def plan_manifest_merge(
    manifests: Sequence[ManifestFileMeta],
    options: TableOptions,
    *,
    partition_fields: Sequence[DataField] = (),
    merges_slices: bool = False,
) -> ManifestMergePlan:
    """Return the manifests of a base list to merge; pure.

    Args:
        manifests: Manifests of the base list, oldest first.
        options: Target size, minimal count and threshold of slices.
        partition_fields: The table's partition columns.
        merges_slices: Whether settled manifests are merged, if need be.
    """
    target = options.manifest_target_file_size_bytes
    runs = list(_unsettled_runs(manifests, target))
    newest = runs.pop() if runs and runs[-1][-1] is manifests[-1] else []
    groups: list[tuple[ManifestFileMeta, ...]] = []
    for run in runs:
        # Between settled manifests, where nothing is added any more: what slices and other writers have left.
        groups += [group for group in _cut(run, target) if len(group) > 1]
    # Their entries may be of the range of a slice, which then has to wait.
    merges_between = bool(groups)
    *closed, rest = _cut(newest, target) if newest else [()]
    if sum(manifest.file_size for manifest in rest) >= target:
        closed, rest = [*closed, rest], ()
    groups += [group for group in closed if len(group) > 1]
    # At least two are merged, because merging one manifest would rewrite it with every commit.
    tail = _tail_group(rest, min_count=max(options.manifest_merge_min_count, 2))
    groups += [tail] if tail else []
    assert all(len(merged) > 1 for merged in groups), "a merge replaces several manifests"
    chosen = None
    if merges_slices and not merges_between:
        settled = manifests[: len(manifests) - len(newest)]
        chosen = _due_slice(settled, manifests, options, partition_fields)
    return ManifestMergePlan(groups=tuple(groups), slice=chosen, target_bytes=target)


def _due_slice(
    settled: Sequence[ManifestFileMeta],
    manifests: Sequence[ManifestFileMeta],
    options: TableOptions,
    partition_fields: Sequence[DataField],
) -> KeySlice | None:
    with_deletes = sum(m.file_size for m in settled if m.num_deleted_files)
    total = sum(manifest.file_size for manifest in manifests)
    if with_deletes < max(options.manifest_full_compaction_threshold_bytes, total // PARTS):
        return None
    bytes_max = _SLICE_TARGETS * options.manifest_target_file_size_bytes
    return largest_slice(settled, partition_fields, bytes_max=bytes_max)


def _unsettled_runs(
    manifests: Sequence[ManifestFileMeta], target: int
) -> Iterator[list[ManifestFileMeta]]:
    run: list[ManifestFileMeta] = []
    for manifest in manifests:
        if not _is_settled(manifest, target):
            run.append(manifest)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _is_settled(manifest: ManifestFileMeta, target: int) -> bool:
    if is_manifest_part(manifest.file_name):
        return manifest.file_size * 4 * PARTS >= target
    return manifest.file_size >= target


def _cut(run: Sequence[ManifestFileMeta], target: int) -> list[tuple[ManifestFileMeta, ...]]:
    """Return a run in groups, of which all but the last have reached the target size."""
    groups: list[tuple[ManifestFileMeta, ...]] = []
    group: list[ManifestFileMeta] = []
    size = 0
    for manifest in run:
        if size >= target:
            groups.append(tuple(group))
            group, size = [], 0
        group.append(manifest)
        size += manifest.file_size
    return [*groups, tuple(group)]


def _tail_group(
    tail: Sequence[ManifestFileMeta], *, min_count: int
) -> tuple[ManifestFileMeta, ...]:
    """Return the newest manifests and the older ones that they outgrow; () while the tail is short."""
    # If each manifest has at most half the entries of the one before, n entries fill at most log2(n)
    # manifests. That number may stay beside the newest ones.
    tiers = sum(_entry_count(manifest) for manifest in tail).bit_length()
    if len(tail) < min_count + tiers:
        return ()
    start = len(tail) - min_count
    entries = sum(_entry_count(manifest) for manifest in tail[start:])
    # An older manifest joins only if the result has at least twice its entries. Otherwise large
    # manifests would be rewritten with every merge of small ones.
    while start > 0 and _entry_count(tail[start - 1]) <= entries:
        start -= 1
        entries += _entry_count(tail[start])
    return tuple(tail[start:])


def _entry_count(manifest: ManifestFileMeta) -> int:
    return manifest.num_added_files + manifest.num_deleted_files


def merge_manifests(
    plan: ManifestMergePlan,
    *,
    partition_fields: Sequence[DataField] = (),
    read: ReadManifest,
    write: WriteManifests,
    write_parts: WriteParts,
) -> list[MergedGroup]:
    """Execute a plan: read the manifests, write their replacements, whose entries are sorted by partition and bucket.

    Args:
        plan: The manifests to merge.
        partition_fields: The table's partition columns.
        read: Returns the entries of a manifest by name.
        write: Writes sorted entries as manifests, rolled at the target size, and returns these; [] for
            no entries.
        write_parts: Writes sorted entries as parts.

    Returns:
        One replacement for each group and for the slice, for `replace_manifests`.
    """
    merged = [
        MergedGroup(
            before=frozenset(manifest.file_name for manifest in group),
            after=tuple(_merge_minor(group, plan, partition_fields, read, write, write_parts)),
        )
        for group in plan.groups
    ]
    if plan.slice is not None:
        merged.append(_merge_slice(plan, plan.slice, partition_fields, read, write_parts))
    return merged


def replace_manifests(
    manifests: Sequence[ManifestFileMeta], merged: MergedGroup
) -> list[ManifestFileMeta] | None:
    """Return the list with the new manifests in the position of the first replaced one, or of the last (`MergedGroup`).

    Returns:
        None if a replaced manifest is missing: another commit has merged it, and the replacement cannot
        be used.
    """
    places = [n for n, manifest in enumerate(manifests) if manifest.file_name in merged.before]
    if len(places) < len(merged.before):
        return None
    rest = merged.rest or {}
    stands_at = places[0] if merged.rest is None else places[-1]
    replaced: list[ManifestFileMeta] = []
    for number, manifest in enumerate(manifests):
        if manifest.file_name not in merged.before:
            replaced.append(manifest)
        elif manifest.file_name in rest:
            replaced.append(rest[manifest.file_name])
        if number == stands_at:
            replaced.extend(merged.after)
    return replaced


def cancel_entries(entries: Sequence[ManifestEntry]) -> list[ManifestEntry]:
    """Return the entries that remain when each ADD and its DELETE have cancelled.

    Returns:
        DELETEs, then ADDs, each in the order given; each identity at most once.
    """
    adds: dict[FileIdentity, ManifestEntry] = {}
    deletes: dict[FileIdentity, ManifestEntry] = {}
    for entry in entries:
        (adds if entry.kind is FileKind.ADD else deletes).setdefault(entry.identity, entry)
    kept_adds = [entry for key, entry in adds.items() if key not in deletes]
    kept_deletes = [entry for key, entry in deletes.items() if key not in adds]
    return [*kept_deletes, *kept_adds]


def _merge_minor(
    group: Sequence[ManifestFileMeta],
    plan: ManifestMergePlan,
    partition_fields: Sequence[DataField],
    read: ReadManifest,
    write: WriteManifests,
    write_parts: WriteParts,
) -> list[ManifestFileMeta]:
    entries = [entry for manifest in group for entry in read(manifest.file_name)]
    left = cancel_entries(entries)
    left.sort(key=entry_key(partition_fields))
    size = sum(manifest.file_size for manifest in group)
    if size < plan.target_bytes:
        return write(left)
    left_bytes = size * len(left) // max(1, len(entries))
    return write_parts(left, max(1, left_bytes // plan.part_bytes))


def _merge_slice(
    plan: ManifestMergePlan,
    chosen: KeySlice,
    partition_fields: Sequence[DataField],
    read: ReadManifest,
    write_parts: WriteParts,
) -> MergedGroup:
    key_of = entry_key(partition_fields)
    inside: list[ManifestEntry] = []
    rest: dict[str, ManifestFileMeta] = {}
    size = 0
    for manifest in chosen.manifests:
        entries = read(manifest.file_name)
        of_slice = [chosen.holds(key_of(entry)) for entry in entries]
        inside += [entry for entry, is_in in zip(entries, of_slice, strict=True) if is_in]
        outside = [entry for entry, is_in in zip(entries, of_slice, strict=True) if not is_in]
        size += manifest.file_size * sum(of_slice) // max(1, len(entries))
        if outside:
            outside.sort(key=key_of)
            [rest[manifest.file_name]] = write_parts(outside, 1)
    # The slice has every settled manifest with keys of its range, and the tail is newer. So a DELETE whose ADD is not
    # among these entries is that of a file that is in no manifest at all.
    left = [entry for entry in cancel_entries(inside) if entry.kind is FileKind.ADD]
    size = size * len(left) // max(1, len(inside))
    left.sort(key=key_of)
    return MergedGroup(
        before=frozenset(manifest.file_name for manifest in chosen.manifests),
        after=tuple(write_parts(left, max(1, size // plan.part_bytes))),
        rest=rest,
    )
