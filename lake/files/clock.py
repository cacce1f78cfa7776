"""Sources of wall-clock time, passed to code that needs it, so that tests and simulations control this time."""

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time."""

    def now_ms(self) -> int:
        """Return the milliseconds since 1970-01-01T00:00Z."""
        ...


class SystemClock:
    """The machine's clock; picklable."""

    def now_ms(self) -> int:
        """Return the milliseconds since 1970-01-01T00:00Z."""
        return time.time_ns() // 1_000_000


class ManualClock:
    """A clock that moves only by `advance`; safe to share between threads.

    Example:
        >>> clock = ManualClock(start_ms=1_000)
        >>> clock.advance(ms=5)
        >>> clock.now_ms()
        1005
    """

    def __init__(self, *, start_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = start_ms
        self._lock = threading.Lock()

    def now_ms(self) -> int:
        """Return the milliseconds since 1970-01-01T00:00Z."""
        with self._lock:
            return self._now_ms

    def advance(self, *, ms: int) -> None:
        """Move the clock by `ms`; a negative value sets it back, as an operator might."""
        with self._lock:
            self._now_ms += ms
