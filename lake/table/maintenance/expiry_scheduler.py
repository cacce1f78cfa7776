"""The expiry scheduler: expires snapshots and tags of one table after another, in a thread."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final

from braid.lake.files.clock import Clock
from braid.lake.table.maintenance.failure_backoff import EXPIRY
from braid.lake.table.maintenance.maintained_table import MaintainedTable
from braid.lake.table.table import Table

EXPIRY_INTERVAL_MS: Final = 10_000
"""Shortest time between two expiries of a table; each lists its snapshots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expired:
    """What an expiry has done.

    Attributes:
        snapshots: Number of snapshots removed.
        oldest: Id of the oldest one that is left; None: not known.
    """

    snapshots: int
    oldest: int | None


class ExpiryScheduler:
    """Expires tables in a thread of its own, each at most once per interval; used by one thread."""

    def __init__(self, *, clock: Clock, stop: threading.Event) -> None:
        """Start nothing yet.

        Args:
            clock: Measures the interval.
            stop: Once set, an expiry that runs ends after its current step.
        """
        self._clock = clock
        self._stop = stop
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="expiry")
        self._running: dict[str, tuple[MaintainedTable, Future[_Expired]]] = {}

    def start_if_due(self, maintained: MaintainedTable, table: Table) -> None:
        """Begin an expiry, unless one runs, or the interval or the pause after a failure is not over."""
        now_ms = self._clock.now_ms()
        is_due = now_ms >= maintained.next_expiry_ms and maintained.failures.is_due(EXPIRY)
        if is_due and maintained.identifier not in self._running:
            maintained.next_expiry_ms = now_ms + EXPIRY_INTERVAL_MS
            future = self._thread.submit(self._expire, table)
            self._running[maintained.identifier] = (maintained, future)

    def collect(self) -> None:
        """Count the expiries that have ended."""
        for name in [name for name, (_, future) in self._running.items() if future.done()]:
            maintained, future = self._running.pop(name)
            if future.cancelled():
                continue
            error = future.exception()
            if error is not None:
                maintained.fail(EXPIRY, error)
                continue
            expired = future.result()
            maintained.stats.expired += expired.snapshots
            maintained.stats.oldest_snapshot_id = expired.oldest
            maintained.failures.succeed(EXPIRY)

    def wait(self) -> None:
        """Wait until the expiries that were begun have ended."""
        wait([future for _, future in self._running.values()])

    def close(self) -> None:
        """End the thread; the next expiry continues what is cut off, so this does not take long."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _expire(self, table: Table) -> _Expired:
        """Remove the tags and snapshots that are not retained."""
        # Tags expire first: snapshots that only they kept can then expire at once.
        table.expire_tags()
        limit = table.schema.table_options.snapshot_expire_limit
        total, oldest = 0, None
        while not self._stop.is_set():
            result = table.expire()
            total, oldest = total + len(result.snapshots), result.earliest
            # A call removes `limit` snapshots at most: if it removes fewer, none is left to remove.
            if len(result.snapshots) < limit:
                break
        return _Expired(snapshots=total, oldest=oldest)
