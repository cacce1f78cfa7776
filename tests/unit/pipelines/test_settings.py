"""Bounds: dead letters per micro-batch, waits before a restart, which streams a runner hosts."""

import pytest

from braid.pipelines.settings import DeadLetterBudget, RestartPolicy


@pytest.mark.parametrize(
    ("records", "limit"),
    [(0, 10), (20, 10), (21, 10), (100, 50)],
    ids=["empty", "small", "odd", "large"],
)
def test_the_larger_of_both_bounds_counts(records: int, limit: int) -> None:
    assert DeadLetterBudget(records=10, fraction=0.5).limit(records) == limit


def test_a_budget_of_everything_never_fails() -> None:
    assert DeadLetterBudget(records=0, fraction=1).limit(7) == 7


def test_waits_double_up_to_their_bound() -> None:
    policy = RestartPolicy(wait_ms_min=10, wait_ms_max=60)

    assert [policy.wait_ms(attempt) for attempt in (1, 2, 3, 4, 1_000)] == [10, 20, 40, 60, 60]
