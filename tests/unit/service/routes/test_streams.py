"""Streams over HTTP."""

import json

import pytest

from braid.lake import BatchAccount, Catalog, ManualClock, MemoryFileIO, StreamBatch
from braid.registry.registrar import Registrar
from braid.registry.store.backfill_reports import BackfillReports
from braid.registry.store.documents import RegistryStore
from braid.registry.store.progress import ProgressStore
from braid.schemas import (
    BackfillReport,
    BackfillState,
    FieldProblem,
    RunnerProgress,
    StreamFailure,
    StreamProgress,
    StreamState,
)
from tests.unit.service.http_client import HttpClient

STREAMS = "/v1/tables/shop/orders/streams"
SALES = f"{STREAMS}/sales"


@pytest.fixture
def sales(shop: HttpClient) -> HttpClient:
    """The service with the stream `sales` on the table."""
    shop.put(SALES, json={"topic": "orders"}).raise_for_status()
    return shop


def commit(catalog: Catalog, records: int) -> None:
    """Commit one batch of `sales` with a number of dead letters and no rows."""
    committer = catalog.table("shop.orders").committer()
    position = committer.claim_stream(
        "sales", topic="orders", topic_id="t1", initial_offsets={0: 0}, fallback=None
    )
    batch = StreamBatch(
        stream="sales",
        epoch=position.epoch,
        batch_id=0,
        topic="orders",
        topic_id="t1",
        start={0: 0},
        end={0: records},
        account=BatchAccount(dead_lettered=records),
    )
    committer.commit_stream_batch([], batch, max_sequence_number=None)


def report(file_io: MemoryFileIO, clock: ManualClock, progress: StreamProgress) -> None:
    store = ProgressStore(file_io, "/w", clock)
    store.write(
        RunnerProgress(
            runner="runner-1",
            started_ms=0,
            updated_ms=clock.now_ms(),
            streams={"shop.orders/sales": progress},
        )
    )


def test_a_stream_is_registered_once_and_found_after_that(shop: HttpClient) -> None:
    first = shop.put(SALES, json={"topic": "orders"})
    second = shop.put(SALES, json={"topic": "orders"})
    read = shop.get(SALES)

    assert (first.status_code, second.status_code, read.status_code) == (201, 200, 200)
    assert first.json() == second.json() == read.json()
    assert first.headers["etag"] == read.headers["etag"]
    assert shop.get(STREAMS).json() == {"streams": [read.json()]}


def test_what_was_read_can_be_put_again(sales: HttpClient) -> None:
    assert sales.put(SALES, json=sales.get(SALES).json()["spec"]).status_code == 200


def test_an_etag_refuses_a_change_of_an_older_revision(sales: HttpClient) -> None:
    etag = sales.get(SALES).headers["etag"]
    change = {"topic": "orders", "trigger_ms": 100}

    assert sales.put(SALES, json=change, headers={"if-match": etag}).status_code == 200
    assert sales.put(SALES, json=change, headers={"if-match": etag}).status_code == 412


def test_a_change_of_another_stream_leaves_an_etag_as_it_is(sales: HttpClient) -> None:
    etag = sales.get(SALES).headers["etag"]
    sales.put(f"{STREAMS}/payments", json={"topic": "payments"}).raise_for_status()

    assert sales.get(SALES).headers["etag"] == etag


def test_a_stream_has_the_deletes_of_its_table(shop: HttpClient) -> None:
    body = {"topic": "orders", "where": "type = 'sale'", "delete_when": "op = 'd'"}

    undeclared = shop.put(SALES, json=body)
    refused = shop.put(SALES, json={**body, "on_delete": "clear_columns", "where": "type = "})
    accepted = shop.put(SALES, json={**body, "on_delete": "ignore", "on_tombstone": "ignore"})

    assert [one["pointer"] for one in undeclared.json()["errors"]] == ["/on_delete"]
    assert [one["pointer"] for one in refused.json()["errors"]] == ["/where", "/on_delete"]
    assert undeclared.status_code == refused.status_code == 422
    assert accepted.status_code == 201
    spec = accepted.json()["spec"]
    assert {name: spec[name] for name in ("where", "on_tombstone")} == {
        "where": "type = 'sale'",
        "on_tombstone": "ignore",
    }
    assert shop.put(SALES, json=spec).status_code == 200


