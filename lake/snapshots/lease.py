"""Leases: consumers with a deadline, which keep a snapshot from expiring while it is read.

Every engine of the format respects the consumer file of a lease, but others keep only changelogs for it in tables
with `consumer.changelog-only`. The deadline ensures that a holder that dies does not hold the snapshot for ever. To
take a lease, a reader writes the file and *then* checks that no expiry has marked the snapshot and that the snapshot
still exists. Expiry of this engine marks a snapshot and *then* lists the consumers. So at least one of the two sees
the other: once a lease is taken, no expiry of this engine removes its snapshot before the deadline.

The snapshot can still be removed in the following cases; then `check` and `refresh` raise `LeaseLost`:

- the holder does not refresh the lease before the deadline, or before its file is older than
  `consumer.expiration-time`, if that is sooner;
- another engine's expiry misses a consumer file that is written at the same moment;
- a user deletes the consumer, or the table;
- a rollback goes below the snapshot;
- a long-lived changelog expires at the moment in which it is leased, because changelogs are not marked.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Protocol, Self
from uuid import UUID

from braid.lake.errors import CorruptData, InvalidRequest, LakeError, StorageUnavailable
from braid.lake.files.clock import Clock
from braid.lake.format.consumer import Consumer
from braid.lake.format.snapshot import Snapshot
from braid.lake.snapshots.consumer_store import LEASE_MS_MAX, ConsumerStore

LEASE_MS: Final = 600_000
LEASE_PREFIX: Final = "braid-lease-"
# A refresh may fail twice before the deadline passes.
REFRESHES_PER_LEASE: Final = 3


class Snapshots(Protocol):
    """The part of `SnapshotStore` that a lease needs."""

    def find(self, snapshot_id: int, /) -> Snapshot | None:
        """Return the snapshot of an id, or None if there is none."""
        ...


class LeaseLost(InvalidRequest):
    """The snapshot has been removed, or an expiry is about to remove it: read a newer one."""


class Lease:
    """Keeps one snapshot and all later ones from expiring; safe to share between threads.

    As a context manager it refreshes itself in a thread and is released at the end. Otherwise its holder
    calls `refresh` well before each deadline, and `release` at the end.
    """

    def __init__(
        self,
        *,
        consumers: ConsumerStore,
        snapshots: Snapshots,
        snapshot: Snapshot,
        clock: Clock,
        new_uuid: Callable[[], UUID],
        holder: str | None = None,
        lease_ms: int = LEASE_MS,
        lease_id: str | None = None,
    ) -> None:
        """Take the lease, or continue one that another process has taken.

        Args:
            consumers: Store of the lease's file.
            snapshots: Finds the snapshot, to check that it still exists.
            snapshot: The snapshot to keep.
            clock: Clock of the deadlines.
            new_uuid: Source of lease names.
            holder: Description of the holder, for people.
            lease_ms: How long the lease lasts without a refresh, milliseconds; at most
                `LEASE_MS_MAX`.
            lease_id: Name of a lease to continue, on this or an older snapshot; if that lease is absent or
                has run out, a new one is taken.

        Raises:
            LeaseLost: The snapshot has expired, or is about to.
        """
        self._consumers = consumers
        self._snapshots = snapshots
        self._snapshot = snapshot
        self._clock = clock
        self._new_uuid = new_uuid
        self._holder = holder
        self._lease_ms = min(lease_ms, LEASE_MS_MAX)
        self._id = ""
        self._deadline_ms = 0
        found = None if lease_id is None else _found(consumers, lease_id)
        # A consumer without a deadline is a reader's progress and not a lease.
        if lease_id is not None and found is not None and found.deadline_ms is not None:
            self._id, self._deadline_ms = lease_id, found.deadline_ms
        self._is_released = False
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._refresher: threading.Thread | None = None
        self.refresh()

    @property
    def id(self) -> str:
        """Name of the consumer; changes when a lease that had run out is taken anew."""
        return self._id

    @property
    def snapshot(self) -> Snapshot:
        """The leased snapshot."""
        return self._snapshot

    @property
    def snapshot_id(self) -> int:
        """Id of the leased snapshot, for scans."""
        return self._snapshot.id

    @property
    def deadline_ms(self) -> int:
        """End of the lease, milliseconds since 1970 UTC."""
        return self._deadline_ms

    def refresh(self) -> None:
        """Move the deadline.

        A lease that has run out is taken anew, if the snapshot still exists.

        Raises:
            LeaseLost: The snapshot was removed; nothing is held any more.
            StorageUnavailable: The deadline may be unchanged; try again.
            InvalidRequest: The lease was released.
        """
        with self._lock:
            if self._is_released:
                message = f"the lease on snapshot {self.snapshot_id} was released"
                raise InvalidRequest(message)
            now_ms = self._clock.now_ms()
            is_taken_anew = now_ms > self._deadline_ms
            if is_taken_anew:
                # Under a new name: an expiry may be about to delete the old file, also while it is being
                # overwritten.
                self._delete_file()
                self._id = f"{LEASE_PREFIX}{self._new_uuid()}"
            deadline_ms = now_ms + self._lease_ms
            self._consumers.put(
                self._id,
                Consumer(
                    next_snapshot=self.snapshot_id, deadline_ms=deadline_ms, holder=self._holder
                ),
            )
            self._deadline_ms = deadline_ms
            assert self._id, "a written lease has a name"
            # The checks come after the write. In the other order an expiry could mark the snapshot and
            # list the consumers between the two, and neither would see the other.
            try:
                if is_taken_anew:
                    self._check_unmarked()
                self.check()
            except LeaseLost:
                self._delete_file()
                raise

    def check(self) -> None:
        """Check that the snapshot still exists.

        Raises:
            LeaseLost: The snapshot does not exist any more.
        """
        if not self._snapshot.is_same(self._snapshots.find(self.snapshot_id)):
            message = (
                f"snapshot {self.snapshot_id} was removed although it was leased\n"
                "hint: read a newer snapshot; another engine has removed it, or the lease was not "
                "refreshed in time"
            )
            raise LeaseLost(message)

    def release(self) -> None:
        """Release the snapshot; does nothing the second time.

        A file that cannot be deleted holds the snapshot until its deadline.
        """
        self._ended.set()
        if self._refresher is not None and self._refresher is not threading.current_thread():
            self._refresher.join()
        with self._lock:
            self._is_released = True
            self._delete_file()

    def __enter__(self) -> Self:
        """Start the thread that refreshes the lease."""
        self._refresher = threading.Thread(
            target=self._keep, name=f"lease-{self.snapshot_id}", daemon=True
        )
        self._refresher.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Release the lease.

        Raises:
            LeaseLost: The lease was lost meanwhile, so what was read may be incomplete. If an error of the
                engine leaves the context, that error becomes the cause of `LeaseLost`.
        """
        try:
            # An error of the engine, such as an absent file, is mostly the consequence of a lost lease.
            if error is None or isinstance(error, LakeError):
                with suppress(StorageUnavailable):
                    self._check_with(error)
        finally:
            self.release()

    def _check_unmarked(self) -> None:
        # Before the check for existence: an expiry that has removed the snapshot moves its marker to the
        # next one, so in the other order both checks could pass.
        if self._consumers.is_marked_expiring(self._snapshot):
            message = f"snapshot {self.snapshot_id} is about to expire\nhint: read a newer snapshot"
            raise LeaseLost(message)

    def _check_with(self, cause: BaseException | None) -> None:
        try:
            self.check()
        except LeaseLost as lost:
            raise lost from cause

    def _keep(self) -> None:
        while not self._ended.wait(self._lease_ms / REFRESHES_PER_LEASE / 1000):
            try:
                self.refresh()
            except LeaseLost:
                return  # `check` raises it again, in the thread of the holder
            except (LakeError, OSError):
                continue  # a third of the lease has passed; there are further tries before its end

    def _delete_file(self) -> None:
        if self._id:
            with suppress(OSError, StorageUnavailable):
                self._consumers.delete(self._id)


def _found(consumers: ConsumerStore, lease_id: str) -> Consumer | None:
    """Return a lease to continue, or None if it is absent or cannot be parsed."""
    try:
        return consumers.find(lease_id)
    except CorruptData:
        return None
