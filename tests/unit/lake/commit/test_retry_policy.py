"""Waits double up to a bound, and are drawn below it."""

import random

from braid.lake.commit.retry_policy import RetryPolicy


class HighestRandom(random.Random):
    """Draws the upper end every time."""

    def uniform(self, a: float, b: float) -> float:
        return b


def test_bounds_double_until_the_greatest() -> None:
    policy = RetryPolicy(wait_min_ms=2, wait_max_ms=10)

    waits = [policy.wait_ms(attempt, HighestRandom()) for attempt in (1, 2, 3, 4, 500)]

    assert waits == [2, 4, 8, 10, 10]


def test_waits_differ() -> None:
    source = random.Random(1)
    policy = RetryPolicy()

    waits = {policy.wait_ms(5, source) for _ in range(10)}

    assert len(waits) == 10
    assert all(0 <= wait <= 32 for wait in waits)
