"""Work that is done beside those who asked for it, by a few threads that end when nothing is left."""

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

Job = Callable[[], None]

Submit = Callable[[Job], object]
"""Has something done, in its own time."""

THREADS_MAX: Final = 2


def threads() -> int:
    """Return how many files are made ready side by side."""
    return min(THREADS_MAX, os.cpu_count() or 1)


def readers() -> int:
    """Return how many read row groups side by side for want of a copy: they leave a core to each copy."""
    return max(1, (os.cpu_count() or 1) - threads())


class BackgroundJobs:
    """Does jobs in their order, a few at a time; safe between threads.

    A process that ends does not wait for the jobs that have not begun.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._jobs: deque[Job] = deque()
        self._running = 0
        self._lock = threading.Lock()

    def submit(self, job: Job) -> None:
        """Have a job done; it tells its errors to nobody, so it raises none."""
        with self._lock:
            self._jobs.append(job)
            if self._running >= threads():
                return
            self._running += 1
        # No daemon: one that is inside of Arrow's code when the interpreter goes would bring it down.
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
        with self._lock:
            if is_ending():
                self._jobs.clear()
            if not self._jobs:
                self._running -= 1
                return None
            return self._jobs.popleft()


def is_ending() -> bool:
    """Return whether the process is about to end, and waits for its threads alone."""
    return not threading.main_thread().is_alive()
