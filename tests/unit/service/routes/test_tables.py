"""Tables over HTTP."""

from typing import Any

import pyarrow as pa

from braid.lake import Catalog
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/shop/orders"


def test_a_table_is_created_once_and_found_after_that(client: HttpClient) -> None:
    first = client.put(TABLE, json=ORDERS)
    second = client.put(TABLE, json=ORDERS)
    read = client.get(TABLE)

    assert (first.status_code, second.status_code, read.status_code) == (201, 200, 200)
    assert first.json() == second.json() == read.json()
    assert first.headers["etag"] == read.headers["etag"]


def test_columns_of_nested_types_are_declared_and_shown(client: HttpClient) -> None:
    place = "ROW<street STRING, floors ARRAY<INT NOT NULL>>"
    nested = [{"name": "place", "type": place}, {"name": "tags", "type": "MULTISET<STRING>"}]
    groups = [
        {**group, "columns": [*group["columns"], "place", "tags"]}
        if group["name"] == "shipping"
        else group
        for group in ORDERS["sequence_groups"]
    ]
    table = ORDERS | {"columns": [*ORDERS["columns"], *nested], "sequence_groups": groups}

    created = client.put(TABLE, json=table)

    assert created.status_code == 201, created.json()
    assert client.put(TABLE, json=table).status_code == 200
    types = {column["name"]: column["type"] for column in created.json()["columns"]}
    assert types["place"] == "ROW<`street` STRING, `floors` ARRAY<INT NOT NULL>>"
    assert types["tags"] == "MULTISET<STRING>"


def test_a_table_shows_the_generated_columns_of_its_groups(shop: HttpClient) -> None:
    columns = shop.get(TABLE).json()["columns"]

    assert columns[0] == {"name": "id", "type": "BIGINT NOT NULL", "made_for": None}
    assert {"name": "payments__offset", "type": "BIGINT", "made_for": "payments"} in columns


def test_what_was_read_can_be_put_again(shop: HttpClient) -> None:
    spec = shop.get(TABLE).json()["spec"]

    assert shop.put(TABLE, json=spec).status_code == 200


def test_another_declaration_is_refused_with_the_differences(shop: HttpClient) -> None:
    answer = shop.put(TABLE, json=ORDERS | {"buckets": 8})

    assert answer.status_code == 409
    (problem,) = answer.json()["errors"]
    assert (problem["pointer"], problem["value"]) == ("/buckets", "8")


def test_preconditions_are_kept(shop: HttpClient) -> None:
    etag = shop.get(TABLE).headers["etag"]

    assert shop.put(TABLE, json=ORDERS, headers={"if-match": etag}).status_code == 200
    assert shop.put(TABLE, json=ORDERS, headers={"if-match": "*"}).status_code == 200
    assert shop.put(TABLE, json=ORDERS, headers={"if-match": '"old"'}).status_code == 412
    assert shop.put(TABLE, json=ORDERS, headers={"if-none-match": "*"}).status_code == 412


def test_validation_reports_the_problems_of_put_and_creates_nothing(client: HttpClient) -> None:
    fine = client.post(f"{TABLE}/validate", json=ORDERS)
    bad = client.post(f"{TABLE}/validate", json=ORDERS | {"primary_key": ["nope"]})

    assert (fine.status_code, fine.json()["valid"], fine.json()["errors"]) == (200, True, [])
    assert bad.json()["valid"] is False
    assert bad.json()["errors"][0]["pointer"] == "/primary_key/0"
    assert client.get(TABLE).status_code == 404


def test_tables_are_listed_page_by_page(client: HttpClient) -> None:
    for name in ("c", "a", "b"):
        client.put(f"/v1/tables/shop/{name}", json=ORDERS)

    first = client.get("/v1/tables?page_size=2").json()
    second = client.get(f"/v1/tables?page_size=2&page_token={first['next_page_token']}").json()

    assert [table["name"] for table in first["tables"]] == ["a", "b"]
    assert second == {"tables": [{"database": "shop", "name": "c"}], "next_page_token": None}


