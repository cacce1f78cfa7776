"""Processes that work on one table at the same time, in an order that is drawn, lose and repeat nothing.

The simulation is itself tested: with a defect planted in the engine it has to find something wrong.
"""

import logging
from collections.abc import Iterator

import pytest

from tests.support.simulation.commits import simulate
from tests.support.simulation.planted_defects import DEFECTS, PlantedDefect, planted
from tests.support.soaking import soak

SEEDS = 50
PLANTED = pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)


@pytest.fixture(autouse=True)
def without_warnings() -> Iterator[None]:
    """Files that cannot be deleted are told in the log; here that is most of what happens."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_lost_or_repeated(seed: int) -> None:
    assert simulate(seed).wrong == ()


@pytest.mark.parametrize(
    "defect", [one for one in DEFECTS if one.is_often_found], ids=lambda defect: defect.name
)
def test_a_planted_defect_is_found(defect: PlantedDefect) -> None:
    with planted(defect):
        assert any(simulate(seed).wrong for seed in range(SEEDS))


@pytest.mark.soak
@pytest.mark.timeout(0)
@PLANTED
def test_how_often_a_planted_defect_is_found(defect: PlantedDefect) -> None:
    """What this prints stands in `docs/guides/how-commits-are-tested.md`."""
    with planted(defect):
        found = [seed for seed in range(SEEDS) if simulate(seed).wrong]
    print(f"{defect.name}: {len(found)} of {SEEDS}, {found}")
    assert found


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_nothing_is_lost_or_repeated_for_an_hour() -> None:
    def run(number: int) -> None:
        seed = 1_000 + number
        assert simulate(seed).wrong == (), f"seed {seed}"

    soak(run)
