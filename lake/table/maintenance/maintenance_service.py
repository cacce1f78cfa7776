"""The maintenance service: compacts and expires tables while other processes write and read them.

    every interval: which tables? ──► due buckets of each ──► queue, most runs first
                                                                │ while processes are free
                           counted ◄── outcome ◄── one process per bucket

A slow bucket keeps one process busy; meanwhile all other buckets are polled again, and the other processes compact
them. Expiry runs in a thread of its own. A failure is logged when it is new. The work that failed is tried again
after a pause, which doubles with each failure in a row, up to five minutes. Work on other buckets and tables goes on
meanwhile, but while the list of tables is unknown, no table is polled. Any number of services may maintain the same
table: work that another process finished first is dropped and counted.

| part | module |
|---|---|
| which buckets are worked on | `compaction_scheduler` |
| which tables expire | `expiry_scheduler` |
| what failed, and when it is tried again | `failure_backoff` |
| what was done to a table | `maintenance_stats` |
"""

import logging
import threading
from collections.abc import Callable, Collection
from types import TracebackType
from typing import Final

from braid.lake.errors import LakeError, TableNotFound
from braid.lake.files.clock import Clock, SystemClock
from braid.lake.table.catalog import Catalog
from braid.lake.table.maintenance.bucket_work import BucketPool
from braid.lake.table.maintenance.compaction_pool import CompactionPool
from braid.lake.table.maintenance.compaction_scheduler import (
    CompactionScheduler,
    DueBucket,
    find_due_buckets,
)
from braid.lake.table.maintenance.expiry_scheduler import ExpiryScheduler
from braid.lake.table.maintenance.failure_backoff import POLL, FailureBackoff
from braid.lake.table.maintenance.maintained_table import MaintainedTable
from braid.lake.table.maintenance.maintenance_stats import MaintenanceStats
from braid.lake.table.table import Table

logger = logging.getLogger(__name__)

_NICENESS: Final = 5
"""Of the processes that compact: a micro-batch that shares the cores with them is committed first. It delays compaction, and by
too many runs it slows itself down (back-pressure), so compaction never starves."""