CLICKS = {"name": "clicks", "type": "BIGINT", "aggregate": {"function": "sum"}}
TOTALS: dict[str, Any] = {
    "columns": [{"name": "id", "type": "BIGINT"}, CLICKS],
    "primary_key": ["id"],
    "merge_engine": "aggregation",
    "deletes": "ignore",
}


def test_an_aggregation_table_is_created_as_it_was_declared(client: HttpClient) -> None:
    assert client.put(TABLE, json=TOTALS).status_code == 201
    spec = client.get(TABLE).json()["spec"]

    assert (spec["merge_engine"], spec["deletes"]) == ("aggregation", "ignore")
    assert spec["columns"][1]["aggregate"]["function"] == "sum"
    assert client.put(TABLE, json=spec).status_code == 200


def test_an_unsuitable_function_is_a_problem_with_location(client: HttpClient) -> None:
    wrong = CLICKS | {"type": "STRING"}
    answer = client.put(TABLE, json=TOTALS | {"columns": [TOTALS["columns"][0], wrong]})

    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    (problem,) = answer.json()["errors"]
    assert problem["pointer"] == "/columns/1/aggregate/function"
    assert problem["field"] == "columns[1].aggregate.function"
    assert problem["value"] == "sum"
    assert "column `clicks` is STRING" in problem["message"]
    assert "listagg" in problem["hint"]


def test_a_second_stream_must_not_depend_on_order(client: HttpClient) -> None:
    columns = [*TOTALS["columns"], {"name": "name", "type": "STRING"}]
    client.put(TABLE, json=TOTALS | {"columns": columns})
    first = {"topic": "clicks", "columns": [{"column": "id"}, {"column": "clicks"}]}
    second = {"topic": "names", "columns": [{"column": "id"}, {"column": "name"}]}

    assert client.put(f"{TABLE}/streams/clicks", json=first).status_code == 201
    answer = client.put(f"{TABLE}/streams/names", json=second)

    assert answer.status_code == 422
    (problem,) = answer.json()["errors"]
    assert (problem["pointer"], problem["value"]) == ("/columns/1/column", "name")


def test_options_that_would_lose_rows_are_refused_at_their_pointers(client: HttpClient) -> None:
    spec = {
        "columns": [{"name": "k", "type": "INT"}, {"name": "v", "type": "INT"}],
        "primary_key": ["k"],
        "merge_engine": "first-row",
        "deletes": "ignore",
    }

    expiring = client.put(TABLE, json=spec | {"options": {"record-level.expire-time": "1 d"}})
    misspelt = client.put(TABLE, json=spec | {"options": {"ignor-delete": "true"}})

    for answer, option in ((expiring, "record-level.expire-time"), (misspelt, "ignor-delete")):
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
        (error,) = answer.json()["errors"]
        assert error["pointer"] == f"/options/{option}"
    assert "did you mean `ignore-delete`?" in misspelt.json()["errors"][0]["hint"]


def test_a_retention_of_deletes_is_declared_and_is_the_tables(
    client: HttpClient, catalog: Catalog
) -> None:
    spec = {
        "columns": [{"name": "id", "type": "BIGINT"}, {"name": "total", "type": "INT"}],
        "primary_key": ["id"],
        "sequence_groups": [{"name": "sales", "columns": ["total"]}],
        "deletes": "remove_row",
        "delete_retention": {"seconds": 3600},
    }

    answer = client.put(TABLE, json=spec)
    longer = client.put(TABLE, json=spec | {"delete_retention": {"seconds": 7200}})
    never = client.post(f"{TABLE}/validate", json=spec | {"deletes": "clear_columns"})

    assert answer.status_code == 201
    assert answer.json()["spec"]["delete_retention"] == {"seconds": 3600, "columns": None}
    assert catalog.table("shop.orders").schema.table_options.delete_retention_ms == 3_600_000
    assert (longer.status_code, longer.json()["code"]) == (409, "table_exists")
    assert [error["field"] for error in never.json()["errors"]] == ["delete_retention"]


