"""The lineage of snapshots: which snapshot a snapshot was built on.

Consecutive ids do not prove that one snapshot was built on the other: an id may have been reused after a rollback. A
snapshot may also lie in a gap that expiry or a rollback left, directly below a snapshot that was built on another
snapshot of the same id. So every snapshot of this engine but the first has the property

```
braid.follows   the unique name of the delta manifest list of the snapshot that this snapshot was
                planned on; never carried forward
```

Snapshots of other engines have no such property. For them the base list decides: it describes the table as it was
before the snapshot, so the list's live files are those of the snapshot that this snapshot was built on.
"""

from collections.abc import Iterable
from typing import Final

from braid.lake.format.manifest import FileIdentity, FileKind
from braid.lake.format.snapshot import Snapshot
from braid.lake.snapshots.manifest_merge import cancel_entries
from braid.lake.snapshots.manifest_store import ManifestGone, ManifestStore

FOLLOWS_PROPERTY: Final = "braid.follows"


def lineage_properties(previous: Snapshot | None) -> dict[str, str]:
    """Return the property of a snapshot that is planned on `previous`; {} if that is None."""
    return {} if previous is None else {FOLLOWS_PROPERTY: previous.delta_manifest_list}


def follows(snapshot: Snapshot, previous: Snapshot) -> bool | None:
    """Return whether a snapshot was built on another one, or None if it does not have the property."""
    name = snapshot.properties.get(FOLLOWS_PROPERTY)
    if name is None:
        return None
    return snapshot.id == previous.id + 1 and name == previous.delta_manifest_list


def is_built_on(snapshot: Snapshot, previous: Snapshot, manifests: ManifestStore) -> bool:
    """Return whether a snapshot was built on another one, by its property or else by its files.

    If the files decide, a snapshot with the same live files as `previous` counts as `previous`. Costs at
    most three small reads, and reads of the manifests that were merged in between.

    Returns:
        False also if manifests of one of the two have expired, so that the files cannot decide.

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
        # Manifests in both sets contribute the same to both, so only the others have to be read.
        return _changes(before - after, manifests) == _changes(after - before, manifests)
    except ManifestGone:
        return False


def _changes(names: Iterable[str], manifests: ManifestStore) -> set[tuple[FileKind, FileIdentity]]:
    """Return the files that some manifests add and delete together."""
    found = manifests.read_manifests(sorted(names), is_reduced=True)
    entries = [entry for group in found for entry in group]
    return {(entry.kind, entry.identity) for entry in cancel_entries(entries)}
