"""A runner and `braid maintain` show metrics, health and readiness at a port of their own, and log as JSON."""

import json
from contextlib import suppress
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, Supervisor
from braid.lake import Catalog
from tests.support.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.integration

TABLE = 'table="shop.parcels"'


class Probed:
    """A process with its port."""

    def __init__(self, supervisor: Supervisor, command: str, *options: str) -> None:
        port = free_port()
        self._url = f"http://127.0.0.1:{port}"
        arguments = (command, *options, "--metrics-port", str(port), "--log-format", "json")
        self.child: ChildProcess = supervisor.start_module(command, "braid", *arguments)

    def answer(self, path: str) -> httpx.Response | None:
        """What it answers; None while it does not listen."""
        with suppress(httpx.TransportError):
            return httpx.get(self._url + path, timeout=PATIENCE_S)
        return None

    def shows(self, line: str) -> bool:
        answer = self.answer("/metrics")
        return answer is not None and line in answer.text.splitlines()

    def messages(self) -> list[str]:
        """The messages of its log, of which each line is JSON."""
        lines = self.child.log_path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["message"] for line in lines if line.startswith("{")]


def test_a_runner_is_ready_once_it_has_read_the_registry(tmp_path: Path) -> None:
    (tmp_path / "warehouse").mkdir()
    with Supervisor(tmp_path) as supervisor:
        where = ("--warehouse", str(tmp_path / "warehouse"), "--name", "runner-1")
        runner = Probed(supervisor, "runner", *where)
        wait_until(lambda: runner.answer("/ready") is not None)
        starting = runner.answer("/ready")
        assert starting is not None
        health = runner.answer("/health")
        assert health is not None

        wait_until(lambda: (answer := runner.answer("/ready")) and answer.is_success)
        wait_until(lambda: runner.shows('braid_runner_leases{kind="stream",runner="runner-1"} 0.0'))
        returned = runner.child.stop(grace_s=PATIENCE_S)

    # Spark takes seconds to start, the server of probes does not.
    assert (starting.status_code, starting.json()["detail"]) == (503, "spark is starting")
    assert health.is_success
    assert returned == 0
    assert "runner ended name=runner-1" in runner.messages()


def test_maintenance_shows_its_tables(tmp_path: Path) -> None:
    table = Catalog(str(tmp_path / "warehouse")).create_table(
        "shop.parcels",
        columns=[("id", "INT")],
        primary_key=["id"],
        options={"bucket": "1", "num-sorted-run.compaction-trigger": "3"},
    )
    for _ in range(3):
        table.write_and_commit(pa.table({"id": pa.array([1], pa.int32())}))
    with Supervisor(tmp_path) as supervisor:
        where = ("--warehouse", str(tmp_path / "warehouse"), "--every", "0.1")
        maintenance = Probed(supervisor, "maintain", *where)

        wait_until(lambda: maintenance.shows(f"braid_table_compactions_total{{{TABLE}}} 1.0"))
        wait_until(lambda: maintenance.shows(f"braid_table_sorted_runs{{{TABLE}}} 1.0"))
        wait_until(lambda: maintenance.shows(f"braid_table_snapshots{{{TABLE}}} 4.0"))
        ready = maintenance.answer("/ready")
        maintenance.child.stop(grace_s=PATIENCE_S)

    assert ready is not None
    assert ready.is_success
    assert any(
        message.startswith("compacted table=shop.parcels") for message in maintenance.messages()
    )
