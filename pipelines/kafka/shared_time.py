"""Time bound that successive attempts share: time that one attempt does not use is left for the next attempts."""

import time
from collections.abc import Callable


class SharedTime:
    """Time that runs from the making of this object."""

    def __init__(self, seconds: float, *, now_s: Callable[[], float] = time.monotonic) -> None:
        """Begin.

        Args:
            seconds: How long all attempts may take together.
            now_s: A clock that is never set back, seconds.
        """
        self._now_s = now_s
        self._end_s = now_s() + seconds

    def left_s(self) -> float:
        """Return the seconds that are left, more than 0.

        Raises:
            TimeoutError: The time is over.
        """
        left_s = self._end_s - self._now_s()
        if left_s <= 0:
            message = "timed out"
            raise TimeoutError(message)
        return left_s

    def part(self, attempts: int, *, seconds_max: float | None = None) -> "SharedTime":
        """Return the time of the next one of some attempts that remain: an equal part of what is left.

        Args:
            attempts: How many remain, this one included; at least 1.
            seconds_max: The longest part.

        Raises:
            TimeoutError: The time is over.
        """
        assert attempts >= 1, "there is an attempt"
        seconds = self.left_s() / attempts
        if seconds_max is not None:
            seconds = min(seconds, seconds_max)
        return SharedTime(seconds, now_s=self._now_s)
