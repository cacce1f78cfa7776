"""The pace of a committer: how long it waits before an attempt, so that few attempts are lost.

An attempt is lost if another commit is published while it is made. With many writers the attempts that are lost slow
down those that are not, so it pays to attempt less often. A committer keeps a *span*, and waits a random time
within it:

- a lost attempt lengthens the span by half; it is at least twice the duration of the attempt, so that it fits
  any storage;
- a commit whose first attempt succeeds shortens it by a fifth. At rest about three attempts in ten are lost, with
  any number of writers;
- every five seconds without a lost attempt halve it: so after a crowded moment a committer does not wait for nobody;
- the span is kept from one commit to the next, and a new commit waits within it before its first attempt. Otherwise
  the winner of a race, which would begin its next commit at once, would win against those that wait;
- the more attempts a commit has lost, the smaller is the part of the span in which its next wait is drawn: old commits
  come before new ones.

Without lost attempts the span is zero, and nothing waits.
"""

import random
from typing import Final

_LENGTHENED: Final = 1.5
_SHORTENED: Final = 0.8
_HALVED_MS: Final = 5_000
_MIN_MS: Final = 1.0
MAX_MS: Final = 2_000.0
"""The longest span, milliseconds."""


class Pace:
    """The pace of one committer; its waits add nothing to the commits of a lone writer."""

    def __init__(self, random_source: random.Random) -> None:
        self._random = random_source
        self._span_ms = 0.0
        self._changed_ms = 0

    def wait_before_ms(self, *, lost: int, now_ms: int) -> float:
        """Return how long to wait before the next attempt of a commit, milliseconds.

        Args:
            lost: Attempts that the commit has lost so far.
            now_ms: The time, milliseconds since 1970 UTC.
        """
        span_ms = self._span_at(now_ms)
        return self._random.uniform(0, span_ms / (lost + 1)) if span_ms else 0.0

    def lose(self, *, took_ms: float, now_ms: int) -> None:
        """Note a lost attempt.

        Args:
            took_ms: Its duration, milliseconds.
            now_ms: The time when it was lost.
        """
        longer_ms = max(_LENGTHENED * self._span_at(now_ms), 2 * took_ms, _MIN_MS)
        self._span_ms = min(longer_ms, MAX_MS)
        self._changed_ms = now_ms

    def win(self, *, lost: int, now_ms: int) -> None:
        """Note a commit that was made, after it had lost some attempts."""
        self._span_ms = self._span_at(now_ms) * (1.0 if lost else _SHORTENED)
        self._changed_ms = now_ms

    def _span_at(self, now_ms: int) -> float:
        # A clock that was set back does not lengthen the span.
        elapsed_ms = max(0, now_ms - self._changed_ms)
        span_ms = self._span_ms * 0.5 ** min(elapsed_ms / _HALVED_MS, 60)
        return span_ms if span_ms >= _MIN_MS else 0.0
