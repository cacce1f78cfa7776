"""Conditional changes: every request that changes a resource takes `if-match` and `if-none-match`, and refuses what is not read."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO, SetOption
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/shop/orders"
SALES = f"{TABLE}/streams/sales"
API: dict[str, Any] = create_app(ServiceSettings(warehouse="/w"), file_io=MemoryFileIO()).openapi()
CHANGES = [
    (method.upper(), path)
    for path, operations in API["paths"].items()
    for method in operations
    if method in ("put", "patch", "delete")
]


@pytest.fixture
def sales(shop: HttpClient) -> HttpClient:
    shop.put(SALES, json={"topic": "orders"}).raise_for_status()
    return shop


@pytest.mark.parametrize(("method", "path"), CHANGES, ids=lambda part: part)
def test_every_change_of_a_resource_is_conditional(method: str, path: str) -> None:
    operation = API["paths"][path][method.lower()]
    headers = {one["name"] for one in operation["parameters"] if one["in"] == "header"}

    assert {"if-match", "if-none-match"} <= headers
    assert "`precondition_failed`" in operation["responses"]["412"]["description"]


REQUESTS: list[tuple[str, str, dict[str, Any]]] = [
    ("PUT", TABLE, {"json": ORDERS}),
    ("DELETE", f"{TABLE}?confirm=shop.orders", {}),
    ("PUT", SALES, {"json": {"topic": "orders"}}),
    ("DELETE", SALES, {}),
    ("POST", f"{TABLE}/schema-changes", {"json": {"changes": [{"change": "update_comment", "comment": "x"}]}}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "options"), REQUESTS, ids=lambda part: str(part)[:40])
def test_the_answer_to_an_outdated_request_has_the_tag_of_now(
    sales: HttpClient, method: str, path: str, options: dict[str, Any]
) -> None:
    sales.post(f"{SALES}/stop").raise_for_status()
    resource = path.partition("?")[0].removesuffix("/schema-changes")
    now = sales.get(resource).headers["etag"]

    for condition in ({"if-match": '"a", "b"'}, {"if-match": f"W/{now}"}, {"if-none-match": f'"a", {now}'}, {"if-none-match": "*"}):  # fmt: skip
        refused = sales.request(method, path, headers=condition, **options)
        (problem,) = refused.json()["errors"]

        assert (refused.status_code, refused.json()["code"]) == (412, "precondition_failed")
        assert refused.headers["etag"] == now
        assert problem["field"] == next(iter(condition))
        assert problem["value"] == next(iter(condition.values()))
        assert now in problem["hint"]
        assert ("a weak tag" in problem["hint"]) == condition.get("if-match", "").startswith("W/")
    assert sales.get(resource).headers["etag"] == now
    assert sales.request(
        method, path, headers={"if-match": f'"a",{now}'}, **options
    ).is_success  # fmt: skip


@pytest.mark.parametrize("value", ["a", '"a', "W/a", '*, "a"', "", ",", 'w/"a"'])
@pytest.mark.parametrize("header", ["if-match", "if-none-match"])
def test_a_condition_that_is_not_readable_is_refused(
    sales: HttpClient, header: str, value: str
) -> None:
    before = sales.get(TABLE).headers["etag"]

    answer = sales.delete(f"{TABLE}?confirm=shop.orders", headers={header: value})

    (problem,) = answer.json()["errors"]
    assert (answer.status_code, problem["field"], problem["value"]) == (422, header, value)
    assert "quotation marks" in problem["hint"]
    assert sales.get(TABLE).headers["etag"] == before


def test_a_condition_in_several_lines_is_one_list(sales: HttpClient) -> None:
    etag = sales.get(SALES).headers["etag"]

    lines = [("if-match", '"a"'), ("if-match", etag)]

    put = {"topic": "orders", "trigger_ms": 700}
    assert sales.put(SALES, json=put, headers=lines).status_code == 200
    assert sales.put(SALES, json=put, headers=lines).status_code == 412


def test_the_state_of_a_stream_is_not_a_change_of_its_table(sales: HttpClient) -> None:
    before = sales.get(TABLE).headers["etag"], sales.get(SALES).headers["etag"]

    sales.post(f"{SALES}/pause").raise_for_status()

    assert sales.get(TABLE).headers["etag"] == before[0]
    assert sales.get(SALES).headers["etag"] != before[1]


def test_a_schema_that_was_made_without_the_registry_is_a_change_of_the_table(
    shop: HttpClient, catalog: Catalog
) -> None:
    before = shop.get(TABLE)
    catalog.table("shop.orders").alter(SetOption(key="snapshot.num-retained.max", value="70"))

    after = shop.get(TABLE, headers={"if-none-match": before.headers["etag"]})

    assert after.json()["schema_id"] == before.json()["schema_id"] + 1
    assert (
        shop.put(TABLE, json=ORDERS, headers={"if-match": before.headers["etag"]}).status_code
        == 412
    )
    assert (
        shop.put(TABLE, json=ORDERS, headers={"if-match": after.headers["etag"]}).status_code == 200
    )


def test_a_missing_resource_cannot_be_as_it_was_read(client: HttpClient) -> None:
    missing = client.put(TABLE, json=ORDERS, headers={"if-match": "*"})

    assert (missing.status_code, "etag" in missing.headers) == (412, False)
    assert "there is none now" in missing.json()["errors"][0]["hint"]
    assert client.put(TABLE, json=ORDERS, headers={"if-none-match": "*"}).status_code == 201


def test_a_consumer_is_moved_and_deleted_as_it_was_read(shop: HttpClient) -> None:
    consumer = f"{TABLE}/consumers/billing?confirm=billing"
    set_anew = shop.put(consumer, json={"next_snapshot_id": 1}, headers={"if-none-match": "*"})
    again = shop.put(consumer, json={"next_snapshot_id": 2}, headers={"if-none-match": "*"})
    etag = set_anew.headers["etag"]
    moved = shop.put(consumer, json={"next_snapshot_id": 2}, headers={"if-match": etag})

    assert [one.status_code for one in (set_anew, again, moved)] == [200, 412, 200]
    assert shop.delete(consumer, headers={"if-match": etag}).status_code == 412
    assert shop.delete(consumer, headers={"if-match": moved.headers["etag"]}).status_code == 204
    assert shop.delete(consumer, headers={"if-match": "*"}).status_code == 412


def test_of_concurrent_changes_of_one_version_one_is_made(
    file_io: MemoryFileIO, clock: ManualClock, sales: HttpClient
) -> None:
    """The services share only the warehouse; each reads the same version, and changes another field."""
    etag = sales.get(SALES).headers["etag"]
    services = [
        HttpClient(create_app(ServiceSettings(warehouse="/w"), file_io=file_io, clock=clock))
        for _ in range(6)
    ]
    at_once = threading.Barrier(len(services))

    def change(number: int) -> int:
        at_once.wait()
        put = {"topic": "orders", "trigger_ms": 1_000 + number}
        return services[number].put(SALES, json=put, headers={"if-match": etag}).status_code

    with ThreadPoolExecutor(len(services)) as threads:
        answers = sorted(threads.map(change, range(len(services))))

    assert answers == [200] + [412] * (len(services) - 1)


def test_tags_and_operations_are_changed_under_conditions(
    shop: HttpClient, catalog: Catalog
) -> None:
    catalog.table("shop.orders").write_and_commit(pa.table({"region": ["eu"], "id": [1]}))
    tag = f"{TABLE}/tags/first"
    made = shop.put(tag, json={}, headers={"if-none-match": "*"})
    again = shop.put(tag, json={}, headers={"if-none-match": "*"})
    etag = made.headers["etag"]
    wrong = shop.delete(tag, headers={"if-match": '"other"'})
    begun = shop.delete(tag, headers={"if-match": etag})
    shop.app.state.components.operation_pool.run_due()
    operation = begun.headers["location"]
    ended = shop.get(operation)
    stale = shop.delete(operation, headers={"if-match": begun.headers["etag"]})

    assert (made.status_code, again.status_code) == (201, 412)
    assert (wrong.status_code, wrong.headers["etag"]) == (412, etag)
    assert (begun.status_code, ended.json()["state"]) == (202, "SUCCEEDED")
    assert (stale.status_code, stale.headers["etag"]) == (412, ended.headers["etag"])
    unchanged = shop.get(operation, headers={"if-none-match": ended.headers["etag"]})
    assert unchanged.status_code == 304
    deleted = shop.delete(operation, headers={"if-match": ended.headers["etag"]})
    assert deleted.status_code == 204
