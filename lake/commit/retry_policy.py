"""Policy of retries after a lost race."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Bounds of the attempts of one commit.

    A lost race costs one small file, and somebody else has made progress; so many attempts are
    allowed. Waits are drawn from zero to a bound that doubles, so that losers do not meet again.

    Attributes:
        attempts_max: Plans made in all.
        deadline_ms: No attempt begins later than this after the first, milliseconds.
        wait_min_ms: Bound of the first wait.
        wait_max_ms: Bound of every wait.
        lookups_max: Tries of one look at storage whose answer decides an outcome.
    """

    attempts_max: int = 200
    deadline_ms: int = 600_000
    wait_min_ms: float = 2.0
    wait_max_ms: float = 500.0
    lookups_max: int = 5

    def wait_ms(self, attempt: int, random_source: random.Random) -> float:
        """Return how long to wait after the `attempt`-th attempt (1-based), milliseconds."""
        bound = min(self.wait_max_ms, self.wait_min_ms * 2 ** min(attempt - 1, 30))
        return random_source.uniform(0, bound)
