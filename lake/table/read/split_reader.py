"""Reader of the splits of a scan, in this process or in others.

A scan is planned once; its splits and its reader can be sent to the processes that read them:

    scan ──splits()──► a few hundred bytes for each file ──► one task each
         └─reader()──► schema, columns, conditions       ──► all tasks

It is unknown when the last task on another machine ends. So `Scan.reader(is_leased=True)` leases the snapshot when it
creates the reader, and nothing releases the lease: it expires some minutes after the last task began. A task that
takes longer keeps a lease of its own (`LeaseKeeper`).
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pyarrow as pa

from braid.lake.errors import StorageUnavailable, table_error_context
from braid.lake.format.snapshot import Snapshot
from braid.lake.read.scan_plan import Split
from braid.lake.snapshots.lease import REFRESHES_PER_LEASE, LeaseLost
from braid.lake.snapshots.lease_keeper import LeaseKeeper
from braid.lake.table.read.snapshot_rows import SnapshotRows


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTerm:
    """A lease that several processes refresh.

    Attributes:
        lease_id: Name of the consumer.
        deadline_ms: The end of the lease unless it is refreshed, milliseconds since 1970 UTC.
    """

    lease_id: str
    deadline_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitReader(SnapshotRows):
    """Reads splits of one scan; can be pickled to other processes, without its caches.

    Made by `Scan.reader`.

    Attributes:
        source: The snapshot, without the files that the splits name.
        lease: Shared by all tasks; None without one.
    """

    lease: LeaseTerm | None = None

    def batches(self, split: Split) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one split in batches of at least one row; see `Scan.to_batches`.

        Raises:
            SchemaMismatch: Records that the table's merge refuses.
            LeaseLost: The snapshot expired before it was read.
            CorruptData: A file does not match its metadata.
        """
        with table_error_context(self.identifier), self._held():
            yield from self._read(split, self.columns)

    @contextmanager
    def _held(self) -> Iterator[None]:
        self._refresh_lease()
        with self.keeper.reading(self.source.snapshot, what="a split of a scan"):
            yield

    def _refresh_lease(self) -> None:
        """Refresh the lease, unless its deadline is far away yet."""
        if self.lease is None or self.source.snapshot is None:
            return
        left_ms = self.lease.deadline_ms - self.keeper.clock.now_ms()
        if left_ms > self.keeper.lease_ms * (1 - 1 / REFRESHES_PER_LEASE):
            return
        # Without the lease the split may still be readable; if not, reading fails with the cause.
        with suppress(LeaseLost, StorageUnavailable):
            self.keeper.lease(self.source.snapshot, what="a scan", lease_id=self.lease.lease_id)


def take_term(keeper: LeaseKeeper, snapshot: Snapshot | None) -> LeaseTerm | None:
    """Lease a snapshot at once, for tasks whose end is unknown.

    Returns:
        None where there is nothing to lease, storage refuses the lease, or only a tag has the snapshot.
    """
    if snapshot is None:
        return None
    with suppress(LeaseLost, StorageUnavailable):
        lease = keeper.lease(snapshot, what="a scan")
        return LeaseTerm(lease_id=lease.id, deadline_ms=lease.deadline_ms)
    return None
