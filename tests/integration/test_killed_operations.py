"""Processes of operations, and services with them, are killed at random moments: others complete each operation, once.

The state of each table is compared with that of a copy on which the same request was carried out without a kill.
"""

import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import pyarrow as pa
import pytest

from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, Supervisor
from braid.lake import Catalog, SystemClock, file_io_for
from braid.registry.store.operations import OperationStore
from braid.schemas import OperationDocument, OperationState
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.support.soaking import soak
from tests.support.waiting import PATIENCE_S, wait_until
from tests.support.worker_pids import worker_pids
from tests.unit.service.http_client import HttpClient

pytestmark = pytest.mark.integration

SPEC: Final[Mapping[str, Any]] = {
    "columns": [{"name": "id", "type": "BIGINT"}, {"name": "value", "type": "STRING"}],
    "primary_key": ["id"],
    "merge_engine": "deduplicate",
    "buckets": 32,
}
COMMITS: Final = 3

REQUESTS: Final[Mapping[str, tuple[str, Any]]] = {
    "compacted": ("compactions", {"full": True}),
    "rescaled": ("rescale", {"buckets": 5}),
    "expired": ("snapshots/expire", {"retain_max": 1, "retain_min": 1, "dry_run": False}),
    "cleaned": ("orphan-files/clean", {"dry_run": False}),
    "rolled_back": ("rollback?confirm=shop.rolled_back", {"snapshot_id": 1}),
}
"""A request for an operation, by the table that it is for."""

ACTIONS: Final[Mapping[str, str]] = {
    "compacted": "compact_table",
    "rescaled": "rescale_table",
    "expired": "expire_snapshots",
    "cleaned": "clean_orphan_files",
    "rolled_back": "roll_back_table",
}
"""The entry of the request in the audit log."""


def prepare(client: Any, warehouse: Path, table: str) -> None:
    """Create a table with `COMMITS` versions of its rows; `client` sends requests."""
    client.put(f"/v1/tables/shop/{table}", json=dict(SPEC)).raise_for_status()
    for number in range(COMMITS):
        count = 200 - number
        rows = pa.table({"id": range(count), "value": [f"v{number}"] * count})
        catalog_of(warehouse).table(f"shop.{table}").write_and_commit(rows)


def catalog_of(warehouse: Path) -> Catalog:
    return Catalog(str(warehouse), file_io=file_io_for(str(warehouse)))


def state_of(warehouse: Path, table: str) -> Any:
    """Return what an operation changes of a table, apart from numbers of snapshots."""
    found = catalog_of(warehouse).table(f"shop.{table}")
    kinds = found.inspect.snapshots().column("kind").to_pylist()
    return (
        sorted(found.scan().to_arrow().to_pylist(), key=lambda row: row["id"]),
        set(found.runs_per_bucket().values()),
        found.schema.table_options.bucket,
        kinds.count("APPEND"),
    )


def service_on(warehouse: Path) -> HttpClient:
    """Return a service in this process, whose operations have real processes."""
    return HttpClient(create_app(ServiceSettings(warehouse=str(warehouse))))


def state_without_kills(warehouse: Path, table: str, copy: Path) -> Any:
    """Carry the request of a table out on a copy of the warehouse, and return the state of the table there."""
    shutil.copytree(warehouse, copy)
    client = service_on(copy)
    path, body = REQUESTS[table]
    operation = client.post(f"/v1/tables/shop/{table}/{path}", json=body).json()
    client.app.state.components.operation_pool.run_due()
    ended = client.get(f"/v1/operations/{operation['id']}").json()
    assert (ended["state"], ended["attempts"]) == ("SUCCEEDED", 1)
    state = state_of(copy, table)
    shutil.rmtree(copy)
    return state


