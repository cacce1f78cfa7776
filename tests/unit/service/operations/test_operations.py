"""Long work over HTTP: requested, carried out once whatever dies meanwhile, canceled, listed and removed."""

import random
from collections.abc import Callable
from typing import Any

import orjson
import pyarrow as pa
import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO, StorageUnavailable
from braid.registry.store.operations import FINISHED_MAX, KEPT_MS, OPEN_MAX, OperationStore
from braid.registry.store.remembered_requests import RememberedRequests
from braid.schemas import OperationDocument, OperationState, RescaleRequest
from braid.service.app import create_app
from braid.service.operations.operation_executor import ATTEMPTS_MAX, OperationExecutor
from braid.service.operations.operation_lease import LEASE_MS
from braid.service.operations.operation_pool import Execute, OperationPool
from braid.service.operations.operation_process import ProcessEnded, new_executor
from braid.service.problems.operation_problems import operation_problem
from braid.service.settings import ServiceSettings
from tests.support.faulty_file_io import Died, FaultyFileIO, Moment
from tests.support.table_files import copied
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/shop/events"
NAME = "shop.events"
SPEC: dict[str, Any] = {
    "columns": [{"name": "id", "type": "BIGINT"}, {"name": "value", "type": "STRING"}],
    "primary_key": ["id"],
    "merge_engine": "deduplicate",
    "buckets": 4,
}
COMMITS = 3


def write(catalog: Catalog, *, count: int, value: str) -> None:
    ids = pa.array(range(count), pa.int64())
    catalog.table(NAME).write_and_commit(pa.table({"id": ids, "value": [value] * count}))


@pytest.fixture
def events(client: HttpClient, catalog: Catalog) -> HttpClient:
    """A table of 4 buckets with three runs each."""
    client.put(TABLE, json=SPEC).raise_for_status()
    for number in range(COMMITS):
        write(catalog, count=40 - number, value=f"v{number}")
    return client


def run_due(client: HttpClient) -> None:
    client.app.state.components.operation_pool.run_due()


def begun(client: HttpClient, path: str, **options: Any) -> dict[str, Any]:
    answer = client.post(f"{TABLE}/{path}", **{"json": {}, **options})
    assert answer.status_code == 202, answer.json()
    assert answer.headers["location"] == f"/v1/operations/{answer.json()['id']}"
    assert answer.json()["state"] == "PENDING"
    found: dict[str, Any] = answer.json()
    return found


def done(client: HttpClient, operation: dict[str, Any]) -> dict[str, Any]:
    run_due(client)
    answer = client.get(f"/v1/operations/{operation['id']}")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def rows_of(catalog: Catalog) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = catalog.table(NAME).scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["id"])


def test_a_table_is_compacted(events: HttpClient, catalog: Catalog, clock: ManualClock) -> None:
    before = rows_of(catalog)
    operation = begun(events, "compactions")
    clock.advance(ms=1_000)

    ended = done(events, operation)

    assert (ended["state"], ended["kind"], ended["attempts"]) == ("SUCCEEDED", "compaction", 1)
    assert ended["progress"] == {"done": 4, "total": 4, "unit": "buckets"}
    assert (ended["result"]["buckets"], ended["result"]["files_in"]) == (4, 12)
    assert ended["created_at"] < ended["started_at"] <= ended["finished_at"]
    assert set(catalog.table(NAME).runs_per_bucket().values()) == {1}
    assert rows_of(catalog) == before
    listed = events.get(f"{TABLE}/compactions").json()["compactions"]
    assert {one["commit_user"] for one in listed} == {operation["id"]}
    assert sum(one["files_in"] for one in listed) == 12


def test_only_the_named_buckets_are_compacted(events: HttpClient, catalog: Catalog) -> None:
    ended = done(events, begun(events, "compactions", json={"buckets": [1, 3]}))

    assert ended["result"]["buckets"] == 2
    runs = {bucket: runs for (_, bucket), runs in catalog.table(NAME).runs_per_bucket().items()}
    assert runs == {0: 3, 1: 1, 2: 3, 3: 1}


