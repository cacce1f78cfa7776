"""Leases for reads that turn out to take long.

It is not known beforehand whether a read takes a millisecond or an hour, and a lease for each read would cost more
than most reads do. So scans, reads of changes, compactions and `SnapshotLookup.load` register the snapshot that they
depend on (`hold`), without any request to storage; lookups of single keys do not. Every `LEASED_AFTER_S` seconds a
thread leases the snapshots of reads that have run for that long, and refreshes leases that are due:

    open ──after 5 to 10 s──► leased ──every third of the lease──► refreshed ──done──► released

Until a read is leased, its snapshot exists anyway, unless the table retains next to nothing. The snapshot may expire
before it is leased, or in spite of its lease, through another engine's expiry or a deleted consumer. Then the keeper
does nothing: most of the planned files may still be read, and a read that misses a file finds out why with
`raise_if_expired`. If storage refuses the lease, as it does where a reader has no permission to write, reads continue
without one.

`LeaseKeeper.lease` takes a lease at once, for callers that refresh and release it themselves.
"""

import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import UUID

from braid.lake.errors import CorruptData, LakeError
from braid.lake.files.clock import Clock
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.snapshot import Snapshot
from braid.lake.snapshots.consumer_store import ConsumerStore
from braid.lake.snapshots.lease import LEASE_MS, REFRESHES_PER_LEASE, Lease, LeaseLost
from braid.lake.snapshots.snapshot_store import SnapshotStore
from braid.lake.snapshots.snapshots_and_changelogs import SnapshotsAndChangelogs
from braid.lake.snapshots.tag_store import TagStore

LEASED_AFTER_S: Final = 5.0


@dataclass(eq=False, kw_only=True)
class _Hold:
    """One reader of a snapshot.

    Attributes:
        take: Takes the lease.
        due_s: When the lease has to be taken or refreshed next, by the monotonic clock.
    """

    take: Callable[[], Lease]
    due_s: float
    _lease: Lease | None = None
    _is_done: bool = False
    # Reentrant: an abandoned generator is closed by the garbage collector, which runs in any thread, also
    # in the keeper's while it holds this lock.
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def take_or_refresh(self) -> None:
        """Take the lease, or refresh it.

        Raises:
            LakeError, OSError: The lease is as before.
        """
        with self._lock:
            if self._is_done:
                return
            if self._lease is None:
                self._lease = self.take()
                assert self._lease.id, "a taken lease has a file"
            else:
                self._lease.refresh()
            # `release` may have run meanwhile in this very thread, by way of the collector.
            self._release_if_done()

    def release(self) -> None:
        """Release the snapshot; a lease that is just being taken is released as soon as it is taken."""
        with self._lock:
            self._is_done = True
            self._release_if_done()

    def _release_if_done(self) -> None:
        if self._is_done and self._lease is not None:
            self._lease.release()


