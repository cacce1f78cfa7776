"""Rows by the columns of lookup indexes over HTTP."""

import threading
from typing import Any

import orjson
import pyarrow as pa
import pytest

from braid.lake import Catalog, LookupSettings, ManualClock, MemoryFileIO, Table, ValueLookup
from braid.service.app import create_app
from braid.service.column_mask import NO_MASK
from braid.service.control.index_lookup import IndexNotBuilt
from braid.service.serving.follower import Follower
from braid.service.serving.index_answers import IndexAnswers
from braid.service.settings import ServiceSettings
from tests.support.waiting import PATIENCE_S
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/shop/parcels"
ROWS = f"{TABLE}/indexes/by_order/rows"
SPEC: dict[str, Any] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "order_id", "type": "BIGINT"},
        {"name": "city", "type": "STRING"},
    ],
    "primary_key": ["id"],
    "merge_engine": "deduplicate",
    "lookup_indexes": [
        {"name": "by_order", "columns": ["order_id"]},
        {"name": "by_both", "columns": ["city", "order_id"]},
    ],
}


@pytest.fixture
def parcels(client: HttpClient, catalog: Catalog) -> Table:
    client.put(TABLE, json=SPEC).raise_for_status()
    return catalog.table("shop.parcels")


def write(table: Table, *rows: tuple[int, int | None, str | None]) -> None:
    ids, orders, cities = zip(*rows, strict=True)
    columns = {"id": pa.array(ids, pa.int64()), "order_id": pa.array(orders, pa.int64())}
    table.write_and_commit(pa.table({**columns, "city": pa.array(cities, pa.string())}))


def test_rows_are_found_by_their_present_values(client: HttpClient, parcels: Table) -> None:
    write(parcels, (1, 70, "Ulm"), (2, 70, "Graz"), (3, None, "Ulm"))
    write(parcels, (2, 71, "Graz"))

    answer = client.get(f"{ROWS}?order_id=70").json()

    assert answer["rows"] == [{"id": 1, "order_id": 70, "city": "Ulm"}]
    assert answer["snapshot"]["id"] == 2
    assert client.get(f"{ROWS}?order_id=0").json()["rows"] == []
    both = f"{TABLE}/indexes/by_both/rows?city=Graz&order_id=71&columns=id"
    assert client.get(both).json()["rows"] == [{"id": 2}]


def test_pages_have_every_row_once(client: HttpClient, parcels: Table) -> None:
    write(parcels, *((number, number % 2, "Ulm") for number in range(25)))
    found: list[int] = []
    token: str | None = ""
    while token is not None:
        page = client.get(f"{ROWS}?order_id=1&page_size=5{token and f'&page_token={token}'}").json()
        assert len(page["rows"]) <= 5
        found += [row["id"] for row in page["rows"]]
        token = page["next_page_token"]

    assert sorted(found) == list(range(1, 25, 2))


def test_a_token_is_of_its_values_alone(client: HttpClient, parcels: Table) -> None:
    write(parcels, *((number, number % 2, "Ulm") for number in range(25)))
    token = client.get(f"{ROWS}?order_id=1&page_size=5").json()["next_page_token"]

    other = client.get(f"{ROWS}?order_id=0&page_token={token}")

    assert other.status_code == 422
    assert [error["field"] for error in other.json()["errors"]] == ["page_token"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "order_id"),
        ("order_id=x", "order_id"),
        ("order_id=1&order_id=2", "order_id"),
        ("order_id=1&id=2", "id"),
        ("order_id=1&columns=sum", "columns"),
        ("order_id=1&page_size=0", "page_size"),
        ("order_id=1&page_size=1001", "page_size"),
        ("order_id=1&page_token=x", "page_token"),
        ("order_id=1&page_token=Wy0xXQ", "page_token"),
    ],
)
def test_a_parameter_that_is_not_valid_is_named(
    client: HttpClient, parcels: Table, query: str, field: str
) -> None:
    answer = client.get(f"{ROWS}?{query}")

    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_an_index_that_is_not_declared_is_not_found(client: HttpClient, parcels: Table) -> None:
    answer = client.get(f"{TABLE}/indexes/by_city/rows?city=Ulm")

    assert (answer.status_code, answer.json()["code"]) == (404, "index_not_found")
    assert "by_order" in answer.json()["detail"]


