"""The audit log over HTTP."""

import re
from typing import Any

import httpx
import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.guard.request_class import STATE_CHANGING
from braid.service.settings import ServiceSettings
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient
from tests.unit.service.routes.test_offsets import read

TABLE = "/v1/tables/{database}/{table}"
STREAM = f"{TABLE}/streams/{{stream}}"
NAMES = {
    "database": "shop",
    "table": "orders",
    "stream": "sales",
    "consumer": "c",
    "view": "v",
    "runner": "one",
}
ADD = {"change": "add_column", "column": "iban", "type": "STRING", "sequence_group": "payments"}

CHANGES: list[tuple[str, str, str, Any]] = [
    ("put_table", "PUT", TABLE, ORDERS),
    ("put_stream", "PUT", STREAM, {"topic": "orders"}),
    ("pause_stream", "POST", f"{STREAM}/pause", None),
    ("resume_stream", "POST", f"{STREAM}/resume", None),
    ("restart_stream", "POST", f"{STREAM}/restart", None),
    ("start_stream", "POST", f"{STREAM}/start", None),
    ("replay_dead_letters", "POST", f"{STREAM}/dead-letters/replay", {}),
    ("withdraw_replay", "DELETE", f"{STREAM}/dead-letters/replay", None),
    ("change_schema", "POST", f"{TABLE}/schema-changes", {"changes": [ADD]}),
    ("stop_stream", "POST", f"{STREAM}/stop", None),
    ("set_offsets", "PUT", f"{STREAM}/offsets", {"offsets": {"0": 40}}),
    ("put_consumer", "PUT", f"{TABLE}/consumers/{{consumer}}", {"next_snapshot_id": 1}),
    ("delete_consumer", "DELETE", f"{TABLE}/consumers/{{consumer}}?confirm=c", None),
    ("patch_stream", "PATCH", STREAM, {"owner": "sales"}),
    ("patch_table", "PATCH", TABLE, {"owner": "shop"}),
    ("delete_stream", "DELETE", STREAM, None),
    ("drop_table", "DELETE", f"{TABLE}?confirm=orders", None),
]
"""Action, method, address and body of every kind of change, in an order in which each succeeds."""

STREAMS: Any = {"streams": ["shop.orders.sales"]}
IMPORT: Any = {
    "declarations": [
        {
            "kind": "Stream",
            "table": "shop.orders",
            "name": "sales",
            "spec": {"topic": "orders", "trigger_ms": 2_000},
        }
    ],
    "replace": True,
}
TAG = f"{TABLE}/tags/{{tag}}"
OPERATION = "/v1/operations/{operation}"
WORK: list[tuple[str, str, str, Any]] = [
    ("pause_stream", "POST", "/v1/streams:pause", STREAMS),
    ("resume_stream", "POST", "/v1/streams:resume", STREAMS),
    ("restart_stream", "POST", "/v1/streams:restart", STREAMS),
    ("stop_stream", "POST", "/v1/streams:stop", STREAMS),
    ("start_stream", "POST", "/v1/streams:start", STREAMS),
    ("put_stream", "POST", "/v1/declarations:import", IMPORT),
    ("put_tag", "PUT", TAG, {"snapshot_id": 1}),
    ("delete_tag", "DELETE", TAG, None),
    ("compact_table", "POST", f"{TABLE}/compactions", {"full": False}),
    ("expire_snapshots", "POST", f"{TABLE}/snapshots/expire", {"dry_run": False}),
    ("clean_orphan_files", "POST", f"{TABLE}/orphan-files/clean", {"dry_run": False}),
    ("rescale_table", "POST", f"{TABLE}/rescale", {"buckets": 2}),
    ("drain_runner", "PUT", "/v1/runners/{runner}/drain", None),
    ("undrain_runner", "DELETE", "/v1/runners/{runner}/drain", None),
    ("cancel_operation", "POST", f"{OPERATION}:cancel", None),
    ("delete_operation", "DELETE", OPERATION, None),
    ("stop_stream", "POST", f"{STREAM}/stop", None),
    ("roll_back_table", "POST", f"{TABLE}/rollback?confirm=shop.orders", {"snapshot_id": 1}),
]
"""The same for verbs of many streams, tags, and long work, of which the last requested one is `operation`."""

NO_CHANGES = re.compile(
    r".*([/:]validate(-patch|-delete)?|:test|/rows/(lookup|scan|explain|events)|/views/\{view\}/lookup"
    r"|/streams/\{stream\}/records)"
)
"""Addresses that only read, and pushes, which are data."""


