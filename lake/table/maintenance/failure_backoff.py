"""Backoff of failures by subject: pauses before the next attempt, which double up to a bound."""

from dataclasses import dataclass
from typing import Final

from braid.lake.files.clock import Clock

POLL: Final = "poll"
"""Subject of a check of a table for due work that failed, and of a listing of the tables that failed."""

EXPIRY: Final = "expiry"
"""Subject of an expiry that failed; the other subjects are directories of buckets."""

RETRY_MS_MIN: Final = 1_000
"""Pause after the first failure."""

RETRY_MS_MAX: Final = 300_000
"""Longest pause: a table that was repaired is maintained again within five minutes."""

_DOUBLINGS_MAX: Final = 32
"""Bound of the shift below; `RETRY_MS_MAX` is reached after nine doublings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveFailure:
    """A failure that no success has followed yet.

    Attributes:
        error: The message of the last failure.
        count: Consecutive failures.
        retry_ms: Time of the next attempt, milliseconds since 1970 UTC.
    """

    error: str
    count: int
    retry_ms: int


class FailureBackoff:
    """Failures by subject: of one table (`POLL`, `EXPIRY`, or the directory of a bucket), or of the list of tables.

    Written by one thread; any thread may read `count`, `active` and `error`.

    Attributes:
        count: All failures so far.
        active: Failures that no success has followed, by subject; the newest last.
    """

    def __init__(self, clock: Clock) -> None:
        """Begin without failures; `clock` measures the pauses."""
        self._clock = clock
        self.count = 0
        self.active: dict[str, ActiveFailure] = {}

    @property
    def error(self) -> str | None:
        """Subject and message of the newest active failure; None without one."""
        # A copy, because the owner's thread may change the dictionary meanwhile.
        active = list(self.active.items())
        return f"{active[-1][0]}: {active[-1][1].error}" if active else None

    def is_due(self, subject: str) -> bool:
        """Return whether a subject may be tried now: it has no failure, or its pause is over."""
        failure = self.active.get(subject)
        return failure is None or self._clock.now_ms() >= failure.retry_ms

    def succeed(self, subject: str) -> None:
        """End the failure of a subject, if it has one."""
        self.active.pop(subject, None)

    def fail(self, subject: str, error: str) -> bool:
        """Count a failure and postpone the next attempt.

        Returns:
            Whether the failure is new: the subject had no failure before, or one with another
                message.
        """
        # Removed first, so that the subject moves to the end: the newest.
        before = self.active.pop(subject, None)
        count = 1 if before is None else before.count + 1
        pause_ms = min(RETRY_MS_MAX, RETRY_MS_MIN << min(count - 1, _DOUBLINGS_MAX))
        assert RETRY_MS_MIN <= pause_ms <= RETRY_MS_MAX, pause_ms
        retry_ms = self._clock.now_ms() + pause_ms
        self.active[subject] = ActiveFailure(error=error, count=count, retry_ms=retry_ms)
        self.count += 1
        return before is None or before.error != error
