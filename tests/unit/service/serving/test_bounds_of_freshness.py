"""A follower that is paused never answers a request that names a bound which it does not meet, on any route."""

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from braid.lake import ManualClock, MemoryFileIO, StorageUnavailable
from braid.service.control.read_after import PushedPlace, ReadAfter, key_digest, to_token
from braid.service.limits import RequestLimits
from tests.support.fed_table import TABLE, FedTable, Message
from tests.support.waiting import wait_until

DECLARATION = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "paid", "type": "INT"},
        {"name": "version", "type": "INT"},
    ],
    "primary_key": ["id"],
    "sequence_groups": [{"name": "sales", "ordering": ["version"], "columns": ["paid"]}],
    "views": [{"name": "plain", "columns": [{"column": "paid"}]}],
}
STREAMS = {"sales": {"topic": "sales"}}
READS = [
    "GET rows",
    "GET rows/status",
    "GET rows/explain",
    "GET rows/certificate",
    "GET rows/outcomes",
    "GET views/{view}/rows",
]
BODIES: dict[str, dict[str, Any]] = {
    "POST rows/lookup": {"keys": [{"id": 7}]},
    "POST rows/scan": {},
    "POST rows/explain": {"key": {"id": 7}, "without": {"stream": "sales"}},
    "POST views/{view}/lookup": {"keys": [{"id": 7}]},
}
FOLLOW_MS = 5