def test_a_refused_stream_gets_all_problems(sales: HttpClient) -> None:
    answer = sales.put(
        f"{STREAMS}/sales2",
        json={"topic": "t", "sequence_group": "sales", "columns": [{"column": "nope"}]},
    )

    assert answer.status_code == 422
    assert {error["pointer"] for error in answer.json()["errors"]} == {
        "/columns/0/column",
        "/columns",
        "/sequence_group",
    }


def test_validation_reports_the_problems_of_put_and_registers_nothing(shop: HttpClient) -> None:
    fine = shop.post(f"{SALES}/validate", json={"topic": "orders"})
    bad = shop.post(f"{STREAMS}/returns/validate", json={"topic": "orders"})

    assert fine.json() | {"plan": []} == {"valid": True, "errors": [], "plan": [], "samples": None}
    assert bad.json()["valid"] is False
    assert shop.get(STREAMS).json() == {"streams": []}


def test_validation_tries_sample_records(shop: HttpClient) -> None:
    record = {"id": 1, "region": "eu", "order_version": 1, "total": 2, "currency": "EUR"}
    samples = [{"value": json.dumps(record)}, {"value": json.dumps({**record, "total": "x"})}]
    trial = {"topic": "orders", "samples": samples}

    fine = shop.post(f"{SALES}/validate", json=trial).json()
    refused = shop.post(f"{SALES}/validate", json={**trial, "where": "("}).json()
    many = shop.post(f"{SALES}/validate", json={**trial, "samples": [{}] * 101})
    coded = shop.post(f"{SALES}/validate", json={**trial, "samples": [{"value_base64": "?"}]})

    assert [one["outcome"] for one in fine["samples"]] == ["row", "dead_letter"]
    assert fine["samples"][0]["row"]["currency"] == "EUR"
    assert fine["samples"][1]["reason"] == "wrong_type"
    assert (refused["valid"], refused["samples"]) == (False, None)
    assert (many.status_code, coded.status_code) == (413, 422)
    assert shop.put(SALES, json=trial).status_code == 422
    assert shop.get(STREAMS).json() == {"streams": []}


@pytest.mark.parametrize(
    ("verb", "wanted"),
    [
        ("start", "RUNNING"),
        ("pause", "PAUSED"),
        ("resume", "RUNNING"),
        ("restart", "RUNNING"),
        ("stop", "STOPPED"),
    ],
)
def test_a_verb_is_accepted_and_written_down(sales: HttpClient, verb: str, wanted: str) -> None:
    answer = sales.post(f"{SALES}/{verb}")

    assert (answer.status_code, answer.json()["desired_state"]) == (202, wanted)
    assert sales.get(SALES).json()["desired_state"] == wanted


