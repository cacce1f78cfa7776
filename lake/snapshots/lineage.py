"""The snapshot that a snapshot was built on, as it says itself.

A chain of ids does not tell what was built on what: an id can lie in a hole that expiry or a rollback
left, right below a snapshot that followed another one of that id. So every snapshot of ours carries

```
braid.follows   name of the delta manifest list of the snapshot that it was planned on, which is
                unique; never carried forward, and absent from the first
```

Other engines' snapshots say nothing of the kind.
"""

from typing import Final

from lake.format.snapshot import Snapshot

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
