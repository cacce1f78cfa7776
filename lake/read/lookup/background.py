"""Background jobs that make copies of files for lookups.

Each `BackgroundJobs` runs its jobs in at most two threads, which end when no job is left. `reader_slots` is the
number of threads that may read row groups at the same time.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

Job = Callable[[], None]

Submit = Callable[[Job], object]
"""Queues a job, which runs later in another thread."""

THREADS_MAX: Final = 2
"""Most copies made at the same time: decoding one uses several cores, and a server has to answer
meanwhile."""


def copy_threads() -> int:
    """Return the number of files that are copied in parallel."""
    return min(THREADS_MAX, os.cpu_count() or 1)


def reader_slots() -> int:
    """Return how many threads, at least one, may read row groups: each copy is left a core."""
    return max(1, (os.cpu_count() or 1) - copy_threads())


class BackgroundJobs:
    """Runs jobs in the order of their submission, a few at a time; safe between threads.

    A process that ends waits for running jobs, and drops those that have not begun.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._jobs: deque[Job] = deque()
        self._running = 0
        self._lock = threading.Lock()

    def submit(self, job: Job) -> None:
        """Queue a job. Requires: the job raises nothing, because no caller would get the error."""
        with self._lock:
            self._jobs.append(job)
            if self._running >= copy_threads():
                return
            self._running += 1
        # Not a daemon thread: one that is in Arrow's code when the interpreter ends would crash it.
        threading.Thread(target=self._run, name="braid-lookup-copies").start()

    def _run(self) -> None:
        try:
            while (job := self._next()) is not None:
                job()
        except BaseException:
            with self._lock:
                self._running -= 1
            raise

    def _next(self) -> Job | None:
        """Return the next job; None ends the calling thread, which is then no longer counted."""
        with self._lock:
            if is_ending():
                self._jobs.clear()
            if not self._jobs:
                # Under the lock: a job that is submitted after this starts a thread again.
                self._running -= 1
                assert self._running >= 0, "each thread ends once"
                return None
            return self._jobs.popleft()


def is_ending() -> bool:
    """Return whether the process waits only for its threads to end."""
    return not threading.main_thread().is_alive()