class SlowStorage(MemoryFileIO):
    """Storage whose files the threads that build indexes open only when they may."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock=clock)
        self.may_open = threading.Event()

    def open_input(self, path: str) -> Any:
        if threading.current_thread().name.startswith("lookup index"):
            self.may_open.wait()
        return super().open_input(path)


def test_the_progress_of_an_index_that_is_being_built_is_told(clock: ManualClock) -> None:
    storage = SlowStorage(clock)
    catalog = Catalog("/w", file_io=storage, clock=clock)
    app = create_app(ServiceSettings(warehouse="/w"), catalog=catalog, file_io=storage, clock=clock)
    HttpClient(app).put(TABLE, json=SPEC).raise_for_status()
    table = catalog.table("shop.parcels")
    write(table, (1, 70, "Ulm"))
    write(table, (2, 70, "Ulm"))
    hasty = IndexAnswers(app.state.components.followers, wait_s=0)

    with pytest.raises(IndexNotBuilt, match="by_order is being built: 0 of 2 files are indexed"):
        hasty.rows("shop.parcels", "by_order", b"order_id=70", mask=NO_MASK)

    storage.may_open.set()
    answer = IndexAnswers(app.state.components.followers, wait_s=PATIENCE_S)
    body = answer.rows("shop.parcels", "by_order", b"order_id=70", mask=NO_MASK)
    assert len(orjson.loads(body)["rows"]) == 2


def test_an_index_without_room_says_so(
    client: HttpClient, parcels: Table, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    write(parcels, (1, 70, "Ulm"))
    small = LookupSettings(max_disk_bytes=0, max_memory_bytes=0)
    catalog = Catalog("/w", file_io=file_io, clock=clock, lookups=small)
    settings = ServiceSettings(warehouse="/w")
    app = create_app(settings, catalog=catalog, file_io=file_io, clock=clock)

    answer = HttpClient(app).get(f"{ROWS}?order_id=70")

    assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
    assert "has no room" in answer.json()["detail"]
    assert int(answer.headers["retry-after"]) > 0


def test_indexes_are_changed_with_the_declaration(client: HttpClient, parcels: Table) -> None:
    write(parcels, (1, 70, "Ulm"))
    changed = {**SPEC, "lookup_indexes": [{"name": "by_city", "columns": ["city"]}]}

    assert client.put(TABLE, json=changed).status_code == 200
    rows = client.get(f"{TABLE}/indexes/by_city/rows?city=Ulm").json()["rows"]
    assert [row["id"] for row in rows] == [1]
    assert client.get(f"{ROWS}?order_id=70").status_code == 404


def test_an_indexed_column_is_renamed_and_not_dropped(client: HttpClient, parcels: Table) -> None:
    write(parcels, (1, 70, "Ulm"))
    rename = {"change": "rename_column", "column": "order_id", "to": "order"}
    drop = {"change": "drop_column", "column": "order"}

    assert client.post(f"{TABLE}/schema-changes", json={"changes": [rename]}).is_success
    refused = client.post(f"{TABLE}/schema-changes", json={"changes": [drop]})

    assert client.get(f"{ROWS}?order=70").json()["rows"][0]["order"] == 70
    assert refused.status_code == 422
    assert "lookup indexes have the column" in refused.json()["errors"][0]["message"]


def test_the_follower_indexes_new_files_before_it_serves_them(
    file_io: MemoryFileIO, clock: ManualClock, catalog: Catalog
) -> None:
    app = create_app(ServiceSettings(warehouse="/w"), catalog=catalog, file_io=file_io, clock=clock)
    client = HttpClient(app)
    client.put(TABLE, json=SPEC).raise_for_status()
    write(catalog.table("shop.parcels"), (1, 70, "Ulm"))
    components = app.state.components
    follower = Follower(
        "shop.parcels", tables=components.tables, registrar=components.registrar, clock=clock
    )
    first = follower.follow().table
    by_order, by_both = (
        index.columns
        for index in first.document.table.lookup_indexes  # type: ignore[union-attr]
    )
    assert ValueLookup(first.lookup, by_order).build()

    write(catalog.table("shop.parcels"), (2, 70, "Graz"))
    second = follower.follow().table

    assert ValueLookup(second.lookup, by_order).is_complete()
    assert not ValueLookup(second.lookup, by_both).is_complete()
