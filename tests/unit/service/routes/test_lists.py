"""Lists of tables, streams, runners and clusters over HTTP."""

from typing import Any

import orjson
import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.lake.merge.functions.registry import FUNCTIONS
from braid.registry.store.paths import table_directory
from braid.registry.store.progress import ProgressStore
from braid.schemas import (
    OPTION_OF_FIELD,
    RunnerProgress,
    StreamProgress,
    StreamState,
    TableProgress,
)
from braid.service.app import create_app
from braid.service.control.page_token import decode_token, encode_token
from braid.service.settings import ServiceSettings
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

STREAMS = ("sales", "payments", "shipping")


@pytest.fixture
def fleet(client: HttpClient, file_io: MemoryFileIO, clock: ManualClock) -> HttpClient:
    """Three tables with streams in several states, as a runner reports them, and one table without streams."""
    for name, labels in (("a", {"team": "x"}), ("b", {"team": "y"}), ("c", {}), ("d", {})):
        table = f"/v1/tables/shop/{name}"
        client.put(table, json=ORDERS | {"labels": labels, "owner": name}).raise_for_status()
        for stream in () if name == "d" else STREAMS:
            body = {"topic": f"{name}.{stream}", "labels": {"kind": stream}}
            client.put(f"{table}/streams/{stream}", json=body).raise_for_status()
    client.post("/v1/tables/shop/c/streams/sales/stop").raise_for_status()
    now_ms = clock.now_ms()
    running = {
        f"shop.{name}/{stream}": StreamProgress(
            state=StreamState.RUNNING,
            end_offsets={0: 10 * table + number},
            offsets={0: 0},
            lag_seconds=float(table + number),
            lag_records=10 * table + number,
            last_commit_ms=now_ms - 1_000,
        )
        for table, name in enumerate("ab", start=1)
        for number, stream in enumerate(STREAMS)
    }
    failed = StreamProgress(state=StreamState.FAILED, trace="no", last_commit_ms=now_ms - 60_000)
    ProgressStore(file_io, "/w", clock).write(
        RunnerProgress(
            runner="r1",
            started_ms=now_ms - 5_000,
            updated_ms=now_ms,
            streams=running | {"shop.c/payments": failed},
            tables={"shop.a": TableProgress(most_runs=7)},
        )
    )
    clock.advance(ms=2_000)  # so that the reports are read again
    return client


def names(client: HttpClient, query: str, kind: str = "streams") -> list[str]:
    """Return the names of all entries, from pages of two entries."""
    found: list[str] = []
    token = ""
    for _ in range(20):
        answer = client.get(f"/v1/{kind}?page_size=2{query}{token}")
        assert answer.status_code == 200, answer.json()
        page = answer.json()
        assert len(page[kind]) <= 2
        found += [f"{one['table']}.{one['name']}" if kind == "streams" else one["name"] for one in page[kind]]  # fmt: skip
        if page["next_page_token"] is None:
            return found
        token = f"&page_token={page['next_page_token']}"
    raise AssertionError(found)


ALL = [f"{table}.{stream}" for table in "abc" for stream in sorted(STREAMS)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ALL),
        ("&sort=-name", ALL[::-1]),
        ("&table=shop.b", ALL[3:6]),
        ("&table=*.a&name_prefix=s", ["a.sales", "a.shipping"]),
        ("&label=kind=sales", ["a.sales", "b.sales", "c.sales"]),
        ("&label=kind&label=kind=payments&table=shop.c", ["c.payments"]),
        ("&label=none", []),
        ("&owner=a", []),
        ("&state=FAILED&state=STOPPED", ["c.payments", "c.sales"]),
        ("&sort=-lag&table=shop.*&state=RUNNING", ["b.shipping", "b.payments", "b.sales", "a.shipping", "a.payments", "a.sales"]),
        ("&sort=lag&name_prefix=sales", ["a.sales", "b.sales", "c.sales"]),
        ("&sort=-lag&name_prefix=sales", ["b.sales", "a.sales", "c.sales"]),
        ("&sort=-freshness&name_prefix=payments", ["c.payments", "b.payments", "a.payments"]),
        ("&sort=state&table=shop.c", ["c.payments", "c.shipping", "c.sales"]),
    ],
    ids=str,
)  # fmt: skip
def test_streams_are_chosen_and_ordered(fleet: HttpClient, query: str, expected: list[str]) -> None:
    assert names(fleet, query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["a", "b", "c", "d"]),
        ("&sort=-name", ["d", "c", "b", "a"]),
        ("&label=team", ["a", "b"]),
        ("&owner=c", ["c"]),
        ("&state=FAILED", ["c"]),
        ("&sort=-lag", ["b", "a", "c", "d"]),
        ("&sort=-freshness", ["c", "b", "a", "d"]),
        ("&sort=state", ["c", "a", "b", "d"]),
        ("&expand=status&name_prefix=d", ["d"]),
    ],
    ids=str,
)
def test_tables_are_chosen_and_ordered(fleet: HttpClient, query: str, expected: list[str]) -> None:
    assert names(fleet, query, "tables") == expected