def test_a_time_to_live_is_declared_and_expired_rows_are_absent(
    client: HttpClient, catalog: Catalog
) -> None:
    spec = {
        "columns": [{"name": "id", "type": "BIGINT"}, {"name": "at", "type": "INT"}],
        "primary_key": ["id"],
        "merge_engine": "deduplicate",
        "row_ttl": {"column": "at", "seconds": 3600},
    }

    answer = client.put(TABLE, json=spec)
    wrong = client.post(f"{TABLE}/validate", json=spec | {"row_ttl": {"column": "a", "seconds": 1}})
    table = catalog.table("shop.orders")
    rows = {"id": pa.array([1, 2], pa.int64()), "at": pa.array([1, None], pa.int32())}
    table.write_and_commit(pa.table(rows))

    assert (answer.status_code, answer.json()["spec"]["row_ttl"]) == (201, spec["row_ttl"])
    assert [error["field"] for error in wrong.json()["errors"]] == ["row_ttl.column"]
    assert client.get(f"{TABLE}/rows?id=1").status_code == 404
    assert client.get(f"{TABLE}/rows?id=2").json()["row"] == {"id": 2, "at": None}
    status = [client.get(f"{TABLE}/rows/status?id={key}").json()["exists"] for key in (1, 2)]
    assert status == [False, True]
    rename = {"changes": [{"change": "rename_column", "column": "at", "to": "seen"}]}
    refused = client.post(f"{TABLE}/schema-changes", json=rename).json()["errors"]
    assert "rows expire by the time in this column" in refused[0]["message"]


def test_a_table_is_dropped_with_confirmation_and_stopped_streams(
    shop: HttpClient,
) -> None:
    shop.put(f"{TABLE}/streams/sales", json={"topic": "s"})

    unnamed = shop.delete(TABLE)
    running = shop.delete(f"{TABLE}?confirm=shop.orders")
    shop.post(f"{TABLE}/streams/sales/stop")
    dropped = shop.delete(f"{TABLE}?confirm=shop.orders")

    assert (unnamed.status_code, unnamed.json()["errors"][0]["field"]) == (422, "confirm")
    assert (running.status_code, running.json()["code"]) == (409, "stream_not_stopped")
    assert dropped.status_code == 204
    assert shop.get(TABLE).status_code == 404
    assert shop.delete(f"{TABLE}?confirm=orders").status_code == 404
    assert shop.put(TABLE, json=ORDERS).status_code == 201


def test_a_table_that_was_dropped_with_its_files_kept_takes_streams_of_the_same_names(
    shop: HttpClient, catalog: Catalog
) -> None:
    """Its position is of a topic that no stream reads any more, and there is no stream to delete."""
    shop.put(f"{TABLE}/streams/sales", json={"topic": "s"})
    catalog.table("shop.orders").committer().claim_stream(
        "sales", topic="s", topic_id="i", initial_offsets={0: 7}
    )
    shop.post(f"{TABLE}/streams/sales/stop")
    assert shop.delete(f"{TABLE}?confirm=shop.orders&keep_data=true").status_code == 204
    assert shop.put(TABLE, json=ORDERS).status_code == 201

    refused = shop.put(f"{TABLE}/streams/sales", json={"topic": "t"})
    taken = shop.put(f"{TABLE}/streams/sales", json={"topic": "t", "starting_offsets": "latest"})

    assert (refused.status_code, taken.status_code) == (409, 201)
    assert "`starting_offsets`" in refused.json()["errors"][0]["hint"]


def test_differences_are_reported_as_json(shop: HttpClient) -> None:
    answer = shop.put(TABLE, json=ORDERS | {"comment": None, "tracking": False})

    (problem,) = answer.json()["errors"]
    assert (problem["field"], problem["value"]) == ("tracking", "false")
    assert problem["message"] == "is declared as `true`"
