"""The service with two workers: one is killed while rows are requested and snapshots change."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, Supervisor
from braid.lake import Catalog, Table
from tests.support.waiting import PATIENCE_S, wait_until
from tests.support.worker_pids import has_ended, worker_pids

pytestmark = pytest.mark.integration

KEYS = 20
CLIENTS = 4
SNAPSHOTS_AROUND = 3
ROWS = "/v1/tables/shop/versions/rows"


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table whose rows have the number of the snapshot that they are in."""
    catalog = Catalog(str(tmp_path / "warehouse"))
    return catalog.create_table(
        "shop.versions",
        columns=[("id", "INT"), ("version", "INT")],
        primary_key=["id"],
        options={"bucket": "2"},
    )


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(tmp_path) as supervisor:
        yield supervisor


class Load:
    """Clients that request rows, each one after the other, and what was wrong with the answers."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(CLIENTS)]
        self.answers = [0] * CLIENTS
        self.wrong: list[str] = []
        self.failed_since: list[float] = []

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def wait_for_answers(self) -> None:
        """Return when each client has had some more answers."""
        before = list(self.answers)
        wait_until(
            lambda: all(now > then + KEYS for now, then in zip(self.answers, before, strict=True))
        )

    def _ask(self, number: int) -> None:
        with httpx.Client(base_url=self._url, timeout=PATIENCE_S) as client:
            key = 0
            while not self._is_over.is_set():
                key = (key + 1) % KEYS
                since = time.monotonic()
                try:
                    answer = client.get(ROWS, params={"id": key})
                except httpx.TransportError:
                    self.failed_since.append(since)
                    continue
                found = answer.json()
                if answer.status_code != 200 or found["row"]["version"] != found["snapshot"]["id"]:
                    self.wrong.append(answer.text)
                self.answers[number] += 1


def test_only_requests_in_flight_at_a_worker_that_is_killed_fail(
    table: Table, supervisor: Supervisor, tmp_path: Path
) -> None:
    def commit() -> None:
        snapshot = table.latest_snapshot()
        version = 1 if snapshot is None else snapshot.id + 1
        rows = {"id": list(range(KEYS)), "version": [version] * KEYS}
        table.write_and_commit(
            pa.table(rows, schema=pa.schema([("id", pa.int32()), ("version", pa.int32())]))
        )

    commit()
    port = free_port()
    service = _start(supervisor, tmp_path / "warehouse", port)
    load = Load(f"http://127.0.0.1:{port}")
    load.start()
    try:
        load.wait_for_answers()
        workers = worker_pids(service.process_id)
        for _ in range(SNAPSHOTS_AROUND):
            commit()
            load.wait_for_answers()
        killed = min(workers)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: has_ended(killed))
        killed_at = time.monotonic()
        for _ in range(SNAPSHOTS_AROUND):
            commit()
            load.wait_for_answers()
        wait_until(lambda: len(worker_pids(service.process_id)) == 2)
        load.wait_for_answers()
    finally:
        load.stop()

    assert load.wrong == []
    # A client has one request at a time, so at most one was in flight at the worker.
    assert len(load.failed_since) <= CLIENTS
    assert all(since < killed_at for since in load.failed_since)
    assert worker_pids(service.process_id) > workers - {killed}


def test_workers_answer_requests_that_have_begun_before_they_end(
    table: Table, supervisor: Supervisor, tmp_path: Path
) -> None:
    port = free_port()
    service = _start(supervisor, tmp_path / "warehouse", port)
    workers = worker_pids(service.process_id)
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    # Waits up to two seconds for the snapshot, which is never committed.
    connection.request("GET", f"{ROWS}?id=1&min_snapshot=1")
    assert connection.sock is not None
    client_port = connection.sock.getsockname()[1]
    wait_until(lambda: _is_read(port, client_port))
    returned = service.stop(grace_s=PATIENCE_S)
    answer = json.loads(connection.getresponse().read())
    connection.close()

    assert returned == 0
    assert answer["code"] == "snapshot_not_reached"
    assert all(has_ended(pid) for pid in workers)


def _is_read(port: int, client_port: int) -> bool:
    """Return whether a process has accepted a connection to a port, and has read all that was sent."""
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        _, local, remote, _, queues, _, _, _, _, inode, *_ = line.split()
        if local.endswith(f":{port:04X}") and remote.endswith(f":{client_port:04X}"):
            # A connection that nobody has accepted yet has no inode.
            return inode != "0" and int(queues.partition(":")[2], 16) == 0
    return False


def _start(supervisor: Supervisor, warehouse: Path, port: int) -> ChildProcess:
    child = supervisor.start_module(
        "workers",
        "braid",
        "service",
        "--warehouse",
        str(warehouse),
        "--port",
        str(port),
        "--workers",
        "2",
        "--no-access-control",
    )

    def is_ready() -> bool:
        with suppress(httpx.TransportError):
            ready = httpx.get(f"http://127.0.0.1:{port}/ready").is_success
            return ready and len(worker_pids(child.process_id)) == 2
        return False

    child.wait_ready(is_ready, timeout_s=PATIENCE_S)
    return child
