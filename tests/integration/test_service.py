"""The service as it is run: processes of their own, one warehouse on disk, real HTTP."""

import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from decimal import Decimal
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, Supervisor
from braid.lake import Catalog
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.integration

ORDERS = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "total", "type": "DECIMAL(10, 2)"},
        {"name": "version", "type": "INT"},
        {"name": "carrier", "type": "STRING"},
    ],
    "primary_key": ["id"],
    "sequence_groups": [
        {"name": "sales", "ordering": ["version"], "columns": ["total"]},
        {"name": "shipping", "columns": ["carrier"]},
    ],
}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="module")
def supervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    with Supervisor(tmp_path_factory.mktemp("logs")) as supervisor:
        yield supervisor


@pytest.fixture(scope="module")
def services(supervisor: Supervisor, warehouse: Path) -> Iterator[tuple[httpx.Client, ...]]:
    """Two services on one warehouse; each test has a table of its own."""
    with ExitStack() as stack:
        ports = [free_port() for _ in range(2)]
        with ThreadPoolExecutor() as threads:
            list(threads.map(lambda port: start_service(supervisor, warehouse, port), ports))
        yield tuple(stack.enter_context(client(port)) for port in ports)


def client(port: int) -> httpx.Client:
    headers = {"content-type": "application/json"}
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=PATIENCE_S)


def start_service(supervisor: Supervisor, warehouse: Path, port: int) -> ChildProcess:
    arguments = ("--warehouse", str(warehouse), "--port", str(port), "--no-access-control")
    child = supervisor.start_module(f"service-{port}", "braid", "service", *arguments)

    def is_ready() -> bool:
        with suppress(httpx.TransportError):
            return httpx.get(f"http://127.0.0.1:{port}/ready").is_success
        return False

    child.wait_ready(is_ready, timeout_s=PATIENCE_S)
    return child


def test_a_table_registered_at_one_service_is_answered_by_the_other(
    services: tuple[httpx.Client, ...], warehouse: Path
) -> None:
    path = "/v1/tables/shop/shared"
    one, other = services
    assert one.put(path, json=ORDERS).status_code == 201
    assert other.put(f"{path}/streams/sales", json={"topic": "orders"}).status_code == 201
    assert one.post(f"{path}/streams/sales/pause").status_code == 202

    stream = other.get(f"{path}/streams/sales").json()
    table = Catalog(str(warehouse)).table("shop.shared")
    table.write_and_commit(
        pa.table(
            {
                "id": pa.array([7], pa.int64()),
                "total": pa.array([Decimal("12.50")], pa.decimal128(10, 2)),
                "version": pa.array([1], pa.int32()),
            }
        )
    )
    row = other.get(f"{path}/rows", params={"id": 7}).json()
    status = one.get(f"{path}/rows/status", params={"id": 7}).json()

    assert stream["desired_state"] == "PAUSED"
    assert row["row"]["total"] == "12.50"
    assert row["snapshot"]["id"] == 1
    assert status["groups"]["sales"]["state"] == "present"
    assert status["groups"]["shipping"]["state"] == "absent"


def test_a_new_snapshot_is_served_by_a_process_that_has_served_an_older_one(
    services: tuple[httpx.Client, ...], warehouse: Path
) -> None:
    path = "/v1/tables/shop/versions"
    one, _ = services
    one.put(path, json=ORDERS).raise_for_status()
    table = Catalog(str(warehouse)).table("shop.versions")
    answers = []
    for version in (1, 2, 3):
        columns = {"id": pa.array([7], pa.int64()), "version": pa.array([version], pa.int32())}
        table.write_and_commit(pa.table(columns))
        newest = {"id": 7, "max_staleness_ms": 0}
        answers.append(one.get(f"{path}/rows", params=newest).json())

    assert [answer["row"]["version"] for answer in answers] == [1, 2, 3]
    assert [answer["snapshot"]["id"] for answer in answers] == [1, 2, 3]


def test_two_services_change_one_table_at_once(services: tuple[httpx.Client, ...]) -> None:
    path = "/v1/tables/shop/changing"
    services[0].put(path, json=ORDERS).raise_for_status()
    services[1].put(f"{path}/streams/sales", json={"topic": "orders"}).raise_for_status()

    def change(number: int) -> int:
        # Each column is asked for twice: by one service and by the other.
        add = {"change": "add_column", "column": f"c{number // 2}", "type": "INT"}
        body = {"changes": [add | {"sequence_group": "sales"}]}
        return services[number % 2].post(f"{path}/schema-changes", json=body).status_code

    with ThreadPoolExecutor(4) as threads:
        statuses = list(threads.map(change, range(8)))

    assert sorted(statuses) == [200] * 4 + [422] * 4
    assert all({*statuses[at : at + 2]} == {200, 422} for at in range(0, 8, 2))
    table, stream = services[0].get(path).json(), services[1].get(f"{path}/streams/sales").json()
    added = {"c0", "c1", "c2", "c3"}
    assert table["schema_id"] == 4
    assert {column["name"] for column in table["spec"]["columns"]} >= added
    assert {column["column"] for column in stream["spec"]["columns"]} >= added
    assert stream["version"] == 5
    history = services[1].get(f"{path}/schemas").json()["schemas"]
    assert [len(schema["changes"]) for schema in history] == [2, 2, 2, 2, 0]


