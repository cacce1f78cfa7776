"""The reports of runners as of the last second, shared by lists, statuses, metrics and charts of a process."""

import threading
import time
from typing import Final

from braid.lake import Clock, LakeError
from braid.registry.store.progress import ProgressStore, RunnerReports

AGE_MS_MAX: Final = 1_000


class RecentReports:
    """Reads the reports of runners, at most once a second; thread-safe."""

    def __init__(self, progress: ProgressStore, clock: Clock) -> None:
        self._progress = progress
        self._clock = clock
        self._lock = threading.Lock()
        self._reports: RunnerReports | None = None
        self._read_ms = 0
        self._failure: tuple[float, LakeError] | None = None

    def get(self) -> RunnerReports:
        """Return the reports; while one caller reads them, the others wait for the same reports, or the same error.

        Raises:
            StorageUnavailable: Storage does not answer.
        """
        called_s = time.monotonic()
        with self._lock:
            if self._failure is not None and self._failure[0] > called_s:
                raise self._failure[1]
            age_ms = self._clock.now_ms() - self._read_ms
            if self._reports is None or not 0 <= age_ms < AGE_MS_MAX:
                began_s = time.monotonic()
                try:
                    self._reports = self._progress.read_all()
                except LakeError as error:
                    # Callers that have waited for this read do not wait for another one.
                    self._failure = began_s, error
                    raise
                self._read_ms = self._clock.now_ms()
            return self._reports