def test_a_killed_compaction_is_completed_by_another_service(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    first = service_on(warehouse)
    prepare(first, warehouse, "compacted")
    rows, *_ = state_of(warehouse, "compacted")
    path, body = REQUESTS["compacted"]
    sent = {"path": f"/v1/tables/shop/compacted/{path}", "json": body}
    key = {"idempotency-key": "once"}
    operation_id = first.post(**sent, headers=key).json()["id"]
    store = OperationStore(file_io_for(str(warehouse)), str(warehouse), SystemClock())
    attempt = threading.Thread(target=first.app.state.components.operation_pool.run_due)
    attempt.start()

    wait_until(lambda: is_under_way(store.get(operation_id)), every_s=0.01)
    for process in worker_pids(os.getpid()):
        os.kill(process, signal.SIGKILL)
    attempt.join()
    left = store.get(operation_id)
    second = service_on(warehouse)
    again = second.post(**sent, headers=key)
    wait_until(lambda: ended_by(second, operation_id), every_s=0.5)

    assert (left.state, left.attempt) == (OperationState.RUNNING, 1)
    assert again.json()["id"] == operation_id
    ended = store.get(operation_id)
    assert (ended.state, ended.attempt) == (OperationState.SUCCEEDED, 2)
    assert state_of(warehouse, "compacted") == (rows, {1}, 32, COMMITS)
    assert [one["id"] for one in second.get("/v1/operations").json()["operations"]] == [
        operation_id
    ]
    entries = second.get("/v1/audit", params={"action": "compact_table"}).json()["entries"]
    assert len(entries) == 1


def is_under_way(operation: OperationDocument) -> bool:
    assert not operation.state.is_final, "it has ended before it was killed"
    return operation.progress is not None and operation.progress.done > 0


def ended_by(client: HttpClient, operation_id: str) -> bool:
    """Let a service begin what is due, and return whether an operation has ended."""
    client.app.state.components.operation_pool.run_due()
    state: str = client.get(f"/v1/operations/{operation_id}").json()["state"]
    return state not in ("PENDING", "RUNNING")


@dataclass
class KilledServices:
    """Two services on one warehouse, which are killed and started again, and so are the processes of their operations.

    Attributes:
        supervisor: Starts the services.
        warehouse: The warehouse.
        kills: Number of processes of operations, and of services, that were killed.
    """

    supervisor: Supervisor
    warehouse: Path
    kills: list[int] = field(default_factory=lambda: [0, 0])
    _services: list[ChildProcess] = field(default_factory=list)
    _clients: list[httpx.Client] = field(default_factory=list)

    def start(self) -> None:
        """Start one more service."""
        port = free_port()
        client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S)
        arguments = ["service", "--warehouse", str(self.warehouse), "--port", str(port)]
        arguments += ["--operation-workers", "4", "--no-access-control"]
        name = f"service-{port}-{sum(self.kills)}"
        child = self.supervisor.start_module(name, "braid", *arguments)
        child.wait_ready(lambda: is_ready(client), timeout_s=PATIENCE_S)
        self._services.append(child)
        self._clients.append(client)

    def kill(self, draw: random.Random) -> None:
        """Kill a process of an operation; now and then a service with all of its processes, which another one replaces."""
        if draw.random() < 0.05:
            place = draw.randrange(len(self._services))
            self._services.pop(place).kill()
            self._clients.pop(place).close()
            self.kills[1] += 1
            self.start()
            return
        found = [pid for one in self._services for pid in worker_pids(one.process_id)]
        if found:
            with suppress(ProcessLookupError):
                os.kill(draw.choice(sorted(found)), signal.SIGKILL)
                self.kills[0] += 1

    def request(self, draw: random.Random, method: str, path: str, **options: Any) -> Any:
        """Send a request to one of the services, and return its answer."""
        answer = draw.choice(self._clients).request(method, path, **options)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def close(self) -> None:
        """Close the clients; the supervisor ends the services."""
        for client in self._clients:
            client.close()


def is_ready(client: httpx.Client) -> bool:
    with suppress(httpx.TransportError):
        return client.get("/ready").is_success
    return False


@pytest.fixture
def services(tmp_path: Path) -> Iterator[KilledServices]:
    with Supervisor(tmp_path / "logs") as supervisor:
        services = KilledServices(supervisor, tmp_path / "warehouse")
        (tmp_path / "warehouse").mkdir()
        services.start()
        services.start()
        yield services
        services.close()


KILLING_S: Final = 25.0
"""Two attempts of an operation whose first process was killed at once: a lease ends after 15 seconds."""


@pytest.mark.soak
def test_operations_whose_processes_are_killed_at_random_have_their_effect_once(
    services: KilledServices, tmp_path: Path
) -> None:
    attempts: list[int] = []

    def work(number: int) -> None:
        attempts.extend(killed_round(services, number, tmp_path / "copy"))

    soak(work)
    print(f"kills of operations and services: {services.kills}; attempts: {sorted(attempts)}")
    assert max(attempts) > 1, "no process was killed while it worked"


def killed_round(services: KilledServices, number: int, copy: Path) -> list[int]:
    """Carry one operation of each kind out while processes are killed, and return the attempts of each."""
    draw, warehouse = random.Random(number), services.warehouse
    writer = service_on(warehouse)
    expected = {}
    for table in REQUESTS:
        prepare(writer, warehouse, table)
        expected[table] = state_without_kills(warehouse, table, copy)

    def requested(table: str) -> str:
        """Send the request for a table's operation, and return the operation's id."""
        path, body = REQUESTS[table]
        headers = {"idempotency-key": f"{table} in round {number}"}
        address = f"/v1/tables/shop/{table}/{path}"
        found: str = services.request(draw, "POST", address, json=body, headers=headers)["id"]
        return found

    store = OperationStore(file_io_for(str(warehouse)), str(warehouse), SystemClock())
    ids = {table: requested(table) for table in REQUESTS}
    end = time.monotonic() + KILLING_S
    while time.monotonic() < end:
        time.sleep(draw.uniform(0, 0.1))
        # Most of the life of a process is its start: one that works is killed more often than its time of work is long.
        is_at_work = any(store.get(one).state is OperationState.RUNNING for one in ids.values())
        if draw.random() < (0.3 if is_at_work else 0.02):
            services.kill(draw)
    assert {table: requested(table) for table in REQUESTS} == ids, "it is the same operation"

    wait_until(lambda: not store.open_ids(), every_s=0.2)
    ended = {table: store.get(one) for table, one in ids.items()}
    assert {one.state for one in ended.values()} == {OperationState.SUCCEEDED}, ended
    for table, state in expected.items():
        assert state_of(warehouse, table) == state, (table, ended[table])
        query = f"/v1/audit?page_size=1000&action={ACTIONS[table]}"
        assert len(services.request(draw, "GET", query)["entries"]) == number + 1
        address = f"/v1/tables/shop/{table}?confirm=shop.{table}"
        services.request(draw, "DELETE", address, json={})
    return [one.attempt for one in ended.values()]
