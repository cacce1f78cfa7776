"""Declarations that are changed by merge patches, and their dry runs."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/shop/orders"
SALES = f"{TABLE}/streams/sales"
AS_PATCH = {"content-type": "application/merge-patch+json"}


@pytest.fixture
def sales(shop: HttpClient) -> HttpClient:
    shop.put(SALES, json={"topic": "orders"}).raise_for_status()
    return shop


def dry_run(client: HttpClient, resource: str, patch: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of the dry run, which changes nothing."""
    before = client.get(resource)
    answer = client.post(f"{resource}/validate-patch", json=patch, headers=AS_PATCH)
    assert answer.status_code == 200, answer.json()
    assert client.get(resource).headers["etag"] == before.headers["etag"]
    found: dict[str, Any] = answer.json()
    return found


def test_only_the_named_fields_of_a_stream_change(sales: HttpClient) -> None:
    before = sales.get(SALES).json()
    patch = {"max_records_per_batch": 1_000, "labels": {"team": "payments", "old": None}}

    planned = dry_run(sales, SALES, patch)
    answer = sales.patch(SALES, json=patch)

    after = before["spec"] | {"max_records_per_batch": 1_000, "labels": {"team": "payments"}}
    assert (answer.status_code, answer.json()["spec"]) == (200, after)
    assert answer.json()["version"] == before["version"] + 1
    assert answer.headers["etag"] == sales.get(SALES).headers["etag"]
    assert planned == {
        "valid": True,
        "errors": [],
        "plan": [
            "changes `max_records_per_batch` from `500000` to `1000`",
            "adds the label `team`",
            "its query is replaced by a new one, which continues at the stream's position",
            "rewrites nothing",
        ],
    }


def test_null_restores_the_default(sales: HttpClient) -> None:
    sales.patch(SALES, json={"dead_letter_budget": {"count": 5}, "where": "op = 'x'"})

    after = sales.patch(SALES, json={"dead_letter_budget": {"count": None, "rate": 0.5}, "where": None})  # fmt: skip

    spec = after.json()["spec"]
    assert (spec["dead_letter_budget"], spec["where"]) == ({"count": None, "rate": 0.5}, None)


@pytest.mark.parametrize(
    ("first", "patch", "trigger"),
    [
        ({}, {"trigger_ms": 700}, {"type": "interval", "milliseconds": 700}),
        ({"trigger_ms": 700}, {"trigger": {"milliseconds": 900}}, {"type": "interval", "milliseconds": 900}),
        ({"trigger_ms": 700}, {"trigger": None}, {"type": "interval", "milliseconds": 5_000}),
        ({"trigger_ms": 700}, {"trigger": {"type": "continuous", "milliseconds": None}}, {"type": "continuous"}),
    ],
    ids=str,
)  # fmt: skip
def test_either_form_of_an_interval_can_be_changed(
    shop: HttpClient, first: dict[str, Any], patch: dict[str, Any], trigger: dict[str, Any]
) -> None:
    shop.put(SALES, json={"topic": "orders", **first}).raise_for_status()

    answer = shop.patch(SALES, json=patch)

    assert (answer.status_code, answer.json()["spec"]["trigger"]) == (200, trigger)


def test_rules_of_a_table_and_what_people_know_it_by_change(shop: HttpClient) -> None:
    patch = {
        "staleness": {"groups": {"sales": 60}},
        "views": [{"name": "paid", "columns": [{"column": "paid"}]}],
        "labels": {"team": "payments"},
        "owner": "payments@shop.example",
    }

    planned = dry_run(shop, TABLE, patch)
    answer = shop.patch(TABLE, json=patch)

    assert planned["plan"] == [
        "changes `staleness`: the next answers about rows follow it",
        "adds the feature view `paid`",
        "adds the label `team`",
        "sets the owner to `payments@shop.example`",
        "rewrites nothing",
    ]
    spec = answer.json()["spec"]
    assert (spec["owner"], spec["labels"]) == (patch["owner"], patch["labels"])
    assert dry_run(shop, TABLE, patch)["plan"] == ["changes nothing"]
    assert shop.put(TABLE, json=ORDERS).json()["spec"]["labels"] == {}


