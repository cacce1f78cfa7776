"""Processes that work on one table at the same time, in a drawn order, lose and repeat nothing.

The simulation is tested itself: with a defect planted in the engine it has to find a violation.
"""

import logging
from collections.abc import Iterator

import pytest

from tests.support.simulation.commits import simulate
from tests.support.simulation.planted_defects import DEFECTS, PlantedDefect, planted
from tests.support.soaking import soak

COUNTED = range(5_000, 5_200)
"""Seeds in which planted defects are counted, the first 50 apart. The simulation was tuned on 1000 to 1200."""

FOUND = (1_017,)
"""Seeds that have found a defect of the engine for which none is planted."""

PLANTED = pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)


@pytest.fixture(autouse=True)
def without_warnings() -> Iterator[None]:
    """Files that cannot be deleted are logged, which happens all the time here."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", [*range(8), *FOUND])
def test_nothing_is_lost_or_repeated(seed: int) -> None:
    assert simulate(seed).wrong == ()


@pytest.mark.parametrize(
    "defect", [one for one in DEFECTS if one.seed is not None], ids=lambda defect: defect.name
)
def test_a_planted_defect_is_found(defect: PlantedDefect) -> None:
    """By the seed that found it before or, if the engine has changed since, by another."""
    with planted(defect):
        assert any(simulate(seed).wrong for seed in (defect.seed, *COUNTED) if seed is not None)


@pytest.mark.soak
@pytest.mark.timeout(0)
@PLANTED
def test_every_planted_defect_is_found_in_some_seed(defect: PlantedDefect) -> None:
    """Its output is in `docs/guides/commit-testing.md`."""
    with planted(defect):
        found = [seed for seed in COUNTED if simulate(seed).wrong]
    first = [seed for seed in found if seed in COUNTED[:50]]
    print(f"{defect.name}: {len(first)} of 50, {len(found)} of {len(COUNTED)}, {found}")
    assert found


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_nothing_is_lost_or_repeated_for_an_hour() -> None:
    def run(number: int) -> None:
        seed = 10_000 + number
        assert simulate(seed).wrong == (), f"seed {seed}"

    soak(run)
