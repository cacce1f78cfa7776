"""Requests for subscriptions that are refused, before an answer without end begins."""

import json
from typing import Any

import pytest

from braid.schemas.api import KEYS_MAX
from tests.unit.service.http_client import HttpClient

EVENTS = "/v1/tables/shop/orders/rows/events"
MANY = json.dumps([{"id": number, "region": "eu"} for number in range(KEYS_MAX + 1)])


@pytest.mark.parametrize(
    ("parameters", "field", "message"),
    [
        ({"id": "1"}, "region", "expected one value for the key column"),
        ({"id": "x", "region": "eu"}, "id", "expected BIGINT"),
        ({"regoin": "eu"}, "regoin", "no key column has this name"),
        ({"keys": "[1]"}, "keys", "expected a JSON list of keys"),
        ({"keys": '[{"id": null}]'}, "keys", "expected a JSON list of keys"),
        ({"keys": "["}, "keys", "expected a JSON list of keys"),
        ({"keys": "[]"}, "keys", "expected at least one key"),
        ({"keys": '[{"id": 1}]'}, "region", "expected one value for the key column"),
        ({"keys": MANY}, "keys", "expected at most 1000 keys, found 1001"),
        ({"keys": "[]", "id": "1", "region": "eu"}, "keys", "names a key by its columns, too"),
        ({"from": "yesterday"}, "from", "expected `now`, or the id of a snapshot"),
        ({"from": "1"}, "from", "the table has no such snapshot yet"),
        ({"from": "0", "initial": "true"}, "from", "leave out `from`, or `initial`"),
        ({"initial": "yes"}, "initial", "expected `true` or `false`"),
        ({"cursor": "x"}, "cursor", "not a cursor of a subscription to this table"),
        ({"cursor": "x", "from": "0"}, "cursor", "a cursor is the beginning"),
        ({"columns": "total,sum"}, "columns", "the table has no such column"),
    ],
)
def test_a_parameter_that_is_not_valid_is_named(
    shop: HttpClient, parameters: dict[str, str], field: str, message: str
) -> None:
    answer = shop.get(EVENTS, params=parameters)

    assert answer.status_code == 422
    errors = [error for error in answer.json()["errors"] if error["field"] == field]
    assert len(errors) == 1
    assert message in errors[0]["message"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"keys": [{"id": 1}]}, 422),
        ({"keys": [{"id": 1, "region": "eu"}] * (KEYS_MAX + 1)}, 413),
        ({"from": "tomorrow"}, 422),
        ({"from": 0, "cursor": "x"}, 422),
        ({"initial": 1}, 422),
        ({"kyes": []}, 422),
    ],
)
def test_a_body_that_is_not_valid_is_refused(
    shop: HttpClient, body: dict[str, Any], status: int
) -> None:
    assert shop.post(EVENTS, json=body).status_code == status


def test_the_table_has_to_exist(client: HttpClient) -> None:
    answer = client.get("/v1/tables/shop/nothing/rows/events")

    assert (answer.status_code, answer.json()["code"]) == (404, "table_not_found")


def test_a_header_that_is_no_cursor_is_named(shop: HttpClient) -> None:
    answer = shop.get(EVENTS, headers={"last-event-id": "x"})

    assert [error["field"] for error in answer.json()["errors"]] == ["last-event-id"]
