"""Merging of manifests, which keeps the base list short and its manifests narrow, so that planning is cheap.

Every commit of files adds a manifest. Merging replaces manifests by others that leave the same files live:

- *minor*: merges consecutive manifests. The newest ones are the tail, which is merged in tiers: when it
  has more than `merge-min-count` + log2(its entries) manifests, the newest `merge-min-count` (2 at least) become one
  manifest, together with each older neighbour that has no more entries than the group so far. So an entry is
  rewritten about once for each doubling of its manifest, not with every merge. Commits that are no appends do the same
  with the newest four as soon as the tail has more than eight manifests.
- *closing*: a tail that has reached the target size is sorted by partition and bucket, and cut into parts of a quarter
  of the target size. Each part has a narrow range of buckets, so who looks for the files of a bucket reads one of them.
  Parts are *settled*: they are merged by slices alone. So are the manifests of the target size that other writers have
  made.
- *slice*: entries of one range of partitions and buckets in settled manifests are merged, sorted and cut anew
  (`braid.lake.snapshots.manifest_slice`). It happens where more than a few manifests overlap; and where the settled
  manifests that have DELETEs reach the threshold in bytes, and a quarter of all manifests, so that no DELETE is left in
  the range. The manifests to read are bounded, whatever the table's size.

Streams wait for appends, so these merge a thousand entries of the tail at most: all else is left to commits of other
kinds, which are those of compactions. Only a tail of several times the target size is closed by an append, too.

In a minor merge an ADD and its DELETE cancel each other; a DELETE whose ADD is in another manifest is kept. The live
files are a set difference of ADDs and DELETEs, so the order of entries does not matter to readers. Writers of other
engines expect that a DELETE comes after its ADD, so manifests keep their order.

Source:
    Table format, section 6.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from braid.lake.files.paths import is_manifest_part
from braid.lake.format.data_types import DataField
from braid.lake.format.manifest import FileIdentity, FileKind, ManifestEntry
from braid.lake.format.manifest_list import ManifestFileMeta
from braid.lake.format.manifest_records import ManifestRecord
from braid.lake.options.table_options import TableOptions
from braid.lake.snapshots.manifest_slice import (
    KeySlice,
    SliceBudget,
    deleted_slice,
    entry_count,
    entry_key,
    overlapping_slice,
)

T = TypeVar("T")

ReadManifest = Callable[[str], Sequence[ManifestRecord]]
WriteManifests = Callable[[Sequence[ManifestRecord]], list[ManifestFileMeta]]
WriteParts = Callable[[Sequence[ManifestRecord], int], list[ManifestFileMeta]]
"""Writes sorted records as a number of manifests of about equal size, and returns these; [] for no records."""

PARTS: Final = 4
"""Parts of the target size."""

APPEND_ENTRIES: Final = 1_000
"""Entries that an append merges at most, which takes some hundredths of a second."""

_MERGED_MIN: Final = 2
"""Manifests that are merged at least: merging one would rewrite it with every commit."""

_TAIL_MAX: Final = 8
"""Manifests of the tail that commits other than appends leave alone."""

_TAIL_MERGED: Final = 4
"""Manifests that these commits merge at least."""

_OVERDUE_TARGETS: Final = 4
"""The size of a tail that an append closes, as a multiple of the target size."""


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

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to merge."""
        return not self.groups and self.slice is None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedGroup:
    """The replacement of some manifests; valid for every list that contains all of `before`.

    Attributes:
        before: Names of the replaced manifests.
        after: The manifests that replace them, in the place of the first, or of the last if there is a `rest`;
            empty when no entry is left.
        rest: By the name of a replaced manifest, the manifests that take its place with the entries below and above
            the range that was merged. None: whole manifests were merged.
    """

    before: frozenset[str]
    after: tuple[ManifestFileMeta, ...]
    rest: Mapping[str, tuple[ManifestFileMeta, ...]] | None = field(default=None, hash=False)


