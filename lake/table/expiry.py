"""Expiry, leases and consumers, as the facade offers them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from lake.commit.committer import TableCommitter
from lake.errors import (
    CommitConflict,
    CommitUnknown,
    InvalidRequest,
    Problem,
    StorageUnavailable,
)
from lake.format.consumer import Consumer
from lake.maintenance.expiry.expiry_result import ExpiryResult
from lake.maintenance.expiry.table_expiry import TableExpiry, snapshot_retention
from lake.snapshots.lease import Lease, LeaseLost
from lake.snapshots.table_store import TableStore
from lake.table.arguments import (
    check_flags,
    check_number,
    check_snapshot_id,
    check_text,
    check_whole,
)
from lake.table.branches import refuse_branch

_CARRIER: Final = "braid-expiry"
"""Commits what carries the positions of streams on."""


@dataclass(frozen=True, slots=True)
class TableRetention:
    """What says how long snapshots of a table stay.

    Attributes:
        store: Of the table or branch.
    """

    store: TableStore

    def expire(
        self,
        *,
        retain_min: int | None,
        retain_max: int | None,
        older_than_ms: int | None,
        max_deletes: int | None,
        dry_run: bool,
        committer: Callable[[], TableCommitter],
    ) -> ExpiryResult:
        """Expire snapshots (see `Table.expire`)."""
        check_whole(
            retain_min=retain_min,
            retain_max=retain_max,
            older_than_ms=older_than_ms,
            max_deletes=max_deletes,
        )
        check_flags(dry_run=dry_run)
        retention = snapshot_retention(
            self.store.schema,
            now_ms=self.store.clock.now_ms(),
            retain_min=retain_min,
            retain_max=retain_max,
            older_than_ms=older_than_ms,
            max_deletes=max_deletes,
        )
        refuse_branch(self.store.paths)
        expiry = TableExpiry(store=self.store)
        if not dry_run:
            # Where it is not possible now, the snapshot that has the positions stays.
            with suppress(CommitConflict, CommitUnknown, StorageUnavailable):
                committer().carry_positions(commit_user=_CARRIER)
            return expiry.run(retention)
        plan = expiry.plan(retention)
        if plan is None:
            return ExpiryResult()
        return ExpiryResult(
            snapshots=tuple(range(plan.begin, plan.end)), earliest=plan.end, held_by=plan.held_by
        )

    def lease(self, snapshot_id: int | None, *, holder: str | None, lease_ms: int) -> Lease:
        """Take a lease (see `Table.lease`)."""
        if snapshot_id is not None:
            check_snapshot_id(snapshot_id)
        check_text(holder=holder)
        check_number("lease_ms", lease_ms)
        if lease_ms <= 0:
            problem = Problem(
                field="lease_ms", value=str(lease_ms), message="expected a duration above 0"
            )
            message = f"table {self.store.paths.identifier} cannot be leased so"
            raise InvalidRequest(message, problems=[problem])
        # Engines that know nothing of deadlines forget a consumer by the age of its file.
        expiration_ms = self.store.schema.table_options.consumer_expiration_time_ms
        snapshots = self.store.snapshots
        while True:
            snapshot = snapshots.latest() if snapshot_id is None else snapshots.get(snapshot_id)
            if snapshot is None:
                message = f"table {self.store.paths.identifier} has no snapshot to lease"
                raise InvalidRequest(message)
            try:
                return Lease(
                    consumers=self.store.consumers,
                    snapshots=snapshots,
                    snapshot=snapshot,
                    clock=self.store.clock,
                    new_uuid=self.store.new_uuid,
                    holder=holder,
                    lease_ms=lease_ms if expiration_ms is None else min(lease_ms, expiration_ms),
                )
            except LeaseLost:
                # The newest snapshot was followed by another one and has expired, in one moment.
                if snapshot_id is not None:
                    raise

    def reset_consumer(self, consumer_id: str, next_snapshot_id: int) -> None:
        """Set a consumer (see `Table.reset_consumer`)."""
        check_number("next_snapshot_id", next_snapshot_id)
        if next_snapshot_id < 1:
            problem = Problem(
                field="next_snapshot_id",
                value=str(next_snapshot_id),
                message="snapshots are counted from 1",
            )
            message = f"consumer {consumer_id} cannot be set"
            raise InvalidRequest(message, problems=[problem])
        self.store.consumers.put(consumer_id, Consumer(next_snapshot=next_snapshot_id))

    def delete_consumer(self, consumer_id: str) -> bool:
        """Delete a consumer (see `Table.delete_consumer`)."""
        return self.store.consumers.delete(consumer_id)
