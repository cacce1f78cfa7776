"""Which snapshot speaks for the streams of a table.

Every snapshot of ours carries the positions of all streams. Another engine's does not, so the
authority is the newest snapshot that carries any, found by walking back. When the walk ends
without one, the table has no streams if its history is whole (it starts at snapshot 1), and
nobody knows if it is not. What somebody has noted beside the table is then the newest word only if it
is of the snapshot below the oldest one that is left, or of a later one: all that are left say nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lake.commit.group_order import GroupOrder, order_properties, orders_of
from lake.commit.stream_position import (
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

    def is_newest_word(self, fallback: StreamFallback) -> bool:
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
    *,
    known: tuple[Snapshot, StreamAuthority] | None = None,
) -> StreamAuthority:
    """Return what the newest snapshot that knows of streams says.

    Costs nothing when `latest` is ours, else one read per snapshot of other engines above ours.

    Args:
        latest: The newest snapshot, None before the first.
        snapshots: Of the table.
        known: An earlier snapshot and what was found for it: the walk ends there. A commit that
            races with another engine asks again and again.

    Raises:
        CorruptData: A property of ours cannot be read.
    """
    snapshot = latest
    oldest = 1
    while snapshot is not None:
        if known is not None and snapshot == known[0]:
            return known[1]
        if speaks_of_streams(snapshot):
            is_complete = snapshot.properties.get(STREAMS_PROPERTY) != INCOMPLETE
            lost_below = snapshot.properties.get(LOST_PROPERTY, "")
            return StreamAuthority(
                positions=positions_of(snapshot),
                is_complete=is_complete,
                orders=orders_of(snapshot),
                lost_below=int(lost_below) if lost_below.isdigit() else None,
            )
        oldest = snapshot.id
        snapshot = snapshots.find(oldest - 1) if oldest > 1 else None
    return StreamAuthority(is_complete=oldest == 1, lost_below=None if oldest == 1 else oldest)


def speaks_of_streams(snapshot: Snapshot) -> bool:
    """Return whether a snapshot carries what the table knows of its streams."""
    return STREAMS_PROPERTY in snapshot.properties or any(
        key.startswith(STREAM_PREFIX) for key in snapshot.properties
    )
