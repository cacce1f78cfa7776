"""`braid doctor` of a service and of a warehouse."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from braid.cli.doctor.findings import Level
from braid.cli.doctor.machine import check_disk, check_runner_programs
from braid.cli.main import app
from braid.lake import Catalog, SystemClock, file_io_for
from braid.registry.registrar import Registrar
from braid.registry.store import paths
from braid.registry.store.documents import RegistryStore
from braid.registry.store.leases import LeaseStore
from braid.service.components import Components
from tests.support.fed_table import FedTable
from tests.unit.registry.shop import definition, orders

Run = Callable[..., Any]


def findings(result: Any) -> dict[str, tuple[str, str | None]]:
    """Return level and advice by check."""
    document = json.loads(result.stdout)
    return {one["check"]: (one["level"], one["advice"]) for one in document["findings"]}


def test_a_service_with_streams_without_a_runner(braid: Run) -> None:
    as_json = braid("doctor", "--output", "json")
    as_text = braid("doctor")
    braid("stream", "stop", "shop.orders", "orders")
    braid("stream", "stop", "shop.orders", "parcels")
    stopped = braid("doctor")

    assert (as_json.exit_code, as_text.exit_code, stopped.exit_code) == (1, 1, 0)
    found = findings(as_json)
    assert found["service"][0] == "ok"
    assert found["stream shop.orders/parcels"] == (
        "problem",
        "start a runner: braid runner --warehouse PATH",
    )
    assert found["compaction shop.orders"][0] == "ok"
    assert "problem  stream shop.orders/parcels  no runner has it\n" in as_text.stdout
    assert "-> start a runner: braid runner --warehouse PATH\n" in as_text.stdout


def test_a_service_that_does_not_answer_is_no_finding_but_an_error(braid: Run) -> None:
    done = braid("doctor", "--api", "http://127.0.0.1:1")

    assert (done.exit_code, done.stdout) == (75, "")


def test_a_service_that_is_not_ready_is_a_problem_beside_the_state_of_its_streams(
    braid: Run, bed: FedTable
) -> None:
    components: Components = bed.client.app.state.components
    components.lifecycle.end()
    done = braid("doctor", "--output", "json")

    found = findings(done)
    assert done.exit_code == 1
    assert found["service"][0] == "problem"
    assert found["compaction shop.orders"][0] == "ok"


def test_a_warehouse_is_checked_without_a_service(tmp_path: Path) -> None:
    clock, warehouse = SystemClock(), str(tmp_path)
    file_io = file_io_for(warehouse)
    store = RegistryStore(file_io, warehouse, clock)
    registrar = Registrar(store, Catalog(warehouse), clock)
    registrar.put_table("shop", "orders", orders())
    registrar.put_stream("shop.orders", "sales", definition(sequence_group="sales"))
    registrar.put_table("shop", "broken", orders())
    (document,) = Path(paths.table_directory(warehouse, "shop.broken")).iterdir()
    document.write_text("{")
    LeaseStore(file_io, warehouse, clock).acquire("shop.orders", "sales", "r1:42", 60_000)

    arguments = ["doctor", "--warehouse", warehouse, "--output", "json"]
    done = CliRunner().invoke(app, arguments)

    assert done.exit_code == 1, done.output
    found = findings(done)
    assert [found[check][0] for check in ("storage", "clock")] == ["ok", "ok"]
    assert "warehouse disk" in found
    assert found["table shop.broken"][0] == "problem"
    assert found["stream shop.orders/sales"][0] == "problem"
    assert found["runner of shop.orders/sales"] == ("info", None)
    assert found["kafka"] == ("info", "give --clusters FILE or --kafka SERVERS")


def test_a_cluster_that_does_not_answer_is_a_problem(tmp_path: Path) -> None:
    clock, warehouse = SystemClock(), str(tmp_path)
    registrar = Registrar(
        RegistryStore(file_io_for(warehouse), warehouse, clock), Catalog(warehouse), clock
    )
    registrar.put_table("shop", "orders", orders())
    registrar.put_stream("shop.orders", "sales", definition(sequence_group="sales"))

    arguments = ["doctor", "--warehouse", warehouse, "--kafka", "127.0.0.1:1", "-o", "json"]
    found = findings(CliRunner().invoke(app, arguments))

    level, advice = found["kafka 127.0.0.1:1"]
    assert level == "problem"
    assert advice


def test_missing_jars_and_java_are_warnings_with_the_command_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRAID_JARS", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    java, jars = check_runner_programs()

    assert (java.level, jars.level) == (Level.WARNING, Level.WARNING)
    assert "JAVA_HOME" in java.found
    assert jars.advice == "braid prepare"


def test_the_disk_of_a_folder_that_does_not_exist_yet_is_that_of_the_folder_above(
    tmp_path: Path,
) -> None:
    (found,) = check_disk(str(tmp_path / "a" / "b"))

    assert f"free at {tmp_path}," in found.found
