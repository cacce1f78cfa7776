"""Holds, which prevent expiry: of consumers and leases on snapshots and changelogs, and of streams on snapshots."""

from braid.lake.commit.streams.group_order import orders_of
from braid.lake.commit.streams.position_hold import HOLD_ID
from braid.lake.commit.streams.stream_position import STREAMS_PROPERTY, positions_of
from braid.lake.format.snapshot import Snapshot
from braid.lake.maintenance.expiry.expiry_plan import Hold
from braid.lake.options.table_options import TableOptions
from braid.lake.snapshots.consumer_store import UNREADABLE_MS, ConsumerFile, ConsumerStore
from braid.lake.snapshots.snapshot_store import SnapshotStore


def consumer_holds(store: ConsumerStore, options: TableOptions, *, now_ms: int) -> tuple[Hold, ...]:
    """Return the holds of consumers and leases on snapshots, as of now."""
    return tuple(
        _hold(file)
        for file in _in_force(store, options, now_ms=now_ms)
        # With `consumer.changelog-only` a consumer holds only changelogs; a lease always holds snapshots.
        if file.consumer is None or file.is_lease or not options.consumer_changelog_only
    )


def changelog_holds(
    store: ConsumerStore, options: TableOptions, *, now_ms: int
) -> tuple[Hold, ...]:
    """Return the holds of consumers and leases on changelogs, as of now."""
    return tuple(map(_hold, _in_force(store, options, now_ms=now_ms)))


def newest_with_positions(
    latest: Snapshot, earliest_id: int, snapshots: SnapshotStore
) -> int | None:
    """Return the id of the newest snapshot with the positions of streams; None without streams.

    Every snapshot of this engine carries the positions forward, snapshots of other engines do not. If the
    last snapshot with positions expired below snapshots of other engines, the streams could not continue.

    Costs no read if the newest snapshot is of this engine; else one read per snapshot, down to the first of
    this engine.

    Raises:
        CorruptData: A snapshot or a position cannot be read.
    """
    snapshot: Snapshot | None = latest
    while snapshot is not None and snapshot.id >= earliest_id:
        if positions_of(snapshot) or orders_of(snapshot):
            return snapshot.id
        # A snapshot of this engine without positions means that the table has no streams.
        is_ours = STREAMS_PROPERTY in snapshot.properties
        snapshot = None if is_ours else snapshots.find(snapshot.id - 1)
    return None


def stream_hold(latest: Snapshot, earliest_id: int, snapshots: SnapshotStore) -> tuple[Hold, ...]:
    """Return the hold on the newest snapshot with the positions of streams.

    The result is empty without streams, and if that snapshot is the newest of all, which never expires.

    Raises:
        CorruptData: A snapshot or a position cannot be read.
    """
    snapshot_id = newest_with_positions(latest, earliest_id, snapshots)
    if snapshot_id is None or snapshot_id == latest.id:
        return ()
    reason = (
        f"snapshot {snapshot_id} is the newest that has the positions of streams; it stays until a "
        "commit of Braid copies the positions into a newer snapshot"
    )
    return (Hold(snapshot_id=snapshot_id, reason=reason),)


def _in_force(store: ConsumerStore, options: TableOptions, *, now_ms: int) -> list[ConsumerFile]:
    """Return the consumers and leases that have not expired.

    The consumer file of `PositionHold` is left out: it is for other engines and may lag behind, while
    `stream_hold` is exact.
    """
    expiration_ms = options.consumer_expiration_time_ms
    return [
        file
        for file in store.list()
        if file.id != HOLD_ID and not file.is_expired(now_ms=now_ms, expiration_ms=expiration_ms)
    ]


def _hold(file: ConsumerFile) -> Hold:
    if file.consumer is None:
        reason = (
            f"the file of consumer {file.id} cannot be read, so the snapshots that the consumer needs "
            f"are unknown; the file is ignored {UNREADABLE_MS // 3_600_000} hours after its last write"
        )
        return Hold(snapshot_id=0, reason=reason)  # below every snapshot, so that all are held
    if file.consumer.deadline_ms is None:
        reason = f"consumer {file.id} continues there"
    else:
        reason = f"it is leased to {file.consumer.holder or file.id}"
    return Hold(snapshot_id=file.consumer.next_snapshot, reason=reason)
