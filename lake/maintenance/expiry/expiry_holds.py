"""Who needs snapshots that expiry would take: consumers, leases, and the streams of the table."""

from lake.commit.streams.group_order import orders_of
from lake.commit.streams.position_hold import HOLD_ID
from lake.commit.streams.stream_position import STREAMS_PROPERTY, positions_of
from lake.format.snapshot import Snapshot
from lake.maintenance.expiry.expiry_plan import Hold
from lake.options import TableOptions
from lake.snapshots.consumer_store import UNREADABLE_MS, ConsumerFile, ConsumerStore
from lake.snapshots.snapshot_store import SnapshotStore


def consumer_holds(store: ConsumerStore, options: TableOptions, *, now_ms: int) -> tuple[Hold, ...]:
    """Return what consumers and leases hold now, of snapshots."""
    return tuple(
        _hold(file)
        for file in _in_force(store, options, now_ms=now_ms)
        # With the option, consumers hold changelogs alone. A lease is for reading data.
        if file.consumer is None or file.is_lease or not options.consumer_changelog_only
    )


def changelog_holds(
    store: ConsumerStore, options: TableOptions, *, now_ms: int
) -> tuple[Hold, ...]:
    """Return what consumers and leases hold now, of changelogs."""
    return tuple(map(_hold, _in_force(store, options, now_ms=now_ms)))


def newest_with_positions(
    latest: Snapshot, earliest_id: int, snapshots: SnapshotStore
) -> int | None:
    """Return the newest snapshot that knows where the table's streams are; None without streams.

    Every snapshot of ours carries their positions on, another engine's does not. Were the last one
    that does to expire below those of other engines, the streams could not go on.

    Costs nothing while the newest snapshot is ours, else one read per snapshot above ours.

    Raises:
        CorruptData: A snapshot or a position cannot be read.
    """
    snapshot: Snapshot | None = latest
    while snapshot is not None and snapshot.id >= earliest_id:
        if positions_of(snapshot) or orders_of(snapshot):
            return snapshot.id
        is_ours = STREAMS_PROPERTY in snapshot.properties
        snapshot = None if is_ours else snapshots.find(snapshot.id - 1)
    return None


def stream_hold(latest: Snapshot, earliest_id: int, snapshots: SnapshotStore) -> tuple[Hold, ...]:
    """Return the hold of the newest snapshot that knows where the table's streams are.

    Raises:
        CorruptData: A snapshot or a position cannot be read.
    """
    snapshot_id = newest_with_positions(latest, earliest_id, snapshots)
    if snapshot_id is None or snapshot_id == latest.id:
        return ()
    reason = (
        f"snapshot {snapshot_id} is the newest that holds the positions of streams, until a commit "
        "of this engine carries them on"
    )
    return (Hold(snapshot_id=snapshot_id, reason=reason),)


def _in_force(store: ConsumerStore, options: TableOptions, *, now_ms: int) -> list[ConsumerFile]:
    """Return consumers and leases; the hold for other engines may lag behind, and ours is exact."""
    expiration_ms = options.consumer_expiration_time_ms
    return [
        file
        for file in store.list()
        if file.id != HOLD_ID and not file.is_expired(now_ms=now_ms, expiration_ms=expiration_ms)
    ]


def _hold(file: ConsumerFile) -> Hold:
    if file.consumer is None:
        reason = (
            f"consumer {file.id} cannot be read, so nobody knows what it needs; it counts for "
            f"nothing {UNREADABLE_MS // 3_600_000} hours after it was last written"
        )
        return Hold(snapshot_id=0, reason=reason)
    if file.consumer.deadline_ms is None:
        reason = f"consumer {file.id} continues there"
    else:
        reason = f"it is leased to {file.consumer.holder or file.id}"
    return Hold(snapshot_id=file.consumer.next_snapshot, reason=reason)
