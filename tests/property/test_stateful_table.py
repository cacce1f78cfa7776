"""Random operations on a table, some of them cut off by a crash, against a dictionary."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.property.table_machine import TableMachine
from tests.support.soaking import soak

STEPS = 50
RUNS = 16


@pytest.mark.slow
def test_eight_hundred_operations() -> None:
    run(RUNS, is_same_each_time=True)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_operations_for_an_hour() -> None:
    soak(lambda _: run(RUNS // 4, steps=4 * STEPS))


def run(runs: int, *, steps: int = STEPS, is_same_each_time: bool = False) -> None:
    """Do up to so many operations to each of so many tables."""
    run_state_machine_as_test(
        TableMachine,
        settings=settings(
            max_examples=runs,
            stateful_step_count=steps,
            deadline=None,
            derandomize=is_same_each_time,
            suppress_health_check=list(HealthCheck),
        ),
    )
