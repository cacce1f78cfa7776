"""Pace of a backfill: bounds of its share of the time and of its rows per second, and pauses while the live stream or compaction is behind."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from braid.lake import Clock

SLEEP_MS_MAX: Final = 1_000
"""Longest sleep at once, so that progress is shown and the stream's lag is looked at meanwhile."""
_LOOK_MS: Final = 2_000
COMPACTION_LOOK_MS: Final = 50
COMPACTION_WAIT_MS: Final = 30_000
"""Longest wait for compaction before a commit: perhaps nobody compacts the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceSettings:
    """Bounds of a backfill's pace.

    Attributes:
        share: The part of the time in which it works, above 0, at most 1.
        rows_per_second: The largest number of rows a second; None: no bound.
        lag_seconds_max: The lag of the live stream above which it pauses; None: it does not look.
    """

    share: float = 1.0
    rows_per_second: float | None = None
    lag_seconds_max: float | None = None


@dataclass(kw_only=True)
class Pace:
    """Holds a backfill back.

    Attributes:
        settings: The bounds.
        clock: The clock.
        sleep_ms: Sleeps.
        lag_seconds: Returns the lag of the live stream; None where it is not known.
        on_wait: Called before each sleep, with whether the stream's lag is the reason.
    """

    settings: PaceSettings
    clock: Clock
    sleep_ms: Callable[[int], None]
    lag_seconds: Callable[[], float | None] = lambda: None
    on_wait: Callable[[bool], None] = lambda _: None
    _busy_since_ms: int = field(default=0, init=False)
    _looked_ms: int = field(default=0, init=False)

    def start(self) -> None:
        """Begin to work."""
        self._busy_since_ms = self.clock.now_ms()

    def hold(self, rows: int) -> None:
        """Return when the next rows may be worked on.

        Args:
            rows: Number of rows since the last call.
        """
        now_ms = self.clock.now_ms()
        busy_ms = max(0, now_ms - self._busy_since_ms)
        pause_ms = busy_ms * (1 - self.settings.share) / self.settings.share
        if self.settings.rows_per_second is not None:
            pause_ms = max(pause_ms, rows / self.settings.rows_per_second * 1000 - busy_ms)
        self._sleep(pause_ms)
        self._yield_to_stream()
        self._busy_since_ms = self.clock.now_ms()

    def yield_to_compaction(self, is_behind: Callable[[], bool]) -> None:
        """Return when a commit may add sorted runs to the buckets without slowing the live stream down.

        Where buckets have too many runs, the stream commits less often. So the backfill waits before it adds some, as
        long as the stream runs.

        Args:
            is_behind: Returns whether some bucket has as many runs that another one would slow the stream down.
        """
        if self.lag_seconds() is None:
            return
        for _ in range(COMPACTION_WAIT_MS // COMPACTION_LOOK_MS):
            if not is_behind():
                return
            self.on_wait(True)
            self.sleep_ms(COMPACTION_LOOK_MS)

    def _sleep(self, duration_ms: float) -> None:
        left_ms = round(duration_ms)
        while left_ms > 0:
            self.on_wait(False)
            self.sleep_ms(min(left_ms, SLEEP_MS_MAX))
            left_ms -= SLEEP_MS_MAX

    def _yield_to_stream(self) -> None:
        bound = self.settings.lag_seconds_max
        if bound is None or self.clock.now_ms() - self._looked_ms < _LOOK_MS:
            return
        while (lag := self.lag_seconds()) is not None and lag > bound:
            self.on_wait(True)
            self.sleep_ms(SLEEP_MS_MAX)
        self._looked_ms = self.clock.now_ms()
