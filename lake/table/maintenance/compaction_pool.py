"""Pool of processes on this machine that compact buckets, beside readers and writers.

Each bucket is committed by itself. If a process is killed, the pool ends, and the work on the buckets in progress is
lost, at most one for each process; these buckets stay due. Other processes may compact the same table: work that
another process finished first is dropped and counted in the result.

No process outlives the owner of the pool, however the owner ends.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from multiprocessing.connection import Connection
from types import TracebackType

from braid.lake.maintenance.compaction.compaction_picks import CompactionMemory
from braid.lake.table.maintenance.bucket_work import BucketOutcome, BucketWork, compact_buckets
from braid.lake.table.table import Table

__all__ = ["BucketOutcome", "BucketWork", "CompactionPool"]


class CompactionPool:
    """Processes that compact buckets; as a context manager it ends them with the block."""

    def __init__(self, *, workers: int, niceness: int = 0) -> None:
        """Start nothing yet.

        Args:
            workers: Buckets that are compacted at once, from 1.
            niceness: How much lower the priority of the processes is than that of the owner, from 0.
        """
        # Spawned, because forking a process with threads (Spark's, Arrow's) may deadlock the child.
        context = multiprocessing.get_context("spawn")
        # Nothing is ever written to the pipe: the workers see its end when the owner closes it or
        # dies.
        self._reader, self._writer = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(
            max_workers=workers,
            mp_context=context,
            initializer=_follow_owner,
            initargs=(self._reader, niceness),
        )
        self._futures: set[Future[BucketOutcome]] = set()

    def __enter__(self) -> "CompactionPool":
        """Return the pool."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the processes."""
        self.close()

    def close(self, *, grace_s: float | None = None) -> None:
        """Drop queued buckets, let buckets in progress finish, and end the processes.

        Args:
            grace_s: How long to wait for the buckets in progress; None: as long as it takes. After
                that time the processes are ended: a bucket of theirs is committed as a whole or not
                at all, and the files of one that is not are orphans.
        """
        for future in tuple(self._futures):
            future.cancel()
        wait(tuple(self._futures), timeout=grace_s)
        self._writer.close()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._reader.close()

    def submit(self, work: BucketWork) -> Future[BucketOutcome]:
        """Queue the compaction of a bucket, which runs as soon as a process is free.

        Raises:
            BrokenProcessPool: A process was killed: raised here, or later by the result. Make a new
                pool.
        """
        future = self._pool.submit(work.run)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def compact(
        self, table: Table, *, full: bool, memory: CompactionMemory | None = None
    ) -> Iterator[BucketOutcome]:
        """Compact the buckets of a table; see `compact_buckets`."""
        return compact_buckets(self, table, full=full, memory=memory)


def _follow_owner(owner: Connection, niceness: int) -> None:
    """Tie the life of a worker process to that of the pool's owner, and lower its priority.

    Signals to the whole process group, as a terminal sends them, are left to the owner, which lets
    buckets finish. Without the thread a worker of `ProcessPoolExecutor` would outlive a killed owner.
    """
    os.nice(niceness)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(owner,), daemon=True).start()


def _end_with(owner: Connection) -> None:
    owner.poll(None)
    os._exit(1)