@dataclass(kw_only=True)
class LeaseKeeper:
    """Leases the snapshots of one table for long reads; shared between threads.

    The keeper has a thread only while there are holds, and a few seconds longer.

    Attributes:
        file_io: Storage.
        paths: Paths of the table or branch.
        clock: Clock of the leases' deadlines.
        new_uuid: Source of lease names.
        lease_ms: How long a lease lasts without a refresh, milliseconds.
        after_s: Age at which the snapshot of a hold is leased, seconds.
    """

    file_io: FileIO
    paths: TablePaths
    clock: Clock
    new_uuid: Callable[[], UUID]
    lease_ms: int = LEASE_MS
    after_s: float = LEASED_AFTER_S
    _open: set[_Hold] = field(default_factory=set)
    _thread: threading.Thread | None = None
    # Reentrant for the reason of `_Hold._lock`.
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __reduce__(self) -> tuple[partial["LeaseKeeper"], tuple[()]]:
        """Return a keeper for another process, without holds."""
        empty = partial(
            LeaseKeeper,
            file_io=self.file_io,
            paths=self.paths,
            clock=self.clock,
            new_uuid=self.new_uuid,
            lease_ms=self.lease_ms,
            after_s=self.after_s,
        )
        return empty, ()

    @contextmanager
    def hold(
        self, snapshot: Snapshot | None, *, what: str, is_changelog: bool = False
    ) -> Iterator[None]:
        """Keep a snapshot while the block runs, if it runs for long.

        Args:
            snapshot: The snapshot to keep; None if there is none.
            what: Description of the holder, for people: "a scan".
            is_changelog: It is enough to keep the snapshot's changes, which may outlive the snapshot.
        """
        if snapshot is None:
            yield
            return
        hold = _Hold(
            take=lambda: self.lease(snapshot, what=what, is_changelog=is_changelog),
            due_s=time.monotonic() + self.after_s,
        )
        with self._lock:
            # The thread decides to end under the same lock: either it sees this hold, or a new thread
            # is started.
            self._open.add(hold)
            # In a forked process the thread object exists but does not run.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._keep, name="leases", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(hold)
            # Not under the lock: deleting the lease's file takes a request.
            hold.release()

    @contextmanager
    def reading(self, snapshot: Snapshot | None, *, what: str) -> Iterator[None]:
        """Keep a snapshot as `hold` does while its files are read, and detect that it has expired.

        Raises:
            LeaseLost: A file was absent because the snapshot has expired.
        """
        with self.hold(snapshot, what=what):
            try:
                yield
            except CorruptData as error:
                self.raise_if_expired(snapshot, error)
                raise

    def lease(
        self,
        snapshot: Snapshot,
        *,
        what: str,
        is_changelog: bool = False,
        lease_id: str | None = None,
    ) -> Lease:
        """Take a lease at once; the caller refreshes and releases it.

        Args:
            snapshot: The snapshot to keep.
            what: Description of the holder, for people.
            is_changelog: It is enough to keep the snapshot's changes, which may outlive the snapshot.
            lease_id: Name of a lease to continue (see `Lease`).

        Raises:
            LeaseLost: The snapshot has expired.
        """
        kept = SnapshotsAndChangelogs if is_changelog else SnapshotStore
        return Lease(
            consumers=ConsumerStore(self.file_io, self.paths),
            snapshots=kept(self.file_io, self.paths),
            snapshot=snapshot,
            clock=self.clock,
            new_uuid=self.new_uuid,
            holder=f"{what}, process {os.getpid()} on {platform.node()}",
            lease_ms=self.lease_ms,
            lease_id=lease_id,
        )

    def raise_if_expired(self, snapshot: Snapshot | None, error: LakeError) -> None:
        """Raise if a read failed because its snapshot has expired; return otherwise.

        Args:
            snapshot: The snapshot that was read.
            error: The error of the read.

        Raises:
            LeaseLost: A file is absent, the snapshot has expired, and no tag keeps its files.
        """
        if snapshot is None or not isinstance(error.__cause__, FileNotFoundError):
            return
        # By identity: after a rollback another snapshot may have the id.
        if snapshot.is_same(SnapshotStore(self.file_io, self.paths).find(snapshot.id)):
            return
        tags = TagStore(self.file_io, self.paths).list()
        if any(tag.snapshot.is_same(snapshot) for tag in tags):
            return
        message = (
            f"snapshot {snapshot.id} has expired while it was read\n"
            "hint: read a newer snapshot; retain snapshots for longer (`snapshot.time-retained`), or "
            "lease the snapshot (`Table.lease`) before its first read"
        )
        raise LeaseLost(message) from error

    def _keep(self) -> None:
        while True:
            with self._lock:
                if not self._open:
                    self._thread = None
                    return
                now_s = time.monotonic()
                due = [hold for hold in self._open if hold.due_s <= now_s]
            # Without the lock, so that reads begin and end while storage is slow.
            for hold in due:
                self._take_or_refresh(hold)
            time.sleep(self.after_s)

    def _take_or_refresh(self, hold: _Hold) -> None:
        try:
            hold.take_or_refresh()
        except LeaseLost:
            # There is nothing left to lease; the read finds out when it misses a file.
            hold.due_s = float("inf")
        except (LakeError, OSError):
            hold.due_s = time.monotonic() + self.after_s
        else:
            lease_s = self.lease_ms / 1000
            hold.due_s = time.monotonic() + lease_s / REFRESHES_PER_LEASE