def test_entries_have_their_status_on_request(fleet: HttpClient) -> None:
    (plain, *_) = fleet.get("/v1/tables").json()["tables"]
    tables = fleet.get("/v1/tables?expand=status").json()["tables"]
    (stream,) = fleet.get("/v1/streams?expand=status&table=shop.a&name_prefix=shi").json()["streams"]  # fmt: skip

    assert plain == {"database": "shop", "name": "a"}
    first: dict[str, Any] = tables[0]
    assert (first["labels"], first["owner"], first["streams"]) == ({"team": "x"}, "a", 3)
    assert first["status"]["states"] == {"RUNNING": 3}
    assert (first["status"]["lag_records"], first["status"]["lag_seconds"]) == (33, 3.0)
    assert (first["status"]["most_runs"], first["status"]["compaction_trigger"]) == (7, 5)
    assert tables[3]["status"]["states"] == {}
    assert (stream["state"], stream["lag_records"], stream["topic"]) == (
        "RUNNING",
        12,
        "a.shipping",
    )
    assert stream["status"]["end_offsets"] == {"0": 12}
    assert "status" not in fleet.get("/v1/streams").json()["streams"][0]


def test_pages_hold_over_changes_in_between(fleet: HttpClient) -> None:
    first = fleet.get("/v1/tables?page_size=2").json()
    fleet.put("/v1/tables/shop/aa", json=ORDERS).raise_for_status()
    fleet.delete("/v1/tables/shop/d?confirm=d").raise_for_status()

    second = fleet.get(f"/v1/tables?page_size=2&page_token={first['next_page_token']}").json()

    assert [one["name"] for one in second["tables"]] == ["c"]
    assert second["next_page_token"] is None


@pytest.mark.parametrize(
    ("query", "field", "hint"),
    [
        ("page_token=x", "page_token", "of the page before"),
        ("page_token=%21", "page_token", "of the page before"),
        ("sort=size", "sort", "'lag'"),
        ("state=BROKEN", "state", "'FAILED'"),
        ("table=a/b", "table", ""),
        ("expand=all", "expand", "'status'"),
        ("page_size=0", "page_size", "at least 1"),
        ("label=", "label", ""),
    ],
)
@pytest.mark.parametrize("kind", ["tables", "streams"])
def test_what_a_list_cannot_be_asked_is_refused(
    fleet: HttpClient, kind: str, query: str, field: str, hint: str
) -> None:
    answer = fleet.get(f"/v1/{kind}?{query}")

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    problem = answer.json()["errors"][0]
    assert problem["field"] in (field, "0")
    assert hint in problem["hint"]


def test_a_token_belongs_to_its_request(fleet: HttpClient) -> None:
    token = fleet.get("/v1/streams?page_size=1").json()["next_page_token"]

    answer = fleet.get(f"/v1/streams?sort=-lag&page_token={token}")

    assert answer.status_code == 422
    assert "other conditions or another order" in answer.json()["errors"][0]["message"]


@pytest.mark.parametrize(
    ("kind", "query", "value"),
    [
        ("tables", "", 7),
        ("tables", "", None),
        ("streams", "", 1.5),
        ("tables", "&sort=lag", "text"),
        ("streams", "&sort=-freshness", "text"),
        ("streams", "&sort=state", []),
    ],
)
def test_a_forged_token_is_refused(fleet: HttpClient, kind: str, query: str, value: Any) -> None:
    page = fleet.get(f"/v1/{kind}?page_size=1{query}").json()
    digest, _, name = orjson.loads(decode_token(page["next_page_token"]))
    forged = encode_token(orjson.dumps([digest, value, name]))

    answer = fleet.get(f"/v1/{kind}?page_size=1{query}&page_token={forged}")

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "page_token")


