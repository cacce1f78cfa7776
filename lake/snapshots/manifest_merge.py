"""Merging of manifests, which keeps the base list short, so that planning is cheap.

Every commit of files adds a manifest. Merging replaces manifests by others that leave the same files live:

- *minor*: merges groups of consecutive manifests. A group is closed where its bytes reach the target size, as in the
  format's own writers. The tail of the list, which is left after the last closed group, is merged in tiers. When it
  has more than `merge-min-count` + log2(its entries) manifests, the newest `merge-min-count` (2 at least) become one
  manifest, together with each older neighbour that has no more entries than the group so far. So an entry is
  rewritten about once for each doubling of its manifest, not with every merge.
- *full*: happens when the manifests that are small or have DELETEs reach the threshold in bytes together, and at
  least one of them has a DELETE. All of them are rewritten, and so is each large manifest that has the ADD of one of
  the DELETEs, so that no DELETE is left.

In a minor merge an ADD and its DELETE cancel each other; a DELETE whose ADD is in another manifest is kept. The live
files are a set difference of ADDs and DELETEs, so the order of entries never matters.

Source:
    Table format, section 6.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from braid.lake.format.manifest import FileIdentity, FileKind, ManifestEntry
from braid.lake.format.manifest_list import ManifestFileMeta
from braid.lake.options.table_options import TableOptions

ReadManifest = Callable[[str], Sequence[ManifestEntry]]
WriteManifests = Callable[[Sequence[ManifestEntry]], list[ManifestFileMeta]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestMergePlan:
    """The manifests to merge.

    Attributes:
        groups: Manifests to rewrite together, each group in list order; disjoint.
        is_full: The merge is full and has one group; large manifests that have the ADD of one of the
            group's DELETEs are rewritten with it.
    """

    groups: tuple[tuple[ManifestFileMeta, ...], ...] = ()
    is_full: bool = False

    def __post_init__(self) -> None:
        """Check that a full merge has one group."""
        assert not self.is_full or len(self.groups) == 1, "a full merge has one group"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedGroup:
    """The replacement of some manifests; valid for every list that contains all of `before`.

    Attributes:
        before: Names of the replaced manifests.
        after: The manifests that replace them; empty when no entry is left.
    """

    before: frozenset[str]
    after: tuple[ManifestFileMeta, ...]


def plan_manifest_merge(
    manifests: Sequence[ManifestFileMeta], options: TableOptions
) -> ManifestMergePlan:
    """Return the manifests of a base list to merge; pure.

    Args:
        manifests: Manifests of the base list, oldest first.
        options: Target size, minimal count and threshold of the full merge.
    """
    target = options.manifest_target_file_size_bytes
    # Large manifests with ADDs only are final: reading them again gains nothing.
    unfinished = [
        manifest
        for manifest in manifests
        if manifest.num_deleted_files > 0 or manifest.file_size < target
    ]
    threshold = options.manifest_full_compaction_threshold_bytes
    # Without a DELETE a full merge would only join small manifests, which minor merges do at less cost.
    has_deletes = any(manifest.num_deleted_files for manifest in unfinished)
    if has_deletes and sum(manifest.file_size for manifest in unfinished) >= threshold:
        return ManifestMergePlan(groups=(tuple(unfinished),), is_full=True)
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
            # A group of one manifest: it is large already and stays as it is.
            if len(group) > 1:
                groups.append(tuple(group))
            group, size = [], 0
    # The manifests left after the last closed group are together too small for the target size. At least
    # two are merged, because merging one manifest would rewrite it with every commit.
    tail = _tail_group(group, min_count=max(options.manifest_merge_min_count, 2))
    assert all(len(merged) > 1 for merged in groups), "a merge replaces several manifests"
    return [*groups, tail] if tail else groups


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
    manifests: Sequence[ManifestFileMeta],
    plan: ManifestMergePlan,
    *,
    read: ReadManifest,
    write: WriteManifests,
) -> list[MergedGroup]:
    """Execute a plan: read the groups, write their replacements.

    Args:
        manifests: The list that the plan was made for.
        plan: The manifests to merge.
        read: Returns the entries of a manifest by name.
        write: Writes entries as manifests, rolled at the target size, and returns these; [] for no
            entries.

    Returns:
        One replacement per group, for `replace_manifests`.
    """
    if not plan.is_full:
        return [_merge_minor(group, read, write) for group in plan.groups]
    return [_merge_full(manifests, group, read, write) for group in plan.groups]


def replace_manifests(
    manifests: Sequence[ManifestFileMeta], merged: MergedGroup
) -> list[ManifestFileMeta] | None:
    """Return the list with the new manifests in the position of the first replaced one.

    Returns:
        None if a replaced manifest is missing: another commit has merged it, and the replacement cannot
        be used.
    """
    names = {manifest.file_name for manifest in manifests}
    if not merged.before <= names:
        return None
    replaced: list[ManifestFileMeta] = []
    is_inserted = False
    for manifest in manifests:
        if manifest.file_name not in merged.before:
            replaced.append(manifest)
        elif not is_inserted:
            replaced.extend(merged.after)
            is_inserted = True
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
    # DELETEs whose ADDs are in large manifests outside of the group.
    unmatched = {entry.identity: entry for entry in left if entry.kind is FileKind.DELETE}
    members = set(before)
    for manifest in manifests:
        if manifest.file_name in members or not _may_hold(manifest, unmatched.values()):
            continue
        entries = read(manifest.file_name)
        kept = [entry for entry in entries if entry.identity not in unmatched]
        # Only a manifest that has such an ADD is rewritten.
        if len(kept) < len(entries):
            before.append(manifest.file_name)
            adds.extend(kept)
    # The DELETEs are dropped: the base list names all manifests before a commit, so an ADD that is in
    # none of these is in no manifest at all.
    return MergedGroup(before=frozenset(before), after=tuple(write(adds)))


def _may_hold(manifest: ManifestFileMeta, deletes: Iterable[ManifestEntry]) -> bool:
    """Return whether the bucket bounds of a manifest admit one of the deletes."""
    low, high = manifest.min_bucket, manifest.max_bucket
    if low is None or high is None:
        return any(True for _ in deletes)
    return any(low <= entry.bucket <= high for entry in deletes)
