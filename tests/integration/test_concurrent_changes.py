"""Service processes change the same tables at once: no change is lost, doubled or half made, and the audit log has each.

The clients draw changes of a few tables from a seed. What the services answered is compared with the log, and the log with the
declarations: its entries, applied in their order, have to give what is declared, and no stream may own the group of another one
after any of them.
"""

import random
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from braid.demo.ports import free_port
from braid.demo.processes import Supervisor
from braid.lake import SystemClock, file_io_for
from braid.registry.store.audit_log import EntryName
from braid.registry.store.audit_pages import AuditFilter, AuditPages
from braid.registry.store.document_changes import document_changes
from braid.registry.store.documents import RegistryStore
from braid.schemas import AuditChange, AuditEntry
from tests.support.waiting import PATIENCE_S
from tests.support.worker_pids import worker_pids
from tests.unit.registry.shop import ORDERS

pytestmark = pytest.mark.integration

HOT = "hot"
TABLES = [HOT, "cold_1", "cold_2", "cold_3"]
STREAMS = {"sales": "sales", "rival": "sales", "payments": "payments", "shipping": "shipping"}
"""Streams and the groups that they own; two of them want the same one."""
CLIENTS_OF_A_PROCESS = 2
ANSWERS = {200, 201, 202, 204, 404, 409, 422}
TRY_AGAIN = 20


class Clients:
    """Clients that make changes, each from a seed of its own, and the answers by request id."""

    def __init__(self, url: str, *, clients: int, changes: int) -> None:
        self._url = url
        self._changes = changes
        self._threads = [threading.Thread(target=self._work, args=(n,)) for n in range(clients)]
        self.answers: dict[str, httpx.Response] = {}

    def run(self) -> None:
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join()

    def _work(self, client: int) -> None:
        draw = random.Random(client)
        for number in range(self._changes):
            name = f"{client}-{number}"
            method, path, body = self._drawn(draw, name)
            for attempt in range(TRY_AGAIN):
                request_id = f"{name}-{attempt}"
                # A connection of its own, which any of the processes accepts.
                answer = httpx.request(
                    method,
                    f"{self._url}/v1/tables/shop/{path}",
                    json=body,
                    headers={"x-request-id": request_id},
                    timeout=PATIENCE_S,
                )
                self.answers[request_id] = answer
                if answer.status_code != 409 or answer.json()["code"] != "conflict":
                    break

    @staticmethod
    def _drawn(draw: random.Random, name: str) -> tuple[str, str, Any]:
        table = HOT if draw.random() < 0.5 else draw.choice(TABLES)
        stream = draw.choice([*STREAMS])
        address = f"{table}/streams/{stream}"
        match draw.randrange(6):
            case 0 | 1:
                definition = {"topic": stream, "sequence_group": STREAMS[stream]}
                return "PUT", address, {**definition, "trigger_ms": draw.randrange(100, 200)}
            case 2:
                column = f"x{name.replace('-', '_')}"
                add = {"change": "add_column", "column": column, "type": "INT"}
                changes = [{**add, "sequence_group": STREAMS[stream]}]
                return "POST", f"{table}/schema-changes", {"changes": changes}
            case 3:
                return "DELETE", address, {}
            case _:
                return "POST", f"{address}/{draw.choice(['pause', 'resume', 'stop', 'stop'])}", {}


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(tmp_path) as supervisor:
        yield supervisor


@pytest.mark.parametrize(
    ("processes", "changes"),
    [(3, 40), pytest.param(8, 200, marks=pytest.mark.soak)],
    ids=["some", "many"],
)
def test_changes_by_several_processes_are_all_made_once(
    supervisor: Supervisor, tmp_path: Path, processes: int, changes: int
) -> None:
    warehouse = tmp_path / "warehouse"
    url = started(supervisor, warehouse, processes)
    for table in TABLES:
        created = httpx.put(
            f"{url}/v1/tables/shop/{table}",
            json=ORDERS,
            headers={"x-request-id": f"create-{table}"},
            timeout=PATIENCE_S,
        )
        assert created.status_code == 201, created.text
    number = processes * CLIENTS_OF_A_PROCESS
    clients = Clients(url, clients=number, changes=-(-changes // number))

    clients.run()

    odd = [one.text for one in clients.answers.values() if one.status_code not in ANSWERS]
    assert odd == []
    store = RegistryStore(file_io_for(str(warehouse)), str(warehouse), SystemClock())
    entries = all_entries(store, str(warehouse))
    told = [entry.actor.request_id for entry in entries]
    assert len(told) == len(set(told)), "no change is doubled"
    refused = {name for name, answer in clients.answers.items() if not answer.is_success}
    assert refused.isdisjoint(told), "no change that was refused is made"
    made = {name for name, one in clients.answers.items() if must_be_told(one)}
    assert made <= {*told}, "no change is lost"
    assert len(made) > changes // 10, "the seeds draw enough changes that are made"
    for table in TABLES:
        check_table(store, table, [one for one in entries if one.table == f"shop.{table}"])


def must_be_told(answer: httpx.Response) -> bool:
    """Return whether an answer says that something has changed: others may have found nothing to do."""
    is_schema_change = "/schema-changes" in str(answer.request.url)
    return answer.status_code in (201, 204) or (is_schema_change and answer.is_success)


def check_table(store: RegistryStore, table: str, entries: list[AuditEntry]) -> None:
    """Check that the entries lead to the declaration, by valid declarations."""
    versions = [entry.version for entry in entries]
    assert versions == sorted(versions, key=lambda version: version or 0)
    state: Any = None
    for entry in entries:
        for change in entry.changes:
            state = applied(state, change)
        owners = [one["spec"]["sequence_group"] for one in state["streams"].values()]
        assert len(owners) == len(set(owners)), (table, entry)
    found = store.table(f"shop.{table}")
    assert found is not None
    (whole,) = document_changes(None, found.value)
    assert state == whole.after


def applied(state: Any, change: AuditChange) -> Any:
    """Return the state after a change, whose value before has to be the one in the state; changes the state."""
    *path, last = change.pointer.split("/")
    if not path:
        assert state == change.before
        return change.after
    holder = state
    for part in path[1:]:
        holder = holder[int(part)] if isinstance(holder, list) else holder[part]
    if isinstance(holder, list):
        assert (change.before, int(last)) == (None, len(holder)), "columns are only appended"
        holder.append(change.after)
        return state
    assert holder.get(last) == change.before
    if change.after is None:
        del holder[last]
    else:
        holder[last] = change.after
    return state


def all_entries(store: RegistryStore, warehouse: str) -> list[AuditEntry]:
    """Return the entries of the log, oldest first."""
    pages = AuditPages(store, file_io_for(warehouse))
    found: list[AuditEntry] = []
    before: EntryName | None = None
    while True:
        page = pages.page(AuditFilter(), limit=100, before=before)
        found += page.entries
        before = page.next
        if before is None:
            return list(reversed(found))


def started(supervisor: Supervisor, warehouse: Path, processes: int) -> str:
    """Start a service of several processes at one address, and return the address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    arguments = ["--warehouse", str(warehouse), "--port", str(port), "--workers", str(processes)]
    arguments.append("--no-access-control")
    child = supervisor.start_module("service", "braid", "service", *arguments)

    def is_ready() -> bool:
        with suppress(httpx.TransportError):
            ready = httpx.get(f"{url}/ready").is_success
            return ready and len(worker_pids(child.process_id)) == processes
        return False

    child.wait_ready(is_ready, timeout_s=PATIENCE_S)
    return url
