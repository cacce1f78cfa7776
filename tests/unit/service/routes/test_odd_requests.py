"""Requests that no regular client sends: refused whole, and never a failure of the service."""

import json
from typing import Any

import pytest

from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/shop/orders"
SALES = f"{TABLE}/streams/sales"


@pytest.mark.parametrize(
    "change",
    [
        {"buckets": 2**63},
        {"buckets": 2**31},
        {"buckets": "4"},
        {"tracking": "yes"},
        {"tracking": 1},
        {"staleness": {"default_seconds": 2**64}},
        {"staleness": {"groups": {"sales": 2**64}}},
    ],
    ids=str,
)
def test_a_table_that_cannot_be_answered_is_not_created(
    client: HttpClient, change: dict[str, Any]
) -> None:
    # Escaped by hand: the client's own encoder refuses half of a surrogate pair.
    answer = client.put(TABLE, content=_json(ORDERS | change), headers=JSON)

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith(f"/{next(iter(change))}")
    assert client.get(TABLE).status_code == 404


@pytest.mark.parametrize("change", [{"comment": "\ud800"}, {"\ud800": 1}, {"buckets": "\ud800"}])
def test_text_that_has_no_utf8_is_refused(client: HttpClient, change: dict[str, Any]) -> None:
    answer = client.put(TABLE, content=_json(ORDERS | change), headers=JSON)

    assert answer.status_code == 422
    assert client.get(TABLE).status_code == 404


@pytest.mark.parametrize("field", ["trigger_ms", "max_records_per_batch", "max_message_bytes"])
@pytest.mark.parametrize("value", [2**63, 2**31, "5", True], ids=str)
def test_a_stream_with_a_number_out_of_bounds_is_not_registered(
    shop: HttpClient, field: str, value: object
) -> None:
    answer = shop.put(SALES, json={"topic": "orders", field: value})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == f"/{field}"
    assert shop.get(SALES).status_code == 404


@pytest.mark.parametrize(
    "kafka",
    [
        {"bootstrap_servers": "169.254.169.254:80"},
        {"options": {"client.id": "${file:/etc/passwd}"}},
        {"options": {"client.id": "${env:AWS_SECRET_ACCESS_KEY}"}},
        {"options": {"metric.reporters": "x.Y"}},
        {"options": {"sasl.oauthbearer.token.endpoint.url": "file:///etc/passwd"}},
    ],
    ids=str,
)
def test_a_stream_reaches_nothing_that_its_operator_has_not_named(
    shop: HttpClient, kafka: dict[str, Any]
) -> None:
    answer = shop.put(SALES, json={"topic": "orders", "kafka": kafka})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith("/kafka/")
    assert shop.get(SALES).status_code == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain", "origin": "http://evil.example"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"origin": "http://evil.example"},
    ],
    ids=str,
)
def test_a_page_of_another_site_stops_no_stream(shop: HttpClient, headers: dict[str, str]) -> None:
    shop.put(SALES, json={"topic": "orders"}).raise_for_status()

    answer = shop.post(f"{SALES}/stop", headers=headers)

    assert answer.status_code in (403, 415)
    assert shop.get(SALES).json()["desired_state"] == "RUNNING"


def test_a_body_of_megabytes_is_not_read(client: HttpClient) -> None:
    body = _json(ORDERS) + b" " * 2_000_000

    assert client.post(f"{TABLE}/validate", content=body, headers=JSON).status_code == 413


JSON = {"content-type": "application/json"}


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("data-file.path-directory", "../../elsewhere"),
        ("data-file.external-paths", "file:///etc"),
        ("data-file.prefix", "../../../elsewhere/data-"),
        ("data-file.prefix", "a/b"),
        ("data-file.prefix", ".."),
        ("changelog-file.prefix", "/etc/x"),
        ("partition.default-name", ".."),
        ("path", "/etc"),
    ],
)
def test_a_table_does_not_reach_out_of_its_directory(
    client: HttpClient, key: str, value: str
) -> None:
    answer = client.put(TABLE, json=ORDERS | {"options": {key: value}})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == f"options.{key}"
    assert client.get(TABLE).status_code == 404


@pytest.mark.parametrize("name", ["a%00b", "a" * 5_000, "a.b", "a%2Fb", "%20", "é"])
@pytest.mark.parametrize("tail", ["", "/rows?id=1", "/rows/status?id=1", "/streams", "/streams/x"])
def test_a_table_with_an_invalid_name_is_not_found(shop: HttpClient, name: str, tail: str) -> None:
    answer = shop.get(f"/v1/tables/shop/{name}{tail}")

    assert answer.status_code == 404


@pytest.mark.parametrize("name", ["a%00b", "a" * 5_000, "a.b"])
def test_an_odd_name_cannot_be_registered(shop: HttpClient, name: str) -> None:
    assert shop.put(f"/v1/tables/shop/{name}", json=ORDERS).status_code == 422
    assert shop.put(f"{TABLE}/streams/{name}", json={"topic": "t"}).status_code == 422
    assert shop.get(f"{TABLE}/streams/{name}/status").status_code == 404
    assert shop.post(f"{TABLE}/streams/{name}/start").status_code == 404


def test_the_longest_names_can_be_registered(client: HttpClient) -> None:
    longest = "a" * 80
    table = f"/v1/tables/{longest}/{longest}"

    assert client.put(table, json=ORDERS).status_code == 201
    stream = {"topic": "t" * 249, "sequence_group": "sales"}
    answer = client.put(f"{table}/streams/{longest}", json=stream)
    assert answer.status_code == 201
    assert len(answer.json()["spec"]["dead_letter_topic"]) == 249


@pytest.mark.parametrize("depth", [10, 10_000])
def test_a_type_that_nests_too_deep_is_refused(client: HttpClient, depth: int) -> None:
    nested = "ARRAY<" * depth + "INT" + ">" * depth
    columns = [*ORDERS["columns"][:-1], {"name": "shipped", "type": nested}]

    answer = client.put(TABLE, json=ORDERS | {"columns": columns})

    assert answer.status_code == (422 if depth > 1_000 else 201)


def test_an_unknown_table_is_named_without_its_path_on_storage(client: HttpClient) -> None:
    answer = client.get(f"{TABLE}/rows?id=1")

    assert answer.json()["detail"] == "there is no table shop.orders"
