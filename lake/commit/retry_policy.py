"""Limits of a commit: number and time of its attempts, waits before them, repeated storage calls.

They are fixed: the table options `commit.…` are for other engines.
"""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Bounds of the attempts of one commit.

    Many attempts are allowed, because a lost race costs one small file and means that another writer
    has made progress. `braid.lake.commit.pace` decides how long a commit waits between them.

    Attributes:
        attempts_max: The number of attempts, the first included.
        deadline_ms: Time from the first attempt on during which further attempts begin, milliseconds.
        wait_min_ms: Bound of the first wait for storage, milliseconds.
        wait_max_ms: Bound of every wait for storage, milliseconds.
        lookups_max: Attempts at one read whose answer decides the outcome, or at the creation or deletion of a
            snapshot's file.
    """

    attempts_max: int = 200
    deadline_ms: int = 600_000
    wait_min_ms: float = 2.0
    wait_max_ms: float = 500.0
    lookups_max: int = 5

    def wait_ms(self, attempt: int, random_source: random.Random) -> float:
        """Return how long to wait for storage after its `attempt`-th failure (1-based), milliseconds.

        The wait is drawn between zero and a bound that doubles.
        """
        # The exponent is bounded so that the power stays a small number; `wait_max_ms` is reached long
        # before.
        bound = min(self.wait_max_ms, self.wait_min_ms * 2 ** min(attempt - 1, 30))
        return random_source.uniform(0, bound)
