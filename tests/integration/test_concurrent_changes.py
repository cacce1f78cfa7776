"""Service processes change the same tables at once: no change is lost, doubled or half made, and the audit log has each.

The clients draw changes of a few tables from a seed. While they send them, a reader checks that every document obeys the rules, and
that the log only grows. In the end, what the services answered is compared with the log, and the log with the declarations: its entries,
applied in their order, have to give what is declared, and no stream may own the group of another one after any of them.
"""

import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from braid.demo.ports import free_port
from braid.demo.processes import Supervisor
from braid.lake import Catalog, SystemClock, file_io_for
from braid.registry.layout.physical_table import physical_table
from braid.registry.rules.stream_rules import check_stream
from braid.registry.store.audit_log import EntryName
from braid.registry.store.audit_pages import AuditFilter, AuditPages
from braid.registry.store.document_changes import document_changes
from braid.registry.store.documents import RegistryStore
from braid.schemas import AuditAction, AuditChange, AuditEntry, TableDocument
from tests.support.drawn_changes import SHORT, TABLES, DrawnChange, drawn_change
from tests.support.waiting import PATIENCE_S, wait_until
from tests.support.worker_pids import worker_pids
from tests.unit.registry.shop import ORDERS

pytestmark = pytest.mark.integration

CLIENTS_OF_A_PROCESS = 2
ANSWERS = {200, 201, 202, 204, 404, 409, 412, 422}
TRY_AGAIN = 20
_PAUSE_S = 0.2
"""Between two looks at all documents, which take processor time from the services."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A change that was sent, with its answer."""

    change: DrawnChange
    answer: httpx.Response

    @property
    def is_lost_race(self) -> bool:
        """Whether another change came before this one, so that it is to be sent again."""
        status = self.answer.status_code
        return status == 412 or (status == 409 and self.answer.json()["code"] == "conflict")

    @property
    def entries(self) -> range:
        """The possible numbers of entries of the log for each table that the change may concern."""
        if not self.answer.is_success:
            return range(1)
        return range(1, 2) if self.answer.status_code in self.change.tells else range(2)