def test_labels_restart_no_query_and_are_no_new_version(sales: HttpClient) -> None:
    before = sales.get(SALES).json()

    answer = sales.patch(SALES, json={"labels": {"team": "payments"}, "owner": "sales"}).json()

    assert (answer["version"], answer["restart_generation"]) == (
        before["version"],
        before["restart_generation"],
    )
    assert dry_run(sales, SALES, {"owner": None})["plan"] == [
        "removes the owner",
        "its query goes on as it is",
        "rewrites nothing",
    ]


@pytest.mark.parametrize(
    ("resource", "patch", "status", "pointer", "field", "hint"),
    [
        (SALES, {"max_records_per_batch": 0}, 422, "/max_records_per_batch", "max_records_per_batch", "greater than 0"),
        (SALES, {"topics": "x"}, 422, "/topics", "topics", "known fields"),
        (SALES, {"topic": None}, 422, "/topic", "topic", "add the field"),
        (SALES, {"trigger": {"type": "continuous"}}, 422, None, "trigger.milliseconds", "value null"),
        (SALES, {"labels": {"-": "x"}}, 422, "/labels/-", "labels.-", ""),
        (TABLE, {"buckets": 9}, 409, "/buckets", "buckets", "rescale"),
        (TABLE, {"completeness": {"groups": ["none"]}}, 422, "/completeness/groups/0", "completeness.groups[0]", ""),
        (TABLE, {"tracking": False}, 409, "/tracking", "tracking", "another name"),
    ],
    ids=str,
)  # fmt: skip
def test_problems_are_located_in_the_patch(
    sales: HttpClient,
    resource: str,
    patch: dict[str, Any],
    status: int,
    pointer: str | None,
    field: str,
    hint: str,
) -> None:
    before = sales.get(resource).headers["etag"]
    planned = dry_run(sales, resource, patch)
    answer = sales.patch(resource, json=patch)

    assert (answer.status_code, planned["valid"], planned["plan"]) == (status, False, [])
    assert answer.json()["errors"] == planned["errors"]
    found = {problem["field"]: problem for problem in planned["errors"]}
    assert found[field]["pointer"] == pointer
    assert hint in found[field]["hint"]
    assert sales.get(resource).headers["etag"] == before


@pytest.mark.parametrize("content_type", ["application/json", "application/json-patch+json"])
@pytest.mark.parametrize("path", [TABLE, SALES, f"{TABLE}/validate-patch"])
def test_a_patch_is_sent_as_one(sales: HttpClient, content_type: str, path: str) -> None:
    method = "POST" if path.endswith("validate-patch") else "PATCH"

    answer = sales.request(
        method, path, json={"owner": "x"}, headers={"content-type": content_type}
    )

    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert answer.headers["accept-patch"] == "application/merge-patch+json"
    assert "application/merge-patch+json" in answer.json()["errors"][0]["hint"]


@pytest.mark.parametrize("body", ["[]", "1", "null", '"a"'])
def test_a_patch_is_an_object(sales: HttpClient, body: str) -> None:
    assert sales.patch(SALES, content=body).status_code == 422


def test_a_missing_resource_is_not_created(shop: HttpClient) -> None:
    assert shop.patch(SALES, json={"topic": "orders"}).json()["code"] == "stream_not_found"
    assert shop.patch("/v1/tables/shop/none", json={}).json()["code"] == "table_not_found"
    missing = shop.post(f"{SALES}/validate-patch", json={}, headers=AS_PATCH)
    assert missing.json()["code"] == "stream_not_found"


def test_concurrent_patches_of_different_fields_are_all_made(sales: HttpClient) -> None:
    """Each patch is applied to the newest declaration, so none takes the change of another one back."""
    fields = [{"max_records_per_batch": 7}, {"max_message_bytes": 7_000}, {"columns_max": 77}]
    labels = [{"labels": {f"l{number}": "x"}} for number in range(5)]
    patches = [*fields, *labels]
    at_once = threading.Barrier(len(patches))

    def change(patch: dict[str, Any]) -> int:
        at_once.wait()
        return sales.patch(SALES, json=patch).status_code

    with ThreadPoolExecutor(len(patches)) as threads:
        assert set(threads.map(change, patches)) == {200}

    spec = sales.get(SALES).json()["spec"]
    assert [spec[name] for one in fields for name in one] == [7, 7_000, 77]
    assert spec["labels"] == {f"l{number}": "x" for number in range(5)}
