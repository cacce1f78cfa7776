"""Load meter of one stream: which part of the time its micro-batches take."""

from typing import Final

_HALF_LIFE_MS: Final = 60_000
"""Age at which a measurement counts half."""

_MEASURED_MS_MIN: Final = 60_000
"""A query that starts reads a backlog, and warms up: only after this time its load says something about the next minutes."""


class LoadMeter:
    """Measures one query. Use it from one thread only.

    Example:
        >>> meter = LoadMeter()
        >>> [meter.measure(commits=n, batch_ms=500, now_ms=n * 5_000) for n in (0, 6, 12, 13)]
        [None, None, 0.1, 0.1]
    """

    def __init__(self) -> None:
        """Begin to measure with the first call of `measure`."""
        self._busy_ms = 0.0
        self._span_ms = 0.0
        self._commits = 0
        self._begun_ms: int | None = None
        self._last_ms = 0

    def measure(self, *, commits: int, batch_ms: int | None, now_ms: int) -> float | None:
        """Return the load, 0..1; None: too little is measured.

        Args:
            commits: Micro-batches that the query has committed.
            batch_ms: Duration of the newest, milliseconds; None: there is none.
            now_ms: Milliseconds since the epoch.
        """
        passed_ms = now_ms - self._last_ms
        if self._begun_ms is None or passed_ms < 0:  # the clock was set back
            self._busy_ms = self._span_ms = 0.0
            self._commits, self._begun_ms, self._last_ms = commits, now_ms, now_ms
            return None
        kept = 0.5 ** (passed_ms / _HALF_LIFE_MS)
        self._busy_ms = self._busy_ms * kept + (commits - self._commits) * (batch_ms or 0)
        self._span_ms = self._span_ms * kept + passed_ms
        self._commits, self._last_ms = commits, now_ms
        if now_ms - self._begun_ms < _MEASURED_MS_MIN:
            return None
        return round(min(1.0, max(0.0, self._busy_ms / self._span_ms)), 3)