@pytest.mark.parametrize("kind", ["tables", "streams", "operations"])
def test_a_token_of_many_brackets_is_refused(fleet: HttpClient, kind: str) -> None:
    forged = encode_token(b"[" * 2_900)

    answer = fleet.get(f"/v1/{kind}?page_token={forged}")

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "page_token")


def test_a_table_that_cannot_be_read_does_not_hide_the_others(
    fleet: HttpClient, file_io: MemoryFileIO
) -> None:
    newest = max(one.path for one in file_io.list(table_directory("/w", "shop.b")))
    file_io.overwrite(newest, b"{")

    found = fleet.get("/v1/tables?expand=status").json()["tables"]

    assert [one["name"] for one in found] == ["a", "b", "c", "d"]
    assert "shop.b" in found[1]["error"]
    assert names(fleet, "") == [*ALL[:3], *ALL[6:]]


def test_runners_are_listed_with_what_they_have(fleet: HttpClient, clock: ManualClock) -> None:
    (alive,) = fleet.get("/v1/runners").json()["runners"]
    clock.advance(ms=60_000)
    (gone,) = fleet.get("/v1/runners").json()["runners"]

    assert (alive["name"], alive["alive"], gone["alive"]) == ("r1", True, False)
    assert alive["streams"]["shop.c/payments"] == "FAILED"
    assert alive["tables"] == ["shop.a"]


def test_the_api_says_what_the_service_can_do(fleet: HttpClient) -> None:
    found = fleet.get("/v1").json()

    assert (found["api"], found["pushes"]) == ("1", False)
    assert {"json", "avro", "debezium"} <= set(found["formats"])
    assert "partial-update" in found["merge_engines"]
    assert "lookup_indexes" in found["features"]
    assert found["version"] == fleet.get("/health").json()["version"]
    everything = {"scope": "admin", "tables": ["*"]}
    assert found["client"] == {"name": "anonymous", "grants": [everything]}


def test_the_api_tells_the_bounds_of_requests(fleet: HttpClient) -> None:
    limits = fleet.get("/v1").json()["limits"]
    keys = [{"id": number, "region": "eu"} for number in range(limits["keys"] + 1)]
    too_large = b" " * (limits["body_bytes"] + 1)

    many = fleet.post("/v1/tables/shop/a/rows/lookup", json={"keys": keys})
    large = fleet.put("/v1/tables/shop/z", content=too_large)

    assert (many.status_code, large.status_code) == (413, 413)
    assert fleet.get(f"/v1/tables?page_size={limits['page_size']}").status_code == 200
    assert fleet.get(f"/v1/tables?page_size={limits['page_size'] + 1}").status_code == 422


def test_every_aggregate_function_is_listed_with_its_options(fleet: HttpClient) -> None:
    found = fleet.get("/v1/aggregations").json()

    by_name = {one["name"]: one for one in found["functions"]}
    assert by_name.keys() >= FUNCTIONS.keys()
    assert found["unreadable"] == []
    assert (by_name["sum"]["order_free"], by_name["listagg"]["order_free"]) == (True, False)
    assert by_name["sum"]["retract"] is not None
    fields = {option["field"] for one in found["functions"] for option in one["options"]}
    assert fields == OPTION_OF_FIELD.keys()
    delimiter = next(one for one in by_name["listagg"]["options"] if one["field"] == "delimiter")
    assert delimiter["option"] == "list-agg-delimiter"


def test_clusters_are_named_without_addresses(fleet: HttpClient) -> None:
    assert fleet.get("/v1/clusters").json() == {"clusters": [], "schema_registries": []}


def test_a_change_through_one_service_is_in_the_lists_of_every_other(
    fleet: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    app = create_app(ServiceSettings(warehouse="/w"), file_io=file_io, clock=clock)
    other = HttpClient(app)
    assert names(other, "") == ALL

    fleet.post("/v1/tables/shop/a/streams/sales/stop").raise_for_status()
    listed = other.get("/v1/streams?table=shop.a").json()["streams"]
    fleet.delete("/v1/tables/shop/a/streams/sales").raise_for_status()

    assert [one["name"] for one in listed if one["desired_state"] == "STOPPED"] == ["sales"]
    assert names(other, "") == names(fleet, "") == [one for one in ALL if one != "a.sales"]
