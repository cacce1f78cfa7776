"""Counts of tables' rows by their states, made in the background and kept by snapshot.

A count scans the table, which takes seconds for many millions of rows. So a request starts the count of its snapshot, waits a
moment for it, and is then answered with the newest count that there is, if any, and the progress of the one that runs. One count
runs at a time in a process, and at most one for the newest snapshots of a table. A count of the newest snapshot ages without a new
snapshot, because rows become stale: it is made again at most once a minute.
"""

import logging
import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from braid.lake import Clock, LakeError, ReadAt, Scan, Snapshot, Table
from braid.schemas import TableDocument
from braid.service.control.completeness import CompletenessCount, count_states, scan_of_states
from braid.service.control.row_lookup import measured_ms

WAIT_S: Final = 1.0
"""The longest wait of a request for a count."""

COUNTS_MAX: Final = 64
JOBS_MAX: Final = 8
RECOUNT_MS: Final = 60_000

logger = logging.getLogger(__name__)


class TooManyCounts(LakeError):
    """Counts of other tables or snapshots run and wait already."""


class _Closed(Exception):
    """The service is being closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The count of a snapshot.

    Attributes:
        snapshot: The snapshot; None for a table without one.
        count: The count.
    """

    snapshot: Snapshot | None
    count: CompletenessCount


@dataclass(frozen=True, slots=True, kw_only=True)
class CountProgress:
    """A count that runs or waits.

    Attributes:
        snapshot: Its snapshot.
        done: The part that is done, from 0 to 1.
    """

    snapshot: Snapshot | None
    done: float


@dataclass(frozen=True, slots=True)
class _Key:
    """What a count depends on besides the time.

    Attributes:
        table: `db.table`.
        is_newest: Whether the newest snapshot was requested, so that ages are measured now.
        snapshot: Id and `uuid` of the snapshot; None: without one.
        schema_id: The schema that the snapshot is read with.
    """

    table: str
    is_newest: bool
    snapshot: tuple[int, str | None] | None
    schema_id: int


@dataclass(slots=True)
class _Job:
    key: _Key
    snapshot: Snapshot | None
    done: float = 0.0
    ended: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None


class CompletenessCounts:
    """The counts of all tables; safe between threads. Close it at the end."""

    def __init__(self, clock: Clock) -> None:
        """Count nothing yet; `clock` tells the age of counts."""
        self._clock = clock
        self._counts: OrderedDict[_Key, tuple[TableDocument, Counted]] = OrderedDict()
        self._jobs: dict[_Key, _Job] = {}
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="completeness")
        self._lock = threading.Lock()
        self._is_closed = False

    def get(
        self,
        table: Table,
        document: TableDocument,
        at: ReadAt,
        *,
        verified_ms: int,
        wait_s: float = WAIT_S,
    ) -> tuple[Counted | None, CountProgress | None]:
        """Return a count of a state, and the progress of the count that is going to replace it.

        Args:
            table: The table.
            document: Its declaration.
            at: The state. Of the newest, the count of an older snapshot may be returned while its own runs.
            verified_ms: When the state was determined, milliseconds since 1970.
            wait_s: The longest wait, seconds.

        Returns:
            The count, None if there is none yet; and the progress, None if the count is the one of the state.

        Raises:
            TooManyCounts: Too many counts wait already.
            LakeError: There is no such state, or it cannot be read.
        """
        scan = scan_of_states(table, document, at)
        snapshot = scan.snapshot
        key = _Key(
            table.identifier,
            at.is_newest,
            None if snapshot is None else (snapshot.id, snapshot.uuid),
            scan.schema.id,
        )
        ages_ms = measured_ms(snapshot, verified_ms, is_newest=at.is_newest)
        deadline_s = time.monotonic() + wait_s
        while (found := self._current(key, document)) is None:
            job = self._job(key, scan, document, ages_ms)
            if not job.ended.wait(max(0.0, deadline_s - time.monotonic())):
                progress = CountProgress(snapshot=job.snapshot, done=job.done)
                return self._latest(key, document), progress
            # A count of an earlier snapshot may have ended: then the one of this snapshot begins.
            if job.error is not None and job.key == key:
                raise job.error
        return found, None

    def newest(self) -> dict[str, CompletenessCount]:
        """Return the last count of the newest snapshot by `db.table`, of the tables that have one."""
        with self._lock:
            counts = [
                (key.table, one.count) for key, (_, one) in self._counts.items() if key.is_newest
            ]
        # Sorted, so that the last one of a table stays.
        return dict(sorted(counts, key=lambda found: found[1].measured_ms))

    def close(self) -> None:
        """End the running count at its next batch, without waiting for it, and begin no other one."""
        self._is_closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _current(self, key: _Key, document: TableDocument) -> Counted | None:
        """Return the count of a key, unless the declaration has changed or rows have become stale since."""
        with self._lock:
            known = self._counts.get(key)
            if known is None or known[0].table != document.table:
                return None
            self._counts.move_to_end(key)
        count = known[1].count
        now_ms = self._clock.now_ms()
        is_exact = (
            not key.is_newest or count.turns_stale_ms is None or now_ms < count.turns_stale_ms
        )
        return known[1] if is_exact or now_ms - count.measured_ms < RECOUNT_MS else None

    def _latest(self, key: _Key, document: TableDocument) -> Counted | None:
        """Return the last count of the newest snapshot, which may not be the newest any more."""
        with self._lock:
            found = [
                counted
                for known, (of, counted) in self._counts.items()
                if key.is_newest and known.is_newest and known.table == key.table
                if of.table == document.table
            ]
        return max(found, key=lambda counted: counted.count.measured_ms, default=None)

    def _job(self, key: _Key, scan: Scan, document: TableDocument, ages_ms: int) -> _Job:
        """Return the running count of a key, or of an earlier newest snapshot of the table; begin it if there is none."""
        with self._lock:
            for job in self._jobs.values():
                if job.key == key or (
                    key.is_newest and job.key.is_newest and job.key.table == key.table
                ):
                    return job
            if len(self._jobs) >= JOBS_MAX:
                message = f"{JOBS_MAX} counts are running or waiting; try again later"
                raise TooManyCounts(message)
            job = self._jobs[key] = _Job(key, scan.snapshot)
            self._pool.submit(self._count, job, scan, document, ages_ms)
        return job

    def _count(self, job: _Job, scan: Scan, document: TableDocument, ages_ms: int) -> None:
        def on_progress(done: float) -> None:
            job.done = done
            if self._is_closed:
                raise _Closed

        try:
            count = count_states(scan, document, measured_ms=ages_ms, on_progress=on_progress)
            with self._lock:
                self._counts[job.key] = document, Counted(snapshot=job.snapshot, count=count)
                while len(self._counts) > COUNTS_MAX:
                    self._counts.popitem(last=False)
        except _Closed:
            return
        except Exception as error:  # the request tells it, and the next one tries again
            job.error = error
            logger.warning(
                "rows cannot be counted table=%s error=%s",
                job.key.table,
                error,
                exc_info=None if isinstance(error, LakeError) else error,
            )
        finally:
            with self._lock:
                del self._jobs[job.key]
            job.ended.set()
