"""A service with two workers: its metrics are those of both, and it ends in order."""

import json
import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, Supervisor
from braid.lake import Catalog
from tests.support.server_sent_events import Event, events_of
from tests.support.waiting import PATIENCE_S, wait_until
from tests.support.worker_pids import has_ended, worker_pids

pytestmark = pytest.mark.integration

ROWS = "/v1/tables/shop/parcels/rows"
REQUESTS = 40


def test_workers_are_counted_together_and_end_after_the_requests_that_have_begun(
    tmp_path: Path,
) -> None:
    warehouse = tmp_path / "warehouse"
    table = Catalog(str(warehouse)).create_table(
        "shop.parcels", columns=[("id", "INT"), ("city", "STRING")], primary_key=["id"]
    )
    table.write_and_commit(pa.table({"id": pa.array([7], pa.int32()), "city": ["Ulm"]}))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with Supervisor(tmp_path) as supervisor:
        service = _start(supervisor, warehouse, port)
        workers = worker_pids(service.process_id)
        for _ in range(REQUESTS):  # each at a new connection, which any worker accepts
            httpx.get(f"{url}{ROWS}", params={"id": 7}).raise_for_status()

        # An answer may arrive before its request is counted.
        wait_until(lambda: {_rows_found(url) for _ in range(10)} == {REQUESTS})

        events: list[Event] = []
        is_open = threading.Event()
        subscriber = threading.Thread(target=_subscribe, args=(url, events, is_open))
        subscriber.start()
        is_open.wait()
        os.kill(service.process_id, signal.SIGTERM)
        wait_until(lambda: not httpx.get(f"{url}/ready").is_success)
        ready = httpx.get(f"{url}/ready")
        row = httpx.get(f"{url}{ROWS}", params={"id": 7})
        returned = service.stop(grace_s=PATIENCE_S)
        subscriber.join()
        log = service.log_path.read_text(encoding="utf-8")

    assert (ready.status_code, ready.json()["code"]) == (503, "not_ready")
    assert row.json()["row"] == {"id": 7, "city": "Ulm"}
    assert returned == 0
    assert all(has_ended(pid) for pid in workers)
    assert events[-1].event == "error"
    assert events[-1].data["code"] == "not_ready"
    lines = [json.loads(line) for line in log.splitlines()]
    assert {"method": "GET", "path": ROWS, "status": 200}.items() <= next(
        line for line in lines if line.get("path") == ROWS
    ).items()


def _rows_found(url: str) -> float:
    """Return how many requests for a row that exists a worker shows."""
    text = httpx.get(f"{url}/metrics").text
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "braid_http_request_duration_seconds_count"
        if sample.labels["row"] == "found"
    )


def _subscribe(url: str, events: list[Event], is_open: threading.Event) -> None:
    with httpx.stream("GET", f"{url}{ROWS}/events?id=7&initial=true", timeout=PATIENCE_S) as answer:
        for event in events_of(answer.iter_lines()):
            events.append(event)
            is_open.set()


def _start(supervisor: Supervisor, warehouse: Path, port: int) -> ChildProcess:
    options = ("--port", str(port), "--workers", "2", "--log-format", "json", "--no-access-control")
    where = ("--warehouse", str(warehouse), "--drain-seconds", "600")  # until a second signal
    child = supervisor.start_module("service", "braid", "service", *where, *options)

    def is_ready() -> bool:
        with suppress(httpx.TransportError):
            ready = httpx.get(f"http://127.0.0.1:{port}/ready").is_success
            return ready and len(worker_pids(child.process_id)) == 2
        return False

    child.wait_ready(is_ready, timeout_s=PATIENCE_S)
    return child
