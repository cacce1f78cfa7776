"""Compaction and expiry of the tables whose streams a runner hosts, in a thread beside the queries.

Of several runners that host streams of one table one looks after it: the one that holds the table's
lease of maintenance. The lease saves work in vain and is not what makes it right: two that compact the
same bucket yield to each other.
"""

import logging
import threading
from collections.abc import Collection
from typing import Final

from lake import Catalog, Clock, LakeError, MaintenanceService, StorageUnavailable
from registry.store.leases import MAINTENANCE, Lease, LeaseStore
from schemas import TableProgress

_LOG = logging.getLogger(__name__)
_GRACE_SECONDS: Final = 10.0
"""For the buckets that are worked on at the end; what is cut off has committed nothing."""

_ENDED: Final = "the thread that maintains has ended: the log of the runner says why"


class HostedTables:
    """A maintenance service that follows what a runner hosts. Started and closed once."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        leases: LeaseStore,
        owner: str,
        lease_ttl_ms: int,
        workers: int,
        clock: Clock,
    ) -> None:
        """Look after nothing until `want` and `start`.

        Args:
            catalog: Opens the tables.
            leases: Say which runner looks after a table.
            owner: Holds them; unique per process.
            lease_ttl_ms: How long a runner that says nothing keeps a table.
            workers: Buckets compacted at once.
            clock: For leases, and pauses after failures.
        """
        self._leases = leases
        self._owner = owner
        self._lease_ttl_ms = lease_ttl_ms
        self._clock = clock
        self._wanted: frozenset[str] = frozenset()
        self._held: dict[str, tuple[Lease, int]] = {}
        self._service = MaintenanceService(catalog, self._leased, workers=workers, clock=clock)
        self._thread: threading.Thread | None = None
        self._is_ending = False

    def want(self, tables: Collection[str]) -> None:
        """Say which tables have streams here, as `database.table`; for any thread."""
        self._wanted = frozenset(tables)

    def start(self, *, interval_ms: int) -> None:
        """Begin, in a thread.

        Args:
            interval_ms: Between two looks at what is due.
        """
        assert self._thread is None, "started once"
        # A daemon, so that a look that hangs cannot keep the process.
        self._thread = threading.Thread(
            target=self._service.run,
            kwargs={"interval_s": interval_ms / 1_000},
            name="maintenance",
            daemon=True,
        )
        self._thread.start()

    def progress(self) -> dict[str, TableProgress]:
        """Return what has been done, by `database.table`; for any thread."""
        found = dict(self._service.stats)
        return {
            identifier: TableProgress(
                looks=stats.polls,
                buckets=stats.buckets,
                most_runs=stats.most_runs,
                compactions=stats.compactions,
                dropped=stats.dropped,
                rows_in=stats.rows_in,
                rows_out=stats.rows_out,
                expired=stats.expired,
                failures=stats.failures,
                error=_ENDED if self._has_died() else stats.error,
            )
            for identifier, stats in found.items()
        }

    def ask_to_stop(self) -> None:
        """Begin nothing new."""
        self._is_ending = True
        self._service.stop()

    def close(self) -> None:
        """End, and give the leases back; buckets that are worked on have a few seconds."""
        self.ask_to_stop()
        if self._thread is not None:
            self._thread.join(_GRACE_SECONDS)
            if self._thread.is_alive():
                _LOG.error("maintenance does not stop")
                return
        self._service.close(grace_s=_GRACE_SECONDS)
        held, self._held = self._held, {}
        for lease, _ in held.values():
            try:
                self._leases.release(lease)
            except (LakeError, OSError) as error:
                _LOG.warning("lease not released table=%s error=%s", lease.table, error)

    def _has_died(self) -> bool:
        return self._thread is not None and not self._thread.is_alive() and not self._is_ending

    def _leased(self) -> list[str]:
        """Return those of the wanted tables that this runner is to look after now."""
        wanted = self._wanted
        for identifier in self._held.keys() - wanted:
            self._leases.release(self._held.pop(identifier)[0])
        return [identifier for identifier in sorted(wanted) if self._has_lease(identifier)]

    def _has_lease(self, identifier: str) -> bool:
        now_ms = self._clock.now_ms()
        held = self._held.get(identifier)
        if held is not None and now_ms - held[1] < self._lease_ttl_ms // 3:
            return True
        try:
            if held is not None:
                lease = self._leases.renew(held[0])
            else:
                ttl_ms = self._lease_ttl_ms
                lease = self._leases.acquire(identifier, MAINTENANCE, self._owner, ttl_ms)
        except StorageUnavailable as error:
            message = f"the lease of maintenance cannot be taken table={identifier}: {error}"
            raise StorageUnavailable(message) from error
        if lease is None:
            self._held.pop(identifier, None)
            return False
        self._held[identifier] = (lease, now_ms)
        return True
