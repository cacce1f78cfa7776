"""Worker processes of a server: as many as are wanted, each started again when it ends, until SIGTERM or Ctrl-C.

All of them accept connections from the same listening sockets. A worker that is killed takes its own connections with it, and
nothing else: connections that no worker has accepted yet wait for another one.
"""

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Final

_RESTART_S: Final = 1.0
"""Least time between two starts of a worker: one that cannot start must not take the processor."""

# Not forked: threads of the parent, of Arrow among others, would be absent in the worker and their locks held.
_SPAWN: Final = multiprocessing.get_context("spawn")

logger = logging.getLogger(__name__)


def run_workers(work: Callable[[], None], count: int) -> None:
    """Run workers until SIGTERM or SIGINT, which each of them gets as well, and return when all have ended.

    Args:
        work: Runs in each worker, and returns after SIGTERM. Requires: it can be pickled.
        count: Workers, at least one.
    """
    assert count >= 1, count
    stop, stopper = _SPAWN.Pipe(duplex=False)
    before = {
        number: signal.signal(number, lambda *_: stopper.send_bytes(b"stop"))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        _keep(work, count, stop)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _keep(work: Callable[[], None], count: int, stop: Connection) -> None:
    """Keep as many workers as are wanted until something can be read from `stop`, then end them."""
    workers = [_started(work) for _ in range(count)]
    not_before = time.monotonic() + _RESTART_S
    while stop not in wait([stop, *(worker.sentinel for worker in workers)]):
        # Not a plain sleep: a stop must not wait.
        if stop.poll(max(0.0, not_before - time.monotonic())):
            break
        for place, worker in enumerate(workers):
            if not worker.is_alive():
                logger.warning(
                    "worker has ended and is started again pid=%s exit_code=%s",
                    worker.pid,
                    worker.exitcode,
                )
                worker.close()
                workers[place] = _started(work)
        not_before = time.monotonic() + _RESTART_S
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join()


def _started(work: Callable[[], None]) -> SpawnProcess:
    worker = _SPAWN.Process(target=_work, args=(work,))
    worker.start()
    return worker


def _work(work: Callable[[], None]) -> None:
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    work()


def _end_with_parent() -> None:
    """End this process as SIGTERM does when the parent is gone: nobody else would."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has a parent"
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
