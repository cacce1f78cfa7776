"""Keeps tables fast and small while others write and read them: compaction and expiry, for ever.

    every interval: which tables? ──► what is due in them? ──► buckets, most runs first
                                                                   │ as processes are free
                    counted, told ◄── outcome ◄── one process per bucket

A bucket that takes long holds up nobody but itself: while it is worked on, the others are looked at
again. Expiry runs in a thread beside. What fails is told once and tried again after a pause that
doubles; one bucket's trouble is not the others'. Any number of services may look after the same
table: work that another was faster with is dropped and counted.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from lake.errors import LakeError, TableNotFound
from lake.files.clock import Clock, SystemClock
from lake.format.bucket import BucketId
from lake.format.partition_path import bucket_directory
from lake.lsm.compaction_pick import PickState
from lake.table.catalog import Catalog
from lake.table.maintenance.bucket_work import BucketOutcome, BucketPool, BucketWork
from lake.table.maintenance.compaction_pool import CompactionPool
from lake.table.maintenance.maintenance_stats import MaintenanceStats
from lake.table.table import Table

__all__ = ["MaintenanceService", "MaintenanceStats"]

logger = logging.getLogger(__name__)

_LOOK: Final = "look"
_EXPIRY: Final = "expiry"
EXPIRY_INTERVAL_MS: Final = 10_000
"""Between two expiries of a table; each lists its snapshots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bucket:
    """A bucket with something to compact.

    Attributes:
        identifier: Of its table.
        place: Serialised partition row and bucket number.
        directory: `p=a/bucket-0`, for people.
    """

    identifier: str
    place: BucketId
    directory: str


