"""Expiry, leases and consumers, as the facade offers them."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from lake.errors import InvalidRequest, Problem
from lake.files.clock import Clock
from lake.files.file_io import FileIO
from lake.files.paths import TablePaths
from lake.format.consumer import Consumer
from lake.format.schema import TableSchema
from lake.maintenance.expiry_plan import Retention
from lake.maintenance.expiry_result import ExpiryResult
from lake.maintenance.table_expiry import TableExpiry
from lake.snapshots.consumer_store import ConsumerFile, ConsumerStore
from lake.snapshots.lease import Lease, LeaseLost
from lake.snapshots.live_files import LiveFiles
from lake.snapshots.manifest_store import ManifestStore
from lake.snapshots.snapshot_store import SnapshotStore
from lake.table.upkeep import refuse_branch


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRetention:
    """What says how long snapshots of a table stay.

    Attributes:
        file_io: Storage.
        paths: Of the table or branch.
        schema: Newest.
        manifests: Shared with the table's readers.
        live: Likewise.
        clock: Says what is old.
        new_uuid: Makes names of leases.
    """

    file_io: FileIO
    paths: TablePaths
    schema: TableSchema
    manifests: ManifestStore
    live: LiveFiles
    clock: Clock
    new_uuid: Callable[[], UUID]

    def expire(self, retention: Retention, *, is_dry_run: bool) -> ExpiryResult:
        """Expire snapshots (see `Table.expire`)."""
        refuse_branch(self.paths)
        expiry = TableExpiry(
            file_io=self.file_io,
            paths=self.paths,
            schema=self.schema,
            manifests=self.manifests,
            live=self.live,
            clock=self.clock,
            new_uuid=self.new_uuid,
        )
        if not is_dry_run:
            return expiry.run(retention)
        plan = expiry.plan(retention)
        if plan is None:
            return ExpiryResult()
        return ExpiryResult(
            snapshots=tuple(range(plan.begin, plan.end)), earliest=plan.end, held_by=plan.held_by
        )

    def lease(self, snapshot_id: int | None, *, holder: str | None, lease_ms: int) -> Lease:
        """Take a lease (see `Table.lease`)."""
        if lease_ms <= 0:
            problem = Problem(
                field="lease_ms", value=str(lease_ms), message="expected a duration above 0"
            )
            message = f"table {self.paths.identifier} cannot be leased so"
            raise InvalidRequest(message, problems=[problem])
        # Engines that know nothing of deadlines forget a consumer by the age of its file.
        expiration_ms = self.schema.table_options.consumer_expiration_time_ms
        snapshots = SnapshotStore(self.file_io, self.paths)
        while True:
            snapshot = snapshots.latest() if snapshot_id is None else snapshots.get(snapshot_id)
            if snapshot is None:
                message = f"table {self.paths.identifier} has no snapshot to lease"
                raise InvalidRequest(message)
            try:
                return Lease(
                    consumers=self._consumers,
                    snapshots=snapshots,
                    snapshot=snapshot,
                    clock=self.clock,
                    new_uuid=self.new_uuid,
                    holder=holder,
                    lease_ms=min(lease_ms, lease_ms if expiration_ms is None else expiration_ms),
                )
            except LeaseLost:
                # The newest snapshot was followed by another one and has expired, in one moment.
                if snapshot_id is not None:
                    raise

    def consumers(self) -> list[ConsumerFile]:
        """Return all consumers (see `Table.consumers`)."""
        return self._consumers.list()

    def reset_consumer(self, consumer_id: str, next_snapshot_id: int) -> None:
        """Set a consumer (see `Table.reset_consumer`)."""
        if next_snapshot_id < 1:
            problem = Problem(
                field="next_snapshot_id",
                value=str(next_snapshot_id),
                message="snapshots are counted from 1",
            )
            message = f"consumer {consumer_id} cannot be set"
            raise InvalidRequest(message, problems=[problem])
        self._consumers.put(consumer_id, Consumer(next_snapshot=next_snapshot_id))

    def delete_consumer(self, consumer_id: str) -> bool:
        """Delete a consumer (see `Table.delete_consumer`)."""
        return self._consumers.delete(consumer_id)

    @property
    def _consumers(self) -> ConsumerStore:
        return ConsumerStore(self.file_io, self.paths)
