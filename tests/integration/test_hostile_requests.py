"""A service process under hostile requests: documented answers, and memory that stays flat."""

import asyncio
from pathlib import Path

import pytest

from braid.client import BraidError, Client
from braid.demo.ports import free_port
from braid.demo.processes import Supervisor
from tests.support.hostile_attack import WARM_UP, HostileResults, send_hostile_requests
from tests.support.soaking import soak
from tests.support.waiting import PATIENCE_S

GROWTH_MAX = 8 << 20
"""Bytes by which the most memory of the second half may exceed that of the first half."""


def attack(folder: Path, *, half: int, seed: int) -> HostileResults:
    """Attack a new service after a warm-up with twice `half` requests; check its memory."""
    port, warehouse = free_port(), folder / "warehouse"
    warehouse.mkdir(parents=True)
    found = HostileResults()
    with Supervisor(folder / "logs") as supervisor, Client(f"http://127.0.0.1:{port}") as client:
        arguments = ("--warehouse", str(warehouse), "--port", str(port))
        service = supervisor.start_module("service", "braid", "service", *arguments)

        def is_ready() -> bool:
            try:
                return client.ready().status == "ready"
            except BraidError:
                return False

        service.wait_ready(is_ready, timeout_s=PATIENCE_S)
        most = []
        for number, count in enumerate((WARM_UP, half, half)):
            found.memory.clear()
            asyncio.run(
                send_hostile_requests(
                    port, service.process_id, found, seed=seed + number, count=count
                )
            )
            most.append(max(found.memory))
    _, first, second = most
    print(f"most memory: {first / 1e6:.0f} MB, then {second / 1e6:.0f} MB")
    assert second - first <= GROWTH_MAX
    return found


@pytest.mark.integration
def test_hostile_requests_leave_the_memory_flat(tmp_path: Path) -> None:
    assert attack(tmp_path, half=600, seed=1).faults == {}


@pytest.mark.soak
def test_ten_thousand_hostile_requests_leave_the_memory_flat(tmp_path: Path) -> None:
    soak(lambda turn: attack(tmp_path / str(turn), half=5_000, seed=10 * turn))
