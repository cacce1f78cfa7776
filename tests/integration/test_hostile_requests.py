"""A service process under hostile requests: documented answers, rows for others, and memory that stays flat."""

import asyncio
from pathlib import Path

import pytest

from tests.support.hostile.attack import attack, warm_up, wave
from tests.support.hostile.attacked_service import attacked_service
from tests.support.soaking import soak

GROWTH_MAX = 0.10
"""Part by which the memory may grow after the warm-up."""


def check(folder: Path, *, each: int, count: int, seed: int) -> None:
    """Attack a new service, and check its answers and its memory.

    Args:
        folder: An empty folder.
        each: Requests and connections of each kind, before the memory is measured.
        count: Those after that.
        seed: What is drawn.
    """
    with attacked_service(folder) as service:
        waves = warm_up(seed, each=each), wave(seed, count=count)
        before, found = asyncio.run(attack(service, *waves))
    growth = max(found.memory) / before.memory[-1] - 1
    print(f"{before.memory[-1] / 1e6:.0f} MB, then at most {max(found.memory) / 1e6:.0f} MB")
    assert before.faults + found.faults == {}
    assert growth <= GROWTH_MAX


@pytest.mark.integration
def test_hostile_requests_leave_the_memory_flat(tmp_path: Path) -> None:
    check(tmp_path, each=10, count=1_000, seed=1)


@pytest.mark.soak
def test_ten_thousand_hostile_requests_leave_the_memory_flat(tmp_path: Path) -> None:
    def turn(number: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        check(folder, each=40, count=10_000, seed=number)

    soak(turn)