def sent(
    client: HttpClient, method: str, address: str, body: Any, **headers: str
) -> httpx.Response:
    path = address.format(**NAMES)
    return client.request(method, path, **({} if body is None else {"json": body}), headers=headers)


def made(client: HttpClient, catalog: Catalog, clock: ManualClock) -> None:
    """Make every kind of change, one per second; the id of each request is its action."""
    for action, method, address, body in CHANGES:
        if action == "stop_stream":
            read(catalog, start=0, end=100)
        answer = sent(client, method, address, body, **{"x-request-id": action})
        assert answer.is_success, answer.text
        clock.advance(ms=1_000)


def entries(client: HttpClient, query: str = "") -> list[dict[str, Any]]:
    answer = client.get(f"/v1/audit{query}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["entries"]
    return found


def test_every_route_that_changes_something_is_made_here(client: HttpClient) -> None:
    paths = client.get("/v1/openapi.json").json()["paths"]
    changing = {
        (method.upper(), path)
        for path, methods in paths.items()
        for method in methods
        if method.upper() in STATE_CHANGING and not NO_CHANGES.fullmatch(path)
    }

    made_here = {(method, address.partition("?")[0]) for _, method, address, _ in CHANGES + WORK}
    assert made_here == changing


def test_every_change_is_in_the_log_with_its_request(
    client: HttpClient, catalog: Catalog, clock: ManualClock
) -> None:
    made(client, catalog, clock)

    found = entries(client)

    expected = [action for action, *_ in reversed(CHANGES)]
    assert [entry["action"] for entry in found] == expected
    assert [entry["actor"]["request_id"] for entry in found] == expected
    assert {entry["actor"]["name"] for entry in found} == {"anonymous"}
    assert {entry["actor"]["address"] for entry in found} == {"127.0.0.1"}
    assert {entry["table"] for entry in found} == {"shop.orders"}
    assert entries(client, "?table=shop.orders") == found
    assert client.get("/v1/tables/shop/orders/audit").json()["entries"] == found


@pytest.fixture
def worked_on(shop: HttpClient, catalog: Catalog, clock: ManualClock) -> HttpClient:
    """A client that has requested every kind of work, and what came of it."""
    names = NAMES | {"tag": "first"}
    shop.put(STREAM.format(**names), json={"topic": "orders"}).raise_for_status()
    read(catalog, start=0, end=100)
    for action, method, address, body in WORK:
        if action == "delete_operation":
            shop.app.state.components.operation_pool.run_due()
        options = {} if body is None else {"json": body}
        headers = {"x-request-id": action}
        answer = shop.request(method, address.format(**names), headers=headers, **options)
        assert answer.is_success, answer.text
        if body in (STREAMS, IMPORT):
            assert answer.json()["failed"] == 0
        if "location" in answer.headers:
            names["operation"] = answer.headers["location"].rpartition("/")[2]
        clock.advance(ms=1_000)
    return shop


def test_long_work_and_verbs_of_many_streams_are_in_the_log(worked_on: HttpClient) -> None:
    found = entries(worked_on)[: len(WORK)]

    expected = [action for action, *_ in reversed(WORK)]
    assert [entry["action"] for entry in found] == expected
    assert [entry["actor"]["request_id"] for entry in found] == expected
    tables = {entry["table"] for entry in found if not entry["action"].endswith("drain_runner")}
    assert tables == {"shop.orders"}
    changes = {entry["action"]: entry["changes"][0] for entry in found}
    for action, pointer, before, after in [
        ("put_tag", "/tags/first", None, 1),
        ("drain_runner", "/runners/one/drained", False, True),
        ("undrain_runner", "/runners/one/drained", True, False),
        ("delete_tag", "/tags/first", 1, None),
        ("rescale_table", "/table/buckets", "4", 2),
        ("roll_back_table", "/snapshot", 2, 1),
    ]:
        assert changes[action] == {"pointer": pointer, "before": before, "after": after}
    assert changes["compact_table"]["after"]["full"] is False
    assert changes["delete_operation"]["before"] == "CANCELED"


def test_a_tag_that_is_refused_is_not_in_the_log(shop: HttpClient) -> None:
    before = len(entries(shop))

    refused = shop.put("/v1/tables/shop/orders/tags/first", json={})  # there is no snapshot

    assert refused.status_code == 422
    assert len(entries(shop)) == before


def test_dry_runs_and_repeated_requests_are_not_in_the_log(worked_on: HttpClient) -> None:
    table = TABLE.format(**NAMES)
    worked_on.put(f"{table}/tags/first", json={}).raise_for_status()
    before = len(entries(worked_on))
    for path in ("snapshots/expire", "orphan-files/clean"):
        worked_on.post(f"{table}/{path}", json={}).raise_for_status()
    worked_on.put(f"{table}/tags/first", json={}).raise_for_status()
    key = {"idempotency-key": "again"}
    for _ in range(2):
        worked_on.post(f"{table}/compactions", json={}, headers=key).raise_for_status()

    assert len(entries(worked_on)) == before + 1


def test_an_entry_has_the_values_before_and_after(
    client: HttpClient, catalog: Catalog, clock: ManualClock
) -> None:
    made(client, catalog, clock)

    by_action = {entry["action"]: entry for entry in entries(client)}

    assert by_action["pause_stream"]["changes"] == [
        {"pointer": "/streams/sales/desired_state", "before": "RUNNING", "after": "PAUSED"}
    ]
    assert by_action["set_offsets"]["changes"] == [
        {"pointer": "/streams/sales/offsets/0", "before": 100, "after": 40}
    ]
    assert by_action["put_consumer"]["changes"] == [
        {"pointer": "/consumers/c/next_snapshot_id", "before": None, "after": 1}
    ]
    assert by_action["drop_table"]["changes"][0]["before"]["streams"] == {}
    assert by_action["put_table"]["time"] == "2023-11-14T22:13:20.000Z"


@pytest.mark.parametrize(
    ("query", "actions"),
    [
        ("?stream=sales&action=pause_stream", ["pause_stream"]),
        ("?actor=anonymous&action=drop_table", ["drop_table"]),
        ("?actor=somebody", []),
        ("?table=shop.other", []),
        ("?since=2023-11-14T22:13:36Z", ["drop_table"]),
        ("?until=1700000000000", []),
        ("?since=1700000000000&until=2023-11-15T00:00%2B01:00&action=put_table", ["put_table"]),
    ],
)
def test_filters(
    client: HttpClient, catalog: Catalog, clock: ManualClock, query: str, actions: list[str]
) -> None:
    made(client, catalog, clock)

    assert [entry["action"] for entry in entries(client, query)] == actions


def test_pages_have_every_entry_once(
    client: HttpClient, catalog: Catalog, clock: ManualClock
) -> None:
    made(client, catalog, clock)
    found: list[dict[str, Any]] = []
    token = ""
    while True:
        page = client.get(f"/v1/audit?page_size=4{token}").json()
        found += page["entries"]
        if page["next_page_token"] is None:
            break
        token = f"&page_token={page['next_page_token']}"

    assert found == entries(client)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?page_token=x", "page_token"),
        ("?page_token=W10", "page_token"),
        ("?since=yesterday", "since"),
        ("?until=2026-01-01", "until"),
        ("?table=orders", "table"),
        ("?table=../../etc", "table"),
        ("?action=fly", "action"),
        ("?page_size=0", "page_size"),
    ],
)
def test_what_is_wrong_is_named(client: HttpClient, query: str, field: str) -> None:
    answer = client.get(f"/v1/audit{query}")

    assert answer.status_code in (400, 422)
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_an_unknown_table_has_an_empty_log_and_an_invalid_name_none(client: HttpClient) -> None:
    assert client.get("/v1/tables/shop/none/audit").json() == {
        "entries": [],
        "next_page_token": None,
    }
    assert client.get("/v1/tables/shop/a-b/audit").json()["code"] == "table_not_found"


def test_a_refused_request_is_not_in_the_log(shop: HttpClient) -> None:
    shop.put("/v1/tables/shop/orders/streams/sales", json={"topic": ""})
    shop.delete("/v1/tables/shop/orders")
    shop.delete("/v1/tables/shop/orders/consumers/c")
    shop.post("/v1/tables/shop/orders/streams/sales/pause")

    assert [entry["action"] for entry in entries(shop)] == ["put_table"]


def test_entries_expire(file_io: MemoryFileIO, clock: ManualClock, catalog: Catalog) -> None:
    day_ms = 24 * 60 * 60 * 1_000
    settings = ServiceSettings(warehouse="/w", audit_retention_ms=7 * day_ms)
    client = HttpClient(create_app(settings, catalog=catalog, file_io=file_io, clock=clock))
    client.put("/v1/tables/shop/orders", json=ORDERS).raise_for_status()
    clock.advance(ms=7 * day_ms)
    kept = entries(client)
    clock.advance(ms=1)

    assert [entry["action"] for entry in kept] == ["put_table"]
    assert entries(client) == []