class MaintenanceService:
    """Compacts and expires; as a context it ends its processes with the block.

    One thread calls `run` or `round`; `stop` and `stats` are for any.
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
        """Do nothing yet.

        Args:
            catalog: Opens the tables; of storage that other processes reach.
            identifiers: Asked at each look which tables to look after, as `db.table`; after a failure
                less often.
            workers: Buckets compacted at once, each in a process of its own.
            new_pool: Starts those processes when the first bucket is due, and again after one was
                killed; None: on this machine.
            expires: Whether snapshots expire, too.
            clock: For pauses after failures.
        """
        self._catalog = catalog
        self._identifiers = identifiers
        self._workers = workers
        self._new_pool = new_pool or (lambda: CompactionPool(workers=workers))
        self._expires = expires
        self._clock = clock or SystemClock()
        self._tables: dict[str, Table] = {}
        self._due: list[tuple[_Bucket, PickState | None]] = []
        self._running: dict[Future[BucketOutcome], tuple[_Bucket, BucketPool]] = {}
        self._expiring: dict[str, Future[int]] = {}
        self._expired_ms: dict[str, int] = {}
        self._pool: BucketPool | None = None
        self._expiry = ThreadPoolExecutor(max_workers=1, thread_name_prefix="expiry")
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._is_closed = False
        self._asking = MaintenanceStats()  # for `identifiers`, of whichever tables
        self.stats: dict[str, MaintenanceStats] = {}

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
        """Look after the tables until `stop` is called, from a signal or another thread.

        Args:
            interval_s: Between two looks at what is due, while little is; where there is more than
                the processes can do the next look comes as soon as one of them has no work.
        """
        next_look = time.monotonic()
        while not self._stop.is_set():
            if time.monotonic() >= next_look:
                self._look()
                next_look = time.monotonic() + interval_s
            self._submit()
            self._wake.wait(max(0.0, next_look - time.monotonic()))
            self._wake.clear()
            if self._collect() and not self._due:
                next_look = time.monotonic()

    def round(self) -> None:
        """Do once all that is due, and come back when it is done; what fails is in `stats`."""
        self._look()
        self._submit()
        while self._running and not self._stop.is_set():
            self._wake.wait()
            self._wake.clear()
            self._collect()
            self._submit()
        wait(self._expiring.values())
        self._collect()

    def stop(self) -> None:
        """Ask for the end: nothing new is begun."""
        self._stop.set()
        self._wake.set()

    def close(self, *, grace_s: float | None = None) -> None:
        """End the processes.

        Args:
            grace_s: How long buckets that are worked on may take; None: as long as they do. What
                is cut off has committed nothing.
        """
        self._is_closed = True
        self._stop.set()
        if self._pool is not None:
            self._pool.close(grace_s=grace_s)
        # An expiry that is cut off is taken up again by the next one, so it is not waited for long.
        self._expiry.shutdown(wait=True, cancel_futures=True)
        self._collect()

    def _look(self) -> None:
        """Find what is due, and let snapshots expire that may."""
        now_ms = self._clock.now_ms()
        if not self._asking.is_due(_LOOK, now_ms=now_ms):
            return
        try:
            identifiers = self._identifiers()
        except (LakeError, OSError) as error:
            if self._asking.fail(_LOOK, str(error), now_ms=now_ms):
                logger.warning(
                    "maintenance waits: which tables to look after is unknown error=%s", error
                )
            return
        if self._asking.error is not None:
            self._asking.succeed(_LOOK)
            logger.info("maintenance goes on: which tables to look after is known again")
        for gone in self.stats.keys() - set(identifiers):
            self._forget(gone)
        due: list[tuple[int, _Bucket, PickState | None]] = []
        for identifier in identifiers:
            known = self.stats.setdefault(identifier, MaintenanceStats())
            if self._stop.is_set() or not known.is_due(_LOOK, now_ms=self._clock.now_ms()):
                continue
            try:
                table = self._table(identifier)
                self._start_expiry(table)
                stats = self.stats[identifier]
                due += self._due_in(table, stats)
                stats.succeed(_LOOK)
            except (LakeError, OSError) as error:
                self._fail(identifier, _LOOK, error)
            except Exception as error:
                # A mistake of ours, met in one table, must not end the maintenance of all.
                if self._fail(identifier, _LOOK, error):
                    logger.exception("this is a mistake in the program table=%s", identifier)
        busy = {bucket for bucket, _ in self._running.values()}
        due.sort(key=lambda one: one[0], reverse=True)
        self._due = [(bucket, state) for _, bucket, state in due if bucket not in busy]

    def _due_in(
        self, table: Table, stats: MaintenanceStats
    ) -> Iterator[tuple[int, _Bucket, PickState | None]]:
        """Yield number of runs, bucket and memory of what is to be compacted in a table."""
        runs = table.runs_per_bucket()
        stats.polls += 1
        stats.buckets = len(runs)
        stats.most_runs = max(runs.values(), default=0)
        now_ms = self._clock.now_ms()
        places = table.buckets_to_compact(memory=stats.memory)
        directories = {place: bucket_directory(*place, table.schema) for place in places}
        # What failed in buckets that are gone, or that somebody else has compacted, is over.
        for subject in stats.active_failures.keys() - {_LOOK, _EXPIRY, *directories.values()}:
            stats.succeed(subject)
        for place, state in places.items():
            directory = directories[place]
            if stats.is_due(directory, now_ms=now_ms):
                bucket = _Bucket(identifier=table.identifier, place=place, directory=directory)
                yield runs.get(place, 0), bucket, state

    def _table(self, identifier: str) -> Table:
        """Return a table at its newest schema; another of the same name is begun with anew."""
        table = self._tables.get(identifier)
        if table is not None:
            try:
                table.refresh()
            except TableNotFound:
                self._forget(identifier)
                self.stats[identifier] = MaintenanceStats()
                table = None
        if table is None:
            table = self._tables[identifier] = self._catalog.table(identifier)
        return table

    def _forget(self, identifier: str) -> None:
        self.stats.pop(identifier, None)
        self._tables.pop(identifier, None)
        self._expired_ms.pop(identifier, None)

    def _submit(self) -> None:
        """Keep the processes busy."""
        while self._due and len(self._running) < self._workers and not self._stop.is_set():
            bucket, state = self._due.pop(0)
            table = self._tables.get(bucket.identifier)
            if table is None:
                continue
            work = BucketWork.of(table, bucket.place, full=False, state=state)
            if self._pool is None:
                self._pool = self._new_pool()
            try:
                future = self._pool.submit(work)
            except BrokenProcessPool as error:
                self._drop_pool(self._pool)
                self._fail(bucket.identifier, bucket.directory, error)
                continue
            self._running[future] = (bucket, self._pool)
            future.add_done_callback(lambda _: self._wake.set())

    def _collect(self) -> bool:
        """Count what has come to an end; return whether a bucket was compacted."""
        is_compacted = False
        for done in [future for future in self._running if future.done()]:
            bucket, pool = self._running.pop(done)
            if done.cancelled():
                continue
            error = done.exception()
            if error is not None and self._is_closed:
                continue  # cut off on purpose
            if isinstance(error, BrokenProcessPool):
                self._drop_pool(pool)
            if error is None:
                error = self._count(bucket, done.result())
            if error is not None:
                self._fail(bucket.identifier, bucket.directory, error)
            elif (result := done.result().result) is not None:
                is_compacted |= result.snapshot_id is not None
        for identifier in [name for name, one in self._expiring.items() if one.done()]:
            expiry = self._expiring.pop(identifier)
            if expiry.cancelled():
                continue
            error = expiry.exception()
            if error is not None:
                self._fail(identifier, _EXPIRY, error)
                continue
            self._stats(identifier).expired += expiry.result()
            self._stats(identifier).succeed(_EXPIRY)
        return is_compacted

    def _count(self, bucket: _Bucket, outcome: BucketOutcome) -> LakeError | OSError | None:
        """Count what was done to a bucket, or return why nothing was."""
        if outcome.error is not None:
            return outcome.error
        stats = self._stats(bucket.identifier)
        stats.succeed(bucket.directory)
        if outcome.state is not None:
            stats.memory.states[outcome.bucket_id] = outcome.state
        if outcome.result is None:
            return None
        stats.count(outcome.result)
        name, done = bucket.identifier, outcome.result
        if done.snapshot_id is not None:
            logger.info(
                "compacted table=%s bucket=%s snapshot=%d files=%d>%d rows=%d>%d",
                name,
                bucket.directory,
                done.snapshot_id,
                done.files_in,
                done.files_out,
                done.rows_in,
                done.rows_out,
            )
        for dropped in done.dropped:
            logger.info(
                "dropped table=%s bucket=%s reason=%s", name, bucket.directory, dropped.reason
            )
        return None

    def _start_expiry(self, table: Table) -> None:
        name, now_ms = table.identifier, self._clock.now_ms()
        stats = self._stats(name)
        is_time = now_ms >= self._expired_ms.get(name, 0) + EXPIRY_INTERVAL_MS
        if (
            self._expires
            and is_time
            and name not in self._expiring
            and stats.is_due(_EXPIRY, now_ms=now_ms)
        ):
            self._expired_ms[name] = now_ms
            self._expiring[name] = self._expiry.submit(self._expire, table)

    def _expire(self, table: Table) -> int:
        """Remove tags and snapshots whose time is over, in the thread; return how many snapshots."""
        # Tags first: what only they kept may go with the snapshots.
        table.expire_tags()
        limit = table.schema.table_options.snapshot_expire_limit
        total = 0
        while not self._stop.is_set():
            expired = len(table.expire().snapshots)
            total += expired
            if expired < limit:
                break
        return total

    def _stats(self, identifier: str) -> MaintenanceStats:
        """Return the counts of a table; those of one that is not looked after any more go nowhere."""
        return self.stats.get(identifier) or MaintenanceStats()

    def _drop_pool(self, broken: BucketPool | None) -> None:
        """Have the next bucket start new processes, unless that has happened already."""
        if broken is not None and broken is self._pool:
            broken.close()
            self._pool = None

    def _fail(self, identifier: str, subject: str, error: BaseException) -> bool:
        """Count a failure, tell it in the log unless it is the same as before; return whether."""
        why = str(error)
        if isinstance(error, BrokenProcessPool):
            why = "a process that compacts was killed"
        elif not isinstance(error, LakeError | OSError):
            why = f"{type(error).__name__}: {error}"  # a mistake of ours, or of a function of a package
        is_new = self._stats(identifier).fail(subject, why, now_ms=self._clock.now_ms())
        if is_new:
            logger.warning("maintenance failed table=%s what=%s error=%s", identifier, subject, why)
        return is_new
