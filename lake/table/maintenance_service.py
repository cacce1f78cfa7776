"""Keeps tables fast and small while others write and read them: compaction, then expiry, again and again.

Each round asks which tables there are, compacts what is due in them, and lets snapshots expire that
nobody needs. What fails is told and tried again in the next round; one table's trouble is not the
others'. Any number of services may look after the same table.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from types import TracebackType

from lake.errors import LakeError
from lake.maintenance.compaction_picks import CompactionMemory
from lake.maintenance.compaction_result import CompactionResult
from lake.table.compaction_pool import CompactionPool
from lake.table.table import Table

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class TableUpkeep:
    """What a service has done to one table so far.

    Attributes:
        rounds: Looks at the table.
        compactions: Buckets compacted.
        dropped: Buckets worked on in vain, because somebody else was faster.
        rows_in: Rows read by compactions.
        rows_out: Rows written by them, or moved with their files.
        expired: Snapshots removed.
        failures: Buckets, looks and expiries that failed.
        error: The last failure; None after a round without any.
    """

    rounds: int = 0
    compactions: int = 0
    dropped: int = 0
    rows_in: int = 0
    rows_out: int = 0
    expired: int = 0
    failures: int = 0
    error: str | None = None
    memory: CompactionMemory = field(default_factory=CompactionMemory, repr=False)

    def count(self, result: CompactionResult) -> None:
        """Add what a compaction did."""
        self.compactions += result.buckets
        self.dropped += len(result.dropped)
        self.rows_in += result.rows_in
        self.rows_out += result.rows_out


class MaintenanceService:
    """Compacts and expires; as a context it ends its processes with the block."""

    def __init__(
        self,
        tables: Callable[[], Mapping[str, Table]],
        *,
        workers: int = 1,
        expires: bool = True,
    ) -> None:
        """Do nothing yet.

        Args:
            tables: Asked in each round which tables to look after, by `db.table`. The same object
                for the same table keeps what is known of its files.
            workers: Buckets compacted at once, each in a process of its own.
            expires: Whether snapshots expire, too.
        """
        self._tables = tables
        self._workers = workers
        self._expires = expires
        self._pool: CompactionPool | None = None
        self._stop = threading.Event()
        self.upkeep: dict[str, TableUpkeep] = {}

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

    def run(self, *, interval_s: float) -> None:
        """Do a round every so often until `stop` is called, from a signal or another thread."""
        while not self._stop.is_set():
            self.round()
            self._stop.wait(interval_s)

    def stop(self) -> None:
        """Ask for the end; buckets that are worked on are finished."""
        self._stop.set()

    def close(self) -> None:
        """End the processes after the buckets that they work on."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def round(self) -> None:
        """Look after every table once; failures are counted and told in the log."""
        try:
            tables = self._tables()
        except (LakeError, OSError) as error:
            logger.warning("tables cannot be listed error=%s", error)
            return
        for gone in self.upkeep.keys() - tables.keys():
            del self.upkeep[gone]
        for identifier, table in tables.items():
            if self._stop.is_set():
                return
            self._look_after(table, self.upkeep.setdefault(identifier, TableUpkeep()))

    def _look_after(self, table: Table, upkeep: TableUpkeep) -> None:
        upkeep.rounds += 1
        upkeep.error = None
        try:
            self._compact(table, upkeep)
            if self._expires and not self._stop.is_set():
                table.refresh()
                upkeep.expired += len(table.expire().snapshots)
        except BrokenProcessPool:
            self._pool = None
            self._fail(table, upkeep, "a process that compacts was killed")
        except (LakeError, OSError) as error:
            self._fail(table, upkeep, str(error))

    def _compact(self, table: Table, upkeep: TableUpkeep) -> None:
        for outcome in self._processes().compact(table, full=False, memory=upkeep.memory):
            if outcome.result is not None:
                upkeep.count(outcome.result)
            else:
                self._fail(table, upkeep, f"bucket {outcome.place[1]}: {outcome.error}")
            if self._stop.is_set():
                return

    def _processes(self) -> CompactionPool:
        if self._pool is None:
            self._pool = CompactionPool(workers=self._workers)
        return self._pool

    def _fail(self, table: Table, upkeep: TableUpkeep, why: str) -> None:
        upkeep.failures += 1
        upkeep.error = why
        logger.warning("maintenance failed table=%s error=%s", table.identifier, why)
