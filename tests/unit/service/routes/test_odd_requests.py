"""Requests that no client of good will sends: refused whole, and never a failure of the service."""

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


JSON = {"content-type": "application/json"}


def _json(value: object) -> bytes:
    return json.dumps(value).encode()
