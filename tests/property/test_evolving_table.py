"""Random changes of a schema between random operations on the table, against a dictionary."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.property.evolution_machine import EvolutionMachine
from tests.support.soaking import soak

STEPS = 30
RUNS = 15


@pytest.mark.slow
def test_schemas_change_between_operations() -> None:
    run(RUNS, is_same_each_time=True)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_schemas_change_for_an_hour() -> None:
    soak(lambda _: run(RUNS, steps=3 * STEPS))


def run(runs: int, *, steps: int = STEPS, is_same_each_time: bool = False) -> None:
    """Do up to so many operations to each of so many tables."""
    run_state_machine_as_test(
        EvolutionMachine,
        settings=settings(
            max_examples=runs,
            stateful_step_count=steps,
            deadline=None,
            derandomize=is_same_each_time,
            suppress_health_check=list(HealthCheck),
        ),
    )