class Storage(MemoryFileIO):
    """Storage that lets followers wait, or is switched off for everybody."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock=clock)
        self.serves_followers = threading.Event()
        self.serves_followers.set()
        self.waiting: set[str] = set()
        self.is_off = False

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or not callable(found):
            return found
        caller = threading.current_thread().name
        if caller.startswith("follow "):
            if not self.serves_followers.is_set():
                self.waiting.add(caller)
            self.serves_followers.wait()
        elif self.is_off:
            message = "storage is switched off"
            raise StorageUnavailable(message)
        return found


@pytest.fixture
def bed() -> Iterator[FedTable]:
    """A table with the snapshot that is served, and a paused follower."""
    found = FedTable(
        declaration=DECLARATION,
        streams=STREAMS,
        limits=RequestLimits(snapshot_wait_seconds=0.1, letter_wait_seconds=0.1),
        follow_ms=FOLLOW_MS,
        storage=Storage,
    )
    feed(found)
    followers = found.client.app.state.components.followers
    wait_until(lambda: is_ready(found))
    storage(found).serves_followers.clear()
    wait_until(lambda: bool(storage(found).waiting))
    yield found
    storage(found).serves_followers.set()
    followers.close()


def storage(bed: FedTable) -> Storage:
    assert isinstance(bed.file_io, Storage)
    return bed.file_io


def is_ready(bed: FedTable) -> bool:
    bed.client.get(f"{TABLE}/rows?id=7")
    served = bed.client.app.state.components.followers.current("shop.orders")
    return served is not None and served.table.lookup.is_cached()


def feed(bed: FedTable) -> int:
    """Commit a record; return its offset."""
    [offset] = bed.feed("sales", Message(value={"id": 7, "paid": 1, "version": 1}))
    return offset


def newest_id(bed: FedTable) -> int:
    snapshot = bed.table.latest_snapshot()
    assert snapshot is not None
    return snapshot.id


def token(bed: FedTable, offset: int) -> str:
    key = key_digest(bed.table.schema, {"id": 7})
    records = {PushedPlace(0, offset): key}
    return to_token(
        ReadAfter(table="shop.orders", stream="sales", topic_id="sales", records=records)
    )


def send(bed: FedTable, route: str, bounds: dict[str, Any]) -> httpx.Response:
    path = f"{TABLE}/{route.split(' ')[1].format(view='plain')}"
    if route in BODIES:
        return bed.client.post(path, json={**BODIES[route], **bounds})
    return bed.client.get(path, params={"id": 7, **bounds})


def id_of(answer: httpx.Response) -> int:
    assert answer.status_code == 200, answer.text
    found = answer.json()["snapshot"]["id"]
    assert isinstance(found, int)
    return found


def test_these_are_all_routes_with_bounds_of_freshness(bed: FedTable) -> None:
    document = bed.client.get("/v1/openapi.json").json()
    schemas = document["components"]["schemas"]
    prefix = "/v1/tables/{database}/{table}/"

    def takes_bounds(operation: dict[str, Any]) -> bool:
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        model = content.get("schema", {}).get("$ref", "").rsplit("/", 1)[-1]
        fields = schemas.get(model, {}).get("properties", {})
        named = {one["name"] for one in operation.get("parameters", ())}
        return "`min_snapshot` is" in operation.get("description", "") or "min_snapshot" in (
            fields.keys() | named
        )

    found = {
        f"{method.upper()} {path.removeprefix(prefix)}"
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if takes_bounds(operation)
    }
    assert found == {*READS, *BODIES}


@pytest.mark.parametrize("route", [*READS, *BODIES])
def test_a_paused_follower_answers_no_request_whose_bound_it_does_not_meet(
    bed: FedTable, route: str
) -> None:
    served = newest_id(bed)
    # The table has newer snapshots, and the follower does not see them.
    assert id_of(send(bed, "GET rows", {})) == served
    for bound in ("min_snapshot", "max_staleness_ms", "read_after"):
        offset = feed(bed)
        bed.clock.advance(ms=1)
        newest = newest_id(bed)
        assert id_of(send(bed, "GET rows", {})) < newest
        values = {
            "min_snapshot": newest,
            "max_staleness_ms": 0,
            "read_after": token(bed, offset),
        }
        given = {bound: values[bound]}
        if route == "GET rows/outcomes":
            given["read_after"] = values["read_after"]

        assert id_of(send(bed, route, given)) == newest


@pytest.mark.parametrize("route", [*READS, *BODIES])
def test_a_bound_that_nothing_meets_is_refused(bed: FedTable, route: str) -> None:
    newest, offset = newest_id(bed), feed(bed)
    unmet = {"min_snapshot": newest + 2, "read_after": token(bed, offset + 1)}
    for bound, value in unmet.items():
        given = {"read_after": token(bed, offset), bound: value}

        refused = send(bed, route, given)

        assert (refused.status_code, refused.json()["code"]) == (409, "snapshot_not_reached")
        assert refused.headers["retry-after"] == "1"
    bed.clock.advance(ms=1)
    storage(bed).is_off = True
    refused = send(bed, route, {"read_after": token(bed, offset), "max_staleness_ms": 0})
    storage(bed).is_off = False
    assert (refused.status_code, refused.json()["code"]) == (503, "storage_unavailable")


HIDING = {
    **DECLARATION,
    "sequence_groups": [],
    "merge_engine": "deduplicate",
    "options": {"deletion-vectors.enabled": "true"},
}


SHOWN = {
    "GET rows/status": '"exists":true',
    "GET rows/outcomes": '"outcome":"won"',
    "POST rows/explain": '"paid":{"before":1',
}


@pytest.mark.parametrize("route", [*READS, *BODIES])
def test_pushed_records_are_read_although_the_table_hides_them(route: str) -> None:
    bed = FedTable(
        declaration=HIDING, streams={"sales": {"topic": "sales", "partitioned_by_key": True}}
    )
    after = {"read_after": token(bed, feed(bed))}
    hidden = send(bed, "GET rows", {})
    assert (hidden.status_code, hidden.json()["snapshot"]["hidden"]["records"]) == (404, 1)

    answer = send(bed, route, after)

    assert answer.status_code == 200, answer.text
    assert "hidden" not in answer.json()["snapshot"]
    assert SHOWN.get(route, '"paid":1') in answer.text
    refused = send(bed, route, {**after, "visibility": "compacted"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "visibility")
