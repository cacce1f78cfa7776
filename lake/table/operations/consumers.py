"""Creation of leases and setting of consumers, which keep snapshots of a table from expiring."""

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.format.consumer import Consumer
from braid.lake.snapshots.lease import Lease, LeaseLost
from braid.lake.snapshots.table_store import TableStore
from braid.lake.table.arguments import check_number, check_snapshot_id, check_text


def take_lease(
    store: TableStore, snapshot_id: int | None, *, holder: str | None, lease_ms: int
) -> Lease:
    """Take a lease (see `Table.lease`)."""
    if snapshot_id is not None:
        check_snapshot_id(snapshot_id)
    check_text(holder=holder)
    check_number("lease_ms", lease_ms)
    if lease_ms <= 0:
        problem = Problem(
            field="lease_ms", value=str(lease_ms), message="expected a duration above 0"
        )
        message = f"table {store.paths.identifier} cannot be leased for that time"
        raise InvalidRequest(message, problems=[problem])
    # Engines that know nothing of deadlines forget a consumer by the age of its file.
    expiration_ms = store.schema.table_options.consumer_expiration_time_ms
    snapshots = store.snapshots
    while True:
        snapshot = snapshots.latest() if snapshot_id is None else snapshots.get(snapshot_id)
        if snapshot is None:
            message = f"table {store.paths.identifier} has no snapshot to lease"
            raise InvalidRequest(message)
        try:
            return Lease(
                consumers=store.consumers,
                snapshots=snapshots,
                snapshot=snapshot,
                clock=store.clock,
                new_uuid=store.new_uuid,
                holder=holder,
                lease_ms=lease_ms if expiration_ms is None else min(lease_ms, expiration_ms),
            )
        except LeaseLost:
            # The newest snapshot got a successor and expired before the lease was written: the
            # successor is the newest now.
            if snapshot_id is not None:
                raise


def reset_consumer(store: TableStore, consumer_id: str, next_snapshot_id: int) -> None:
    """Set a consumer (see `Table.reset_consumer`)."""
    check_number("next_snapshot_id", next_snapshot_id)
    if next_snapshot_id < 1:
        problem = Problem(
            field="next_snapshot_id",
            value=str(next_snapshot_id),
            message="snapshots are counted from 1",
        )
        message = f"consumer {consumer_id} cannot be moved"
        raise InvalidRequest(message, problems=[problem])
    store.consumers.put(consumer_id, Consumer(next_snapshot=next_snapshot_id))
