"""Commands that use a service or a warehouse print the same with both: inspect, changes, consumers, audit."""

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

from braid.cli.main import app
from braid.lake import Catalog, SystemClock, file_io_for
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas import Actor, TableSpec
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.support.served_app import served

TABLE = "shop.orders"
SPEC = TableSpec.model_validate(
    {
        "columns": [{"name": "id", "type": "BIGINT"}, {"name": "v", "type": "INT"}],
        "primary_key": ["id"],
        "sequence_groups": [{"name": "g", "columns": ["v"]}],
    }
)
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with a registered table of three snapshots, a tag and a consumer."""
    folder = tmp_path_factory.mktemp("warehouse")
    path, clock = str(folder), SystemClock()
    store, catalog = RegistryStore(file_io_for(path), path, clock), Catalog(path)
    Registrar(store, catalog, clock, actor=Actor(name="creator")).put_table("shop", "orders", SPEC)
    table = catalog.table(TABLE)
    for value in (1, 2, 3):
        rows = {"id": pa.array([1, 2], pa.int64()), "v": pa.array([value, None], pa.int32())}
        table.write_and_commit(pa.table(rows))
    table.create_tag("first", snapshot_id=1)
    table.reset_consumer("billing", 2)
    return folder


@pytest.fixture(scope="module")
def address(warehouse: Path) -> Iterator[str]:
    """The address of a service of the warehouse."""
    with served(create_app(ServiceSettings(warehouse=str(warehouse)))) as address:
        yield address


@pytest.fixture
def over_http(address: str) -> Run:
    """`braid` against the service."""
    environment = {"BRAID_API": address, "BRAID_TOKEN": ""}
    return lambda *arguments: CliRunner().invoke(app, list(arguments), env=environment)


@pytest.fixture
def on_warehouse(warehouse: Path) -> Run:
    """`braid` on the warehouse."""
    return lambda *arguments: CliRunner().invoke(app, [*arguments, "--warehouse", str(warehouse)])


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
@pytest.mark.parametrize(
    "command",
    [
        "table inspect shop.orders snapshots --last 2",
        "table inspect shop.orders files --tag first",
        "table changes shop.orders",
        "table changes shop.orders --after 1 --until 2 --columns v --mode delta",
        "table changes shop.orders --until-tag first",
        "table changes shop.orders --consumer billing",
        "table consumer list shop.orders",
        "table tag list shop.orders",
        "audit --table shop.orders",
        "audit --actor creator --limit 1",
    ],
)
def test_both_print_the_same(command: str, output: str, over_http: Run, on_warehouse: Run) -> None:
    arguments = [*command.split(), "--output", output]

    remote, local = over_http(*arguments), on_warehouse(*arguments)

    assert (remote.exit_code, local.exit_code) == (0, 0), remote.output + local.output
    assert remote.stdout == local.stdout
    assert remote.stderr == local.stderr
    assert len(remote.stdout.splitlines()) > 1 or output == "json"


def test_consumers_are_set_and_deleted_over_http(over_http: Run) -> None:
    made = over_http("table", "consumer", "reset", TABLE, "reports", "--snapshot", "2")
    moved = over_http("table", "consumer", "reset", TABLE, "reports", "--snapshot", "3")
    listed = over_http("table", "consumer", "list", TABLE, "--output", "json")
    deleted = over_http("table", "consumer", "delete", TABLE, "reports")

    assert made.stdout == "shop.orders: consumer reports continues at snapshot 2\n"
    assert moved.exit_code == 0
    consumers = {one["id"]: one for one in json.loads(listed.stdout)["consumers"]}
    assert consumers["reports"]["next_snapshot_id"] == 3
    assert deleted.stdout == "shop.orders: consumer reports is deleted\n"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("table inspect shop.absent files", 3),
        ("table inspect shop.orders nothing", 2),
        ("table changes shop.orders --after 9", 2),
        ("table changes orders", 2),
        ("table consumer reset shop.absent c --snapshot 1", 3),
        ("table tag list shop.absent", 3),
        ("table rollback shop.orders --snapshot 1 --tag first --yes shop.orders", 2),
        ("table rollback shop.orders --snapshot 9 --yes shop.orders", 3),
        ("table rollback shop.orders --snapshot 1 --yes orders", 2),
        ("table rollback shop.orders --snapshot 9 --dry-run", 3),
        ("table alter shop.orders 'DROP id' --dry-run", 2),
        ("table alter shop.orders 'FLY v'", 2),
        ("table alter shop.absent 'ADD w INT'", 3),
        ("audit --action fly", 2),
    ],
)
def test_both_end_with_the_same_status(
    command: str, status: int, over_http: Run, on_warehouse: Run
) -> None:
    assert over_http(*shlex.split(command)).exit_code == status
    assert on_warehouse(*shlex.split(command)).exit_code == status
