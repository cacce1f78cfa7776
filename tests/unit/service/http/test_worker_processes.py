"""Worker processes of a server: started again when they end, and ended with their parent."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.waiting import wait_until
from tests.support.worker_pids import has_ended, worker_pids

_PARENT = """
import time
from functools import partial
from braid.service.http.worker_processes import run_workers
if __name__ == "__main__":
    run_workers([partial(time.sleep, 3_600)] * 2, end_seconds=END_SECONDS)
"""


@contextmanager
def parent(*, end_seconds: float = 60) -> "Iterator[subprocess.Popen[bytes]]":
    """Run the parent of two workers that sleep."""
    program = _PARENT.replace("END_SECONDS", str(end_seconds))
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        wait_until(lambda: len(worker_pids(process.pid)) == 2)
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_worker_that_is_killed_is_started_again_and_all_end_at_sigterm() -> None:
    with parent() as process:
        before = worker_pids(process.pid)
        killed = min(before)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: len(worker_pids(process.pid) - {killed}) == 2)
        after = worker_pids(process.pid)
        process.terminate()

        assert process.wait() == 0

    assert before & after == before - {killed}
    assert all(has_ended(pid) for pid in before | after)


def test_workers_end_when_their_parent_is_killed() -> None:
    with parent() as process:
        workers = worker_pids(process.pid)
        process.kill()

        wait_until(lambda: all(has_ended(pid) for pid in workers))


def test_a_worker_that_does_not_end_is_killed() -> None:
    with parent(end_seconds=0.1) as process:
        workers = worker_pids(process.pid)
        stuck = min(workers)
        os.kill(stuck, signal.SIGSTOP)  # no signal but SIGKILL reaches it now
        process.terminate()

        assert process.wait() == 0

    assert all(has_ended(pid) for pid in workers)