def test_what_the_table_does_not_have_is_the_problem(events: HttpClient) -> None:
    body = {"buckets": [1, 9], "partitions": ["day=1"]}

    ended = done(events, begun(events, "compactions", json=body))

    assert (ended["state"], ended["problem"]["code"]) == ("FAILED", "invalid_request")
    fields = [(one["field"], one["value"]) for one in ended["problem"]["errors"]]
    assert fields == [("partitions[0]", "day=1"), ("buckets[1]", "9")]


def test_snapshots_expire_only_if_that_is_told(events: HttpClient) -> None:
    body = {"retain_min": 1, "retain_max": 1}

    dry = done(events, begun(events, "snapshots/expire", json=body))
    kept = [one["id"] for one in events.get(f"{TABLE}/snapshots").json()["snapshots"]]
    real = done(events, begun(events, "snapshots/expire", json={**body, "dry_run": False}))

    assert dry["result"]["snapshots"] == real["result"]["snapshots"] == [1, 2]
    assert (dry["result"]["dry_run"], real["result"]["dry_run"]) == (True, False)
    assert kept == [3, 2, 1]
    assert [one["id"] for one in events.get(f"{TABLE}/snapshots").json()["snapshots"]] == [3]
    gone = events.get(f"{TABLE}/snapshots/1")
    assert (gone.status_code, gone.json()["code"]) == (404, "snapshot_not_found")


