"""Leases for whatever turns out to take long.

Nobody knows beforehand whether a read takes a millisecond or an hour, and a lease for each would cost
more than most reads do. So who depends on a snapshot says so while it does, which touches no storage;
what is not done after `LEASED_AFTER_S` is leased then, by a thread that refreshes the lease as well:

    open ──after 5 s──► leased ──every third of the lease──► refreshed ──done──► released

A snapshot lives that long anyway unless a table retains next to nothing. Where it has gone before, or
goes although it is leased (another engine's expiry, somebody who deletes consumers), nothing happens
here: most of what was planned may be read all the same, and who then misses a file asks
`raise_if_expired` why. Storage that takes no lease, as where a reader may not write, stops nobody.
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

from lake.errors import CorruptData, LakeError
from lake.files.clock import Clock
from lake.files.paths import TablePaths
from lake.files.storage.file_io import FileIO
from lake.format.snapshot import Snapshot
from lake.snapshots.consumer_store import ConsumerStore
from lake.snapshots.lease import LEASE_MS, REFRESHES_PER_LEASE, Lease, LeaseLost
from lake.snapshots.snapshot_store import SnapshotStore
from lake.snapshots.snapshots_and_changelogs import SnapshotsAndChangelogs
from lake.snapshots.tag_store import TagStore

LEASED_AFTER_S: Final = 5.0


@dataclass(eq=False, kw_only=True)
class _Hold:
    """One who depends on a snapshot.

    Attributes:
        take: Takes the lease.
        due_s: When to look after it next, by the monotonic clock.
    """

    take: Callable[[], Lease]
    due_s: float
    _lease: Lease | None = None
    _is_done: bool = False
    # Reentrant: a reader that nobody reads on is closed by the collector, in whichever thread.
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def tend(self) -> None:
        """Take the lease, or refresh it.

        Raises:
            LakeError, OSError: It is as it was.
        """
        with self._lock:
            if self._is_done:
                return
            if self._lease is None:
                self._lease = self.take()
            else:
                self._lease.refresh()
            self._release_if_done()

    def release(self) -> None:
        """Let the snapshot go."""
        with self._lock:
            self._is_done = True
            self._release_if_done()

    def _release_if_done(self) -> None:
        if self._is_done and self._lease is not None:
            self._lease.release()


@dataclass(kw_only=True)
class LeaseKeeper:
    """Leases the snapshots of one table for those who take long; shared between threads.

    Has a thread only while somebody is open, and a few seconds longer.

    Attributes:
        file_io: Storage.
        paths: Of the table or branch.
        clock: Says when leases end.
        new_uuid: Names them.
        lease_ms: How long one holds without a refresh, milliseconds.
        after_s: How long one is open before it is leased, seconds.
    """

    file_io: FileIO
    paths: TablePaths
    clock: Clock
    new_uuid: Callable[[], UUID]
    lease_ms: int = LEASE_MS
    after_s: float = LEASED_AFTER_S
    _open: set[_Hold] = field(default_factory=set)
    _thread: threading.Thread | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __reduce__(self) -> tuple[partial["LeaseKeeper"], tuple[()]]:
        """Return what another process needs; nobody is open there."""
        anew = partial(
            LeaseKeeper,
            file_io=self.file_io,
            paths=self.paths,
            clock=self.clock,
            new_uuid=self.new_uuid,
            lease_ms=self.lease_ms,
            after_s=self.after_s,
        )
        return anew, ()

    @contextmanager
    def hold(
        self, snapshot: Snapshot | None, *, what: str, is_changelog: bool = False
    ) -> Iterator[None]:
        """Keep a snapshot while the block runs, if it runs for long.

        Args:
            snapshot: None where there is none to keep.
            what: Who needs it, for people: "a scan".
            is_changelog: Its changes are enough, which may outlive it.
        """
        if snapshot is None:
            yield
            return
        hold = _Hold(
            take=lambda: self.lease(snapshot, what=what, is_changelog=is_changelog),
            due_s=time.monotonic() + self.after_s,
        )
        with self._lock:
            self._open.add(hold)
            # After a fork the thread is there and does not run.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._keep, name="leases", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(hold)
            hold.release()

    @contextmanager
    def reading(self, snapshot: Snapshot | None, *, what: str) -> Iterator[None]:
        """Keep a snapshot as `hold` does while its files are read, and say so if it has expired.

        Raises:
            LeaseLost: A file was absent, and the snapshot has expired.
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
        """Take a lease at once, which whoever asked refreshes and releases.

        Args:
            snapshot: That is to stay.
            what: Who needs it, for people.
            is_changelog: Its changes are enough, which may outlive it.
            lease_id: Of a lease to go on with (see `Lease`).

        Raises:
            LeaseLost: It has expired.
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

    def raise_if_expired(self, snapshot: Snapshot | None, error: CorruptData) -> None:
        """Say what it means that a file of a snapshot is absent; nothing where it is not that.

        Args:
            snapshot: That was read.
            error: What reading it has come to.

        Raises:
            LeaseLost: The snapshot has expired, and no tag keeps it.
        """
        if snapshot is None or not isinstance(error.__cause__, FileNotFoundError):
            return
        if snapshot.is_same(SnapshotStore(self.file_io, self.paths).find(snapshot.id)):
            return
        tags = TagStore(self.file_io, self.paths).list()
        if any(tag.snapshot.is_same(snapshot) for tag in tags):
            return
        message = (
            f"snapshot {snapshot.id} has expired while it was read\n"
            "hint: read a newer one; retain snapshots for longer (`snapshot.time-retained`), or "
            "take `Table.lease` before the first look at one"
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
            for hold in due:
                self._tend(hold)
            time.sleep(self.after_s)

    def _tend(self, hold: _Hold) -> None:
        try:
            hold.tend()
        except LeaseLost:
            hold.due_s = float("inf")
        except (LakeError, OSError):
            hold.due_s = time.monotonic() + self.after_s
        else:
            lease_s = self.lease_ms / 1000
            hold.due_s = time.monotonic() + lease_s / REFRESHES_PER_LEASE
