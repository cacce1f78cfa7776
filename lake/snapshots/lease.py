"""Leases: a snapshot that does not expire while somebody reads it.

A lease is a consumer file, which every engine of the format respects, with a deadline: whoever dies
holds nothing for ever. Taking one is writing the file and *then* looking whether an expiry has marked
the snapshot, and whether it is there. Expiry of this engine marks a snapshot and *then* looks for
consumers; so of the two, one sees the other, and a lease that was taken is kept. Another engine's
expiry may pass a file that is written in the same moment, and somebody may delete consumers: then
the lease is lost, which `check` and `refresh` tell. So is one of an expired snapshot that is kept for its
changes alone, when it was taken in the moment in which these expire: they are not marked.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Protocol, Self
from uuid import UUID

from lake.errors import CorruptData, InvalidRequest, LakeError, StorageUnavailable
from lake.files.clock import Clock
from lake.format.consumer import Consumer
from lake.format.snapshot import Snapshot
from lake.snapshots.consumer_store import LEASE_MS_MAX, ConsumerStore

LEASE_MS: Final = 600_000
LEASE_PREFIX: Final = "braid-lease-"
# A refresh may fail twice before the deadline passes.
REFRESHES_PER_LEASE: Final = 3


class Snapshots(Protocol):
    """What knows whether a snapshot is there."""

    def find(self, snapshot_id: int, /) -> Snapshot | None:
        """Return the snapshot of that id, None when there is none."""
        ...


class LeaseLost(InvalidRequest):
    """The leased snapshot is gone: read a newer one."""


class Lease:
    """Keeps one snapshot and all later ones from expiring; safe to share between threads.

    As a context manager it refreshes itself, in a thread, and is released at the end. Without one,
    whoever holds it calls `refresh` well before the deadline, and `release`.
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
        """Take the lease, or go on with one that another process has taken.

        Args:
            consumers: Where the file is written.
            snapshots: Says whether the snapshot is there.
            snapshot: What is to stay.
            clock: Says when the lease ends.
            new_uuid: Makes names.
            holder: Who takes it, for people.
            lease_ms: How long it holds without a refresh, in milliseconds; at most
                `LEASE_MS_MAX`.
            lease_id: Of a lease to go on with, of this or an older snapshot; when it is gone or has
                run out a new one is taken.

        Raises:
            LeaseLost: The snapshot has expired.
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
        # A consumer without a deadline is somebody's progress and none of ours.
        if lease_id is not None and found is not None and found.deadline_ms is not None:
            self._id, self._deadline_ms = lease_id, found.deadline_ms
        self._is_released = False
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._refresher: threading.Thread | None = None
        self.refresh()

    @property
    def id(self) -> str:
        """Name of the consumer; another one after a lease had run out and was taken anew."""
        return self._id

    @property
    def snapshot(self) -> Snapshot:
        """What is leased."""
        return self._snapshot

    @property
    def snapshot_id(self) -> int:
        """Id of what is leased, for scans."""
        return self._snapshot.id

    @property
    def deadline_ms(self) -> int:
        """Until when the lease holds, milliseconds since 1970 UTC."""
        return self._deadline_ms

    def refresh(self) -> None:
        """Move the deadline.

        Also takes a lease anew that has run out, as long as the snapshot is there.

        Raises:
            LeaseLost: The snapshot is gone; nothing is held any more.
            StorageUnavailable: The deadline is perhaps as it was; try again.
            InvalidRequest: The lease was released.
        """
        with self._lock:
            if self._is_released:
                message = f"the lease on snapshot {self.snapshot_id} was released"
                raise InvalidRequest(message)
            now_ms = self._clock.now_ms()
            is_taken_anew = now_ms > self._deadline_ms
            if is_taken_anew:
                # An expiry may be about to delete the old file, even as it is overwritten.
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
            try:
                if is_taken_anew:
                    self._check_unmarked()
                self.check()
            except LeaseLost:
                self._delete_file()
                raise

    def check(self) -> None:
        """Tell whether the snapshot is still there.

        Raises:
            LeaseLost: It is not.
        """
        if not self._snapshot.is_same(self._snapshots.find(self.snapshot_id)):
            message = (
                f"snapshot {self.snapshot_id} is gone, although it was leased\n"
                "hint: read a newer snapshot; something other than this engine has removed it, or "
                "the lease was not refreshed in time"
            )
            raise LeaseLost(message)

    def release(self) -> None:
        """Let the snapshot go; nothing happens the second time.

        A file that cannot be deleted holds until its deadline.
        """
        self._ended.set()
        if self._refresher is not None and self._refresher is not threading.current_thread():
            self._refresher.join()
        with self._lock:
            self._is_released = True
            self._delete_file()

    def __enter__(self) -> Self:
        """Begin to refresh the lease in a thread."""
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
            LeaseLost: It was lost meanwhile: what was read may be incomplete, and an error of the
                engine that came of it is the cause.
        """
        try:
            if error is None or isinstance(error, LakeError):
                with suppress(StorageUnavailable):
                    self._check_with(error)
        finally:
            self.release()

    def _check_unmarked(self) -> None:
        # Before the look at the snapshot: a mark goes on to the next one when the snapshot is gone.
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
                return  # told by `check`, in the thread that reads
            except (LakeError, OSError):
                continue

    def _delete_file(self) -> None:
        if self._id:
            with suppress(OSError, StorageUnavailable):
                self._consumers.delete(self._id)


def _found(consumers: ConsumerStore, lease_id: str) -> Consumer | None:
    """Return a lease to go on with; None when it is gone, or says nothing any more."""
    try:
        return consumers.find(lease_id)
    except CorruptData:
        return None
