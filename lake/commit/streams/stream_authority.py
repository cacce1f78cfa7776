"""The state of a table's streams, from the newest snapshot that carries it and is part of the chain.

Every snapshot of this engine carries the positions of all streams, as far as they are known.
Snapshots of other engines do not. So the authority is the newest snapshot of this engine, found by
walking down from the newest snapshot. If another engine's snapshot is right above the authority,
the authority counts only if that snapshot was built on it. Otherwise the authority lies in a hole:
its writer paused before the publication, other engines committed meanwhile, and the snapshot that
the writer had planned on expired. Then the writer published its snapshot right below the oldest one
left. The positions in such a snapshot are ahead of the table until the writer deletes the snapshot,
or for good if the writer dies.

The walk may find no authority. If it reaches snapshot 1, the table has no streams. Otherwise
positions may be lost, and later commits record this: `is_complete` is false, and `lost_below` is
the id of the oldest snapshot that was left when the loss was found. From then on the claim of a
stream without a position can bring a copy of the position (`StreamFallback` in `stream_position`).
The copy is certainly the newest position if it was taken from the snapshot right below
`lost_below`, or from a later one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from braid.lake.commit.streams.backfill_position import split_backfill_name
from braid.lake.commit.streams.group_order import GroupOrder, order_properties, orders_of
from braid.lake.commit.streams.stream_position import (
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
from braid.lake.format.snapshot import Snapshot
from braid.lake.snapshots.lineage import is_built_on
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.snapshot_store import SnapshotStore


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamAuthority:
    """Positions of streams and orders of groups at one snapshot.

    Attributes:
        positions: Positions of the streams, by stream.
        is_complete: True: a stream without a position has never been claimed. False: its position may
            have expired with the snapshots that carried it.
        orders: Orders of the sequence groups that were claimed, by group.
        lost_below: If incomplete, id of the oldest snapshot that was left when the loss was found; None
            if the loss was found by an earlier version, which did not record this id.
        read_from: The snapshot that carries this state, None without one. A state that was derived from it has
            the same: what has not changed is carried forward as it was written.
    """

    positions: Mapping[str, StreamPosition] = field(default_factory=dict)
    is_complete: bool = True
    orders: Mapping[str, GroupOrder] = field(default_factory=dict)
    lost_below: int | None = None
    read_from: Snapshot | None = field(default=None, compare=False, repr=False)

    def is_newest_position(self, fallback: StreamFallback) -> bool:
        """Return True iff the table certainly never had a later position of the stream."""
        if self.lost_below is None or fallback.snapshot_id is None:
            return False
        # Snapshots from `lost_below` on carry no positions, so only one below it could be newer.
        return fallback.snapshot_id >= self.lost_below - 1

    def properties(self) -> dict[str, str]:
        """Return the snapshot properties that carry the state forward."""
        properties = {
            STREAMS_PROPERTY: COMPLETE if self.is_complete else INCOMPLETE,
            **position_properties(self.positions, read_from=self.read_from),
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
    """Return the state of the streams at the newest snapshot.

    Costs no read when `latest` is of this engine; else one read per snapshot of other engines above the
    authority, and reads of the manifest lists that show whether these were built on the authority.

    Args:
        latest: The newest snapshot, None before the first.
        snapshots: Snapshots of the table.
        manifests: Manifests of the table.
        known: An earlier snapshot and the result for it; the walk ends there. Without it, each attempt
            of a commit that races with another engine would repeat the whole walk.

    Raises:
        CorruptData: A property of this engine, or a manifest, cannot be read.
        UnsupportedFeature: A manifest names files that this version does not handle.
    """
    snapshot = latest
    above: Snapshot | None = None
    while snapshot is not None:
        if carries_stream_state(snapshot):
            if above is None or is_built_on(above, snapshot, manifests):
                return _authority_of(snapshot)
            break  # in a hole; below it nothing belongs to the chain
        if known is not None and snapshot == known[0]:
            return known[1]
        above = snapshot
        snapshot = snapshots.find(above.id - 1) if above.id > 1 else None
    if above is None or above.id == 1:
        return StreamAuthority()  # the whole history was read, or there is none
    return StreamAuthority(is_complete=False, lost_below=above.id)


def first_generation(streams: StreamAuthority, stream: str) -> int:
    """Return the generation of a group that a stream claims and that the table does not know.

    The result is 0 only where the group was certainly never written: earlier versions kept no
    generations, and the records that they wrote count as generation 0.
    """
    # A stream with a position but no order may have written the group under an earlier version.
    known = {order.stream for order in streams.orders.values()} | {stream}
    others = {name for name in streams.positions if split_backfill_name(name) is None}
    return 0 if streams.is_complete and others <= known else 1


def _authority_of(snapshot: Snapshot) -> StreamAuthority:
    lost_below = snapshot.properties.get(LOST_PROPERTY, "")
    return StreamAuthority(
        positions=positions_of(snapshot),
        is_complete=snapshot.properties.get(STREAMS_PROPERTY) != INCOMPLETE,
        orders=orders_of(snapshot),
        lost_below=int(lost_below) if lost_below.isdigit() else None,
        read_from=snapshot,
    )


def carries_stream_state(snapshot: Snapshot) -> bool:
    """Return whether a snapshot carries the state of the table's streams."""
    return STREAMS_PROPERTY in snapshot.properties or any(
        key.startswith(STREAM_PREFIX) for key in snapshot.properties
    )
