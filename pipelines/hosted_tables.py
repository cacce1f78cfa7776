"""Hosted tables: compaction and expiry of the tables whose streams a runner hosts, beside its queries.

Of several runners that host streams of one table, the one that holds the table's maintenance lease
maintains it. The lease saves duplicate work; correctness does not depend on it: of two compactions
that replace the same file only one commits.
"""

import logging
import threading
from collections.abc import Callable, Collection
from typing import Final

from braid.lake import BucketPool, Catalog, Clock, LakeError, MaintenanceService, StorageUnavailable
from braid.pipelines.held_lease import HeldLease
from braid.registry.store.leases import MAINTENANCE, LeaseStore
from braid.schemas import TableProgress
from braid.telemetry.maintenance_reports import maintenance_reports

_LOG = logging.getLogger(__name__)
_GRACE_SECONDS: Final = 10.0
"""For the buckets under compaction at the end; one that is cut off is committed as a whole or not at all."""

_ENDED: Final = "the maintenance thread has ended: the runner's log has the reason"


class HostedTables:
    """Maintenance service for the tables that a runner hosts now. Started and closed once."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        leases: LeaseStore,
        owner: str,
        lease_ttl_ms: int,
        workers: int,
        clock: Clock,
        new_pool: Callable[[], BucketPool] | None = None,
    ) -> None:
        """Create the service; maintains nothing until `set_tables` and `start`.

        Args:
            catalog: Opens the tables.
            leases: The leases that decide which runner maintains a table.
            owner: The owner of the leases; unique per process.
            lease_ttl_ms: How long a runner keeps a table without renewing its lease.
            workers: Buckets compacted at once.
            clock: The clock for leases, and for pauses after failures.
            new_pool: Makes the pool that compacts; None: processes on this machine.
        """
        self._leases = leases
        self._owner = owner
        self._lease_ttl_ms = lease_ttl_ms
        self._clock = clock
        self._tables: frozenset[str] = frozenset()
        self._held: dict[str, HeldLease] = {}
        self._service = MaintenanceService(
            catalog, self._leased, workers=workers, clock=clock, new_pool=new_pool
        )
        self._thread: threading.Thread | None = None
        self._is_ending = False

    def set_tables(self, tables: Collection[str]) -> None:
        """Set the tables that have streams here, as `database.table`; for any thread."""
        # Replaced as a whole: the maintenance thread reads it without a lock.
        self._tables = frozenset(tables)

    def start(self, *, interval_ms: int) -> None:
        """Begin maintenance, in a thread.

        Args:
            interval_ms: Time between two polls for work that is due, milliseconds.
        """
        assert self._thread is None, "started once"
        # A daemon, so that a poll that hangs cannot keep the process alive.
        self._thread = threading.Thread(
            target=self._service.run,
            kwargs={"interval_s": interval_ms / 1_000},
            name="maintenance",
            daemon=True,
        )
        self._thread.start()

    def poll_soon(self) -> None:
        """Look for work that is due now, instead of at the end of the interval; for any thread."""
        self._service.poll_soon()

    def progress(self) -> dict[str, TableProgress]:
        """Return what has been done, by `database.table`; for any thread."""
        return maintenance_reports(self._service.stats, error=_ENDED if self._has_died() else None)

    def ask_to_stop(self) -> None:
        """Begin no new work."""
        self._is_ending = True
        self._service.stop()

    def close(self) -> None:
        """End, and give the leases back; running compactions have a few seconds to finish."""
        self.ask_to_stop()
        if self._thread is not None:
            self._thread.join(_GRACE_SECONDS)
            if self._thread.is_alive():
                _LOG.error("maintenance did not stop within %d seconds", _GRACE_SECONDS)
                return
        self._service.close(grace_s=_GRACE_SECONDS)
        held, self._held = self._held, {}
        for identifier, lease in held.items():
            try:
                lease.release()
            except (LakeError, OSError) as error:
                _LOG.warning("lease not released table=%s error=%s", identifier, error)

    def _has_died(self) -> bool:
        return self._thread is not None and not self._thread.is_alive() and not self._is_ending

    def _leased(self) -> list[str]:
        """Return the tables that this runner has to maintain now."""
        tables = self._tables
        for identifier in self._held.keys() - tables:
            self._held.pop(identifier).release()
        return [identifier for identifier in sorted(tables) if self._hold_lease(identifier)]

    def _hold_lease(self, identifier: str) -> bool:
        lease = self._held.get(identifier)
        if lease is None:
            lease = HeldLease(
                self._leases,
                table=identifier,
                name=MAINTENANCE,
                owner=self._owner,
                ttl_ms=self._lease_ttl_ms,
                clock=self._clock,
            )
            self._held[identifier] = lease
        try:
            return lease.hold()
        except StorageUnavailable as error:
            message = f"the lease of maintenance cannot be taken table={identifier}: {error}"
            raise StorageUnavailable(message) from error
