"""Pages of rows over HTTP: ranges, conditions on the status, snapshots and tokens."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import orjson
import pyarrow as pa
import pytest

from braid.lake import AddColumn, Catalog, ManualClock, RenameColumn, Table, parse_type
from braid.service.control import row_pages as control
from braid.service.control.page_token import decode_token, encode_token
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient
from tests.unit.service.routes.test_rows import START, write, write_sale

SCAN = "/v1/tables/db/flights/rows/scan"
ORDERS_SCAN = "/v1/tables/shop/orders/rows/scan"
KEYS = [
    (year, carrier, flight)
    for year in (2012, 2013, 2014)
    for carrier in ("AA", "AB", "B", "Ä")
    for flight in (-5, 3, 10_000_000_000)
]


@pytest.fixture
def flights(catalog: Catalog) -> Table:
    """Return a table of several buckets and partitions, whose snapshots have all keys."""
    table = catalog.create_table(
        "db.flights",
        columns=[("year", "INT"), ("carrier", "STRING"), ("flight", "BIGINT"), ("delay", "INT")],
        primary_key=["year", "carrier", "flight"],
        partition_keys=["carrier"],
        options={"bucket": "2"},
    )
    add(table, KEYS, delay=1)
    add(table, KEYS[::3], delay=2)
    return table


def add(
    table: Table,
    keys: Sequence[tuple[int, str, int]],
    *,
    delay: int,
    column: str = "delay",
) -> None:
    years, carriers, numbers = zip(*keys, strict=True)
    rows = pa.table(
        {
            "year": pa.array(years, pa.int32()),
            "carrier": pa.array(carriers),
            "flight": pa.array(numbers, pa.int64()),
            column: pa.array([delay] * len(keys), pa.int32()),
        }
    )
    table.write_and_commit(rows)


def pages(client: HttpClient, path: str, limit: int, body: Mapping[str, Any]) -> list[Any]:
    """All pages of a request."""
    found = [page(client, path, {**body, "limit": limit})]
    while (token := found[-1]["next_page_token"]) is not None:
        found.append(page(client, path, {"page_token": token, "limit": limit}))
    return found


def page(client: HttpClient, path: str, body: Mapping[str, Any]) -> Any:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def keys_of(found: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [(row["year"], row["carrier"], row["flight"]) for page in found for row in page["rows"]]


@pytest.mark.parametrize("limit", [1, 5, 36, 1_000])
def test_pages_have_all_rows_in_the_order_of_the_key(
    client: HttpClient, flights: Table, limit: int
) -> None:
    found = pages(client, SCAN, limit, {})

    assert keys_of(found) == KEYS
    assert all(len(page["rows"]) <= limit for page in found)
    assert {row["delay"] for page in found for row in page["rows"]} == {1, 2}
    assert len({page["snapshot"]["verified_at"] for page in found}) == 1


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"prefix": {"year": 2013}}, lambda y, c, f: y == 2013),
        ({"prefix": {"carrier": "AA", "year": "2013"}}, lambda y, c, f: (y, c) == (2013, "AA")),
        ({"prefix": {"year": 2013}, "starts_with": "A"}, lambda y, c, f: y == 2013 and c[0] == "A"),
        ({"prefix": {"year": 1}, "starts_with": "A"}, lambda y, c, f: False),
        ({"from_key": {"year": 2013, "carrier": "B"}}, lambda y, c, f: (y, c) >= (2013, "B")),
        ({"to_key": {"year": 2013, "carrier": "B"}}, lambda y, c, f: (y, c) < (2013, "B")),
        (
            {
                "from_key": {"year": 2012, "carrier": "B", "flight": 3},
                "to_key": {"year": 2013, "carrier": "AB", "flight": 3},
            },
            lambda y, c, f: (2012, "B", 3) <= (y, c, f) < (2013, "AB", 3),
        ),
        (
            {"prefix": {"year": 2013}, "from_key": {"year": 2013, "carrier": "AB"}},
            lambda y, c, f: y == 2013 and c >= "AB",
        ),
        ({"from_key": {"year": 2014}, "to_key": {"year": 2013}}, lambda y, c, f: False),
    ],
    ids=range(9),
)
@pytest.mark.parametrize("limit", [2, 100])
def test_a_range_has_the_keys_between_its_bounds(
    client: HttpClient, flights: Table, limit: int, body: dict[str, Any], wanted: Any
) -> None:
    found = pages(client, SCAN, limit, body)

    assert keys_of(found) == [key for key in KEYS if wanted(*key)]


def test_all_pages_come_from_one_snapshot_that_is_kept_for_them(
    client: HttpClient, flights: Table, clock: ManualClock
) -> None:
    first = page(client, SCAN, {"limit": 30, "columns": ["delay"]})
    add(flights, KEYS, delay=3)
    clock.advance(ms=300_000)
    flights.expire(retain_max=1, retain_min=1, older_than_ms=clock.now_ms())

    second = page(client, SCAN, {"page_token": first["next_page_token"], "limit": 3})
    last = page(client, SCAN, {"page_token": second["next_page_token"]})

    assert first["snapshot"]["id"] == second["snapshot"]["id"] == 2
    assert {row["delay"] for row in (*second["rows"], *last["rows"])} == {1, 2}
    assert list(last["rows"][0]) == ["delay"]
    assert len(second["rows"]) + len(last["rows"]) == 6
    assert last["next_page_token"] is None
    assert flights.consumers() == []


def test_pages_of_a_snapshot_that_has_expired_are_gone(
    client: HttpClient, flights: Table, clock: ManualClock
) -> None:
    first = page(client, SCAN, {"limit": 1})
    add(flights, KEYS, delay=3)
    clock.advance(ms=3_600_000)
    flights.expire(retain_max=1, retain_min=1, older_than_ms=clock.now_ms())

    answer = client.post(SCAN, json={"page_token": first["next_page_token"]})

    assert (answer.status_code, answer.json()["code"]) == (410, "expired")
    assert "start again with the first page" in answer.json()["detail"]


def test_pages_of_a_snapshot_that_a_rollback_has_replaced_are_gone(
    client: HttpClient, flights: Table
) -> None:
    first = page(client, SCAN, {"limit": 1})
    flights.rollback(snapshot_id=1)
    add(flights, KEYS, delay=3)

    answer = client.post(SCAN, json={"page_token": first["next_page_token"]})

    assert (answer.status_code, answer.json()["code"]) == (410, "expired")


def test_pages_of_a_tag_outlive_its_snapshot(
    client: HttpClient, flights: Table, clock: ManualClock
) -> None:
    flights.create_tag("old", snapshot_id=1)
    first = page(client, SCAN, {"tag": "old", "limit": 30})
    clock.advance(ms=3_600_000)
    flights.expire(retain_max=1, retain_min=1, older_than_ms=clock.now_ms())

    second = page(client, SCAN, {"page_token": first["next_page_token"]})

    assert keys_of([first, second]) == KEYS
    assert {row["delay"] for row in second["rows"]} == {1}


def test_pages_keep_the_columns_of_the_first_page(client: HttpClient, flights: Table) -> None:
    flights.alter(AddColumn(path=("gate",), type=parse_type("INT")))
    first = page(client, SCAN, {"limit": 30})
    flights.alter(
        RenameColumn(path=("delay",), name="late"), AddColumn(path=("x",), type=parse_type("INT"))
    )

    second = page(client, SCAN, {"page_token": first["next_page_token"]})

    assert list(first["rows"][0]) == list(second["rows"][0])
    assert list(first["rows"][0])[3:] == ["delay", "gate"]
    assert keys_of([first, second]) == KEYS


@pytest.mark.parametrize("schema_id", [0, 99])
def test_a_token_with_an_older_schema_than_that_of_the_snapshot_or_with_none_is_refused(
    client: HttpClient, flights: Table, schema_id: int
) -> None:
    flights.alter(RenameColumn(path=("delay",), name="late"))
    add(flights, KEYS[:1], delay=3, column="late")
    fields = orjson.loads(decode_token(page(client, SCAN, {"limit": 1})["next_page_token"]))
    fields[5] = schema_id  # in that of 0 `late` has a name that a mask of it does not have

    refused = client.post(SCAN, json={"page_token": encode_token(orjson.dumps(fields))})

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "page_token"


@pytest.mark.parametrize("place", [6, 7])
@pytest.mark.parametrize("time_ms", [-1, 2**62, 2**64 - 1])
def test_a_token_with_a_time_that_does_not_exist_is_refused(
    client: HttpClient, flights: Table, place: int, time_ms: int
) -> None:
    fields = orjson.loads(decode_token(page(client, SCAN, {"limit": 1})["next_page_token"]))
    fields[place] = time_ms

    refused = client.post(SCAN, json={"page_token": encode_token(orjson.dumps(fields))})

    assert refused.status_code == 422


@pytest.mark.parametrize(
    ("body", "pointer", "field"),
    [
        ({"prefix": {"carrier": "AA"}}, "/prefix", "prefix"),
        ({"prefix": {"year": "x"}}, "/prefix/year", "year"),
        ({"from_key": {"delay": 1}}, "/from_key/delay", "delay"),
        ({"starts_with": "20"}, None, "starts_with"),
        (
            {"prefix": {"year": 2013, "carrier": "AA", "flight": 3}, "starts_with": "a"},
            None,
            "starts_with",
        ),
        ({"columns": ["late"]}, None, "late"),
        ({"status": {"groups": {"sales": "stale"}}}, "/status/groups/sales", "status.groups.sales"),
        ({"status": {"complete": True}}, "/status", "status"),
        ({"limit": 1_001}, "/limit", "limit"),
        ({"snapshot_id": 9}, None, "snapshot_id"),
        ({"page_token": "x"}, None, "page_token"),
        ({"page_token": encode_token(b'["db.flights",{}]')}, None, "page_token"),
    ],
    ids=range(12),
)
def test_what_does_not_fit_the_table_is_refused_with_its_place(
    client: HttpClient, flights: Table, body: dict[str, Any], pointer: str | None, field: str
) -> None:
    answer = client.post(SCAN, json=body)

    assert answer.status_code in (409, 422), answer.text
    if field != "late":
        problems = answer.json()["errors"]
        assert (pointer, field) in [(one["pointer"], one["field"]) for one in problems]


def test_a_token_stands_for_the_other_fields(client: HttpClient, flights: Table) -> None:
    token = page(client, SCAN, {"limit": 1})["next_page_token"]

    answer = client.post(SCAN, json={"page_token": token, "prefix": {"year": 2013}})

    (problem,) = answer.json()["errors"]
    assert (answer.status_code, problem["pointer"]) == (422, "/prefix")
    assert problem["message"] == "the page token stands for this field"


def test_a_page_ends_when_many_rows_were_read_for_it(
    client: HttpClient, flights: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "EXAMINED_MAX", 10)

    found = pages(client, SCAN, 100, {})

    assert keys_of(found) == KEYS
    assert max(page["rows_examined"] for page in found) == 10


def test_a_page_ends_when_its_rows_are_large(
    client: HttpClient, flights: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "PAGE_BYTES", 1)

    found = pages(client, SCAN, 5, {})

    assert keys_of(found) == KEYS
    assert len(found) > 3


def given_orders(client: HttpClient, catalog: Catalog) -> None:
    """Create four orders: sold, sold long ago, sold and shipped, and only shipped."""
    rules = {"staleness": {"groups": {"sales": 60}}, "completeness": {"groups": ["sales"]}}
    client.put("/v1/tables/shop/orders", json=ORDERS | rules).raise_for_status()
    write_sale(catalog, id=1)
    write_sale(catalog, id=2, at=START - timedelta(seconds=61))
    write_sale(catalog, id=3)
    for number in (3, 4):
        write(
            catalog,
            id=number,
            region="eu",
            carrier="DHL",
            shipping__partition=0,
            shipping__offset=4,
        )


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        ({"groups": {"shipping": "absent"}}, [1, 2]),
        ({"groups": {"sales": "stale"}}, [2]),
        ({"groups": {"sales": ["present", "stale"]}}, [1, 2, 3]),
        ({"groups": {"sales": "present", "shipping": "present"}}, [3]),
        ({"complete": True}, [1, 2, 3]),
        ({"complete": False}, [4]),
        ({"groups": {"sales": []}}, []),
        ({}, [1, 2, 3, 4]),
    ],
    ids=range(8),
)
def test_rows_are_chosen_by_their_status(
    client: HttpClient, catalog: Catalog, status: dict[str, Any], wanted: list[int]
) -> None:
    given_orders(client, catalog)

    found = pages(client, ORDERS_SCAN, 1, {"status": status, "columns": ["id"]})

    assert [row["id"] for page in found for row in page["rows"]] == wanted
    assert sum(page["rows_examined"] for page in found) == 4


def test_ages_are_measured_when_the_first_page_is_read(
    client: HttpClient, catalog: Catalog, clock: ManualClock
) -> None:
    given_orders(client, catalog)
    first = page(client, ORDERS_SCAN, {"status": {"groups": {"sales": "present"}}, "limit": 1})
    clock.advance(ms=61_000)

    second = page(client, ORDERS_SCAN, {"page_token": first["next_page_token"]})

    assert [row["id"] for row in (*first["rows"], *second["rows"])] == [1, 3]


def test_a_table_without_snapshots_has_an_empty_page(shop: HttpClient) -> None:
    found = page(shop, ORDERS_SCAN, {})

    assert (found["rows"], found["next_page_token"]) == ([], None)
    assert found["snapshot"]["id"] is None


def test_integers_are_text_on_request(client: HttpClient, flights: Table) -> None:
    found = page(client, SCAN, {"limit": 3, "integers": "text"})

    assert [row["flight"] for row in found["rows"]] == ["-5", "3", "10000000000"]
    assert found["rows"][0]["year"] == 2012


def test_a_page_is_an_arrow_stream_on_request(client: HttpClient, flights: Table) -> None:
    body = {"limit": 4, "columns": ["delay", "flight"]}
    answer = client.post(SCAN, json=body, headers={"accept": "application/vnd.apache.arrow.stream"})

    assert answer.headers["vary"] == "accept"
    with pa.ipc.open_stream(answer.content) as stream:
        rows = stream.read_all()
    assert rows.schema.names == ["delay", "flight"]
    assert rows.schema.field("delay").type == pa.int32()
    assert rows.num_rows == 4
    token = pa.scalar(rows.schema.metadata[b"next_page_token"]).as_py()
    following = page(client, SCAN, {"page_token": token.decode().strip('"')})
    assert len(following["rows"]) == 32
