"""The snapshot that a snapshot was built on, as it says itself.

A chain of ids does not tell what was built on what: an id can lie in a hole that expiry or a rollback
left, right below a snapshot that followed another one of that id. So every snapshot of ours carries

```
braid.follows   name of the delta manifest list of the snapshot that it was planned on, which is
                unique; never carried forward, and absent from the first
```

Other engines' snapshots say nothing of the kind. Their base list tells: it has everything before them, so
what it leaves standing is what the snapshot that they were built on consists of.
"""

from collections.abc import Iterable
from typing import Final

from lake.format.manifest import FileIdentity, FileKind
from lake.format.snapshot import Snapshot
from lake.snapshots.manifest_merge import cancel_entries
from lake.snapshots.manifest_store import ManifestGone, ManifestStore

FOLLOWS_PROPERTY: Final = "braid.follows"


def lineage_properties(previous: Snapshot | None) -> dict[str, str]:
    """Return the property of a snapshot that is planned on another one, None for the first."""
    return {} if previous is None else {FOLLOWS_PROPERTY: previous.delta_manifest_list}


def follows(snapshot: Snapshot, previous: Snapshot) -> bool | None:
    """Return whether a snapshot was built on another one, None where it does not say."""
    name = snapshot.properties.get(FOLLOWS_PROPERTY)
    if name is None:
        return None
    return snapshot.id == previous.id + 1 and name == previous.delta_manifest_list


def is_built_on(snapshot: Snapshot, previous: Snapshot, manifests: ManifestStore) -> bool:
    """Return whether a snapshot was built on another one; where it does not say, its files tell.

    One that was built on another of the same files counts as well. Costs at most three small reads, but
    where manifests were merged in between those as well.

    Returns:
        False also where the files of one of the two have expired, so that nobody can tell.

    Raises:
        CorruptData: A manifest or list cannot be read.
        UnsupportedFeature: A manifest names files that this version does not handle.
    """
    link = follows(snapshot, previous)
    if link is not None:
        return link
    if snapshot.id != previous.id + 1:
        return False
    try:
        before = {
            manifest.file_name
            for name in (previous.base_manifest_list, previous.delta_manifest_list)
            for manifest in manifests.read_list(name)
        }
        after = {
            manifest.file_name for manifest in manifests.read_list(snapshot.base_manifest_list)
        }
        # What both name is the same in both, so that only what was merged is read.
        return _changes(before - after, manifests) == _changes(after - before, manifests)
    except ManifestGone:
        return False


def _changes(names: Iterable[str], manifests: ManifestStore) -> set[tuple[FileKind, FileIdentity]]:
    """Return what some manifests add and delete together."""
    entries = [entry for found in manifests.read_manifests(sorted(names)) for entry in found]
    return {(entry.kind, entry.identity) for entry in cancel_entries(entries)}