def test_two_services_do_not_both_give_one_group_away(services: tuple[httpx.Client, ...]) -> None:
    table = "/v1/tables/shop/contested"
    services[0].put(table, json=ORDERS).raise_for_status()

    def register(number: int) -> int:
        path = f"{table}/streams/stream{number}"
        stream = {"topic": f"topic{number}", "sequence_group": "sales"}
        return services[number % 2].put(path, json=stream).status_code

    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(register, range(16)))

    assert sorted(statuses) == [201] + [422] * 15
    assert len(services[1].get(f"{table}/streams").json()["streams"]) == 1


def test_problems_of_the_server_are_problems_too(services: tuple[httpx.Client, ...]) -> None:
    answer = services[0].put(
        "/v1/tables/shop/any", content=b"{", headers={"content-type": "application/json"}
    )

    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-request-id"] == answer.json()["request_id"]


def test_a_service_whose_warehouse_cannot_be_written_is_alive_and_not_ready(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    warehouse = tmp_path / "warehouse"
    warehouse.mkdir()
    port = free_port()
    child = supervisor.start_module(
        "no-warehouse", "braid", "service", "--warehouse", str(warehouse), "--port", str(port)
    )

    def is_alive() -> bool:
        with suppress(httpx.TransportError):
            return httpx.get(f"http://127.0.0.1:{port}/health").is_success
        return False

    child.wait_ready(is_alive, timeout_s=PATIENCE_S)
    shutil.rmtree(warehouse)
    warehouse.write_text("not a warehouse any more")
    ready = httpx.get(f"http://127.0.0.1:{port}/ready")

    assert (ready.status_code, ready.json()["code"]) == (503, "not_ready")


def test_a_service_ends_in_order_at_sigterm(supervisor: Supervisor, warehouse: Path) -> None:
    child = start_service(supervisor, warehouse, free_port())

    # uvicorn ends by the signal that it has obeyed, so that its parent knows which.
    assert child.stop() == -signal.SIGTERM
    assert "Finished server process" in child.read_log_tail()


def test_pages_of_changes_continue_at_another_service(
    services: tuple[httpx.Client, ...], warehouse: Path
) -> None:
    one, other = services
    table = Catalog(str(warehouse)).create_table(
        "shop.changes",
        columns=[("id", "INT"), ("total", "INT")],
        primary_key=["id"],
        options={"bucket": "1", "changelog-producer": "input"},
    )
    for number in range(3):
        table.write_and_commit(pa.table({"id": [number, number + 10], "total": [number] * 2}))

    address = "/v1/tables/shop/changes/changes"
    first = one.get(address, params={"after_snapshot_id": 0, "page_size": 3}).json()
    expired = table.expire(retain_min=1, retain_max=1)
    second = other.get(address, params={"page_token": first["next_page_token"]}).json()

    assert expired.snapshots == ()
    found = [change["row"]["id"] for page in (first, second) for change in page["changes"]]
    assert found == [0, 10, 1, 11, 2, 12]
    assert second["next_page_token"] is None
    assert table.consumers() == []
    assert one.get(address, params={"after_snapshot_id": 9}).status_code == 422


def test_rows_are_found_by_a_lookup_index_while_they_change(
    services: tuple[httpx.Client, ...], warehouse: Path
) -> None:
    path = "/v1/tables/shop/indexed"
    one, other = services
    spec = {
        "columns": [{"name": "id", "type": "BIGINT"}, {"name": "order_id", "type": "BIGINT"}],
        "primary_key": ["id"],
        "merge_engine": "deduplicate",
        "lookup_indexes": [{"name": "by_order", "columns": ["order_id"]}],
    }
    assert one.put(path, json=spec).status_code == 201
    table = Catalog(str(warehouse)).table("shop.indexed")
    ids = pa.array(range(1_000), pa.int64())
    for round_ in range(3):
        orders = pa.array([(number + round_) % 100 for number in range(1_000)], pa.int64())
        snapshot = table.write_and_commit(pa.table({"id": ids, "order_id": orders})).snapshot_id
        table.compact()
        for service in (one, other):
            while True:
                answer = service.get(f"{path}/indexes/by_order/rows?order_id=7")
                assert answer.status_code == 200
                if answer.json()["snapshot"]["id"] >= snapshot:
                    break
            found = sorted(row["id"] for row in answer.json()["rows"])
            assert found == [n for n in range(1_000) if (n + round_) % 100 == 7]
