"""Rows of feature views over HTTP."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from braid.lake import Catalog, DropColumn, ManualClock
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient
from tests.unit.service.routes.test_rows import START, write, write_sale

TABLE = "/v1/tables/shop/orders"
RISK = f"{TABLE}/views/risk"
KEY: dict[str, Any] = {"id": 1, "region": "eu"}
COLUMNS = [{"column": "total", "name": "order_total"}, {"column": "carrier"}]


def given_view(client: HttpClient, **fields: Any) -> None:
    view = {"name": "risk", "columns": COLUMNS, **fields}
    client.put(TABLE, json=ORDERS | {"views": [view]}).raise_for_status()


def write_shipping(catalog: Catalog, at: datetime = START, **values: Any) -> None:
    arrival = {"shipping__partition": 0, "shipping__offset": 4, "shipping__op": "upsert"}
    write(catalog, **(KEY | {"carrier": "DHL", "shipping__at": at} | arrival | values))


def states(answer: dict[str, Any]) -> dict[str, str]:
    return {name: group["state"] for name, group in answer["groups"].items()}


def test_a_view_answers_its_columns_with_the_state_and_age_of_their_groups(
    client: HttpClient, catalog: Catalog, clock: ManualClock
) -> None:
    given_view(client)
    write_sale(catalog, total=Decimal("12.50"), currency="EUR")
    write_shipping(catalog)
    clock.advance(ms=1_500)

    answer = client.get(f"{RISK}/rows", params=KEY)

    assert answer.status_code == 200
    found = answer.json()
    assert list(found["row"].items()) == [("order_total", "12.50"), ("carrier", "DHL")]
    assert (found["complete"], found["stale"], found["snapshot"]["id"]) == (True, False, 2)
    assert states(found) == {"sales": "present", "shipping": "present"}
    assert found["groups"]["sales"]["age_seconds"] == 1.5
    assert found["groups"]["sales"]["stale_after_seconds"] is None


def test_the_groups_of_a_view_have_the_status_of_the_row(
    client: HttpClient, catalog: Catalog
) -> None:
    given_view(client)
    write_sale(catalog, total=Decimal(1))

    of_view = client.get(f"{RISK}/rows", params=KEY).json()["groups"]
    of_row = client.get(f"{TABLE}/rows/status", params=KEY).json()["groups"]

    assert of_view == {name: of_row[name] for name in ("sales", "shipping")}


@pytest.mark.parametrize(
    ("rule", "groups", "complete"),
    [
        ({}, ["sales", "shipping"], False),
        ({"completeness": {"groups": ["sales"]}}, ["sales", "shipping"], True),
        ({"completeness": {"groups": ["payments"]}}, ["sales", "payments", "shipping"], False),
        ({"columns": [{"column": "total"}]}, ["sales"], True),
        ({"columns": [{"column": "order_version"}]}, ["sales"], True),
        ({"columns": [{"column": "id"}]}, [], True),
    ],
)
def test_a_row_is_complete_by_the_rule_of_the_view(
    client: HttpClient,
    catalog: Catalog,
    rule: dict[str, Any],
    groups: list[str],
    complete: bool,
) -> None:
    given_view(client, **rule)
    write_sale(catalog, total=Decimal(1))

    answer = client.get(f"{RISK}/rows", params=KEY).json()

    assert (list(answer["groups"]), answer["complete"]) == (groups, complete)


INCOMPLETE = {"total": Decimal(1)}


@pytest.mark.parametrize(
    ("rules", "is_late", "is_shipped", "expected"),
    [
        ({}, True, False, "row"),
        ({"on_incomplete": "null"}, False, False, "null"),
        ({"on_incomplete": "null"}, False, True, "row"),
        ({"on_incomplete": "not_found"}, False, False, "shipping is absent"),
        ({"on_stale": "null"}, True, True, "null"),
        ({"on_stale": "null"}, False, False, "row"),
        ({"on_stale": "not_found"}, True, True, "sales is stale"),
        ({"on_incomplete": "not_found", "on_stale": "null"}, True, False, "is stale, shipping is"),
        ({"on_incomplete": "null", "on_stale": "not_found"}, True, False, "is stale, shipping is"),
        ({"on_incomplete": "null", "on_stale": "null"}, False, True, "row"),
    ],
)
def test_the_view_decides_what_is_answered_for_an_incomplete_or_stale_row(
    client: HttpClient,
    catalog: Catalog,
    rules: dict[str, Any],
    is_late: bool,
    is_shipped: bool,
    expected: str,
) -> None:
    given_view(client, staleness={"groups": {"sales": 60}}, **rules)
    write_sale(catalog, at=START - timedelta(seconds=61 if is_late else 60), total=Decimal(1))
    if is_shipped:
        write_shipping(catalog)

    one = client.get(f"{RISK}/rows", params=KEY)
    many = client.post(f"{RISK}/lookup", json={"keys": [KEY, {"id": 9, "region": "eu"}]}).json()

    assert many["rows"][1] is None
    if expected not in ("row", "null"):
        assert (one.status_code, one.json()["code"]) == (404, "row_not_found")
        detail = one.json()["detail"]
        assert detail.startswith('shop.orders has no row {"id":1,"region":"eu"} at snapshot ')
        assert expected in detail
        assert many["rows"][0] is None
        return
    found = one.json()
    assert (found["row"] is None) == (expected == "null")
    assert (found["complete"], found["stale"]) == (is_shipped, is_late)
    assert many["rows"][0] | {"snapshot": many["snapshot"]} == found


def test_the_table_and_the_view_may_disagree_about_what_is_stale(
    client: HttpClient, catalog: Catalog, clock: ManualClock
) -> None:
    views = [
        {"name": "risk", "columns": COLUMNS},
        {"name": "strict", "columns": COLUMNS, "staleness": {"default_seconds": 5}},
        {"name": "lenient", "columns": COLUMNS, "staleness": {}},
    ]
    table = ORDERS | {"staleness": {"default_seconds": 10}, "views": views}
    client.put(TABLE, json=table).raise_for_status()
    write_sale(catalog, total=Decimal(1))
    clock.advance(ms=7_000)

    found = {
        name: client.get(f"{TABLE}/views/{name}/rows", params=KEY).json()["groups"]["sales"]
        for name in ("risk", "strict", "lenient")
    }

    assert {
        name: (group["state"], group["stale_after_seconds"]) for name, group in found.items()
    } == {"risk": ("present", 10), "strict": ("stale", 5), "lenient": ("present", None)}


def test_views_are_declared_again_without_a_change_of_the_table(
    client: HttpClient, catalog: Catalog
) -> None:
    given_view(client)
    write_sale(catalog, total=Decimal(1), currency="EUR")
    assert list(client.get(f"{RISK}/rows", params=KEY).json()["row"]) == ["order_total", "carrier"]

    given_view(client, columns=[{"column": "currency"}])

    answer = client.get(f"{RISK}/rows", params={**KEY, "max_staleness_ms": 0})
    assert answer.json()["row"] == {"currency": "EUR"}
    assert client.get(TABLE).json()["spec"]["views"][0]["columns"] == [
        {"column": "currency", "name": None}
    ]


def test_a_column_that_is_renamed_keeps_its_name_in_the_view(
    client: HttpClient, catalog: Catalog
) -> None:
    given_view(client)
    write_sale(catalog, total=Decimal(1))
    changes = [
        {"change": "rename_column", "column": "total", "to": "amount"},
        {"change": "rename_column", "column": "carrier", "to": "shipped_by"},
    ]
    client.post(f"{TABLE}/schema-changes", json={"changes": changes}).raise_for_status()

    answer = client.get(f"{RISK}/rows", params={**KEY, "max_staleness_ms": 0})

    assert answer.json()["row"] == {"order_total": "1.00", "carrier": None}


def test_columns_of_the_view_can_be_chosen(client: HttpClient, catalog: Catalog) -> None:
    given_view(client)
    write_sale(catalog, total=Decimal(1))

    one = client.get(f"{RISK}/rows", params={**KEY, "columns": "carrier,order_total"}).json()
    many = client.post(f"{RISK}/lookup", json={"keys": [KEY], "columns": ["order_total"]}).json()
    refused = client.get(f"{RISK}/rows", params={**KEY, "columns": "total"})

    assert list(one["row"]) == ["carrier", "order_total"]
    assert many["rows"][0]["row"] == {"order_total": "1.00"}
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert (error["field"], error["value"]) == ("columns", "total")
    assert error["hint"] == "columns: `order_total`, `carrier`"


@pytest.mark.parametrize("state", [{"snapshot_id": 1}, {"tag": "a"}, {"timestamp": 1}])
def test_older_states_are_refused(
    client: HttpClient, catalog: Catalog, state: dict[str, Any]
) -> None:
    given_view(client)
    write_sale(catalog)

    one = client.get(f"{RISK}/rows", params={**KEY, **state})
    many = client.post(f"{RISK}/lookup", json={"keys": [KEY], **state})

    for answer in (one, many):
        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert error["field"] in state
        assert "newest snapshot" in error["message"]


def test_a_view_or_table_that_does_not_exist_is_named(client: HttpClient) -> None:
    given_view(client)

    for method, path in (("GET", "rows"), ("POST", "lookup")):
        options = {"json": {"keys": [KEY]}} if method == "POST" else {"params": KEY}
        view = client.request(method, f"{TABLE}/views/other/{path}", **options)
        table = client.request(method, f"/v1/tables/shop/nope/views/risk/{path}", **options)
        assert (view.status_code, view.json()["code"]) == (404, "view_not_found")
        assert view.json()["detail"].endswith("views: `risk`")
        assert (table.status_code, table.json()["code"]) == (404, "table_not_found")


def test_a_row_that_does_not_exist_has_the_key_in_the_problem(
    client: HttpClient, catalog: Catalog
) -> None:
    given_view(client)
    write_sale(catalog)

    answer = client.get(f"{RISK}/rows", params={"id": 2, "region": "eu"})

    assert (answer.status_code, answer.json()["detail"]) == (
        404,
        'shop.orders has no row {"id":2,"region":"eu"} at snapshot 1',
    )


PLAIN = "/v1/tables/shop/plain"


def given_plain(client: HttpClient, catalog: Catalog) -> None:
    spec = {
        "columns": [{"name": "k", "type": "INT"}, {"name": "v", "type": "DATE"}],
        "primary_key": ["k"],
        "merge_engine": "deduplicate",
        "views": [{"name": "all", "columns": [{"column": "v"}], "on_incomplete": "not_found"}],
    }
    client.put(PLAIN, json=spec).raise_for_status()
    write(catalog, "shop.plain", k=1, v=datetime(2026, 1, 2, tzinfo=UTC).date())


def test_a_view_of_a_table_without_groups_answers_every_row(
    client: HttpClient, catalog: Catalog
) -> None:
    given_plain(client, catalog)

    answer = client.get(f"{PLAIN}/views/all/rows", params={"k": 1}).json()

    assert answer["row"] == {"v": "2026-01-02"}
    assert (answer["complete"], answer["stale"], answer["groups"]) == (True, False, {})


def test_a_column_that_another_engine_has_dropped_is_named(
    client: HttpClient, catalog: Catalog
) -> None:
    given_plain(client, catalog)
    catalog.table("shop.plain").alter(DropColumn(path=("v",)))

    answer = client.get(f"{PLAIN}/views/all/rows", params={"k": 1, "max_staleness_ms": 0})

    assert (answer.status_code, answer.json()["code"]) == (409, "schema_mismatch")
    assert "`v`" in answer.json()["detail"]


def test_integers_of_a_view_are_text_on_request(client: HttpClient, catalog: Catalog) -> None:
    given_view(client, columns=[{"column": "id"}, {"column": "carrier"}])
    write_shipping(catalog)

    one = client.get(f"{RISK}/rows", params={**KEY, "integers": "text"}).json()
    body = {"keys": [KEY], "integers": "text"}
    many = client.post(f"{RISK}/lookup", json=body).json()["rows"]

    assert one["row"] == {"id": "1", "carrier": "DHL"}
    assert one["groups"]["shipping"]["ordering"]["shipping__offset"] == "4"
    assert [row["row"] for row in many] == [one["row"]]


def test_a_row_that_a_view_does_not_have_is_answered_with_the_snapshot(
    client: HttpClient, catalog: Catalog
) -> None:
    given_view(client, on_incomplete="not_found")
    write_shipping(catalog)

    problem = client.get(f"{RISK}/rows", params=KEY).json()

    assert (problem["code"], problem["snapshot"]["id"]) == ("row_not_found", 1)