def plan_append_merge(
    manifests: Sequence[ManifestFileMeta], options: TableOptions
) -> ManifestMergePlan:
    """Return the manifests of a base list that an append merges, which take little time; pure.

    Args:
        manifests: Manifests of the base list, oldest first.
        options: Target size and minimal count.
    """
    target = options.manifest_target_file_size_bytes
    newest = _newest_run(manifests, target)
    if sum(manifest.file_size for manifest in newest) >= _OVERDUE_TARGETS * target:
        oldest = _cut(newest, target)[0]
        groups = (oldest,) if len(oldest) > 1 else ()
        return ManifestMergePlan(groups=groups, target_bytes=target)
    budget = SliceBudget(bytes=target // PARTS, entries=APPEND_ENTRIES)
    # Those of half a budget and more would be in no merge of two.
    large = [
        number
        for number, manifest in enumerate(newest)
        if 2 * manifest.file_size >= budget.bytes or 2 * entry_count(manifest) >= budget.entries
    ]
    tail = newest[large[-1] + 1 :] if large else newest
    min_count = max(options.manifest_merge_min_count, _MERGED_MIN)
    # If each manifest has at most half the entries of the one before, n entries fill at most log2(n)
    # manifests. That number may stay beside the newest ones.
    tiers = sum(map(entry_count, tail)).bit_length()
    is_long = len(tail) >= min_count + tiers
    group = _tail_group(tail, min_count=min_count, budget=budget) if is_long else ()
    return ManifestMergePlan(groups=(group,) if group else (), target_bytes=target)


def plan_manifest_merge(
    manifests: Sequence[ManifestFileMeta],
    options: TableOptions,
    *,
    partition_fields: Sequence[DataField] = (),
    budget: SliceBudget | None = None,
) -> ManifestMergePlan:
    """Return the manifests of a base list that a compaction merges; pure.

    Args:
        manifests: Manifests of the base list, oldest first.
        options: Target size, minimal count and threshold of slices.
        partition_fields: The table's partition columns.
        budget: Bounds of a slice; None: no slice is merged.
    """
    target = options.manifest_target_file_size_bytes
    newest = _newest_run(manifests, target)
    settled = manifests[: len(manifests) - len(newest)]
    groups: list[tuple[ManifestFileMeta, ...]] = []
    for run in _unsettled_runs(settled, target):
        # Between settled manifests, where nothing is added any more: what other writers have left.
        groups += [group for group in _cut(run, target) if len(group) > 1]
    # Their entries may be of the range of a slice, which then has to wait.
    merges_between = bool(groups)
    *closed, rest = _cut(newest, target) if newest else [()]
    if sum(manifest.file_size for manifest in rest) >= target:
        closed, rest = [*closed, rest], ()
    groups += [group for group in closed if len(group) > 1]
    tail = _tail_group(rest, min_count=_TAIL_MERGED) if len(rest) > _TAIL_MAX else ()
    groups += [tail] if tail else []
    assert all(len(merged) > 1 for merged in groups), "a merge replaces several manifests"
    chosen = None
    if budget is not None and not merges_between:
        chosen = _due_slice(settled, manifests, options, partition_fields, budget)
    return ManifestMergePlan(groups=tuple(groups), slice=chosen, target_bytes=target)


def _due_slice(
    settled: Sequence[ManifestFileMeta],
    manifests: Sequence[ManifestFileMeta],
    options: TableOptions,
    partition_fields: Sequence[DataField],
    budget: SliceBudget,
) -> KeySlice | None:
    part_bytes = max(1, options.manifest_target_file_size_bytes // PARTS)
    found = overlapping_slice(settled, partition_fields, budget=budget, part_bytes=part_bytes)
    if found is not None:
        return found
    with_deletes = sum(m.file_size for m in settled if m.num_deleted_files)
    total = sum(manifest.file_size for manifest in manifests)
    if with_deletes < max(options.manifest_full_compaction_threshold_bytes, total // PARTS):
        return None
    return deleted_slice(settled, partition_fields, budget=budget)


def _newest_run(manifests: Sequence[ManifestFileMeta], target: int) -> list[ManifestFileMeta]:
    """Return the manifests behind the last settled one."""
    count = 0
    while count < len(manifests) and not _is_settled(manifests[-count - 1], target):
        count += 1
    return list(manifests[len(manifests) - count :])


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
    return is_manifest_part(manifest.file_name) or manifest.file_size >= target


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
    tail: Sequence[ManifestFileMeta], *, min_count: int, budget: SliceBudget | None = None
) -> tuple[ManifestFileMeta, ...]:
    """Return the newest manifests and the older ones that they outgrow; with a budget, as many as it admits."""
    start = len(tail) - min_count
    entries = sum(entry_count(manifest) for manifest in tail[start:])
    # An older manifest joins only if the result has at least twice its entries. Otherwise large
    # manifests would be rewritten with every merge of small ones.
    while start > 0 and entry_count(tail[start - 1]) <= entries:
        start -= 1
        entries += entry_count(tail[start])
    end = len(tail)
    # The oldest ones, because what is before a large manifest is not merged any more.
    while budget is not None and not budget.admits(tail[start:end]):
        end -= 1
    return tuple(tail[start:end]) if end - start > 1 else ()


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
        read: Returns the records of a manifest by name.
        write: Writes sorted records as manifests, rolled at the target size, and returns these; [] for
            no records.
        write_parts: Writes sorted records as parts.

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
        else:
            replaced.extend(rest.get(manifest.file_name, ()))
        if number == stands_at:
            replaced.extend(merged.after)
    return replaced


def cancel_entries(entries: Sequence[ManifestEntry]) -> list[ManifestEntry]:
    """Return the entries that remain when each ADD and its DELETE have cancelled.

    Returns:
        DELETEs, then ADDs, each in the order given; each identity at most once.
    """
    return _cancel(entries, lambda entry: entry)


def cancel_records(records: Sequence[ManifestRecord]) -> list[ManifestRecord]:
    """Return the records that remain, as `cancel_entries` does for entries."""
    return _cancel(records, lambda record: record.entry)


def _cancel(items: Sequence[T], entry_of: Callable[[T], ManifestEntry]) -> list[T]:
    adds: dict[FileIdentity, T] = {}
    deletes: dict[FileIdentity, T] = {}
    for item in items:
        entry = entry_of(item)
        (adds if entry.kind is FileKind.ADD else deletes).setdefault(entry.identity, item)
    kept_adds = [item for key, item in adds.items() if key not in deletes]
    kept_deletes = [item for key, item in deletes.items() if key not in adds]
    return [*kept_deletes, *kept_adds]


def sort_records(records: list[ManifestRecord], partition_fields: Sequence[DataField]) -> None:
    """Sort records by partition and bucket."""
    key_of = entry_key(partition_fields)
    records.sort(key=lambda record: key_of(record.entry))


def _merge_minor(
    group: Sequence[ManifestFileMeta],
    plan: ManifestMergePlan,
    partition_fields: Sequence[DataField],
    read: ReadManifest,
    write: WriteManifests,
    write_parts: WriteParts,
) -> list[ManifestFileMeta]:
    records = [record for manifest in group for record in read(manifest.file_name)]
    left = cancel_records(records)
    sort_records(left, partition_fields)
    size = sum(manifest.file_size for manifest in group)
    if size < plan.target_bytes:
        return write(left)
    left_bytes = size * len(left) // max(1, len(records))
    return write_parts(left, max(1, left_bytes // plan.part_bytes))


def _merge_slice(
    plan: ManifestMergePlan,
    chosen: KeySlice,
    partition_fields: Sequence[DataField],
    read: ReadManifest,
    write_parts: WriteParts,
) -> MergedGroup:
    key_of = entry_key(partition_fields)
    inside: list[ManifestRecord] = []
    rest: dict[str, tuple[ManifestFileMeta, ...]] = {}
    size = 0
    for manifest in chosen.manifests:
        records = list(read(manifest.file_name))
        sort_records(records, partition_fields)
        keys = [key_of(record.entry) for record in records]
        first = sum(map(chosen.is_below, keys))
        last = len(keys) - sum(map(chosen.is_above, keys))
        inside += records[first:last]
        size += manifest.file_size * (last - first) // max(1, len(records))
        # Two manifests: the bounds of one would include the range.
        rest[manifest.file_name] = tuple(
            written
            for part in (records[:first], records[last:])
            for written in write_parts(part, 1)
        )
    left = cancel_records(inside)
    if chosen.is_whole:
        # The slice has every settled manifest with keys of its range, and the tail is newer. So a DELETE whose ADD is
        # not among these records is that of a file that is in no manifest at all.
        left = [record for record in left if record.entry.kind is FileKind.ADD]
    size = size * len(left) // max(1, len(inside))
    sort_records(left, partition_fields)
    return MergedGroup(
        before=frozenset(manifest.file_name for manifest in chosen.manifests),
        after=tuple(write_parts(left, max(1, size // plan.part_bytes))),
        rest=rest,
    )
