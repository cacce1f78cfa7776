"""Watch of a cluster's executors: how many run, and which were lost; what it sees is logged, and reported by the runner."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from braid.lake import Clock
from braid.schemas import ExecutorsProgress

_LOG = logging.getLogger(__name__)
_EVERY_S: Final = 2.0
STARVED_S: Final = 120.0
"""Time without an executor, while jobs wait for one, after which none is expected any more.

A standalone master that was started anew without its state ends the executors of applications that it does not know,
and an application does not register with it again.
"""
_DRIVER: Final = "driver"
_REASON_CHARACTERS_MAX: Final = 300


class ExecutorWatch:
    """Looks at Spark's list of executors in a thread of its own, because a JVM that hangs does not answer."""

    def __init__(
        self,
        session: SparkSession,
        *,
        clock: Clock,
        stop: threading.Event,
        on_starved: Callable[[], None] = lambda: None,
        starved_s: float = STARVED_S,
    ) -> None:
        """Prepare to look; `start` begins.

        Args:
            session: A session on a cluster.
            clock: The clock for the time of a loss.
            stop: Ends the watch: executors that end later are not lost.
            on_starved: Called once, when jobs have waited without an executor for `starved_s`, which is logged.
            starved_s: See `STARVED_S`.
        """
        self._context: Any = session.sparkContext._jsc
        self._clock = clock
        self._on_starved = on_starved
        self._starved_s = starved_s
        self._waiting_since_s: float | None = None
        self._lost: set[str] = set()
        self._progress: ExecutorsProgress | None = None
        self._stop = stop

    @property
    def progress(self) -> ExecutorsProgress | None:
        """What was seen last; None before the first look. For any thread."""
        return self._progress

    def start(self) -> None:
        """Begin to look. The thread ends with `stop`, with the process, or when Spark is gone."""
        threading.Thread(target=self._run, name="executor-watch", daemon=True).start()

    def look(self) -> None:
        """Look once."""
        found = list(self._executors())
        last = self._progress or ExecutorsProgress(running=0)
        for executor in found:
            name = str(executor.id())
            if executor.isActive() or name in self._lost:
                continue
            self._lost.add(name)
            host, reason = str(executor.hostPort()), _reason(executor)
            _LOG.warning("executor lost executor=%s host=%s reason=%s", name, host, reason)
            last = ExecutorsProgress(
                running=0,
                last_lost_host=host,
                last_lost_reason=reason,
                last_lost_ms=self._clock.now_ms(),
            )
        running = sum(bool(executor.isActive()) for executor in found)
        self._progress = last.model_copy(update={"running": running, "lost": len(self._lost)})
        self._note_waiting(is_waiting=not running and self._has_jobs(), now_s=time.monotonic())

    def _note_waiting(self, *, is_waiting: bool, now_s: float) -> None:
        if not is_waiting:
            self._waiting_since_s = None
        elif self._waiting_since_s is None:
            self._waiting_since_s = now_s
        elif now_s - self._waiting_since_s >= self._starved_s:
            self._waiting_since_s = float("inf")  # once
            _LOG.error(
                "the cluster has given no executor for %g s, and jobs wait; hint: is the master alive? One that was "
                "started anew forgets applications without spark.deploy.recoveryMode",
                self._starved_s,
            )
            self._on_starved()

    def _has_jobs(self) -> bool:
        return len(self._context.sc().statusTracker().getActiveJobIds()) > 0

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.look()
            except (Py4JError, OSError) as error:
                _LOG.info("executors are watched no more error=%s", type(error).__name__)
                return
            self._stop.wait(_EVERY_S)

    def _executors(self) -> Iterator[Any]:
        # Spark keeps the last hundred that have ended.
        listed = self._context.sc().statusStore().executorList(False)
        for number in range(listed.length()):
            executor = listed.apply(number)
            if executor.id() != _DRIVER:
                yield executor


def _reason(executor: Any) -> str:
    given = executor.removeReason()
    text = str(given.get()) if given.isDefined() else "unknown"
    return " ".join(text.split())[:_REASON_CHARACTERS_MAX]