class MaintenanceService:
    """Compacts and expires; as a context manager it ends its processes with the block.

    One thread calls `run` or `round`; any thread may call `poll_soon` and `stop`, and read `stats`.
    """

    def __init__(
        self,
        catalog: Catalog,
        identifiers: Callable[[], Collection[str]],
        *,
        workers: int = 1,
        new_pool: Callable[[], BucketPool] | None = None,
        expires: bool = True,
        clock: Clock | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            catalog: Opens the tables, on storage that other processes can reach.
            identifiers: Returns the tables to maintain, as `db.table`; called at each poll, and less
                often while it fails.
            workers: Buckets compacted at once, each in a process of its own.
            new_pool: Starts the processes when the first bucket is due, and again after one was
                killed; None: on this machine.
            expires: Whether snapshots and tags expire, too.
            clock: Measures intervals, and pauses after failures.
        """
        self._catalog = catalog
        self._identifiers = identifiers
        self._clock = clock or SystemClock()
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._is_asked = False
        self._tables: dict[str, MaintainedTable] = {}
        self._discovery = FailureBackoff(self._clock)  # of `identifiers`
        self._compaction = CompactionScheduler(
            new_pool or (lambda: CompactionPool(workers=workers, niceness=_NICENESS)),
            workers=workers,
            on_done=self._wake.set,
        )
        self._expiry = ExpiryScheduler(clock=self._clock, stop=self._stop)
        self._expires = expires

    def __enter__(self) -> "MaintenanceService":
        """Return the service."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()
        self.close()

    @property
    def stats(self) -> dict[str, MaintenanceStats]:
        """Counts and failures of the tables that are maintained now, by `db.table`."""
        # A copy, because the service's own thread may change the dictionary meanwhile.
        return {identifier: one.stats for identifier, one in list(self._tables.items())}

    @property
    def is_list_known(self) -> bool:
        """Whether the last attempt to list the tables succeeded; False: none of them was maintained."""
        return not self._discovery.active

    def run(self, *, interval_s: float) -> None:
        """Maintain the tables until `stop` is called, from a signal or another thread.

        Args:
            interval_s: Seconds between two polls while the processes keep up with what is due, and nobody calls
                `poll_soon`; otherwise the next poll comes as soon as a process has no work.
        """
        interval_ms = max(1, round(interval_s * 1_000))
        next_poll_ms = self._clock.now_ms()
        is_due = True
        while not self._stop.is_set():
            if is_due:
                self._poll()
                next_poll_ms = self._clock.now_ms() + interval_ms
            self._submit()
            # At most an interval ahead, so that a clock that is set back does not delay the next poll.
            now_ms = self._clock.now_ms()
            next_poll_ms = min(next_poll_ms, now_ms + interval_ms)
            is_woken = self._wake.wait(max(0, next_poll_ms - now_ms) / 1_000)
            self._wake.clear()
            # A bucket that was compacted may be due again, and was left out of polls meanwhile.
            is_behind = self._collect() and not self._compaction.has_queued
            is_asked, self._is_asked = self._is_asked and not self._compaction.is_running, False
            is_due = is_behind or is_asked or not is_woken or self._clock.now_ms() >= next_poll_ms

    def round(self) -> None:
        """Do once all that is due, and return when it is done; failures are in `stats`."""
        self._poll()
        self._submit()
        while self._compaction.is_running and not self._stop.is_set():
            self._wake.wait()
            self._wake.clear()
            self._collect()
            self._submit()
        self._expiry.wait()
        self._collect()

    def poll_soon(self) -> None:
        """Let `run` poll now instead of at the end of its interval, unless a bucket is being compacted.

        For any thread. A poll follows that compaction anyway if it has changed the bucket.
        """
        self._is_asked = True
        self._wake.set()

    def stop(self) -> None:
        """Request the end: nothing new is begun."""
        self._stop.set()
        self._wake.set()

    def close(self, *, grace_s: float | None = None) -> None:
        """End the processes.

        Args:
            grace_s: How long to wait for buckets in progress; None: as long as they take. A bucket
                that is cut off is committed as a whole or not at all.
        """
        self._stop.set()
        self._compaction.close(grace_s=grace_s)
        self._expiry.close()
        self._collect()

    def _submit(self) -> None:
        if not self._stop.is_set():
            self._compaction.submit()

    def _collect(self) -> bool:
        self._expiry.collect()
        return self._compaction.collect()

    def _poll(self) -> None:
        """Find the tables, queue their due buckets, and begin the expiries that are due."""
        identifiers = self._find_tables()
        if identifiers is None:
            return
        for identifier in self._tables.keys() - set(identifiers):
            del self._tables[identifier]
        due: list[DueBucket] = []
        for identifier in identifiers:
            if identifier not in self._tables:
                self._tables[identifier] = MaintainedTable.new(identifier, self._clock)
            if not self._stop.is_set() and self._tables[identifier].failures.is_due(POLL):
                due += self._poll_table(identifier)
        self._compaction.enqueue(due)

    def _find_tables(self) -> Collection[str] | None:
        """Return the tables to maintain; None while that is unknown, which is logged once."""
        if not self._discovery.is_due(POLL):
            return None
        try:
            identifiers = self._identifiers()
        except (LakeError, OSError) as error:
            if self._discovery.fail(POLL, str(error)):
                logger.warning(
                    "maintenance waits: the list of tables cannot be read error=%s", error
                )
            return None
        if self._discovery.active:
            self._discovery.succeed(POLL)
            logger.info("maintenance continues: the list of tables is known again")
        return identifiers

    def _poll_table(self, identifier: str) -> list[DueBucket]:
        """Begin the table's expiry if it is due; return its due buckets, none after a failure."""
        try:
            table = self._refreshed(identifier)
            maintained = self._tables[identifier]
            if self._expires:
                self._expiry.start_if_due(maintained, table)
            due = find_due_buckets(maintained, table)
        except (LakeError, OSError) as error:
            self._tables[identifier].fail(POLL, error)
            return []
        except Exception as error:
            # A defect that one table reveals must not end the maintenance of all.
            if self._tables[identifier].fail(POLL, error):
                logger.exception(
                    "maintenance failed with an unexpected error, which is a bug table=%s",
                    identifier,
                )
            return []
        maintained.failures.succeed(POLL)
        return due

    def _refreshed(self, identifier: str) -> Table:
        """Return the table at its newest schema; one that was created anew starts without counts."""
        maintained = self._tables[identifier]
        if maintained.table is not None:
            try:
                maintained.table.refresh()
            except TableNotFound:
                maintained = self._tables[identifier] = MaintainedTable.new(identifier, self._clock)
        if maintained.table is None:
            maintained.table = self._catalog.table(identifier)
        return maintained.table
