"""Completeness over HTTP: counts of rows by state, snapshot by snapshot, and the lag of streams."""

import threading
from typing import Any

import httpx
import pytest

from braid.lake import Catalog, ManualClock, ReadAt, Scan
from braid.service.control import completeness as control
from braid.service.serving import completeness_counts as serving
from tests.unit.service.http_client import HttpClient
from tests.unit.service.routes.test_row_pages import given_orders
from tests.unit.service.routes.test_rows import write_sale

COMPLETENESS = "/v1/tables/shop/orders/completeness"
SALES = "/v1/tables/shop/orders/streams/sales"
NO_ROWS = {"absent": 0, "present": 0, "stale": 0, "deleted": 0}


def counted(client: HttpClient, path: str = COMPLETENESS) -> httpx.Response:
    """Return the answer once nothing is counted any more."""
    while True:
        answer = client.get(path)
        if answer.status_code != 202 and answer.json().get("counting") is None:
            return answer


def counts(client: HttpClient, query: str = "") -> Any:
    answer = counted(client, f"{COMPLETENESS}{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_rows_are_counted_by_the_state_of_each_group(client: HttpClient, catalog: Catalog) -> None:
    given_orders(client, catalog)

    found = counts(client)

    assert (found["rows"], found["complete"], found["complete_when"]) == (4, 3, ["sales"])
    assert found["groups"]["sales"]["rows"] == NO_ROWS | {"absent": 1, "present": 2, "stale": 1}
    assert found["groups"]["shipping"]["rows"] == NO_ROWS | {"absent": 2, "present": 2}
    assert found["groups"]["payments"]["rows"] == NO_ROWS | {"absent": 4}
    assert found["snapshot"]["id"] == 5
    assert found["measured_at"] == "2023-11-14T22:13:20.000Z"
    assert found["counting"] is None


def test_the_answer_has_the_lag_of_each_stream(shop: HttpClient) -> None:
    shop.put(SALES, json={"topic": "orders"}).raise_for_status()

    found = counts(shop)

    assert found["groups"]["sales"]["stream"] == "sales"
    assert found["groups"]["payments"]["stream"] is None
    assert found["streams"] == {
        "sales": {
            "state": "UNASSIGNED",
            "lag_records": None,
            "lag_seconds": None,
            "last_commit": None,
        }
    }
    assert (found["rows"], found["snapshot"]["id"]) == (0, None)


def test_a_snapshot_is_counted_once(
    client: HttpClient, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_orders(client, catalog)
    first = counts(client)
    scans = count_scans(monkeypatch)

    assert counts(client)["groups"] == first["groups"]
    assert scans == []
    write_sale(catalog, id=5)
    assert counts(client)["rows"] == 5
    assert len(scans) == 1


def count_scans(monkeypatch: pytest.MonkeyPatch) -> list[Scan]:
    """Return a list of the scans that are counted from now on."""
    scans: list[Scan] = []

    def count(scan: Scan, *args: Any, **options: Any) -> control.CompletenessCount:
        scans.append(scan)
        return control.count_states(scan, *args, **options)

    monkeypatch.setattr(serving, "count_states", count)
    return scans


def test_rows_that_have_become_stale_are_counted_again_a_minute_later(
    client: HttpClient, catalog: Catalog, clock: ManualClock
) -> None:
    given_orders(client, catalog)
    states = [counts(client)["groups"]["sales"]["rows"]]
    for _ in range(2):
        clock.advance(ms=59_000)
        states.append(counts(client)["groups"]["sales"]["rows"])

    assert [(one["present"], one["stale"]) for one in states] == [(2, 1), (2, 1), (0, 3)]


def test_older_states_are_counted_as_of_their_commit(
    client: HttpClient, catalog: Catalog, clock: ManualClock
) -> None:
    given_orders(client, catalog)
    clock.advance(ms=3_600_000)

    found = counts(client, "?snapshot_id=3")

    assert (found["rows"], found["snapshot"]["id"]) == (3, 3)
    assert found["groups"]["sales"]["rows"] == NO_ROWS | {"present": 2, "stale": 1}
    assert found["measured_at"] == "2023-11-14T22:13:20.000Z"


def test_a_first_count_that_takes_long_is_answered_with_its_progress(
    client: HttpClient, catalog: Catalog
) -> None:
    given_orders(client, catalog)
    components = client.app.state.components
    pool = components.completeness._pool
    gate = threading.Event()
    pool.submit(gate.wait)

    answer = client.get(COMPLETENESS)
    gate.set()

    assert (answer.status_code, answer.headers["retry-after"]) == (202, "1")
    found = answer.json()
    assert found["counting"] == {"snapshot_id": 5, "done": 0.0}
    assert (found["rows"], found["snapshot"]) == (None, None)
    assert found["groups"]["sales"]["rows"] is None


def test_while_a_newer_snapshot_is_counted_the_older_count_is_answered(
    client: HttpClient, catalog: Catalog
) -> None:
    given_orders(client, catalog)
    counts(client)
    write_sale(catalog, id=5)
    components = client.app.state.components
    document, table = components.registered("shop.orders")
    gate = threading.Event()
    components.completeness._pool.submit(gate.wait)

    counted, progress = components.completeness.get(
        table, document, ReadAt(), verified_ms=components.clock.now_ms(), wait_s=0
    )
    gate.set()

    assert counted.snapshot.id == 5
    assert counted.count.rows == 4
    assert progress.snapshot.id == 6
    assert counts(client)["rows"] == 5


def test_a_changed_rule_is_counted_anew(client: HttpClient, catalog: Catalog) -> None:
    given_orders(client, catalog)
    assert counts(client)["complete"] == 3
    answer = client.get("/v1/tables/shop/orders").json()
    changed = {**answer["spec"], "completeness": {"groups": ["sales", "shipping"]}}

    client.put("/v1/tables/shop/orders", json=changed)

    found = counts(client)
    assert found["complete_when"] in (["sales"], ["sales", "shipping"])
    assert found["complete"] == (3 if found["complete_when"] == ["sales"] else 1)


def test_a_closed_service_ends_a_count(client: HttpClient, catalog: Catalog) -> None:
    given_orders(client, catalog)
    components = client.app.state.components
    document, table = components.registered("shop.orders")
    gate = threading.Event()
    components.completeness._pool.submit(gate.wait)
    components.completeness.get(
        table, document, ReadAt(), verified_ms=components.clock.now_ms(), wait_s=0
    )

    components.completeness.close()
    gate.set()

    with pytest.raises(RuntimeError, match="shutdown"):
        components.completeness._pool.submit(print)


def test_a_state_that_does_not_exist_is_refused(client: HttpClient, catalog: Catalog) -> None:
    given_orders(client, catalog)

    answer = client.get(f"{COMPLETENESS}?tag=none")

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "tag")


def test_a_damaged_table_is_an_error_and_is_counted_again(
    client: HttpClient, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_orders(client, catalog)
    table = catalog.table("shop.orders")
    path = next(
        one.path
        for one in table.file_io.list(f"{table.path}/bucket-0")
        if one.path.endswith(".parquet")
    )
    content = table.file_io.read_bytes(path)
    table.file_io.delete(path)

    answer = counted(client)
    table.file_io.write_new(path, content)

    assert (answer.status_code, answer.json()["code"]) == (500, "corrupt_data")
    assert counts(client)["rows"] == 4
