"""The compaction scheduler: gives due buckets to the processes of a pool, most runs first, and counts the outcomes."""

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from braid.lake.format.bucket import BucketId
from braid.lake.format.partition_path import bucket_directory
from braid.lake.lsm.compaction_pick import PickState
from braid.lake.lsm.run_counts import count_runs
from braid.lake.table.maintenance.bucket_work import BucketOutcome, BucketPool, BucketWork
from braid.lake.table.maintenance.failure_backoff import EXPIRY, POLL
from braid.lake.table.maintenance.maintained_table import MaintainedTable
from braid.lake.table.table import Table

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueBucket:
    """A bucket with something to compact.

    Attributes:
        maintained: Its table.
        table: The table's handle when the bucket was found.
        bucket_id: Serialised partition row and bucket number.
        directory: `p=a/bucket-0`; names the bucket in logs and failures.
        runs: Its sorted runs.
        state: What picking remembers of the bucket.
    """

    maintained: MaintainedTable
    table: Table
    bucket_id: BucketId
    directory: str
    runs: int
    state: PickState | None


class CompactionScheduler:
    """Hands due buckets to a pool, and counts the outcomes; used by one thread."""

    def __init__(
        self, new_pool: Callable[[], BucketPool], *, workers: int, on_done: Callable[[], None]
    ) -> None:
        """Start nothing yet.

        Args:
            new_pool: Starts processes when the first bucket is due, and again after one was killed.
            workers: Buckets compacted at once.
            on_done: Called from another thread whenever work on a bucket ends.
        """
        self._new_pool = new_pool
        self._workers = workers
        self._on_done = on_done
        self._pool: BucketPool | None = None
        self._queue: list[DueBucket] = []
        self._running: dict[Future[BucketOutcome], tuple[DueBucket, BucketPool]] = {}
        self._is_closed = False

    @property
    def has_queued(self) -> bool:
        """Whether due buckets wait for a free process."""
        return bool(self._queue)

    @property
    def is_running(self) -> bool:
        """Whether a bucket is being compacted."""
        return bool(self._running)

    def enqueue(self, due: Iterable[DueBucket]) -> None:
        """Replace the queue by the buckets found now, except those that are being compacted."""
        busy = {(one.maintained.identifier, one.bucket_id) for one, _ in self._running.values()}
        self._queue = [
            one
            for one in sorted(due, key=lambda one: one.runs, reverse=True)
            if (one.maintained.identifier, one.bucket_id) not in busy
        ]

    def submit(self) -> None:
        """Submit queued buckets while processes are free."""
        while self._queue and len(self._running) < self._workers:
            due = self._queue.pop(0)
            work = BucketWork.of(due.table, due.bucket_id, full=False, state=due.state)
            if self._pool is None:
                self._pool = self._new_pool()
            try:
                future = self._pool.submit(work)
            except BrokenProcessPool as error:
                self._drop_pool(self._pool)
                due.maintained.fail(due.directory, error)
                continue
            self._running[future] = (due, self._pool)
            future.add_done_callback(lambda _: self._on_done())

    def collect(self) -> bool:
        """Count the work that has ended; return whether a bucket was compacted."""
        has_compacted = False
        for future in [future for future in self._running if future.done()]:
            due, pool = self._running.pop(future)
            if future.cancelled():
                continue
            error = future.exception()
            if error is not None and self._is_closed:
                continue  # cut off by `close`
            if isinstance(error, BrokenProcessPool):
                self._drop_pool(pool)
            if error is None:
                outcome = future.result()
                error = outcome.error
                has_compacted |= _count(due, outcome)
            if error is not None:
                due.maintained.fail(due.directory, error)
        assert len(self._running) <= self._workers, "a process works on one bucket at a time"
        return has_compacted

    def close(self, *, grace_s: float | None) -> None:
        """End the processes; see `BucketPool.close`. What is cut off is not counted as a failure."""
        self._is_closed = True
        self._queue = []
        if self._pool is not None:
            self._pool.close(grace_s=grace_s)

    def _drop_pool(self, broken: BucketPool) -> None:
        """Drop a broken pool, so that the next bucket starts new processes.

        All futures of a broken pool fail, one after another; only at the first failure is the pool
        still the current one.
        """
        if broken is self._pool:
            broken.close()
            self._pool = None


def find_due_buckets(maintained: MaintainedTable, table: Table) -> list[DueBucket]:
    """Return the buckets with something to compact, except those that wait after a failure.

    Raises:
        LakeError: As `Table.live_files` and `Table.buckets_to_compact`.
    """
    stats, failures = maintained.stats, maintained.failures
    newest = table.latest_snapshot()
    files = [] if newest is None else table.live_files(newest)
    runs = count_runs(files)
    stats.polls += 1
    stats.snapshot_id = None if newest is None else newest.id
    stats.files = len(files)
    stats.file_bytes = sum(entry.file.file_size for entry in files)
    stats.buckets = len(runs)
    stats.most_runs = max(runs.values(), default=0)
    states = table.buckets_to_compact(memory=maintained.memory)
    directories = {bucket: bucket_directory(*bucket, table.schema) for bucket in states}
    # The failure of a bucket is over when it is gone, or another process has compacted it.
    for subject in failures.active.keys() - {POLL, EXPIRY, *directories.values()}:
        failures.succeed(subject)
    return [
        DueBucket(
            maintained=maintained,
            table=table,
            bucket_id=bucket,
            directory=directories[bucket],
            runs=runs.get(bucket, 0),
            state=state,
        )
        for bucket, state in states.items()
        if failures.is_due(directories[bucket])
    ]


def _count(due: DueBucket, outcome: BucketOutcome) -> bool:
    """Count the outcome of a bucket unless it is an error; return whether it made a snapshot."""
    if outcome.error is not None:
        return False
    maintained, result = due.maintained, outcome.result
    maintained.failures.succeed(due.directory)
    if outcome.state is not None:
        maintained.memory.states[outcome.bucket_id] = outcome.state
    if result is None:
        return False
    maintained.stats.count(result)
    name = maintained.identifier
    if result.snapshot_id is not None:
        logger.info(
            "compacted table=%s bucket=%s snapshot=%d files=%d>%d rows=%d>%d",
            name,
            due.directory,
            result.snapshot_id,
            result.files_in,
            result.files_out,
            result.rows_in,
            result.rows_out,
        )
    for dropped in result.dropped:
        logger.info("dropped table=%s bucket=%s reason=%s", name, due.directory, dropped.reason)
    return result.snapshot_id is not None
