"""Keeping the base list of manifests short, so that planning costs the same at any age.

Every commit adds a manifest. Merging replaces several by one that leaves the same files standing:

- *minor*: a run of neighbours. A group is closed where its bytes reach the target size, as the
  format's own writers do. The rest is merged in tiers: when it is longer than `merge-min-count` +
  log2(its entries), the newest `merge-min-count` become one, together with each older neighbour
  that holds no more entries than the group so far. So an entry is rewritten as often as its
  manifest doubles, not with every merge, and that bound on the length always holds.
- *full*: when manifests that are small or hold deletes have grown to the threshold together, all
  of those are rewritten, and each large one that holds a deleted file's entry; no DELETE is left.

Inside a minor merge an ADD and its DELETE cancel; a DELETE whose ADD lies elsewhere is kept. State
is a set difference, so the order of entries never matters.

Source:
    Table format, section 6.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lake.format.manifest import FileIdentity, FileKind, ManifestEntry
from lake.format.manifest_list import ManifestFileMeta
from lake.options import TableOptions

ReadManifest = Callable[[str], Sequence[ManifestEntry]]
WriteManifests = Callable[[Sequence[ManifestEntry]], list[ManifestFileMeta]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestMergePlan:
    """What to merge.

    Attributes:
        groups: Manifests to rewrite together, each group in list order; disjoint.
        is_full: One group, whose deletes are to vanish with what they delete; large manifests
            without deletes join it when they hold a deleted file.
    """

    groups: tuple[tuple[ManifestFileMeta, ...], ...] = ()
    is_full: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedGroup:
    """Manifests and what replaces them; valid wherever all of `before` are in a list.

    Attributes:
        before: Names of the manifests replaced.
        after: What replaces them; empty when nothing of them is left.
    """

    before: frozenset[str]
    after: tuple[ManifestFileMeta, ...]


def plan_manifest_merge(
    manifests: Sequence[ManifestFileMeta], options: TableOptions
) -> ManifestMergePlan:
    """Return what to merge in a base list; pure.

    Args:
        manifests: Oldest first.
        options: Target size, minimal count and threshold of the full merge.
    """
    target = options.manifest_target_file_size_bytes
    unsettled = [
        manifest
        for manifest in manifests
        if manifest.num_deleted_files > 0 or manifest.file_size < target
    ]
    threshold = options.manifest_full_compaction_threshold_bytes
    has_deletes = any(manifest.num_deleted_files for manifest in unsettled)
    if has_deletes and sum(manifest.file_size for manifest in unsettled) >= threshold:
        return ManifestMergePlan(groups=(tuple(unsettled),), is_full=True)
    return ManifestMergePlan(groups=tuple(_minor_groups(manifests, options)))


def _minor_groups(
    manifests: Sequence[ManifestFileMeta], options: TableOptions
) -> list[tuple[ManifestFileMeta, ...]]:
    groups: list[tuple[ManifestFileMeta, ...]] = []
    group: list[ManifestFileMeta] = []
    size = 0
    for manifest in manifests:
        group.append(manifest)
        size += manifest.file_size
        if size >= options.manifest_target_file_size_bytes:
            # One manifest that is large already is left alone.
            if len(group) > 1:
                groups.append(tuple(group))
            group, size = [], 0
    tail = _tail_group(group, min_count=max(options.manifest_merge_min_count, 2))
    return [*groups, tail] if tail else groups


def _tail_group(
    tail: Sequence[ManifestFileMeta], *, min_count: int
) -> tuple[ManifestFileMeta, ...]:
    """Return the newest manifests and the older ones that they outgrow; () while it is short."""
    tiers = sum(_entry_count(manifest) for manifest in tail).bit_length()
    if len(tail) < min_count + tiers:
        return ()
    start = len(tail) - min_count
    entries = sum(_entry_count(manifest) for manifest in tail[start:])
    while start > 0 and _entry_count(tail[start - 1]) <= entries:
        start -= 1
        entries += _entry_count(tail[start])
    return tuple(tail[start:])


def _entry_count(manifest: ManifestFileMeta) -> int:
    return manifest.num_added_files + manifest.num_deleted_files


def merge_manifests(
    manifests: Sequence[ManifestFileMeta],
    plan: ManifestMergePlan,
    *,
    read: ReadManifest,
    write: WriteManifests,
) -> list[MergedGroup]:
    """Carry out a plan: read the groups, write what replaces them.

    Args:
        manifests: The list that was planned for.
        plan: What to merge.
        read: Gives the entries of a manifest by name.
        write: Writes entries as one or more manifests, rolled at the target size; [] for none.

    Returns:
        One replacement per group, to be put in place by `replace_manifests`.
    """
    if not plan.is_full:
        return [_merge_minor(group, read, write) for group in plan.groups]
    return [_merge_full(manifests, group, read, write) for group in plan.groups]


def replace_manifests(
    manifests: Sequence[ManifestFileMeta], merged: MergedGroup
) -> list[ManifestFileMeta] | None:
    """Return the list with a replacement in place, where its first member was.

    Returns:
        None when a member is missing: somebody else has merged it, the replacement is of no use.
    """
    names = {manifest.file_name for manifest in manifests}
    if not merged.before <= names:
        return None
    replaced: list[ManifestFileMeta] = []
    is_placed = False
    for manifest in manifests:
        if manifest.file_name not in merged.before:
            replaced.append(manifest)
        elif not is_placed:
            replaced.extend(merged.after)
            is_placed = True
    return replaced


def cancel_entries(entries: Sequence[ManifestEntry]) -> list[ManifestEntry]:
    """Return the entries that are left when each ADD and its DELETE have cancelled.

    Returns:
        In the order given; each identity at most once per kind.
    """
    adds: dict[FileIdentity, ManifestEntry] = {}
    deletes: dict[FileIdentity, ManifestEntry] = {}
    for entry in entries:
        (adds if entry.kind is FileKind.ADD else deletes).setdefault(entry.identity, entry)
    kept_adds = [entry for key, entry in adds.items() if key not in deletes]
    kept_deletes = [entry for key, entry in deletes.items() if key not in adds]
    return [*kept_deletes, *kept_adds]


def _merge_minor(
    group: Sequence[ManifestFileMeta], read: ReadManifest, write: WriteManifests
) -> MergedGroup:
    entries = [entry for manifest in group for entry in read(manifest.file_name)]
    return MergedGroup(
        before=frozenset(manifest.file_name for manifest in group),
        after=tuple(write(cancel_entries(entries))),
    )


def _merge_full(
    manifests: Sequence[ManifestFileMeta],
    group: Sequence[ManifestFileMeta],
    read: ReadManifest,
    write: WriteManifests,
) -> MergedGroup:
    before = [manifest.file_name for manifest in group]
    left = cancel_entries([entry for name in before for entry in read(name)])
    adds = [entry for entry in left if entry.kind is FileKind.ADD]
    homeless = {entry.identity: entry for entry in left if entry.kind is FileKind.DELETE}
    members = set(before)
    for manifest in manifests:
        if manifest.file_name in members or not _may_hold(manifest, homeless.values()):
            continue
        entries = read(manifest.file_name)
        kept = [entry for entry in entries if entry.identity not in homeless]
        if len(kept) < len(entries):
            before.append(manifest.file_name)
            adds.extend(kept)
    return MergedGroup(before=frozenset(before), after=tuple(write(adds)))


def _may_hold(manifest: ManifestFileMeta, deletes: Iterable[ManifestEntry]) -> bool:
    """Return whether the bucket bounds of a manifest leave room for one of the deletes."""
    low, high = manifest.min_bucket, manifest.max_bucket
    if low is None or high is None:
        return any(True for _ in deletes)
    return any(low <= entry.bucket <= high for entry in deletes)