@dataclass
class Clients:
    """Clients that make changes, each from a seed of its own.

    Attributes:
        url: The address of the services.
        changes: Changes of each client.
        with_operations: Whether operations are among them.
        sent: What was sent, by request id.
        repeated: Answers of requests that were sent again with their key, each with the first answer.
    """

    url: str
    changes: int
    with_operations: bool
    sent: dict[str, Sent] = field(default_factory=dict)
    repeated: list[tuple[httpx.Response, httpx.Response]] = field(default_factory=list)

    def run(self, clients: int) -> None:
        """Make the changes of all clients at once."""
        threads = [threading.Thread(target=self._work, args=(n,)) for n in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _work(self, client: int) -> None:
        draw = random.Random(client)
        for number in range(self.changes):
            name = f"{client}-{number}"
            change = drawn_change(draw, name, ORDERS, with_operations=self.with_operations)
            for attempt in range(TRY_AGAIN):
                one = self._send(change, f"{name}-{attempt}", key=name)
                if not one.is_lost_race:
                    break
            if change.has_key and one.answer.is_success:
                again = self._send(change, f"{name}-again", key=name)
                self.repeated.append((one.answer, again.answer))

    def _send(self, change: DrawnChange, request_id: str, *, key: str) -> Sent:
        headers = {"x-request-id": request_id}
        if change.method == "PATCH":
            headers["content-type"] = "application/merge-patch+json"
        if change.has_key:
            headers["idempotency-key"] = key
        if change.is_conditional:
            etag = httpx.get(f"{self.url}{change.path}", timeout=PATIENCE_S).headers.get("etag")
            headers["if-match"] = etag or "*"
        # A connection of its own, which any of the processes accepts.
        answer = httpx.request(
            change.method,
            f"{self.url}{change.path}",
            json=change.body,
            headers=headers,
            timeout=PATIENCE_S,
        )
        one = Sent(change=change, answer=answer)
        self.sent[request_id] = one
        return one


class Reader:
    """Reads documents and the log again and again, in a thread, as long as the context lasts.

    Attributes:
        faults: What breaks rules.
        looks: How often all documents were read.
    """

    def __init__(self, warehouse: str) -> None:
        self.store = RegistryStore(file_io_for(warehouse), warehouse, SystemClock())
        self._pages = AuditPages(self.store, file_io_for(warehouse))
        self._is_ended = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self.faults: list[str] = []
        self.looks = 0

    def __enter__(self) -> "Reader":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_ended.set()
        self._thread.join()

    def _read(self) -> None:
        known: set[str] = set()
        while not self._is_ended.wait(_PAUSE_S):
            known = self._look(known)
            self.looks += 1

    def _look(self, known: set[str]) -> set[str]:
        """Check all documents and the log, and return the ids of its entries."""
        for table in TABLES:
            found = self.store.table(f"shop.{table}")
            if found is not None:
                self.faults += document_faults(found.value)
        now = {entry.id for entry in self.entries()}
        self.faults += [f"the log has lost the entry {one}" for one in known - now]
        return now

    def entries(self) -> list[AuditEntry]:
        """Return the entries of the log, oldest first."""
        found: list[AuditEntry] = []
        before: EntryName | None = None
        while True:
            page = self._pages.page(AuditFilter(), limit=100, before=before)
            found += page.entries
            before = page.next
            if before is None:
                return list(reversed(found))


def document_faults(document: TableDocument) -> list[str]:
    """Return what breaks the rules across streams."""
    specs = {name: entry.spec for name, entry in document.streams.items()}
    groups = Counter(spec.sequence_group for spec in specs.values())
    shared = [f"{document.identifier}: {name}" for name, count in groups.items() if count > 1]
    return shared + [
        f"{document.identifier}/{name}: {problem.message}"
        for name, spec in specs.items()
        for problem in check_stream(document.table, specs, spec)
    ]


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(tmp_path) as supervisor:
        yield supervisor


@pytest.mark.parametrize(
    ("processes", "changes"),
    [(2, 30), pytest.param(8, 200, marks=pytest.mark.soak)],
    ids=["some", "many"],
)
def test_changes_by_several_processes_are_all_made_once(
    supervisor: Supervisor, tmp_path: Path, processes: int, changes: int
) -> None:
    warehouse = str(tmp_path / "warehouse")
    url = started(supervisor, warehouse, processes)
    catalog = Catalog(warehouse, file_io=file_io_for(warehouse))
    for table in TABLES:
        create(url, catalog, table)
    number = processes * CLIENTS_OF_A_PROCESS
    clients = Clients(url, changes=-(-changes // number), with_operations=processes > 2)

    with Reader(warehouse) as reader:
        clients.run(number)

    assert (reader.faults, reader.looks > 0) == ([], True)
    answers = [one.answer for one in clients.sent.values()]
    assert [one.text for one in answers if one.status_code not in ANSWERS] == []
    for one in clients.sent.values():
        check_refusal(one)
    for first, again in clients.repeated:
        assert (again.content, again.headers["idempotent-replayed"]) == (first.content, "true")
    entries = reader.entries()
    check_log(entries, clients.sent)
    for table in TABLES:
        told = [entry for entry in entries if entry.table == f"shop.{table}"]
        check_table(reader.store, catalog, table, told)
    check_operations(url, clients.sent)
    lost = sum(one.is_lost_race for one in clients.sent.values())
    made = sum(one.answer.is_success for one in clients.sent.values())
    assert made > changes // 4, "the seeds draw enough changes that are made"
    print(
        f"{len(clients.sent)} requests, {made} made, {lost} lost races, {len(clients.repeated)} repeated, "
        f"{len(entries)} entries of the log, {reader.looks} looks at all documents"
    )


def create(url: str, catalog: Catalog, table: str) -> None:
    """Create a table with a row and a tag."""
    of_table = f"{url}/v1/tables/shop/{table}"
    headers = {"x-request-id": f"create-{table}"}
    created = httpx.put(of_table, json=ORDERS, headers=headers, timeout=PATIENCE_S)
    assert created.status_code == 201, created.text
    row = pa.table({"region": ["eu"], "id": [1]})
    catalog.table(f"shop.{table}").write_and_commit(row)
    headers = {"x-request-id": f"tag-{table}"}
    tagged = httpx.put(f"{of_table}/tags/always", json={}, headers=headers, timeout=PATIENCE_S)
    assert tagged.status_code == 201, tagged.text


def check_refusal(one: Sent) -> None:
    """Check that a client which has lost a race is told what to do."""
    if one.is_lost_race:
        problem = one.answer.json()
        is_gone = "does not exist" in problem["detail"]
        assert is_gone or problem["errors"] or "again" in problem["detail"], problem
        if one.answer.status_code == 412 and not is_gone:
            assert one.answer.headers["etag"] != one.answer.request.headers["if-match"]


def check_log(entries: list[AuditEntry], sent: dict[str, Sent]) -> None:
    """Check that the log has exactly what was acknowledged."""
    assert len({entry.id for entry in entries}) == len(entries)
    told = Counter((entry.actor.request_id, entry.table) for entry in entries)
    assert set(told.values()) == {1}, "no change is doubled"
    for request_id, one in sent.items():
        for table in one.change.tables:
            number = told.pop((request_id, table), 0)
            is_again = request_id.endswith("-again")
            expected = range(1) if is_again else one.entries
            assert number in expected, (request_id, table, one.answer.status_code, one.answer.text)
    prepared = {
        (f"{what}-{table}", f"shop.{table}") for what in ("create", "tag") for table in TABLES
    }
    assert {*told} == prepared, "nothing else is in the log"


def check_table(
    store: RegistryStore, catalog: Catalog, table: str, entries: list[AuditEntry]
) -> None:
    """Check that the entries lead to the declaration, by valid declarations, and that the table has its columns."""
    state: Any = None
    version = 0
    for entry in entries:
        if entry.version is None:  # the change of a tag, or an operation
            continue
        assert entry.version > version, (table, entry)
        version = entry.version
        if entry.action == AuditAction.DROP_TABLE:
            state, version = None, 0
            continue
        for change in entry.changes:
            state = applied(state, change)
        owners = [one["spec"]["sequence_group"] for one in state["streams"].values()]
        assert len(owners) == len(set(owners)), (table, entry)
    found = store.table(f"shop.{table}")
    if found is None:
        assert (state, table) == (None, SHORT)
        return
    (whole,) = document_changes(None, found.value)
    assert state == whole.after
    fields = catalog.table(f"shop.{table}").schema.fields
    layout = physical_table(found.value.table)
    assert [one.name for one in fields] == [one.name for one in layout.columns]


def check_operations(url: str, sent: dict[str, Sent]) -> None:
    """Check that each operation that was acknowledged ends well, and that there are no others."""
    acknowledged = {
        one.answer.json()["id"]
        for one in sent.values()
        if "/v1/operations/" in one.answer.headers.get("location", "")
    }

    def listed() -> dict[str, str]:
        page = httpx.get(f"{url}/v1/operations?page_size=1000", timeout=PATIENCE_S).json()
        return {one["id"]: one["state"] for one in page["operations"]}

    wait_until(lambda: {"PENDING", "RUNNING"}.isdisjoint(listed().values()))
    ended = listed()
    assert {*ended} == acknowledged
    assert set(ended.values()) <= {"SUCCEEDED"}, ended


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


def started(supervisor: Supervisor, warehouse: str, processes: int) -> str:
    """Start a service of several processes at one address, and return the address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    arguments = ["--warehouse", warehouse, "--port", str(port), "--workers", str(processes)]
    arguments.append("--no-access-control")
    child = supervisor.start_module("service", "braid", "service", *arguments)

    def is_ready() -> bool:
        with suppress(httpx.TransportError):
            ready = httpx.get(f"{url}/ready").is_success
            return ready and len(worker_pids(child.process_id)) == processes
        return False

    child.wait_ready(is_ready, timeout_s=PATIENCE_S)
    return url
