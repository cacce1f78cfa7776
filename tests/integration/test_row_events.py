"""Row subscriptions of a service process, over real HTTP: with the client of the guide, across restarts, and at the end."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from braid.demo.ports import free_port
from braid.demo.processes import Supervisor
from braid.lake import Catalog, Table
from tests.integration.test_service import start_service
from tests.support.doc_examples import ROOT, doc_examples
from tests.support.server_sent_events import events_of
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.integration

GUIDE = ROOT / "docs" / "guides" / "row-subscriptions.md"


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(tmp_path / "logs") as supervisor:
        yield supervisor


@pytest.fixture
def parcels(tmp_path: Path) -> Table:
    return Catalog(str(tmp_path / "warehouse")).create_table(
        "shop.parcels",
        columns=[("id", "BIGINT"), ("paid", "INT")],
        primary_key=["id"],
        options={"bucket": "2"},
    )


def write(table: Table, *rows: tuple[int, int], kind: int = 0) -> int:
    ids, paid = zip(*rows, strict=True)
    columns = {"id": pa.array(ids, pa.int64()), "paid": pa.array(paid, pa.int32())}
    kinds = pa.array([kind] * len(rows), pa.int8())
    return table.write_and_commit(pa.table(columns), kinds=kinds).snapshot_id


def test_the_client_of_the_guide_follows_a_table_across_a_restart(
    supervisor: Supervisor, parcels: Table, tmp_path: Path
) -> None:
    names: dict[str, Any] = {}
    [example] = doc_examples(GUIDE, "client")
    exec(compile(example.text, str(GUIDE), "exec"), names)  # our own documentation
    port = free_port()
    service = start_service(supervisor, tmp_path / "warehouse", port)
    write(parcels, (1, 10), (2, 20))

    rows: dict[str, dict[str, object]] = {}
    snapshots = names["follow"](f"http://127.0.0.1:{port}/v1/tables/shop/parcels/rows/events", rows)
    until(snapshots, 1)
    assert rows == {'{"id": 1}': {"id": 1, "paid": 10}, '{"id": 2}': {"id": 2, "paid": 20}}
    write(parcels, (1, 11), (3, 30))
    until(snapshots, write(parcels, (2, 20), kind=3))
    assert rows == {'{"id": 1}': {"id": 1, "paid": 11}, '{"id": 3}': {"id": 3, "paid": 30}}

    # The process ends although the subscription would not; the client continues at the next one.
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(PATIENCE_S) == -signal.SIGTERM
    newest = write(parcels, (3, 31))
    start_service(supervisor, tmp_path / "warehouse", port)
    until(snapshots, newest)
    assert rows == {'{"id": 1}': {"id": 1, "paid": 11}, '{"id": 3}': {"id": 3, "paid": 31}}


def until(snapshots: Iterator[int], snapshot_id: int) -> None:
    """Follow until a snapshot is complete."""
    while next(snapshots) < snapshot_id:
        pass


def test_a_subscription_ends_with_a_problem_when_the_process_stops(
    supervisor: Supervisor, parcels: Table, tmp_path: Path
) -> None:
    port = free_port()
    service = start_service(supervisor, tmp_path / "warehouse", port)
    write(parcels, (1, 10))
    address = f"http://127.0.0.1:{port}/v1/tables/shop/parcels/rows/events"
    body = {"keys": [{"id": 1}, {"id": 2}], "initial": True}
    with httpx.stream("POST", address, json=body, timeout=PATIENCE_S) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert "x-request-id" in answer.headers
        events = events_of(answer.iter_lines())
        first = [next(events) for _ in range(3)]
        service.process.send_signal(signal.SIGTERM)
        rest = list(events)

    assert [(event.event, event.data.get("row")) for event in first] == [
        ("row", {"id": 1, "paid": 10}),
        ("row", None),
        ("snapshot", None),
    ]
    assert [event.event for event in rest][-1] == "error"
    assert rest[-1].data["code"] == "not_ready"
    assert rest[-1].id == first[-1].id
    assert service.process.wait(PATIENCE_S) == -signal.SIGTERM