def test_start_restarts_unless_a_living_runner_runs_it(
    sales: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    report(file_io, clock, StreamProgress(state=StreamState.RUNNING))
    sales.post(f"{SALES}/start")
    assert sales.get(SALES).json()["restart_generation"] == 0

    report(file_io, clock, StreamProgress(state=StreamState.FAILED, trace="boom"))
    sales.post(f"{SALES}/start")
    assert sales.get(SALES).json()["restart_generation"] == 1


@pytest.mark.parametrize("body", [b"{}", b'{"force": true}', b"[]", b"{"])
def test_a_verb_takes_no_body(sales: HttpClient, body: bytes) -> None:
    before = sales.get(f"{SALES}/status").json()["desired_state"]
    answer = sales.post(
        f"{SALES}/pause", content=body, headers={"content-type": "application/json"}
    )

    after = sales.get(f"{SALES}/status").json()["desired_state"]
    if body == b"{}":
        assert (answer.status_code, after) == (202, "PAUSED")
    else:
        assert (answer.status_code, answer.json()["code"]) == (400, "malformed_request")
        assert "takes no body" in answer.json()["detail"]
        assert after == before


@pytest.mark.parametrize("verb", ["start", "resume", "restart"])
def test_a_failed_stream_is_really_tried_again(
    sales: HttpClient, file_io: MemoryFileIO, clock: ManualClock, verb: str
) -> None:
    report(file_io, clock, StreamProgress(state=StreamState.FAILED, trace="boom"))

    answer = sales.post(f"{SALES}/{verb}").json()

    assert sales.get(SALES).json()["restart_generation"] == 1
    assert answer["verb"] == verb
    assert answer["message"].startswith("sales: ")


def test_a_verb_without_an_effect_says_so(
    sales: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    report(file_io, clock, StreamProgress(state=StreamState.RUNNING))

    answer = sales.post(f"{SALES}/resume")

    assert answer.status_code == 202
    assert answer.json()["message"] == "sales: is RUNNING already: nothing to do"


def test_a_stopped_stream_is_not_restarted(sales: HttpClient) -> None:
    sales.post(f"{SALES}/stop")

    answer = sales.post(f"{SALES}/restart")

    assert (answer.status_code, answer.json()["code"]) == (409, "stream_not_running")
    assert "`start` makes it run" in answer.json()["detail"]


def test_status_has_the_failure_of_a_stream_and_the_time_of_its_next_attempt(
    sales: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    now_ms = clock.now_ms()
    failure = StreamFailure(
        cause="kafka is away", since_ms=now_ms - 60_000, attempts=7, next_attempt_ms=now_ms + 1_000
    )
    progress = StreamProgress(
        state=StreamState.RETRYING,
        failure=failure,
        broker_reached_ms=now_ms - 60_000,
        storage_reached_ms=now_ms,
    )
    report(file_io, clock, progress)

    status = sales.get(f"{SALES}/status").json()

    assert (status["state"], status["lag_records"], status["lag_seconds"]) == (
        "RETRYING",
        None,
        None,
    )
    assert status["failure"] == {
        "cause": "kafka is away",
        "errors": [],
        "since": "2023-11-14T22:12:20.000Z",
        "attempts": 7,
        "next_attempt_at": "2023-11-14T22:13:21.000Z",
        "crash_loop": False,
    }
    assert status["broker_reached_at"] == "2023-11-14T22:12:20.000Z"
    assert status["storage_reached_at"] == "2023-11-14T22:13:20.000Z"


def test_a_lag_that_kafka_has_not_confirmed_recently_is_left_out(
    sales: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    progress = StreamProgress(
        state=StreamState.RUNNING,
        offsets={0: 10},
        end_offsets={0: 10},
        lag_seconds=0.0,
        broker_reached_ms=clock.now_ms() - 10_001,
    )
    report(file_io, clock, progress)

    status = sales.get(f"{SALES}/status").json()

    assert (status["state"], status["worker_id"]) == ("RUNNING", "runner-1")
    assert (status["end_offsets"], status["lag_records"], status["lag_seconds"]) == (None,) * 3


def test_a_stream_that_no_runner_reports_is_unassigned_or_stopped(sales: HttpClient) -> None:
    assert sales.get(f"{SALES}/status").json()["state"] == "UNASSIGNED"

    sales.post(f"{SALES}/stop")
    assert sales.get(f"{SALES}/status").json()["state"] == "STOPPED"


def test_status_joins_the_runners_word_with_what_the_table_holds(
    sales: HttpClient, catalog: Catalog, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    commit(catalog, records=7)
    report(
        file_io,
        clock,
        StreamProgress(
            state=StreamState.RUNNING,
            offsets={0: 3},
            end_offsets={0: 10},
            lag_seconds=1.5,
            dead_letters_by_reason={"malformed": 7},
        ),
    )

    status = sales.get(f"{SALES}/status").json()

    assert (status["state"], status["worker_id"], status["epoch"]) == ("RUNNING", "runner-1", 1)
    assert (status["offsets"], status["end_offsets"]) == ({"0": 7}, {"0": 10})
    assert (status["lag_records"], status["lag_seconds"]) == (3, 1.5)
    assert status["account"] == {
        "records": 7,
        "accepted": 0,
        "folded": 0,
        "ignored": 0,
        "dead_lettered": 7,
    }
    assert status["dead_letters"] == {"malformed": 7}
    # The runner has not named it: it is found in the table.
    assert status["last_commit"]["snapshot_id"] == catalog.table("shop.orders").latest_snapshot().id  # type: ignore[union-attr]
    assert status["last_commit"]["time"] == "2023-11-14T22:13:20.000Z"


def test_a_runner_without_recent_reports_counts_as_gone_and_its_numbers_stay(
    sales: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    report(file_io, clock, StreamProgress(state=StreamState.RUNNING, offsets={0: 3}))
    clock.advance(ms=15_001)

    status = sales.get(f"{SALES}/status").json()

    assert (status["state"], status["worker_id"]) == ("UNASSIGNED", None)
    assert status["offsets"] == {"0": 3}
    assert status["reported_at"] == "2023-11-14T22:13:20.000Z"
    assert "the runner runner-1 is from 2023-11-14T22:13:20.000Z" in status["trace"]


def test_a_runner_whose_clock_was_ahead_counts_as_gone_as_soon_as_any_other(
    sales: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    ahead = ManualClock(start_ms=clock.now_ms() + 86_400_000)
    report(file_io, ahead, StreamProgress(state=StreamState.FAILED))
    living = sales.get(f"{SALES}/status").json()
    clock.advance(ms=15_001)

    status = sales.get(f"{SALES}/status").json()

    assert (living["state"], living["reported_at"]) == ("FAILED", "2023-11-14T22:13:20.000Z")
    assert (status["state"], status["worker_id"]) == ("UNASSIGNED", None)


def test_the_status_of_a_failed_stream_has_the_reason(
    sales: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    report(file_io, clock, StreamProgress(state=StreamState.FAILED, trace="topic is gone"))

    status = sales.get(f"{SALES}/status").json()

    assert (status["state"], status["trace"]) == ("FAILED", "topic is gone")


def test_no_status_has_the_address_of_the_warehouse(
    sales: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    problem = FieldProblem(pointer=None, field="warehouse", value="/w/a", message="/w/a is torn")
    failure = StreamFailure(cause="/w/a is torn", errors=(problem,), since_ms=0, attempts=1)
    report(
        file_io,
        clock,
        StreamProgress(state=StreamState.FAILED, trace="CorruptData: /w/a", failure=failure),
    )
    file_io.overwrite("/w/shop.db/orders/consumer/consumer-a", b"{")

    status = sales.get(f"{SALES}/status")
    consumers = sales.get("/v1/tables/shop/orders/consumers")

    assert status.json()["trace"] == "CorruptData: <warehouse>/a"
    assert status.json()["failure"]["errors"][0]["value"] == "<warehouse>/a"
    assert consumers.json()["consumers"][0]["error"]
    assert "/w/" not in status.text + consumers.text


def test_a_stopped_stream_can_be_deleted(sales: HttpClient) -> None:
    assert sales.request("DELETE", SALES).json()["code"] == "stream_not_stopped"

    sales.post(f"{SALES}/stop")
    assert sales.request("DELETE", SALES).status_code == 204
    assert sales.get(SALES).status_code == 404


def test_the_unreadable_report_of_another_runner_is_named_and_stops_nothing(
    sales: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    report(file_io, clock, StreamProgress(state=StreamState.RUNNING))
    file_io.overwrite("/w/_braid/runners/runner-2.json", b"")

    status = sales.get(f"{SALES}/status")
    verbs = [sales.post(f"{SALES}/{verb}").status_code for verb in ("pause", "stop", "start")]
    maintenance = sales.get("/v1/tables/shop/orders/maintenance")

    assert (status.status_code, verbs, maintenance.status_code) == (200, [202, 202, 202], 200)
    assert status.json()["state"] == "RUNNING"
    assert status.json()["unreadable_reports"] == ["runner-2"]
    assert maintenance.json()["unreadable_reports"] == ["runner-2"]


def test_what_a_newer_version_registered_is_shown_and_not_changed(
    sales: HttpClient, file_io: MemoryFileIO
) -> None:
    directory = "/w/_braid/tables/shop.orders"
    newest = file_io.list(directory)[-1].path
    content = json.loads(file_io.read_bytes(newest))
    content["streams"]["sales"]["features"] = ["time-travel"]
    content["streams"]["sales"]["spec"]["at"] = "noon"
    file_io.overwrite(newest, json.dumps(content).encode())
    before = [file.path for file in file_io.list(directory)]

    shown = sales.get(SALES)
    status = sales.get(f"{SALES}/status").json()
    refused = [
        sales.put(SALES, json={"topic": "orders", "trigger_ms": 9}),
        sales.post(f"{SALES}/pause"),
        sales.delete(SALES),
        sales.put(f"{STREAMS}/payments", json={"topic": "payments"}),
    ]

    assert (shown.status_code, shown.json()["spec"]["topic"]) == (200, "orders")
    assert status["missing_features"] == ["time-travel"]
    assert {(one.status_code, one.json()["code"]) for one in refused} == {(409, "features_missing")}
    assert "time-travel" in refused[0].json()["detail"]
    assert [file.path for file in file_io.list(directory)] == before


def test_status_shows_the_backfills_of_the_stream(
    sales: HttpClient, catalog: Catalog, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    committer = catalog.table("shop.orders").committer()
    for name in ("sales/backfill/z", "sales/backfill/a", "payments/backfill/other"):
        committer.claim_backfill(name, source="2 csv files", source_id=name, start={0: 0})
    running = BackfillReport(
        stream="sales",
        name="a",
        state=BackfillState.RUNNING,
        done=0.25,
        rows=5,
        rows_per_second=2.5,
        seconds_left=6.0,
        updated_ms=clock.now_ms(),
    )
    BackfillReports(file_io, "/w", clock).write("shop.orders", running)

    first, second = sales.get(f"{SALES}/status").json()["backfills"]
    clock.advance(ms=30_001)
    _, gone = sales.get(f"{SALES}/status").json()["backfills"]

    assert (first["name"], first["state"], first["done"]) == ("z", "STOPPED", None)
    assert second == {
        "name": "a",
        "state": "RUNNING",
        "source": "2 csv files",
        "generation": -32_767,
        "account": dict.fromkeys(("records", "accepted", "folded", "ignored", "dead_lettered"), 0),
        "done": 0.25,
        "rows_per_second": 2.5,
        "seconds_left": 6.0,
        "last_commit_at": "2023-11-14T22:13:20.000Z",
        "reported_at": "2023-11-14T22:13:20.000Z",
        "error": None,
    }
    assert (gone["state"], gone["rows_per_second"]) == ("STOPPED", None)


def test_a_stream_that_has_read_all_is_completed_without_a_runner(
    sales: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    declared = {"topic": "orders", "trigger": {"type": "available_now"}}
    sales.put(SALES, json=declared).raise_for_status()
    report(file_io, clock, StreamProgress(state=StreamState.RUNNING, trace="old"))
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    registrar = Registrar(RegistryStore(file_io, "/w", clock), catalog, clock)
    registrar.complete_stream("shop.orders", "sales", generation=0)

    completed = sales.get(f"{SALES}/status").json()
    started = sales.post(f"{SALES}/start").json()

    assert (completed["state"], completed["desired_state"]) == ("COMPLETED", "RUNNING")
    assert (completed["trace"], completed["worker_id"]) == (None, None)
    assert started["message"].startswith("sales: had completed, reads what its topic holds now")
    assert started["state"] == "RUNNING"
    assert sales.get(SALES).json()["spec"]["trigger"] == {"type": "available_now"}
