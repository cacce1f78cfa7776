"""Rows over HTTP."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pytest

from braid.lake import Catalog, ManualClock, RenameColumn, variants_of_json
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

ROWS = "/v1/tables/shop/orders/rows"
START = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def write(catalog: Catalog, identifier: str = "shop.orders", **values: Any) -> None:
    """Commit one record; columns that are not named are null."""
    table = catalog.table(identifier)
    fields = [pa.field(f.name, f.type) for f in table.schema.arrow_schema if f.name in values]
    columns = {field.name: pa.array([values[field.name]], field.type) for field in fields}
    table.write_and_commit(pa.table(columns, schema=pa.schema(fields)))


def write_sale(catalog: Catalog, *, at: datetime = START, **values: Any) -> None:
    sale: dict[str, Any] = {"order_version": 1, "sales__at": at, "sales__op": "upsert"}
    key: dict[str, Any] = {"id": 1, "region": "eu"}
    write(catalog, **(key | sale | values))


def test_a_row_is_answered_with_the_snapshot_it_was_read_from(
    shop: HttpClient, catalog: Catalog, clock: ManualClock
) -> None:
    write_sale(catalog, total=Decimal("12.50"), currency="EUR")
    write(catalog, id=1, region="eu", carrier="DHL", shipping__partition=0, shipping__offset=4)
    clock.advance(ms=1_500)

    answer = shop.get(f"{ROWS}?id=1&region=eu").json()

    assert answer["row"]["total"] == "12.50"
    assert answer["row"]["carrier"] == "DHL"
    assert answer["row"]["paid"] is None
    assert answer["row"]["sales__at"] == "2023-11-14T22:13:20.000Z"
    assert list(answer["row"])[:3] == ["id", "region", "total"]
    assert answer["snapshot"] == {
        "id": 2,
        "commit_time": "2023-11-14T22:13:20.000Z",
        "verified_at": "2023-11-14T22:13:21.500Z",
    }


def test_the_problem_of_a_missing_row_has_key_and_snapshot(
    shop: HttpClient, catalog: Catalog
) -> None:
    write_sale(catalog)

    answer = shop.get(f"{ROWS}?id=2&region=eu")

    assert answer.status_code == 404
    assert answer.json()["detail"] == (
        'shop.orders has no row {"id":2,"region":"eu"} at snapshot 1'
    )


def test_every_parameter_that_is_no_key_is_named(shop: HttpClient) -> None:
    errors = shop.get(f"{ROWS}?id=9.5&regoin=eu").json()["errors"]

    assert [(error["field"], error["value"], error["pointer"]) for error in errors] == [
        ("regoin", "eu", None),
        ("id", "9.5", None),
        ("region", None, None),
    ]
    assert errors[1]["message"] == "expected BIGINT: not a whole number"
    assert errors[1]["hint"] == "for example id=1"


@pytest.mark.parametrize("address", [ROWS, f"{ROWS}/status"])
@pytest.mark.parametrize(
    ("query", "field", "value"),
    [
        ("id=1&region=%ff", "region", "\ufffd"),
        ("id=1&region=e%C3", "region", "e\ufffd"),
        ("id=1&region=eu&%fe=1", "\ufffd", "1"),
    ],
)
def test_escapes_that_are_no_text_are_refused(
    shop: HttpClient, address: str, query: str, field: str, value: str
) -> None:
    answer = shop.get(f"{address}?{query}")

    assert answer.status_code == 422
    (problem,) = answer.json()["errors"]
    assert (problem["field"], problem["value"]) == (field, value)
    assert problem["message"] == "its escapes are not UTF-8"


def test_the_status_of_a_row_has_the_state_of_each_stream(
    shop: HttpClient, catalog: Catalog, clock: ManualClock
) -> None:
    shop.put("/v1/tables/shop/orders/streams/sales", json={"topic": "orders"}).raise_for_status()
    write_sale(catalog, total=Decimal(1))
    clock.advance(ms=2_000)

    status = shop.get(f"{ROWS}/status?id=1&region=eu").json()

    assert (status["exists"], status["complete"]) == (True, False)
    assert status["groups"]["sales"] == {
        "state": "present",
        "stream": "sales",
        "ordering": {"order_version": 1},
        "arrival": None,
        "last_touched": "2023-11-14T22:13:20.000Z",
        "age_seconds": 2.0,
        "stale_after_seconds": None,
    }
    assert status["groups"]["payments"]["state"] == "absent"
    assert status["complete_when"] == ["sales", "payments", "shipping"]


def test_the_status_of_a_missing_row_has_everything_absent(shop: HttpClient) -> None:
    answer = shop.get(f"{ROWS}/status?id=1&region=eu")

    assert answer.status_code == 200
    status = answer.json()
    assert (status["exists"], status["complete"], status["snapshot"]["id"]) == (False, False, None)
    assert {group["state"] for group in status["groups"].values()} == {"absent"}


def test_a_row_is_complete_by_the_tables_rule_and_stale_by_its_age(
    client: HttpClient, catalog: Catalog, clock: ManualClock
) -> None:
    rules = {"staleness": {"groups": {"sales": 60}}, "completeness": {"groups": ["sales"]}}
    client.put("/v1/tables/shop/orders", json=ORDERS | rules).raise_for_status()
    write_sale(catalog, at=START - timedelta(seconds=61))

    status = client.get(f"{ROWS}/status?id=1&region=eu").json()

    assert status["groups"]["sales"]["state"] == "stale"
    assert status["complete"] is True


TYPES = {
    "k_boolean": ("BOOLEAN", "true", True, True),
    "k_tiny": ("TINYINT", "-128", -128, -128),
    "k_small": ("SMALLINT", "7", 7, 7),
    "k_int": ("INT", "7", 7, 7),
    "k_big": ("BIGINT", "9007199254740993", 9007199254740993, 9007199254740993),
    "k_decimal": ("DECIMAL(10, 2)", "12.5", Decimal("12.50"), "12.50"),
    "k_char": ("CHAR(3)", "abc", "abc", "abc"),
    "k_string": ("STRING", "a/b ä&c", "a/b ä&c", "a/b ä&c"),
    "k_bytes": ("BYTES", "+/8=", b"\xfb\xff", "+/8="),
    "k_date": ("DATE", "2013-01-31", datetime(2013, 1, 31, tzinfo=UTC).date(), "2013-01-31"),
    "k_time": (
        "TIME(3)",
        "05:15:00.250",
        timedelta(hours=5, minutes=15, milliseconds=250),
        "05:15:00.250",
    ),
    "k_ts3": (
        "TIMESTAMP(3)",
        "2013-01-31T05:15:00.5",
        datetime(2013, 1, 31, 5, 15, 0, 500_000, tzinfo=UTC).replace(tzinfo=None),
        "2013-01-31T05:15:00.500",
    ),
    "k_ts6": (
        "TIMESTAMP(6)",
        "1969-12-31T23:59:59.123456",
        datetime(1969, 12, 31, 23, 59, 59, 123_456, tzinfo=UTC).replace(tzinfo=None),
        "1969-12-31T23:59:59.123456",
    ),
    "k_ltz": (
        "TIMESTAMP(3) WITH LOCAL TIME ZONE",
        "2013-01-31T05:15:00+01:00",
        datetime(2013, 1, 31, 4, 15, tzinfo=UTC),
        "2013-01-31T04:15:00.000Z",
    ),
    "k_ts9": (
        "TIMESTAMP(9)",
        "2013-01-31T05:15:00.123456789",
        1359609300_123456789,
        "2013-01-31T05:15:00.123456789",
    ),
}


@pytest.mark.parametrize("name", TYPES)
def test_a_key_of_any_type_finds_its_row(client: HttpClient, catalog: Catalog, name: str) -> None:
    sql, text, value, shown = TYPES[name]
    if isinstance(value, timedelta):
        value = (datetime(1970, 1, 1, tzinfo=UTC) + value).time()
    spec = {
        "columns": [{"name": name, "type": sql}, {"name": "v", "type": "INT"}],
        "primary_key": [name],
        "sequence_groups": [{"name": "g", "columns": ["v"]}],
    }
    client.put("/v1/tables/shop/typed", json=spec).raise_for_status()
    write(catalog, "shop.typed", **{name: value, "v": 1, "g__partition": 0, "g__offset": 0})

    row = client.get("/v1/tables/shop/typed/rows", params={name: text})
    status = client.get("/v1/tables/shop/typed/rows/status", params={name: text})

    assert (row.status_code, row.json().get("row", {}).get(name)) == (200, shown)
    assert status.json()["key"] == {name: shown}
    assert status.json()["exists"] is True


def test_records_that_cannot_be_merged_are_reported_with_table_key_and_column(
    client: HttpClient, catalog: Catalog
) -> None:
    spec = {
        "columns": [
            {"name": "k", "type": "INT"},
            {"name": "v", "type": "INT", "aggregate": {"function": "sum", "on_overflow": "fail"}},
        ],
        "primary_key": ["k"],
        "merge_engine": "aggregation",
        "deletes": "ignore",
    }
    client.put("/v1/tables/shop/sums", json=spec).raise_for_status()
    for value in (2**31 - 1, 1):
        write(catalog, "shop.sums", k=1, v=value)

    answer = client.get("/v1/tables/shop/sums/rows", params={"k": 1})

    assert (answer.status_code, answer.json()["code"]) == (409, "schema_mismatch")
    assert "shop.sums" in answer.json()["detail"]
    assert "k = 1" in answer.json()["detail"]
    assert [error["field"] for error in answer.json()["errors"]] == ["v"]


def test_a_first_row_is_found_once_the_table_is_compacted(
    client: HttpClient, catalog: Catalog
) -> None:
    spec = {
        "columns": [{"name": "k", "type": "INT"}, {"name": "v", "type": "INT"}],
        "primary_key": ["k"],
        "merge_engine": "first-row",
        "deletes": "ignore",
    }
    client.put("/v1/tables/shop/firsts", json=spec).raise_for_status()
    for value in (1, 2):
        write(catalog, "shop.firsts", k=1, v=value)
    assert client.get("/v1/tables/shop/firsts/rows", params={"k": 1}).status_code == 404

    catalog.table("shop.firsts").compact()

    row = client.get("/v1/tables/shop/firsts/rows", params={"k": 1})
    assert row.json()["row"]["v"] == 1


def test_many_rows_come_at_once_in_the_order_of_their_keys(
    shop: HttpClient, catalog: Catalog
) -> None:
    write_sale(catalog, total=Decimal("12.50"))
    write_sale(catalog, id=2, total=Decimal("3.00"))
    keys = [
        {"id": 2, "region": "eu"},
        {"id": "9", "region": "eu"},
        {"region": "eu", "id": "1"},
        {"id": 2, "region": "eu"},
    ]

    answer = shop.post(f"{ROWS}/lookup", json={"keys": keys})

    assert answer.status_code == 200
    rows = answer.json()["rows"]
    assert [row and (row["id"], row["total"]) for row in rows] == [
        (2, "3.00"),
        None,
        (1, "12.50"),
        (2, "3.00"),
    ]
    assert rows[2] == shop.get(f"{ROWS}?id=1&region=eu").json()["row"]
    assert answer.json()["snapshot"]["id"] == 2


def test_invalid_keys_are_reported_with_their_location(shop: HttpClient) -> None:
    keys = [
        {"id": 1, "region": "eu"},
        {"id": 1.5, "region": 1.1},
        {"id": 1.5, "region": "eu"},
        {"id": True, "regoin": "eu"},
        {"id": 1 << 64, "region": -(1 << 70)},
    ]

    answer = shop.post(f"{ROWS}/lookup", json={"keys": keys})

    assert answer.status_code == 422
    assert [(error["pointer"], error["value"]) for error in answer.json()["errors"]] == [
        ("/keys/1/region", "1.1"),
        ("/keys/2/id", "1.5"),
        ("/keys/3/regoin", "eu"),
        ("/keys/3/id", "true"),
        ("/keys/3/region", None),
        ("/keys/4/id", str(1 << 64)),
    ]
    assert shop.post(f"{ROWS}/lookup", json={"keys": []}).json()["rows"] == []
    assert shop.post(f"{ROWS}/lookup", json={"keys": keys[:1] * 1_001}).status_code == 413


def test_rows_follow_the_snapshots_and_what_was_read_is_not_read_again(
    shop: HttpClient, catalog: Catalog
) -> None:
    for total in range(3):
        write_sale(catalog, total=Decimal(total), order_version=total)
        row = shop.get(f"{ROWS}?id=1&region=eu").json()
        assert (row["row"]["total"], row["snapshot"]["id"]) == (f"{total}.00", total + 1)
    table = catalog.table("shop.orders")
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    for entry in table.live_files(snapshot):
        table.file_io.delete(f"{table.path}/bucket-{entry.bucket}/{entry.file.file_name}")

    assert shop.get(f"{ROWS}?id=1&region=eu").json() | {"snapshot": None} == row | {
        "snapshot": None
    }


def given_past(catalog: Catalog, clock: ManualClock) -> str:
    """Make a table whose row changed, the older one tagged, and its column is called otherwise now."""
    table = catalog.create_table(
        "shop.past",
        columns=[("id", "INT"), ("v", "STRING")],
        primary_key=["id"],
        options={"bucket": "1"},
    )
    write(catalog, "shop.past", id=1, v="old")
    table.create_tag("before")
    clock.advance(ms=1_000)
    table.alter(RenameColumn(path=("v",), name="text"))
    write(catalog, "shop.past", id=1, text="new")
    return "/v1/tables/shop/past/rows"


@pytest.mark.parametrize(
    ("state", "snapshot_id"),
    [
        ({"snapshot_id": 1}, 1),
        ({"tag": "before"}, 1),
        ({"timestamp": "2023-11-14T22:13:20.999Z"}, 1),
        ({"timestamp": 1_700_000_000_999}, 1),
        ({"timestamp": "2023-11-14T22:13:21Z"}, 2),
        ({"snapshot_id": 2}, 2),
        ({}, 2),
    ],
    ids=str,
)
def test_rows_are_read_at_a_snapshot_a_tag_or_a_moment(
    client: HttpClient,
    catalog: Catalog,
    clock: ManualClock,
    state: dict[str, Any],
    snapshot_id: int,
) -> None:
    address = given_past(catalog, clock)
    expected = {1: {"id": 1, "v": "old"}, 2: {"id": 1, "text": "new"}}[snapshot_id]

    one = client.get(address, params={"id": "1", **state}).json()
    many = client.post(f"{address}/lookup", json={"keys": [{"id": 1}, {"id": 2}], **state}).json()

    assert one["row"] == expected
    assert many["rows"] == [expected, None]
    assert one["snapshot"] == many["snapshot"]
    assert one["snapshot"]["id"] == snapshot_id


@pytest.mark.parametrize(
    ("state", "field", "expected"),
    [
        ({"snapshot_id": "9"}, "snapshot_id", "it was not made yet"),
        ({"snapshot_id": "x"}, "snapshot_id", "a whole number from 1"),
        ({"snapshot_id": "0"}, "snapshot_id", "a whole number from 1"),
        ({"tag": "after"}, "tag", "expected one of before"),
        ({"timestamp": "2023-11-14"}, "timestamp", "ISO 8601 with a zone"),
        ({"timestamp": "5"}, "timestamp", "no such snapshot"),
        ({"timestamp": "5", "tag": "before"}, "timestamp", "cannot be given together with tag"),
    ],
    ids=str,
)
def test_a_state_that_is_not_there_is_refused(
    client: HttpClient,
    catalog: Catalog,
    clock: ManualClock,
    state: dict[str, str],
    field: str,
    expected: str,
) -> None:
    address = given_past(catalog, clock)

    answer = client.get(address, params={"id": "1", **state})

    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error["field"] == field
    assert expected in error["message"]


def test_a_key_column_that_is_called_like_a_state_is_the_key(
    client: HttpClient, catalog: Catalog
) -> None:
    catalog.create_table(
        "shop.tagged",
        columns=[("tag", "STRING"), ("v", "INT")],
        primary_key=["tag"],
        options={"bucket": "1"},
    )
    write(catalog, "shop.tagged", tag="a", v=1)
    write(catalog, "shop.tagged", tag="a", v=2)
    address = "/v1/tables/shop/tagged/rows"

    assert client.get(f"{address}?tag=a").json()["row"]["v"] == 2
    assert client.get(f"{address}?tag=a&snapshot_id=1").json()["row"]["v"] == 1


def test_the_newest_row_has_the_columns_of_now_although_no_commit_followed(
    client: HttpClient, catalog: Catalog, clock: ManualClock
) -> None:
    address = given_past(catalog, clock)
    catalog.table("shop.past").alter(RenameColumn(path=("text",), name="note"))

    assert client.get(f"{address}?id=1").json()["row"] == {"id": 1, "note": "new"}


def test_a_row_does_not_show_the_order_of_its_kept_columns(
    shop: HttpClient, catalog: Catalog
) -> None:
    sales, *others = ORDERS["sequence_groups"]
    kept = {**sales, "keep": ["currency"]}
    declared = ORDERS | {"sequence_groups": [kept, *others]}
    shop.put("/v1/tables/shop/kept", json=declared).raise_for_status()
    sale: dict[str, Any] = {"id": 1, "region": "eu", "order_version": 2}
    write(catalog, "shop.kept", **sale, currency="EUR", currency__order=b"\x02")
    write(catalog, "shop.kept", **sale, total=Decimal(7))
    path = "/v1/tables/shop/kept/rows"

    row = shop.get(f"{path}?id=1&region=eu").json()["row"]
    found = shop.post(f"{path}/lookup", json={"keys": [{"id": 1, "region": "eu"}]}).json()
    columns = shop.get("/v1/tables/shop/kept").json()["columns"]

    assert (row["total"], row["currency"], "currency__order" in row) == ("7.00", "EUR", False)
    assert found["rows"] == [row]
    made_for = {column["name"]: column["made_for"] for column in columns}
    assert made_for["currency__order"] == "sales"
    status = shop.get(f"{path}/status?id=1&region=eu").json()
    assert status["groups"]["sales"]["state"] == "present"


def test_chosen_columns_are_answered_in_their_order(shop: HttpClient, catalog: Catalog) -> None:
    write_sale(catalog, total=Decimal("12.50"), currency="EUR")

    one = shop.get(f"{ROWS}?id=1&region=eu&columns=currency,total").json()
    body = {"keys": [{"id": 1, "region": "eu"}, {"id": 2, "region": "eu"}], "columns": ["total"]}
    several = shop.post(f"{ROWS}/lookup", json=body).json()

    assert list(one["row"].items()) == [("currency", "EUR"), ("total", "12.50")]
    assert several["rows"] == [{"total": "12.50"}, None]


def test_an_unknown_column_is_refused_by_name(shop: HttpClient, catalog: Catalog) -> None:
    write_sale(catalog)

    refused = shop.get(f"{ROWS}?id=1&region=eu&columns=total,tota")

    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert "tota" in refused.text


def test_an_answer_that_the_client_has_is_not_sent_again(
    shop: HttpClient, catalog: Catalog
) -> None:
    write_sale(catalog, currency="EUR")
    address = f"{ROWS}?id=1&region=eu"
    first = shop.get(address)
    tag = first.headers["etag"]

    known = shop.get(address, headers={"if-none-match": f'"other", {tag}'})
    missing = shop.get(f"{ROWS}?id=9&region=eu", headers={"if-none-match": tag})

    assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", tag)
    assert missing.status_code == 404
    write_sale(catalog, order_version=2, currency="CHF")
    newer = shop.get(address, headers={"if-none-match": tag})
    assert (newer.status_code, newer.json()["row"]["currency"]) == (200, "CHF")
    assert newer.headers["etag"] != tag


def test_an_answer_is_from_a_snapshot_that_is_new_enough_or_refused(
    shop: HttpClient, catalog: Catalog
) -> None:
    write_sale(catalog)

    reached = shop.get(f"{ROWS}?id=1&region=eu&min_snapshot=1&max_staleness_ms=0")
    refused = shop.get(f"{ROWS}?id=1&region=eu&min_snapshot=2")
    body = {"keys": [{"id": 1, "region": "eu"}], "min_snapshot": 2}
    several = shop.post(f"{ROWS}/lookup", json=body)

    assert reached.json()["snapshot"]["id"] == 1
    assert (refused.status_code, refused.json()["code"]) == (409, "snapshot_not_reached")
    assert "reached no snapshot 2" in refused.json()["detail"]
    assert several.status_code == 409


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("min_snapshot=-1", "min_snapshot"),
        ("max_staleness_ms=1.5", "max_staleness_ms"),
        ("min_snapshot=1&min_snapshot=2", "min_snapshot"),
        ("min_snapshot=1&snapshot_id=1", "min_snapshot"),
        ("max_staleness_ms=0&tag=x", "max_staleness_ms"),
    ],
)
def test_bounds_that_mean_nothing_are_refused(shop: HttpClient, query: str, field: str) -> None:
    refused = shop.get(f"{ROWS}?id=1&region=eu&{query}")

    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert [error["field"] for error in refused.json()["errors"]] == [field]


ARROW = {"accept": "application/vnd.apache.arrow.stream"}


def test_a_missing_row_is_answered_with_the_snapshot(
    shop: HttpClient, catalog: Catalog, clock: ManualClock
) -> None:
    write_sale(catalog)
    clock.advance(ms=1_500)

    problem = shop.get(f"{ROWS}?id=2&region=eu").json()

    assert problem["snapshot"] == {
        "id": 1,
        "commit_time": "2023-11-14T22:13:20.000Z",
        "verified_at": "2023-11-14T22:13:21.500Z",
    }
    assert "snapshot" not in shop.get(f"{ROWS}?id=x&region=eu").json()


def test_integers_of_64_bits_are_text_on_request(client: HttpClient, catalog: Catalog) -> None:
    table = catalog.create_table(
        "db.t",
        columns=[("k", "BIGINT"), ("i", "INT"), ("a", "ARRAY<BIGINT>"), ("m", "MAP<BIGINT, INT>")],
        primary_key=["k"],
    )
    key = (1 << 53) + 1
    columns: dict[str, Any] = {"k": [key], "i": [7], "a": [[1, None]], "m": [[(2, 3)]]}
    table.write_and_commit(
        pa.table([pa.array(v, table.schema.arrow_schema.field(n).type) for n, v in columns.items()],
                 names=list(columns))
    )  # fmt: skip
    text = {"k": str(key), "i": 7, "a": ["1", None], "m": [{"key": "2", "value": 3}]}
    path = "/v1/tables/db/t/rows"

    assert client.get(f"{path}?k={key}&integers=text").json()["row"] == text
    assert client.get(f"{path}?k={key}&integers=number").json()["row"]["k"] == key
    body = {"keys": [{"k": key}], "integers": "text"}
    assert client.post(f"{path}/lookup", json=body).json()["rows"] == [text]
    refused = client.get(f"{path}?k=1&integers=words").json()["errors"][0]
    assert (refused["field"], refused["message"]) == ("integers", "expected one of: number, text")


def test_a_variant_is_json_with_all_digits(client: HttpClient, catalog: Catalog) -> None:
    table = catalog.create_table(
        "db.t", columns=[("k", "INT"), ("v", "VARIANT")], primary_key=["k"]
    )
    exact = '{"a":[12345678901234567890.5,null],"b":9007199254740993}'
    values = variants_of_json(pa.array([exact]))
    table.write_and_commit(pa.table({"k": pa.array([1], pa.int32()), "v": values}))
    path = "/v1/tables/db/t/rows"
    body = {"keys": [{"k": 1}]}

    for answer in (
        client.get(f"{path}?k=1"),
        client.post(f"{path}/lookup", json=body),
        client.post(f"{path}/scan", json={}),
        client.get("/v1/tables/db/t/changes?after_snapshot_id=0"),
    ):
        assert answer.status_code == 200, answer.text
        assert f'"v":{exact}' in answer.text
    for_doubles = {"a": ["12345678901234567890.5", None], "b": "9007199254740993"}
    text = client.get(f"{path}?k=1&integers=text")
    assert text.json()["row"]["v"] == for_doubles
    explained = client.get(f"{path}/explain?k=1")
    assert explained.json()["columns"]["v"]["value"] == for_doubles
    certificate = client.get(f"{path}/certificate?k=1")
    assert certificate.status_code == 200, certificate.text


def test_integers_of_a_status_are_text_on_request(shop: HttpClient, catalog: Catalog) -> None:
    write(catalog, id=7, region="eu", carrier="DHL", shipping__partition=0, shipping__offset=4)

    status = shop.get(f"{ROWS}/status?id=7&region=eu&integers=text").json()

    assert status["key"] == {"id": "7", "region": "eu"}
    assert status["groups"]["shipping"]["ordering"] == {
        "shipping__offset": "4",
        "shipping__partition": 0,
    }


def arrow(answer: Any) -> pa.Table:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == ARROW["accept"]
    assert answer.headers["vary"] == "accept"
    with pa.ipc.open_stream(answer.content) as stream:
        return stream.read_all()


def test_a_row_is_an_arrow_stream_on_request(shop: HttpClient, catalog: Catalog) -> None:
    write_sale(catalog, total=Decimal("12.50"))
    address = f"{ROWS}?id=1&region=eu"
    as_json, as_arrow = shop.get(address), shop.get(address, headers=ARROW)

    found = arrow(as_arrow)

    assert found.select(["id", "total"]).to_pylist() == [{"id": 1, "total": Decimal("12.50")}]
    assert found.schema.names == list(as_json.json()["row"])
    assert found.schema.field("total").type == pa.decimal128(10, 2)
    snapshot = as_json.json()["snapshot"]
    assert orjson.loads(found.schema.metadata[b"snapshot"]) == snapshot
    assert as_json.headers["vary"] == "accept"
    assert as_json.headers["etag"] != as_arrow.headers["etag"]
    known = {**ARROW, "if-none-match": as_arrow.headers["etag"]}
    assert shop.get(address, headers=known).status_code == 304
    known = {"if-none-match": as_arrow.headers["etag"]}
    assert shop.get(address, headers=known).status_code == 200


def test_a_problem_is_json_although_arrow_is_accepted(shop: HttpClient, catalog: Catalog) -> None:
    write_sale(catalog)

    answer = shop.get(f"{ROWS}?id=2&region=eu", headers=ARROW)

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["snapshot"]["id"] == 1


def test_the_arrow_stream_of_a_lookup_has_the_rows_that_exist_with_their_keys(
    shop: HttpClient, catalog: Catalog
) -> None:
    for number in (1, 2):
        write_sale(catalog, id=number, currency=f"C{number}")
    keys = [{"id": number, "region": "eu"} for number in (2, 9, 1)]
    body = {"keys": keys, "columns": ["currency", "region"]}

    found = arrow(shop.post(f"{ROWS}/lookup", json=body, headers=ARROW))

    assert found.to_pylist() == [
        {"id": 2, "currency": "C2", "region": "eu"},
        {"id": 1, "currency": "C1", "region": "eu"},
    ]


@pytest.mark.parametrize("engine", ["deduplicate", "first-row"])
def test_new_records_of_a_table_that_hides_them_are_counted_and_shown_on_request(
    client: HttpClient, catalog: Catalog, engine: str
) -> None:
    options = {"merge-engine": engine, "bucket": "1"}
    if engine == "deduplicate":
        options["deletion-vectors.enabled"] = "true"
    table = catalog.create_table(
        "db.t", columns=[("k", "INT"), ("v", "INT")], primary_key=["k"], options=options
    )

    def add(*rows: tuple[int, int]) -> None:
        keys, values = zip(*rows, strict=True)
        columns = {"k": pa.array(keys, pa.int32()), "v": pa.array(values, pa.int32())}
        table.write_and_commit(pa.table(columns))

    add((1, 1))
    table.compact(full=True)
    add((1, 2), (2, 2))
    newest = 2 if engine == "deduplicate" else 1
    path = "/v1/tables/db/t/rows"

    first = client.get(f"{path}?k=1").json()
    merged = client.get(f"{path}?k=1&visibility=merged").json()
    absent = client.get(f"{path}?k=2").json()
    many = client.post(
        f"{path}/lookup", json={"keys": [{"k": 1}, {"k": 2}], "visibility": "merged"}
    ).json()
    pages = [
        client.post(f"{path}/scan", json={"visibility": visibility}).json()
        for visibility in ("compacted", "merged")
    ]

    assert (first["row"]["v"], first["snapshot"]["hidden"]) == (1, {"records": 2, "files": 1})
    assert merged["row"]["v"] == newest
    assert "hidden" not in merged["snapshot"]
    assert absent["snapshot"]["hidden"] == {"records": 2, "files": 1}
    assert many["rows"] == [{"k": 1, "v": newest}, {"k": 2, "v": 2}]
    assert [page["rows"] for page in pages] == [[{"k": 1, "v": 1}], many["rows"]]
    assert [page["snapshot"].get("hidden") for page in pages] == [{"records": 2, "files": 1}, None]
    etag = client.get(f"{path}?k=1").headers["etag"]
    shown = client.get(f"{path}?k=1&visibility=merged", headers={"if-none-match": etag})
    assert (shown.status_code, shown.json()["row"]["v"]) == (200, newest)
    table.compact(full=True)
    assert client.get(f"{path}?k=1").json()["snapshot"]["hidden"] == {"records": 0, "files": 0}
