"""Which snapshot speaks for the streams of a table.

Every snapshot of ours carries the positions of all streams. Another engine's does not, so the
authority is the newest snapshot that carries any, found by walking back. Below another engine's snapshots
it counts only if they were built on it: a writer that slept while they came, and while what it was planned
on expired, publishes right below the oldest of them, and its positions are ahead of the table until it takes
its snapshot back, or for good if it dies.

When the walk ends without one, the table has no streams if its history is whole (it starts at snapshot 1),
and nobody knows if it is not. What somebody has noted beside the table is then the newest word only if it
is of the snapshot below the oldest one that is left, or of a later one: all that are left say nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lake.commit.streams.group_order import GroupOrder, order_properties, orders_of
from lake.commit.streams.stream_position import (
    COMPLETE,
    INCOMPLETE,
    LOST_PROPERTY,
    STREAM_PREFIX,
    STREAMS_PROPERTY,
    StreamFallback,
    StreamPosition,
    position_properties,
    positions_of,
)
from lake.format.snapshot import Snapshot
from lake.snapshots.lineage import is_built_on
from lake.snapshots.manifest_store import ManifestStore
from lake.snapshots.snapshot_store import SnapshotStore


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamAuthority:
    """What the table knows of its streams.

    Attributes:
        positions: By stream.
        is_complete: A stream without a position has never been claimed; when False, its position
            may have expired with the snapshots that carried it.
        orders: Of the sequence groups that were claimed, by group.
        lost_below: The oldest snapshot that was left when that was found; None where it is complete,
            or was found by a version that did not note it.
    """

    positions: Mapping[str, StreamPosition] = field(default_factory=dict)
    is_complete: bool = True
    orders: Mapping[str, GroupOrder] = field(default_factory=dict)
    lost_below: int | None = None

    def is_newest_position(self, fallback: StreamFallback) -> bool:
        """Return whether it is certain that the table never knew a later position of the stream."""
        if self.lost_below is None or fallback.snapshot_id is None:
            return False
        return fallback.snapshot_id >= self.lost_below - 1

    def properties(self) -> dict[str, str]:
        """Return the snapshot properties that carry this forward."""
        properties = {
            STREAMS_PROPERTY: COMPLETE if self.is_complete else INCOMPLETE,
            **position_properties(self.positions),
            **order_properties(self.orders),
        }
        if self.lost_below is not None:
            properties[LOST_PROPERTY] = str(self.lost_below)
        return properties


def find_authority(
    latest: Snapshot | None,
    snapshots: SnapshotStore,
    manifests: ManifestStore,
    *,
    known: tuple[Snapshot, StreamAuthority] | None = None,
) -> StreamAuthority:
    """Return what the newest snapshot that knows of streams says.

    Costs nothing when `latest` is ours, else one read per snapshot of other engines above ours, and those
    of the lists that tell whether they were built on ours.

    Args:
        latest: The newest snapshot, None before the first.
        snapshots: Of the table.
        manifests: Of the table.
        known: An earlier snapshot of another engine and what was found for it: the walk ends there. A
            commit that races with another engine asks again and again.

    Raises:
        CorruptData: A property of ours cannot be read, or a manifest.
        UnsupportedFeature: A manifest names files that this version does not handle.
    """
    snapshot = latest
    above: Snapshot | None = None
    while snapshot is not None:
        if carries_stream_state(snapshot):
            if above is None or is_built_on(above, snapshot, manifests):
                return _authority_of(snapshot)
            break
        if known is not None and snapshot == known[0]:
            return known[1]
        above = snapshot
        snapshot = snapshots.find(above.id - 1) if above.id > 1 else None
    if above is None or above.id == 1:
        return StreamAuthority()
    return StreamAuthority(is_complete=False, lost_below=above.id)


def _authority_of(snapshot: Snapshot) -> StreamAuthority:
    lost_below = snapshot.properties.get(LOST_PROPERTY, "")
    return StreamAuthority(
        positions=positions_of(snapshot),
        is_complete=snapshot.properties.get(STREAMS_PROPERTY) != INCOMPLETE,
        orders=orders_of(snapshot),
        lost_below=int(lost_below) if lost_below.isdigit() else None,
    )


def carries_stream_state(snapshot: Snapshot) -> bool:
    """Return whether a snapshot carries what the table knows of its streams."""
    return STREAMS_PROPERTY in snapshot.properties or any(
        key.startswith(STREAM_PREFIX) for key in snapshot.properties
    )
