"""Processes that work on one table at the same time, in an order that is drawn, lose and repeat nothing.

The simulation is itself tested: with a defect planted in the engine it has to find something wrong.
"""

import logging
from collections.abc import Iterator

import pytest

from tests.support.simulation.commits import simulate
from tests.support.simulation.planted_defects import DEFECTS, PlantedDefect, planted
from tests.support.soaking import soak

COUNTED = range(5_000, 5_200)
"""In which planted defects are counted, the first 50 of them apart. The simulation was tuned on others, 1000 to 1200."""

FOUND = (1_017,)
"""Seeds that have found what was in the engine and what no defect is planted for."""

PLANTED = pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)


@pytest.fixture(autouse=True)
def without_warnings() -> Iterator[None]:
    """Files that cannot be deleted are told in the log; here that is most of what happens."""
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
    """In the seed that found it before or, when the engine has changed, in another."""
    with planted(defect):
        assert any(simulate(seed).wrong for seed in (defect.seed, *COUNTED) if seed is not None)


@pytest.mark.soak
@pytest.mark.timeout(0)
@PLANTED
def test_how_often_a_planted_defect_is_found(defect: PlantedDefect) -> None:
    """What this prints stands in `docs/guides/commit-testing.md`."""
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
