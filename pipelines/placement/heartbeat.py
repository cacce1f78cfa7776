"""Heartbeat of a runner: writes its report every few seconds, and sees which other runners do the same.

Ages of heartbeats are differences of modification times, each by storage's clock: the runner's own heartbeat, just written, says
what the time is. So a heartbeat costs one write and one list, however many runners and streams there are.

A runner judges others only by a list that is recent, and that was made after it first knew of them. If its own heartbeats have
been missing for a while, storage may not have answered to anybody: then it lets the others a time to live to be heard again.

A thread of its own writes heartbeats: nothing else that the runner does may delay them.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from braid.lake import Clock, LakeError
from braid.pipelines.stream.failure_log import FailureLog
from braid.registry.placement.assignment import Member
from braid.registry.store.progress import ProgressStore
from braid.schemas import RunnerProgress

_LOG = logging.getLogger(__name__)
_END_SECONDS_MAX = 10
_LOST_FRACTION: Final = 0.9
"""Of the time to live: queries need the rest of it to stop before others start them."""


class Heartbeat:
    """The heartbeat of one runner; safe to use from any thread.

    Attributes:
        answered_ms: When storage last answered, milliseconds since the epoch; None: never.
        error: Why storage does not answer; None: it does.
    """

    def __init__(
        self,
        progress: ProgressStore,
        *,
        name: str,
        ttl_ms: int,
        report: Callable[[], RunnerProgress],
        clock: Clock,
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create the heartbeat; writes nothing until `beat` or `start`.

        Args:
            progress: Where reports are written.
            name: The runner's name.
            ttl_ms: How long the runner is alive without another heartbeat, milliseconds.
            report: Returns the report of now.
            clock: Says when storage has answered, for people.
            steady_s: Returns seconds since any moment; never goes back and is never set.
        """
        self._progress = progress
        self._name = name
        self._ttl_s = ttl_ms / 1_000
        self._report = report
        self._clock = clock
        self._steady_s = steady_s
        self._failures = FailureLog(_LOG, "progress cannot be written")
        self._writing = threading.Lock()
        self._is_silent = True
        self.answered_ms: int | None = None
        self.error: BaseException | None = None
        # When the newest heartbeat was begun, and the ages of all heartbeats then; replaced as a whole.
        self._beaten_s: float | None = None
        self._seen: tuple[float, Mapping[str, int]] | None = None
        self._judges_from_s = 0.0
        self._met_s: dict[str, float] = {}
        self._due = threading.Event()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_lost(self) -> bool:
        """Whether others may soon hold this runner for dead, because its heartbeats are missing."""
        if self._beaten_s is None:
            return True
        return self._steady_s() - self._beaten_s >= self._ttl_s * _LOST_FRACTION

    def start(self, *, interval_ms: int) -> None:
        """Begin to write heartbeats, in a thread.

        Args:
            interval_ms: Time between two of them, milliseconds.
        """
        assert self._thread is None, "started once"
        self._thread = threading.Thread(
            target=self._repeat, args=(interval_ms / 1_000,), name="heartbeat", daemon=True
        )
        self._thread.start()

    def beat(self) -> None:
        """Write a heartbeat now, and look at those of others.

        Raises:
            LakeError, OSError: Storage does not answer.
        """
        try:
            self._write()
        except (LakeError, OSError) as error:
            self.error = error
            raise
        self.answered_ms, self.error = self._clock.now_ms(), None

    def beat_soon(self) -> None:
        """Let the next heartbeat not wait for the end of the interval."""
        self._due.set()

    def fall_silent(self) -> None:
        """Write no heartbeat any more until `beat` is called: the name belongs to another process."""
        with self._writing:
            self._is_silent = True

    def alive(self, runners: Mapping[str, Member]) -> frozenset[str]:
        """Return the processes of runners that are alive, as far as this runner can tell.

        Args:
            runners: The runners that have joined, by name.
        """
        now_s, seen = self._steady_s(), self._seen
        for one in runners.values():
            self._met_s.setdefault(one.owner, now_s)
        owners = {one.owner for one in runners.values()}
        self._met_s = {owner: met_s for owner, met_s in self._met_s.items() if owner in owners}
        if seen is None or now_s - seen[0] > self._ttl_s / 2 or now_s < self._judges_from_s:
            return frozenset(owners)
        listed_s, ages = seen
        return frozenset(
            one.owner
            for name, one in runners.items()
            if self._met_s[one.owner] >= listed_s
            or (name in ages and -one.ttl_ms <= ages[name] < one.ttl_ms)
        )

    def close(self) -> None:
        """End the thread."""
        self._end.set()
        self._due.set()
        if self._thread is not None:
            self._thread.join(_END_SECONDS_MAX)

    def _write(self) -> None:
        with self._writing:
            # Measured before the write: a slow storage shortens the life of the runner, and never prolongs it.
            begun_s = self._steady_s()
            self._progress.write(self._report())
            if self._beaten_s is not None and begun_s - self._beaten_s > self._ttl_s / 2:
                self._judges_from_s = self._steady_s() + self._ttl_s
            self._beaten_s = begun_s
            self._is_silent = False
            listed_s = self._steady_s()
            times = self._progress.heartbeats()
            now_ms = times.get(self._name)
            if now_ms is not None:
                ages = {name: now_ms - time_ms for name, time_ms in times.items()}
                self._seen = (listed_s, ages)

    def _repeat(self, interval_s: float) -> None:
        while not self._end.is_set():
            if not self._is_silent:
                try:
                    self.beat()
                except (LakeError, OSError) as error:
                    self._failures.note_failure(error)
                else:
                    self._failures.note_success()
            self._due.wait(interval_s)
            self._due.clear()
