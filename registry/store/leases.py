"""Leases: the right of one process to maintain a table, or to carry out an operation.

A lease keeps two processes from doing the same work. The correctness of the data does not depend on it: of two compactions that
replace the same file only one commits. Runners of earlier versions hold leases of streams, too (`stream_holders`).

Each grant, renewal and release is a new version, created exclusively: of two runners that see an expired lease, only
one can create the next version. The owner of a lease that cannot be read is unknown and may be working. So such a lease
counts as live until `UNREADABLE_MS` after it was written, and as expired from then on.

A lease is live until its time to live has passed since it was written, by storage's clock. If storage has no clock, the
clocks of the lease's owner and reader decide. If storage's clock is set back, existing leases are dated in the future.
A lease that is dated further in the future than its time to live counts as expired. A living owner may lose its lease
by this, but only once, because later leases are dated by the new time.
"""

from dataclasses import dataclass
from typing import Final

from pydantic import Field, ValidationError

from braid.lake import Clock, FileIO
from braid.registry.store import paths
from braid.registry.store.storage_clock import StorageClock
from braid.registry.store.stored_documents import parse_stored
from braid.registry.store.versions import Versioned, VersionedFile
from braid.schemas import Contract

MAINTENANCE = "+maintenance"  # held by the process that compacts a table; no stream has such a name
KEPT_LEASE_MS = 60_000  # renewals come every few seconds; no reader of a lease is slower than this
UNREADABLE_MS: Final = 60_000
"""Time after which an unreadable lease counts as expired: four times the runners' default time to live.
Where an operator sets a longer one, the epoch fences the slower runner."""

_KNOWN_MS: Final = 10_000
"""Age of a reading of storage's clock that suffices to find a lease live."""
_FRESH_MS: Final = 1_000
"""Age of one that suffices to find a lease expired: a living owner must not lose it to a clock that was set."""

_RELEASED_MS: Final = 0
"""In place of a lease's end: its owner has released it."""

_UNKNOWN_OWNER: Final = "unknown: the lease cannot be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to run a stream, or to maintain a table, until it expires.

    Attributes:
        table: `<database>.<table>`.
        stream: The stream's name, or `MAINTENANCE`.
        owner: The holder: unique per process, not per name of a runner.
        version: The version of the lease's document that granted it.
        ttl_ms: Duration of each grant and renewal, milliseconds.
        expires_ms: End of the lease, milliseconds since the epoch, UTC, by the clock of its owner; only a
            storage without a clock decides by it.
    """

    table: str
    stream: str
    owner: str
    version: int
    ttl_ms: int
    expires_ms: int


class _LeaseRecord(Contract):
    owner: str
    ttl_ms: int = Field(gt=0)
    expires_ms: int


class LeaseStore:
    """Grants, renews and releases the leases of a warehouse."""

    def __init__(self, file_io: FileIO, warehouse: str, clock: Clock) -> None:
        self._file_io = file_io
        self._warehouse = warehouse
        self._clock = clock
        self._storage = StorageClock(file_io, warehouse, clock)

    def acquire(self, table: str, stream: str, owner: str, ttl_ms: int) -> Lease | None:
        """Take the lease of a stream; None when another owner holds it or takes it first.

        Args:
            table: `<database>.<table>`.
            stream: The stream's name, or `MAINTENANCE`.
            owner: Unique per process. The owner of a live lease gets it again.
            ttl_ms: Duration of the lease unless it is renewed, milliseconds.
        """
        assert ttl_ms > 0
        newest = self._newest(table, stream)
        if newest is not None and newest.value.owner != owner and self._is_live(newest):
            return None
        version = 1 if newest is None else newest.version + 1
        return self._grant(table, stream, owner, ttl_ms, version)

    def renew(self, lease: Lease) -> Lease | None:
        """Prolong a lease by its time to live; None when it is lost.

        An expired lease is prolonged as well if no other owner was granted it: no other process worked then.
        """
        newest = self._newest(lease.table, lease.stream)
        # The version decides, not the time: every grant to another owner has created a newer one.
        if newest is None or newest.version != lease.version:
            return None
        return self._grant(lease.table, lease.stream, lease.owner, lease.ttl_ms, lease.version + 1)

    def release(self, lease: Lease) -> None:
        """Release a lease, so that another owner need not wait for its end; no effect when it is lost."""
        newest = self._newest(lease.table, lease.stream)
        if newest is None or newest.version != lease.version:
            return
        # An expired version, not a deletion: version numbers continue, so that no former owner takes a
        # later lease for its own.
        record = _LeaseRecord(owner=lease.owner, ttl_ms=lease.ttl_ms, expires_ms=_RELEASED_MS)
        self._write(lease.table, lease.stream, lease.version + 1, record)

    def holder(self, table: str, stream: str) -> Lease | None:
        """Return the live lease of a stream, or None; grants nothing."""
        newest = self._newest(table, stream)
        if newest is None or not self._is_live(newest):
            return None
        return Lease(
            table=table,
            stream=stream,
            owner=newest.value.owner,
            version=newest.version,
            ttl_ms=newest.value.ttl_ms,
            expires_ms=newest.value.expires_ms,
        )

    def _grant(
        self, table: str, stream: str, owner: str, ttl_ms: int, version: int
    ) -> Lease | None:
        # Measured before the write: a slow storage shortens the lease, and never makes its holder believe
        # in a longer one.
        expires_ms = self._clock.now_ms() + ttl_ms
        record = _LeaseRecord(owner=owner, ttl_ms=ttl_ms, expires_ms=expires_ms)
        if not self._write(table, stream, version, record):
            return None
        return Lease(
            table=table,
            stream=stream,
            owner=owner,
            version=version,
            ttl_ms=ttl_ms,
            expires_ms=expires_ms,
        )

    def _is_live(self, newest: Versioned[_LeaseRecord]) -> bool:
        record = newest.value
        if record.expires_ms <= _RELEASED_MS:
            return False
        for max_age_ms in (_KNOWN_MS, _FRESH_MS):
            now_ms = self._storage.now_ms(max_age_ms=max_age_ms)
            if now_ms is None:
                return record.expires_ms > self._clock.now_ms()
            if -record.ttl_ms <= now_ms - newest.modified_ms < record.ttl_ms:
                return True
        return False

    def _newest(self, table: str, stream: str) -> Versioned[_LeaseRecord] | None:
        newest = self._file(table, stream).latest()
        if newest is None:
            return None
        try:
            record = parse_stored(_LeaseRecord, newest.value)
        except ValidationError:
            # By storage's clock, because the times in the record cannot be read.
            record = _LeaseRecord(
                owner=_UNKNOWN_OWNER,
                ttl_ms=UNREADABLE_MS,
                expires_ms=newest.modified_ms + UNREADABLE_MS,
            )
        return Versioned(version=newest.version, value=record, modified_ms=newest.modified_ms)

    def _write(self, table: str, stream: str, version: int, record: _LeaseRecord) -> bool:
        data = record.model_dump_json().encode()
        return self._file(table, stream).create(version, data)

    def _file(self, table: str, stream: str) -> VersionedFile:
        directory = paths.lease_directory(self._warehouse, table, stream)
        return VersionedFile(self._file_io, directory, clock=self._clock, kept_ms=KEPT_LEASE_MS)
