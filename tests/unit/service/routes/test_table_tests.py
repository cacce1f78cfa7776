"""Table tests over HTTP, and the declarations that required tests refuse."""

from typing import Any

import pytest

from braid.lake import Catalog
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/shop/orders"
KEY = {"id": 7, "region": "eu"}
SALES = {"topic": "orders"}


def case(name: str, total: Any, *streams: str) -> dict[str, Any]:
    """Return a test with a record of each stream, which expects a total."""
    values = {
        "sales": {**KEY, "total": "1", "order_version": 1},
        "payments": {**KEY, "paid": "5"},
    }
    given = [{"stream": stream, "value": values[stream]} for stream in streams or ("sales",)]
    rows = [{"key": KEY, "row": {"total": total}}]
    return {"name": name, "given": given, "expect": {"rows": rows}}


def put(client: HttpClient, *cases: dict[str, Any], **tests: Any) -> Any:
    return client.put(TABLE, json=ORDERS | {"tests": {"cases": cases, **tests}})


RIGHT, WRONG = case("right", "1.00"), case("wrong", "2.00")
BOTH = case("both", "2.00", "sales", "payments")
PLACE = "tests.cases[0].expect.rows[0].row.total"


def outcomes(answer: Any) -> dict[str, str]:
    assert answer.status_code == 200, answer.text
    return {one["name"]: one["outcome"] for one in answer.json()["cases"]}


def test_the_tests_of_the_declaration_run_with_the_registered_streams(
    client: HttpClient, catalog: Catalog
) -> None:
    put(client, RIGHT, WRONG, BOTH).raise_for_status()
    client.put(f"{TABLE}/streams/sales", json=SALES).raise_for_status()

    answer = client.post(f"{TABLE}:test", json={})

    assert outcomes(answer) == {"right": "passed", "wrong": "failed", "both": "skipped"}
    assert answer.json()["passed"] is False
    (difference,) = answer.json()["cases"][1]["differences"]
    assert difference == {
        "field": "expect.rows[0].row.total",
        "key": KEY,
        "column": "total",
        "expected": "2.00",
        "found": "1.00",
        "message": 'the row {"id":7,"region":"eu"}, column `total`: expected "2.00", found "1.00"',
    }
    assert catalog.table("shop.orders").latest_snapshot() is None


def test_tests_of_the_request_run_instead(client: HttpClient) -> None:
    put(client, WRONG).raise_for_status()
    client.put(f"{TABLE}/streams/sales", json=SALES).raise_for_status()

    assert outcomes(client.post(f"{TABLE}:test", json={"cases": [RIGHT]})) == {"right": "passed"}
    bad = client.post(f"{TABLE}:test", json={"cases": [RIGHT, case("x", 1) | {"name": "right"}]})
    assert (bad.status_code, bad.json()["errors"][0]["pointer"]) == (422, "/cases/1/name")
    missing = client.post("/v1/tables/shop/nope:test", json={})
    assert (missing.status_code, missing.json()["code"]) == (404, "table_not_found")


def test_a_table_whose_required_tests_fail_is_not_changed(client: HttpClient) -> None:
    put(client, RIGHT, required=True).raise_for_status()
    client.put(f"{TABLE}/streams/sales", json=SALES).raise_for_status()
    before = client.get(TABLE).json()

    dry_run = client.post(
        f"{TABLE}/validate", json=ORDERS | {"tests": {"required": True, "cases": [WRONG]}}
    ).json()
    refused = put(client, WRONG, required=True)

    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert dry_run == {"valid": False, "errors": [error], "plan": []}
    assert error["pointer"] == "/tests/cases/0/expect/rows/0/row/total"
    assert (error["field"], error["value"]) == (PLACE, "1.00")
    assert error["message"] == (
        'the test `wrong` fails: the row {"id":7,"region":"eu"}, column `total`: '
        'expected "2.00", found "1.00"'
    )
    assert client.get(TABLE).json() == before
    assert put(client, WRONG).status_code == 200


def test_a_stream_that_makes_required_tests_fail_is_refused(client: HttpClient) -> None:
    put(client, RIGHT, BOTH, required=True).raise_for_status()
    client.put(f"{TABLE}/streams/sales", json=SALES).raise_for_status()
    payments = {"topic": "payments", "partitioned_by_key": True}
    changed = {**SALES, "where": "order_version > 1"}

    for stream, body, count in (("payments", payments, 1), ("sales", changed, 1)):
        dry_run = client.post(f"{TABLE}/streams/{stream}/validate", json=body)
        refused = client.put(f"{TABLE}/streams/{stream}", json=body)
        assert refused.status_code == 422, stream
        errors = refused.json()["errors"]
        assert len(errors) == count
        assert errors[0]["pointer"] is None
        assert errors[0]["field"].startswith("table.tests.cases[")
        assert dry_run.json()["errors"] == errors
    assert client.get(f"{TABLE}/streams/payments").status_code == 404
    assert client.get(f"{TABLE}/streams/sales").json()["spec"]["where"] is None

    put(client, RIGHT, case("both", "1.00", "sales", "payments"), required=True).raise_for_status()
    assert client.put(f"{TABLE}/streams/payments", json=payments).status_code == 201


def test_a_schema_change_that_makes_required_tests_fail_is_refused(client: HttpClient) -> None:
    with_reasons = case("right", "1.00")
    with_reasons["expect"]["rows"][0]["reasons"] = {"total": ["only-version"]}
    put(client, with_reasons, required=True).raise_for_status()
    client.put(f"{TABLE}/streams/sales", json=SALES).raise_for_status()
    widened = {"change": "update_column_type", "column": "total", "type": "DECIMAL(12, 3)"}

    for path in ("schema-changes/validate", "schema-changes"):
        answer = client.post(f"{TABLE}/{path}", json={"changes": [widened]}).json()
        (error,) = answer["errors"]
        assert (error["field"], error["pointer"], error["value"]) == (
            f"table.{PLACE}",
            None,
            "1.000",
        )

    renamed = {"change": "rename_column", "column": "total", "to": "amount"}
    client.post(f"{TABLE}/schema-changes", json={"changes": [renamed]}).raise_for_status()
    (row,) = client.get(TABLE).json()["spec"]["tests"]["cases"][0]["expect"]["rows"]
    assert row["row"] == {"amount": "1.00"}
    assert row["reasons"] == {"amount": ["only-version"]}
    assert outcomes(client.post(f"{TABLE}:test", json={})) == {"right": "passed"}


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"given": [{"stream": "sales", "value": {"id": 2**64}}]}, "cases[0].given[0].value"),
        ({"given": [{"value": "{}"}]}, "cases[0].given[0].stream"),
        ({"given": [{"stream": "s", "value": "{}", "value_base64": "e30="}]}, "cases[0].given[0]"),
        ({"expect": {"rows": [{"row": {}}]}}, "cases[0].expect.rows[0].key"),
        ({"expect": {"rows": [{"key": {"id": 1}, "groups": {"sales": "odd"}}]}}, None),
        ({"expect": {"reasons": []}}, "cases[0].expect.reasons"),
    ],
)
def test_a_test_that_is_not_as_declared_is_refused(
    client: HttpClient, value: dict[str, Any], field: str | None
) -> None:
    put(client).raise_for_status()

    answer = client.post(f"{TABLE}:test", json={"cases": [{"name": "x", "expect": {}, **value}]})

    assert answer.status_code == 422
    found = answer.json()["errors"][0]["field"]
    assert found.startswith(field or "cases[0].expect.rows[0].groups")
