"""Leases: which runner works on a stream.

A lease keeps two runners from doing the same work. It is not what makes the data right: clocks
may differ and processes may sleep, and then the epoch in the table fences the slower one.

Each grant, renewal and release is a new version, created exclusively: of two runners that see
an expired lease, one gets the next version. One that cannot be read is nobody's that is known, and
may be somebody's: it is taken for live until `UNREADABLE_MS` after it was written, and then for gone.
"""

from dataclasses import dataclass
from typing import Final

from pydantic import Field, ValidationError

from lake import Clock, FileIO
from registry.store import paths
from registry.store.stored_documents import parse_stored
from registry.store.versions import Versioned, VersionedFile
from schemas import Contract

MAINTENANCE = "+maintenance"  # no stream can be called so: who compacts the table holds it
KEPT_LEASE_MS = 60_000  # renewals are many; no reader of a lease is slower than this
UNREADABLE_MS: Final = 60_000
"""So long after it was written an unreadable lease counts as one that somebody holds: four times what
runners ask for unless they are told otherwise. Should one ask for more, the epoch fences the slower."""

_UNKNOWN_OWNER: Final = "unknown: the lease cannot be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to work on a stream until it expires.

    Attributes:
        table: `<database>.<table>`.
        stream: The stream's name.
        owner: Who holds it: unique per process, not per name of a runner.
        version: The version of the lease's document that granted it.
        ttl_ms: How long each grant and renewal lasts.
        expires_ms: When it ends, milliseconds since the epoch, UTC, by the granting clock.
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
    """Grants, renews and takes back the leases of a warehouse."""

    def __init__(self, file_io: FileIO, warehouse: str, clock: Clock) -> None:
        self._file_io = file_io
        self._warehouse = warehouse
        self._clock = clock

    def acquire(self, table: str, stream: str, owner: str, ttl_ms: int) -> Lease | None:
        """Take the lease of a stream; None when another owner holds it or was faster.

        Args:
            table: `<database>.<table>`.
            stream: The stream's name.
            owner: Unique per process. The owner of a live lease gets it again.
            ttl_ms: How long it lasts unless renewed.
        """
        newest = self._newest(table, stream)
        if newest is not None and newest.value.owner != owner and self._is_live(newest.value):
            return None
        version = 1 if newest is None else newest.version + 1
        return self._grant(table, stream, owner, ttl_ms, version)

    def renew(self, lease: Lease) -> Lease | None:
        """Prolong a lease by its time to live; None when it is lost.

        An expired lease that nobody took in between is prolonged as well: nobody else worked.
        """
        newest = self._newest(lease.table, lease.stream)
        if newest is None or newest.version != lease.version:
            return None
        return self._grant(lease.table, lease.stream, lease.owner, lease.ttl_ms, lease.version + 1)

    def release(self, lease: Lease) -> None:
        """Give a lease back, so that another owner need not wait; no effect when it is lost."""
        newest = self._newest(lease.table, lease.stream)
        if newest is None or newest.version != lease.version:
            return
        record = _LeaseRecord(owner=lease.owner, ttl_ms=lease.ttl_ms, expires_ms=0)
        self._write(lease.table, lease.stream, lease.version + 1, record)

    def holder(self, table: str, stream: str) -> Lease | None:
        """Return the live lease of a stream, or None. For people and tests; grants nothing."""
        newest = self._newest(table, stream)
        if newest is None or not self._is_live(newest.value):
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

    def _is_live(self, record: _LeaseRecord) -> bool:
        return record.expires_ms > self._clock.now_ms()

    def _newest(self, table: str, stream: str) -> Versioned[_LeaseRecord] | None:
        newest = self._file(table, stream).latest()
        if newest is None:
            return None
        try:
            record = parse_stored(_LeaseRecord, newest.value)
        except ValidationError:
            record = _LeaseRecord(
                owner=_UNKNOWN_OWNER,
                ttl_ms=UNREADABLE_MS,
                expires_ms=newest.modified_ms + UNREADABLE_MS,
            )
        return Versioned(version=newest.version, value=record)

    def _write(self, table: str, stream: str, version: int, record: _LeaseRecord) -> bool:
        data = record.model_dump_json().encode()
        return self._file(table, stream).create(version, data)

    def _file(self, table: str, stream: str) -> VersionedFile:
        directory = paths.lease_directory(self._warehouse, table, stream)
        return VersionedFile(self._file_io, directory, clock=self._clock, kept_ms=KEPT_LEASE_MS)