def test_orphan_files_are_deleted_only_if_that_is_told(
    events: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    orphan = "/w/shop.db/events/bucket-0/data-orphan-0.parquet"
    file_io.write_new(orphan, b"1234")
    clock.advance(ms=24 * 3_600_000 + 1)

    dry = done(events, begun(events, "orphan-files/clean"))
    was_there = file_io.exists(orphan)
    real = done(events, begun(events, "orphan-files/clean", json={"dry_run": False}))

    assert dry["result"]["files"] == real["result"]["files"]
    assert (real["result"]["files_total"], real["result"]["bytes_total"]) == (1, 4)
    assert real["result"]["files"][0]["path"] == "bucket-0/data-orphan-0.parquet"
    assert (was_there, file_io.exists(orphan)) == (True, False)


def test_a_rescaled_table_is_declared_with_its_buckets(
    events: HttpClient, catalog: Catalog
) -> None:
    before = rows_of(catalog)

    ended = done(events, begun(events, "rescale", json={"buckets": 2}))

    assert (ended["state"], ended["result"]["buckets"]) == ("SUCCEEDED", 2)
    assert events.get(TABLE).json()["spec"]["buckets"] == 2
    assert rows_of(catalog) == before


def test_a_tag_outlives_its_snapshot_until_it_is_deleted(events: HttpClient) -> None:
    made = events.put(f"{TABLE}/tags/first", json={"snapshot_id": 1, "retained_seconds": 3600})
    again = events.put(f"{TABLE}/tags/first", json={"snapshot_id": 1})
    other = events.put(f"{TABLE}/tags/first", json={"snapshot_id": 2})
    named = events.get(f"{TABLE}/snapshots/1").json()["tags"]
    done(
        events,
        begun(
            events, "snapshots/expire", json={"retain_max": 1, "retain_min": 1, "dry_run": False}
        ),
    )
    kept = events.get(f"{TABLE}/tags/first")

    deletion = events.delete(f"{TABLE}/tags/first")
    ended = done(events, deletion.json())

    assert (made.status_code, again.status_code, other.status_code) == (201, 200, 422)
    assert made.json() == again.json() == kept.json()
    assert (made.json()["snapshot_id"], made.json()["retained_seconds"]) == (1, 3600)
    assert other.json()["errors"][0]["message"] == "the tag is of snapshot 1"
    assert named == ["first"]
    assert (deletion.status_code, ended["state"]) == (202, "SUCCEEDED")
    assert ended["result"]["deleted_files"] > 0
    assert events.get(f"{TABLE}/tags").json() == {"tags": []}
    assert events.delete(f"{TABLE}/tags/first").json()["code"] == "tag_not_found"


def test_a_tag_that_is_made_after_a_deletion_was_requested_stays(
    events: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    events.put(f"{TABLE}/tags/daily", json={"snapshot_id": 1}).raise_for_status()
    late, first = (events.delete(f"{TABLE}/tags/daily").json() for _ in range(2))
    executor_on(file_io, clock).execute(first["id"])
    events.put(f"{TABLE}/tags/daily", json={"snapshot_id": 2}).raise_for_status()

    ended = done(events, late)

    assert (ended["state"], ended["result"]["deleted_files"]) == ("SUCCEEDED", 0)
    assert events.get(f"{TABLE}/tags/daily").json()["snapshot_id"] == 2


def test_a_table_is_rolled_back_once_that_is_confirmed(
    events: HttpClient, catalog: Catalog
) -> None:
    unconfirmed = events.post(f"{TABLE}/rollback", json={"snapshot_id": 1})
    unknown = events.post(f"{TABLE}/rollback?confirm={NAME}", json={"snapshot_id": 9})
    neither = events.post(f"{TABLE}/rollback?confirm={NAME}", json={})

    ended = done(events, begun(events, f"rollback?confirm={NAME}", json={"snapshot_id": 1}))

    assert unconfirmed.json()["errors"][0]["field"] == "confirm"
    assert (unknown.status_code, unknown.json()["code"]) == (404, "snapshot_not_found")
    assert neither.json()["errors"][0]["field"] == "snapshot_id"
    assert (ended["state"], ended["result"]["removed_snapshots"]) == ("SUCCEEDED", [2, 3])
    assert {row["value"] for row in rows_of(catalog)} == {"v0"}


def test_a_table_whose_streams_run_is_not_rolled_back(events: HttpClient) -> None:
    columns = [{"column": "id"}, {"column": "value"}]
    stream = {"topic": "events", "columns": columns}
    events.put(f"{TABLE}/streams/events", json=stream).raise_for_status()

    refused = events.post(f"{TABLE}/rollback?confirm={NAME}", json={"snapshot_id": 1})

    assert (refused.status_code, refused.json()["code"]) == (409, "stream_not_stopped")
    (error,) = events.post(f"{TABLE}/rollback/validate", json={"snapshot_id": 1}).json()["errors"]
    assert "events (desired state RUNNING)" in error["message"]


def test_a_rollback_is_planned(events: HttpClient, catalog: Catalog) -> None:
    events.put(f"{TABLE}/tags/last", json={}).raise_for_status()

    back = events.post(f"{TABLE}/rollback/validate", json={"snapshot_id": 1}).json()
    newest = events.post(f"{TABLE}/rollback/validate", json={"tag": "last"}).json()
    unknown = events.post(f"{TABLE}/rollback/validate", json={"tag": "none"})

    assert back["plan"][:2] == [
        f"takes the table `{NAME}` back to snapshot 1",
        f"the later snapshots, up to {COMMITS}, are lost, with their rows and their tags",
    ]
    assert newest["plan"][1] == "it is the newest snapshot: nothing is lost"
    assert (unknown.status_code, unknown.json()["code"]) == (404, "tag_not_found")
    assert len(rows_of(catalog)) == 40
    assert events.get("/v1/operations").json()["operations"] == []


KINDS = {
    "compactions": {},
    "rescale": {"buckets": 2},
    "snapshots/expire": {"retain_max": 1, "retain_min": 1, "dry_run": False},
    f"rollback?confirm={NAME}": {"snapshot_id": 1},
}


@pytest.mark.parametrize("path", KINDS)
def test_a_process_that_is_killed_is_followed_by_another_and_the_effect_is_there_once(
    events: HttpClient, file_io: MemoryFileIO, clock: ManualClock, path: str
) -> None:
    operation_id = begun(events, path, json=KINDS[path])["id"]
    whole = FaultyFileIO(copied(file_io))
    pool_on(whole, clock).run_due()
    calls = list(whole.calls)
    expected = state_of(whole, clock)
    choose = random.Random(7)
    for number in sorted(choose.sample(range(len(calls)), 12)):
        left = copied(file_io)
        dying = FaultyFileIO(left)
        dying.die_at(number, Moment.BEFORE)
        with pytest.raises(Died):
            pool_on(dying, clock).run_due()
        held = OperationStore(left, "/w", clock)
        pool_on(left, clock).run_due()  # the lease of the other one may be alive
        clock.advance(ms=LEASE_MS)
        pool_on(left, clock).run_due()

        ended = held.get(operation_id)
        assert ended.state is OperationState.SUCCEEDED, (number, ended)
        assert ended.attempt <= 2
        assert held.open_ids() == []
        assert state_of(left, clock) == expected, (number, calls[number])


def executor_on(file_io: FaultyFileIO | MemoryFileIO, clock: ManualClock) -> OperationExecutor:
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    return new_executor(file_io, "/w", catalog, clock=clock, describe=operation_problem)


def pool_on(
    file_io: FaultyFileIO | MemoryFileIO, clock: ManualClock, execute: Execute | None = None
) -> OperationPool:
    """The operations of another process of the service."""
    executor = executor_on(file_io, clock)
    return OperationPool(
        OperationStore(file_io, "/w", clock),
        RememberedRequests(file_io, "/w", clock),
        execute or (lambda operation_id, _: executor.execute(operation_id)),
        workers=0,
        clock=clock,
    )


def state_of(file_io: FaultyFileIO | MemoryFileIO, clock: ManualClock) -> tuple[Any, ...]:
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    table = catalog.table(NAME)
    kept = table.inspect.snapshots().column("kind").to_pylist()
    return (
        rows_of(catalog),
        set(table.runs_per_bucket().values()),
        table.schema.table_options.bucket,
        kept.count("APPEND"),
    )


def test_a_rollback_that_others_have_overtaken_does_not_remove_their_rows(
    events: HttpClient, file_io: MemoryFileIO, clock: ManualClock, catalog: Catalog
) -> None:
    operation_id = begun(events, f"rollback?confirm={NAME}", json={"snapshot_id": 1})["id"]
    whole = FaultyFileIO(copied(file_io))
    pool_on(whole, clock).run_due()
    (finished,) = (
        number
        for number, (method, path) in enumerate(whole.calls)
        if method == "create_exclusive" and "/finished/" in path
    )
    dying = FaultyFileIO(file_io)
    dying.die_at(finished, Moment.BEFORE)
    with pytest.raises(Died):
        pool_on(dying, clock).run_due()
    for number in range(COMMITS):  # of the same ids as the snapshots that were removed
        write(catalog, count=5, value=f"later {number}")
    clock.advance(ms=LEASE_MS)

    pool_on(file_io, clock).run_due()

    ended = OperationStore(file_io, "/w", clock).get(operation_id)
    assert ended.state is OperationState.FAILED
    assert ended.problem is not None
    assert ended.problem.code == "conflict"
    assert [row["value"] for row in rows_of(catalog)][:5] == ["later 2"] * 5


def test_no_process_begins_what_another_one_is_at(
    events: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    operation_id = begun(events, "compactions")["id"]
    second: list[str] = []
    other = pool_on(file_io, clock, lambda found, _: second.append(found))

    def execute(found: str, is_over: Callable[[], bool]) -> None:
        other.run_due()
        executor_on(file_io, clock).execute(found)

    pool_on(file_io, clock, execute).run_due()

    assert second == []
    assert OperationStore(file_io, "/w", clock).get(operation_id).state is OperationState.SUCCEEDED


def test_no_process_begins_what_has_ended_since_it_was_listed(
    events: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    ids = sorted(begun(events, path)["id"] for path in ("compactions", "snapshots/expire"))
    second: list[str] = []
    left = [f"/w/_braid/{place}" for place in ("operations/open", "leases")]

    def execute(found: str, is_over: Callable[[], bool]) -> None:
        second.append(found)
        pool_on(file_io, clock).run_due()  # does the other one
        executor_on(file_io, clock).execute(found)

    pool_on(file_io, clock, execute).run_due()

    assert second == ids[:1]
    assert OperationStore(file_io, "/w", clock).open_ids() == []
    assert [one.path for place in left for one in file_io.list(place)] == []


def test_an_attempt_that_was_cut_off_is_followed_by_another_after_a_pause(
    events: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    operation_id = begun(events, "compactions")["id"]
    store = OperationStore(file_io, "/w", clock)

    def cut_off(found: str, is_over: Callable[[], bool]) -> None:
        raise ProcessEnded(found)

    pool_on(file_io, clock, cut_off).run_due()
    pool_on(file_io, clock).run_due()
    early = store.get(operation_id).state
    clock.advance(ms=LEASE_MS)
    pool_on(file_io, clock).run_due()

    assert early is OperationState.PENDING
    assert store.get(operation_id).state is OperationState.SUCCEEDED


def test_an_operation_whose_processes_always_end_fails(
    events: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    operation_id = begun(events, "compactions")["id"]
    for _ in range(ATTEMPTS_MAX):
        dying = FaultyFileIO(file_io)
        dying.before = lambda _number, method, _path: die_in(method)
        with pytest.raises(Died):
            pool_on(dying, clock).run_due()
        clock.advance(ms=LEASE_MS)

    pool_on(file_io, clock).run_due()

    ended = OperationStore(file_io, "/w", clock).get(operation_id)
    assert ended.state is OperationState.FAILED
    assert ended.problem is not None
    assert "5 processes in a row have ended" in ended.problem.detail


def test_an_operation_of_which_each_process_does_a_part_comes_to_its_end(
    client: HttpClient, file_io: MemoryFileIO, clock: ManualClock, catalog: Catalog
) -> None:
    buckets = ATTEMPTS_MAX + 3
    client.put(TABLE, json={**SPEC, "buckets": buckets}).raise_for_status()
    for number in range(COMMITS):
        write(catalog, count=100, value=f"v{number}")
    operation_id = begun(client, "compactions", json={"full": True})["id"]
    for _ in range(buckets - 1):
        dying = FaultyFileIO(file_io)
        dying.before = die_at_the_second_data_file()
        with pytest.raises(Died):
            pool_on(dying, clock).run_due()
        clock.advance(ms=LEASE_MS)

    pool_on(file_io, clock).run_due()

    ended = OperationStore(file_io, "/w", clock).get(operation_id)
    assert (ended.state, ended.attempt) == (OperationState.SUCCEEDED, buckets)
    assert set(catalog.table(NAME).runs_per_bucket().values()) == {1}


def die_at_the_second_data_file() -> Callable[[int, str, str], None]:
    begun_files: list[str] = []

    def die(_number: int, method: str, path: str) -> None:
        if method == "open_output":
            begun_files.append(path)
            if len(begun_files) > 1:
                raise Died

    return die


def die_in(method: str) -> None:
    if method == "open_output":  # of the first data file
        raise Died


def test_a_failure_of_storage_is_followed_by_another_attempt(
    events: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    operation_id = begun(events, "compactions")["id"]
    failing = FaultyFileIO(file_io)

    def fail(_number: int, method: str, path: str) -> None:
        if method == "open_output":
            raise StorageUnavailable(path)

    failing.before = fail
    pool_on(failing, clock).run_due()
    store = OperationStore(file_io, "/w", clock)
    waiting = store.get(operation_id)
    run_due(events)
    early = store.get(operation_id)
    clock.advance(ms=60_000)
    run_due(events)

    assert (waiting.state, waiting.attempt) == (OperationState.RUNNING, 1)
    assert waiting.problem is not None
    assert waiting.problem.code == "storage_unavailable"
    assert early == waiting
    assert (store.get(operation_id).state, store.get(operation_id).attempt) == ("SUCCEEDED", 2)


def test_a_canceled_operation_ends_without_its_work(events: HttpClient, catalog: Catalog) -> None:
    operation = begun(events, "compactions")

    canceled = events.post(f"/v1/operations/{operation['id']}:cancel")
    refused = events.delete(f"/v1/operations/{operation['id']}")
    ended = done(events, operation)
    again = events.post(f"/v1/operations/{operation['id']}:cancel")

    assert (canceled.status_code, canceled.json()["cancel_requested"]) == (202, True)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert ended["state"] == again.json()["state"] == "CANCELED"
    assert set(catalog.table(NAME).runs_per_bucket().values()) == {COMMITS}
    assert events.delete(f"/v1/operations/{operation['id']}").status_code == 204
    gone = events.get(f"/v1/operations/{operation['id']}")
    assert (gone.status_code, gone.json()["code"]) == (404, "operation_not_found")


def test_an_operation_is_deleted_with_what_was_written_while_it_ended(
    events: HttpClient, file_io: MemoryFileIO, catalog: Catalog
) -> None:
    operation = begun(events, "compactions")
    (first,) = file_io.list(f"/w/_braid/operations/open/{operation['id']}")
    left = file_io.read_bytes(first.path)
    done(events, operation)
    write(catalog, count=5, value="later")
    file_io.write_new(first.path, left)

    deleted = events.delete(f"/v1/operations/{operation['id']}")
    run_due(events)

    assert deleted.status_code == 204
    assert events.get("/v1/operations").json()["operations"] == []
    assert max(catalog.table(NAME).runs_per_bucket().values()) > 1


def test_a_request_with_a_key_is_one_operation(
    events: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    key = {"idempotency-key": "nightly"}
    first = begun(events, "compactions", headers=key)
    for one in file_io.list("/w/_braid/requests"):  # as if the process had been killed before
        file_io.delete(one.path)
    again = begun(events, "compactions", headers=key)
    run_due(events)
    settings = ServiceSettings(warehouse="/w")
    elsewhere = HttpClient(create_app(settings, file_io=file_io, clock=clock))

    repeated = elsewhere.post(f"{TABLE}/compactions", json={}, headers=key)

    assert first["id"] == again["id"] == repeated.json()["id"]
    assert repeated.headers["location"] == f"/v1/operations/{first['id']}"
    assert len(events.get("/v1/operations").json()["operations"]) == 1


def test_operations_are_listed_in_pages_by_table_and_state(events: HttpClient) -> None:
    ended = [done(events, begun(events, "snapshots/expire"))["id"] for _ in range(3)]
    open_id = begun(events, "compactions")["id"]

    ids, token = [], None
    while True:
        query = "&page_token=" + token if token else ""
        page = events.get(f"/v1/operations?page_size=2{query}").json()
        ids += [one["id"] for one in page["operations"]]
        if (token := page["next_page_token"]) is None:
            break

    assert ids[0] == open_id
    assert sorted(ids[1:]) == sorted(ended)

    def listed(query: str) -> list[str]:
        return [one["id"] for one in events.get(f"/v1/operations?{query}").json()["operations"]]

    assert listed("state=PENDING") == [open_id]
    assert sorted(listed(f"table={NAME}&state=SUCCEEDED")) == sorted(ended)
    assert listed("table=shop.other") == []
    bad = events.get("/v1/operations?page_token=x")
    assert (bad.status_code, bad.json()["errors"][0]["field"]) == (422, "page_token")


def test_an_operation_whose_document_is_damaged_keeps_no_other_one_waiting(
    events: HttpClient, file_io: MemoryFileIO, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    store = OperationStore(file_io, "/w", clock)
    first, second = (rescale(number, clock).id for number in range(2))
    known = begun(events, "compactions")
    file_io.write_new(f"/w/_braid/operations/open/{first}/{1:020d}.json", b"{}")
    file_io.write_new(f"/w/_braid/operations/finished/{second}.json", b"{}")

    ended = done(events, known)
    run_due(events)

    assert ended["state"] == "SUCCEEDED"
    listed = events.get("/v1/operations").json()["operations"]
    assert [one["id"] for one in listed] == [known["id"]]
    assert store.open_ids() == [first]
    assert len([text for text in caplog.messages if f"id={first}" in text]) == 1


@pytest.mark.parametrize("path", KINDS)
def test_an_operation_of_a_table_that_was_dropped_leaves_a_later_one_of_the_name_as_it_is(
    events: HttpClient, file_io: MemoryFileIO, clock: ManualClock, catalog: Catalog, path: str
) -> None:
    operation_id = begun(events, path, json=KINDS[path])["id"]
    events.delete(f"{TABLE}?confirm={NAME}").raise_for_status()
    clock.advance(ms=1)
    events.put(TABLE, json=SPEC).raise_for_status()
    for number in range(COMMITS):
        write(catalog, count=40, value=f"later {number}")
    before = state_of(file_io, clock)

    pool_on(file_io, clock).run_due()

    ended = OperationStore(file_io, "/w", clock).get(operation_id)
    assert (ended.state, ended.problem and ended.problem.code) == ("FAILED", "table_not_found")
    assert state_of(file_io, clock) == before


def test_the_number_of_open_operations_is_bounded(
    events: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    store = OperationStore(file_io, "/w", clock)
    for number in range(OPEN_MAX):
        store.create(rescale(number, clock), announce=lambda: None)

    refused = events.post(f"{TABLE}/compactions", json={})

    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")


def rescale(number: int, clock: ManualClock) -> OperationDocument:
    return OperationDocument(
        id=f"{NAME}.{number:020x}",
        database="shop",
        table="events",
        request=RescaleRequest(buckets=2),
        created_ms=clock.now_ms(),
    )


def test_an_operation_that_only_a_newer_version_knows_is_left_to_it(
    events: HttpClient, file_io: MemoryFileIO
) -> None:
    newer = f"{NAME}.{'0' * 20}"  # the first one that a process looks at
    content = {"id": newer, "database": "shop", "table": "events", "created_ms": 1}
    content["request"] = {"kind": "time_travel"}
    path = f"/w/_braid/operations/open/{newer}/{1:020}.json"
    file_io.create_exclusive(path, orjson.dumps(content))

    ended = done(events, begun(events, "compactions"))

    assert ended["state"] == "SUCCEEDED"
    assert [one["id"] for one in events.get("/v1/operations").json()["operations"]] == [ended["id"]]
    refused = events.get(f"/v1/operations/{newer}")
    assert (refused.status_code, refused.json()["code"]) == (409, "features_missing")
    assert file_io.exists(path)


def test_operations_that_have_ended_long_ago_are_removed(
    file_io: MemoryFileIO, clock: ManualClock
) -> None:
    store = OperationStore(file_io, "/w", clock)
    for number in range(FINISHED_MAX + 2):
        clock.advance(ms=1)
        document = rescale(number, clock)
        store.finish(document.model_copy(update={"state": OperationState.SUCCEEDED}))

    store.remove_old()
    bounded = store.finished_ids()
    clock.advance(ms=KEPT_MS + 1 - FINISHED_MAX + 500)
    store.remove_old()

    assert bounded[0] == f"{NAME}.{FINISHED_MAX + 1:020x}"
    assert len(bounded) == FINISHED_MAX
    assert 0 < len(store.finished_ids()) < FINISHED_MAX
