"""Lag of a live stream, as its runner reports it; unknown if no runner runs the stream now."""

import math
from typing import Final

from braid.lake import Clock, FileIO
from braid.registry.store.progress import ProgressStore, current_report
from braid.schemas import StreamState

_AGE_MS_MAX: Final = 30_000
"""A runner reports every few seconds: an older report is that of a runner that is gone."""


class StreamLag:
    """Reads the lag of one stream."""

    def __init__(self, file_io: FileIO, warehouse: str, key: str, clock: Clock) -> None:
        """Choose the stream.

        Args:
            file_io: The warehouse's storage.
            warehouse: Its path.
            key: `<database>.<table>/<stream>`.
            clock: The clock.
        """
        self._progress = ProgressStore(file_io, warehouse, clock)
        self._key = key
        self._clock = clock

    def seconds(self) -> float | None:
        """Return the lag; None where no living runner runs the stream, or it has not been measured.

        Infinite while records wait of whose age nothing is known: after a start they may have waited for days.
        """
        alive_since_ms = self._clock.now_ms() - _AGE_MS_MAX
        report = current_report(
            self._progress.read_all().runners, self._key, alive_since_ms=alive_since_ms
        )
        if report is None or not report.is_alive(alive_since_ms):
            return None
        if report.progress.state is not StreamState.RUNNING:
            return None
        if report.progress.lag_seconds is None and report.progress.lag_records:
            return math.inf
        return report.progress.lag_seconds
