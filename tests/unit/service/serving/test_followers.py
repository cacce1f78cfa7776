"""Tables in use are followed: requests are answered without storage, and new snapshots are served soon."""

import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO, StorageUnavailable, Table
from braid.service.app import create_app
from braid.service.braid_app import BraidApp
from braid.service.serving.follower import Follower
from braid.service.settings import ServiceSettings
from tests.support.waiting import wait_until
from tests.unit.service.http_client import HttpClient

FOLLOW_MS = 5
ROWS = "/v1/tables/shop/parcels/rows"
SPEC = {
    "columns": [{"name": "id", "type": "BIGINT"}, {"name": "paid", "type": "INT"}],
    "primary_key": ["id"],
    "merge_engine": "deduplicate",
}


_PLAIN = ("is_off", "fails_once", "opened_by_follower", "opened_by_copies", "callers", "clock")


class Storage(MemoryFileIO):
    """Storage that can be switched off, and counts its calls by thread."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock=clock)
        self.is_off = False
        self.fails_once = False
        self.opened_by_follower = threading.Event()
        self.opened_by_follower.set()
        self.opened_by_copies = threading.Event()
        self.opened_by_copies.set()
        self.callers: set[str] = set()

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or name in _PLAIN or not callable(found):
            return found
        if self.is_off:
            message = "storage is switched off"
            raise StorageUnavailable(message)
        caller = threading.current_thread().name
        self.callers.add(caller)
        if caller.startswith("follow ") and self.fails_once:
            self.fails_once = False
            message = "nobody expects this"
            raise ValueError(message)
        if caller.startswith("follow ") and name == "open_input":
            self.opened_by_follower.wait()
        if caller.startswith("copy") and name == "open_input":
            self.opened_by_copies.wait()
        return found


@pytest.fixture
def storage(clock: ManualClock) -> Storage:
    return Storage(clock)


@pytest.fixture
def app(storage: Storage, clock: ManualClock) -> Iterator[BraidApp]:
    settings = ServiceSettings(warehouse="/w", follow_ms=FOLLOW_MS)
    app = create_app(settings, file_io=storage, clock=clock)
    yield app
    app.state.components.followers.close()


@pytest.fixture
def served(app: BraidApp) -> HttpClient:
    client = HttpClient(app)
    client.put("/v1/tables/shop/parcels", json=SPEC).raise_for_status()
    return client


def table_of(storage: Storage, clock: ManualClock) -> Table:
    return Catalog("/w", file_io=storage, clock=clock).table("shop.parcels")


def write(table: Table, **values: Any) -> None:
    table.write_and_commit(pa.table({name: pa.array([value]) for name, value in values.items()}))


def paid(client: HttpClient, number: int = 1) -> Any:
    answer = client.get(f"{ROWS}?id={number}")
    return answer.json()["row"]["paid"] if answer.status_code == 200 else answer.status_code


def test_a_new_snapshot_is_served_without_a_request_that_waits_for_it(
    served: HttpClient, storage: Storage, clock: ManualClock
) -> None:
    table = table_of(storage, clock)
    write(table, id=1, paid=10)
    assert paid(served) == 10

    write(table, id=1, paid=20)

    wait_until(lambda: paid(served) == 20)
    assert served.get(f"{ROWS}?id=1").json()["snapshot"]["id"] == 2


def test_requests_are_answered_without_storage_until_what_is_served_is_too_old(
    served: HttpClient, storage: Storage, clock: ManualClock, app: BraidApp
) -> None:
    write(table_of(storage, clock), id=1, paid=10)
    wait_until(lambda: paid(served) == 10 and is_ready(app))
    storage.is_off = True

    assert paid(served) == 10
    assert paid(served, 2) == 404
    assert served.get(f"{ROWS}/status?id=1").json()["exists"] is True

    clock.advance(ms=3 * FOLLOW_MS + 1)
    refused = served.get(f"{ROWS}?id=1")
    assert (refused.status_code, refused.json()["code"]) == (503, "storage_unavailable")

    storage.is_off = False
    wait_until(lambda: paid(served) == 10)


def test_a_new_snapshot_has_copies_of_the_columns_that_the_one_before_has(
    served: HttpClient, storage: Storage, clock: ManualClock, app: BraidApp
) -> None:
    table = table_of(storage, clock)
    write(table, id=1, paid=10)
    wait_until(lambda: served.get(f"{ROWS}?id=1&columns=id").status_code == 200)
    wait_until(lambda: copied_columns(app) == ("id",))

    write(table, id=1, paid=20)

    wait_until(lambda: snapshot_id(app) == 2)
    assert copied_columns(app) == ("id",)
    assert paid(served) == 20
    wait_until(lambda: copied_columns(app) == ("id", "paid"))
    write(table, id=1, paid=30)
    wait_until(lambda: snapshot_id(app) == 3)
    assert copied_columns(app) == ("id", "paid")


def test_a_snapshot_that_a_request_has_served_first_gets_its_copies_later(
    served: HttpClient, storage: Storage, clock: ManualClock, app: BraidApp
) -> None:
    table = table_of(storage, clock)
    write(table, id=1, paid=10)
    wait_until(lambda: paid(served) == 10 and is_ready(app))
    storage.opened_by_copies.clear()
    write(table, id=1, paid=20)
    answer = served.get(f"{ROWS}?id=9&min_snapshot=2")  # no file may have this key
    assert (answer.status_code, snapshot_id(app)) == (404, 2)
    assert copied_columns(app) == ()

    storage.opened_by_copies.set()

    wait_until(lambda: is_ready(app))


def test_the_first_look_of_a_follower_keeps_the_copies_of_what_a_request_has_found(
    served: HttpClient, storage: Storage, clock: ManualClock, app: BraidApp
) -> None:
    components = app.state.components
    follower = Follower(
        "shop.parcels", tables=components.tables, registrar=components.registrar, clock=clock
    )
    table = table_of(storage, clock)
    write(table, id=1, paid=10)
    follower.look().table.lookup.load(["id", "paid"])
    write(table, id=1, paid=20)

    found = follower.follow()

    assert found.snapshot_id == 2
    assert {"id", "paid"} <= {*found.table.lookup.copied_columns()}


def test_only_the_thread_of_the_follower_reads_storage_for_a_table_in_use(
    served: HttpClient, storage: Storage, clock: ManualClock, app: BraidApp
) -> None:
    write(table_of(storage, clock), id=1, paid=10)
    wait_until(lambda: paid(served) == 10 and is_ready(app))
    storage.callers.clear()

    for _ in range(50):
        assert paid(served) == 10

    assert storage.callers <= {"follow shop.parcels"}


def test_a_dropped_table_is_not_served(
    served: HttpClient, storage: Storage, clock: ManualClock
) -> None:
    write(table_of(storage, clock), id=1, paid=10)
    assert paid(served) == 10

    served.delete("/v1/tables/shop/parcels?confirm=shop.parcels").raise_for_status()

    wait_until(lambda: paid(served) == 404)
    assert served.get(f"{ROWS}?id=1").json()["code"] == "table_not_found"


def test_a_changed_schema_and_declaration_are_served(
    served: HttpClient, storage: Storage, clock: ManualClock
) -> None:
    write(table_of(storage, clock), id=1, paid=10)
    assert paid(served) == 10

    change = {"changes": [{"change": "add_column", "column": "note", "type": "STRING"}]}
    served.post("/v1/tables/shop/parcels/schema-changes", json=change).raise_for_status()

    wait_until(lambda: "note" in served.get(f"{ROWS}?id=1").json()["row"])


def test_a_table_that_nobody_asks_for_is_not_followed_any_more(
    served: HttpClient, storage: Storage, clock: ManualClock
) -> None:
    assert paid(served) == 404
    assert "follow shop.parcels" in thread_names()

    clock.advance(ms=61_000)

    wait_until(lambda: "follow shop.parcels" not in thread_names())


def test_a_table_that_does_not_exist_is_not_followed(served: HttpClient) -> None:
    assert served.get("/v1/tables/shop/other/rows?id=1").status_code == 404
    assert "follow shop.other" not in thread_names()


def test_a_request_waits_for_the_snapshot_that_it_demands(
    served: HttpClient, storage: Storage, clock: ManualClock
) -> None:
    table = table_of(storage, clock)
    write(table, id=1, paid=10)
    assert paid(served) == 10
    later = threading.Timer(0.2, write, args=[table], kwargs={"id": 1, "paid": 20})
    later.start()

    answer = served.get(f"{ROWS}?id=1&min_snapshot=2").json()

    later.join()
    assert (answer["row"]["paid"], answer["snapshot"]["id"]) == (20, 2)


def test_requests_do_not_wait_for_the_copies_of_a_new_snapshot(
    served: HttpClient, storage: Storage, clock: ManualClock, app: BraidApp
) -> None:
    table = table_of(storage, clock)
    write(table, id=1, paid=10)
    wait_until(lambda: paid(served) == 10 and is_ready(app))
    storage.opened_by_follower.clear()
    write(table, id=1, paid=20)

    assert paid(served) == 10  # while it is new enough
    clock.advance(ms=3 * FOLLOW_MS + 1)
    assert paid(served) == 20

    storage.opened_by_follower.set()
    wait_until(lambda: paid(served) == 20 and is_ready(app))


def test_a_follower_outlives_errors_that_nobody_expects(
    served: HttpClient, storage: Storage, clock: ManualClock
) -> None:
    table = table_of(storage, clock)
    write(table, id=1, paid=10)
    assert paid(served) == 10
    storage.fails_once = True
    wait_until(lambda: not storage.fails_once)

    write(table, id=1, paid=20)

    wait_until(lambda: paid(served) == 20)
    assert "follow shop.parcels" in thread_names()


def thread_names() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def is_ready(app: BraidApp) -> bool:
    return copied_columns(app) == ("id", "paid")


def copied_columns(app: BraidApp) -> tuple[str, ...]:
    served = app.state.components.followers.current("shop.parcels")
    return () if served is None else served.table.lookup.copied_columns()


def snapshot_id(app: BraidApp) -> int | None:
    served = app.state.components.followers.current("shop.parcels")
    return None if served is None else served.snapshot_id
