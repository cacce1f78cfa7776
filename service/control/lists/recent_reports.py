"""The reports of runners as of the last second, so that lists with many entries and many readers read each report once."""

import threading
from typing import Final

from braid.lake import Clock
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

    def get(self) -> RunnerReports:
        """Return the reports; while one caller reads them, the others wait for the same reports."""
        with self._lock:
            age_ms = self._clock.now_ms() - self._read_ms
            if self._reports is None or not 0 <= age_ms < AGE_MS_MAX:
                self._reports = self._progress.read_all()
                self._read_ms = self._clock.now_ms()
            return self._reports
