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
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Final

_RESTART_S: Final = 1.0
"""Least time between two starts of a worker: one that cannot start must not take the processor."""

# Not forked: threads of the parent, of Arrow among others, would be absent in the worker and their locks held.
_SPAWN: Final = multiprocessing.get_context("spawn")

logger = logging.getLogger(__name__)


def run_workers(works: Sequence[Callable[[], None]], *, end_seconds: float) -> None:
    """Run workers until SIGTERM or SIGINT, which each of them gets as well, and return when all have ended.

    They get SIGUSR1 and SIGUSR2, too.

    Args:
        works: One for each worker, which returns after SIGTERM. Requires: they can be pickled.
        end_seconds: Time in which workers have to end; those that have not are killed.
    """
    stop, stopper = _SPAWN.Pipe(duplex=False)
    before = {
        number: signal.signal(number, lambda *_: stopper.send_bytes(b"stop"))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    before |= {
        number: signal.signal(number, _pass_on) for number in (signal.SIGUSR1, signal.SIGUSR2)
    }
    try:
        workers = _keep(works, stop)
        _end(workers, end_seconds)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _keep(works: Sequence[Callable[[], None]], stop: Connection) -> Sequence[SpawnProcess]:
    """Keep the workers running until something can be read from `stop`, and return them."""
    workers = [_started(work) for work in works]
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
                workers[place] = _started(works[place])
        not_before = time.monotonic() + _RESTART_S
    return workers


def _end(workers: Sequence[SpawnProcess], seconds: float) -> None:
    """End workers."""
    for worker in workers:
        worker.terminate()
    deadline = time.monotonic() + seconds
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))
        if worker.is_alive():
            logger.error(
                "worker does not end within %g seconds and is killed pid=%s", seconds, worker.pid
            )
            worker.kill()
            worker.join()


def _pass_on(number: int, _frame: object) -> None:
    """Send a signal to all workers."""
    for worker in multiprocessing.active_children():
        if worker.pid is not None:
            os.kill(worker.pid, number)


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
