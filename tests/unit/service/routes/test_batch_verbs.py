"""Lifecycle verbs for many streams: the selection, the outcome for each stream, and one change for each table."""

import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.registry.registrar import REPEATED
from braid.registry.store.progress import ProgressStore
from braid.registry.stream_entries import Verb
from braid.schemas import RunnerProgress, StreamProgress, StreamState
from braid.schemas.batch_verb import TABLES_MAX
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient


@pytest.fixture
def tables(client: HttpClient) -> HttpClient:
    """Two tables with two streams each, and a third table of another database."""
    for table in ("shop/orders", "shop/returns", "lab/orders"):
        client.put(f"/v1/tables/{table}", json=ORDERS).raise_for_status()
        for stream in ("sales", "payments"):
            path = f"/v1/tables/{table}/streams/{stream}"
            client.put(path, json={"topic": stream}).raise_for_status()
    return client


def states(client: HttpClient) -> dict[str, str]:
    return {
        f"{table}/{stream}": client.get(f"/v1/tables/{table}/streams/{stream}").json()[
            "desired_state"
        ]
        for table in ("shop/orders", "shop/returns", "lab/orders")
        for stream in ("sales", "payments")
    }


def versions(file_io: MemoryFileIO, table: str) -> int:
    return len(file_io.list(f"/w/_braid/tables/{table}"))


def test_the_streams_of_matching_tables_change_at_once(
    tables: HttpClient, file_io: MemoryFileIO
) -> None:
    before = versions(file_io, "shop.orders")

    answer = tables.post("/v1/streams:pause", json={"tables": ["shop.*"]})

    assert answer.status_code == 200
    assert (answer.json()["verb"], answer.json()["failed"]) == ("pause", 0)
    named = [
        (one["database"], one["table"], one["stream"], one["done"])
        for one in answer.json()["streams"]
    ]
    assert named == [
        ("shop", table, stream, True)
        for table in ("orders", "returns")
        for stream in ("payments", "sales")
    ]
    assert {name for name, state in states(tables).items() if state == "PAUSED"} == {
        "shop/orders/sales",
        "shop/orders/payments",
        "shop/returns/sales",
        "shop/returns/payments",
    }
    assert versions(file_io, "shop.orders") == before + 1


def test_patterns_may_have_any_number_of_asterisks(tables: HttpClient) -> None:
    # A search that tries every division of a name among the asterisks would not come to an end.
    long = "*" * 79
    expected = {
        "*": 6,
        "*.orders": 4,
        "s*p.*r*": 4,
        "shop.order": 0,
        "shop.*orders*returns*": 0,
        f"shop.{long}": 4,
        f"shop.{long}x": 0,
        f"{long}x.orders": 0,
    }

    found = {
        pattern: len(tables.post("/v1/streams:stop", json={"tables": [pattern]}).json()["streams"])
        for pattern in expected
    }

    assert found == expected


def test_a_stream_that_fails_does_not_keep_the_others_from_changing(tables: HttpClient) -> None:
    tables.post("/v1/tables/shop/orders/streams/sales/stop").raise_for_status()
    names = ["shop.orders.sales", "shop.orders.payments", "shop.orders.none", "shop.none.sales"]

    answer = tables.post("/v1/streams:restart", json={"streams": names}).json()

    outcomes = {
        f"{one['table']}.{one['stream']}": one["problem"] and one["problem"]["code"]
        for one in answer["streams"]
    }
    assert outcomes == {
        "orders.sales": "stream_not_running",
        "orders.payments": None,
        "orders.none": "stream_not_found",
        "none.sales": "table_not_found",
    }
    assert answer["failed"] == 3
    generations = [
        tables.get(f"/v1/tables/shop/orders/streams/{stream}").json()["restart_generation"]
        for stream in ("sales", "payments")
    ]
    assert generations == [0, 1]


def test_every_verb_is_there(tables: HttpClient) -> None:
    body = {"tables": ["*"]}
    expected = {
        "stop": "STOPPED",
        "start": "RUNNING",
        "pause": "PAUSED",
        "resume": "RUNNING",
        "restart": "RUNNING",
    }

    for verb, state in expected.items():
        answer = tables.post(f"/v1/streams:{verb}", json=body)
        assert (answer.json()["failed"], len(answer.json()["streams"])) == (0, 6), verb
        assert set(states(tables).values()) == {state}, verb


def test_a_request_with_a_key_has_its_effect_once(
    tables: HttpClient, file_io: MemoryFileIO
) -> None:
    key = {"idempotency-key": "all again"}
    body = {"tables": ["lab.*"]}
    first = tables.post("/v1/streams:restart", json=body, headers=key)
    repeated = tables.post("/v1/streams:restart", json=body, headers=key)
    for one in file_io.list("/w/_braid/requests"):  # as if the process had been killed before
        file_io.delete(one.path)

    again = tables.post("/v1/streams:restart", json=body, headers=key)

    assert first.content == repeated.content
    assert {one["message"] for one in again.json()["streams"]} == {REPEATED}
    stream = tables.get("/v1/tables/lab/orders/streams/sales").json()
    assert stream["restart_generation"] == 1


def test_a_key_that_another_request_to_one_of_the_tables_has_is_the_problem_of_its_streams(
    tables: HttpClient,
) -> None:
    key = {"idempotency-key": "again"}
    tables.post("/v1/tables/shop/returns/streams/sales/restart", headers=key).raise_for_status()

    answer = tables.post("/v1/streams:pause", json={"tables": ["*"]}, headers=key)

    assert (answer.status_code, answer.json()["failed"]) == (200, 2)
    problems = {
        one["problem"]["code"] for one in answer.json()["streams"] if one["table"] == "returns"
    }
    assert problems == {"idempotency_conflict"}
    paused = {name for name, state in states(tables).items() if state == "PAUSED"}
    assert paused == {name for name in states(tables) if "returns" not in name}


def test_a_request_selects_something_and_not_too_much(client: HttpClient) -> None:
    nothing = client.post("/v1/streams:stop", json={})
    wrong = client.post("/v1/streams:stop", json={"streams": ["orders"], "tables": ["a.b.c"]})
    names = [f"shop.t{number}.sales" for number in range(TABLES_MAX + 1)]
    many = client.post("/v1/streams:stop", json={"streams": names})
    unknown = client.post("/v1/streams:stop", json={"tables": ["none.*"]})

    assert nothing.json()["errors"][0]["field"] == "streams"
    assert [one["field"] for one in wrong.json()["errors"]] == ["streams[0]", "tables[0]"]
    assert (many.status_code, many.json()["code"]) == (413, "limit_exceeded")
    assert unknown.json() == {"verb": "stop", "streams": [], "failed": 0}


@pytest.fixture
def labelled(tables: HttpClient) -> HttpClient:
    """The same, some of them with labels."""
    labels = {
        "shop/orders/streams/sales": {"team": "payments", "tier": "gold"},
        "shop/returns/streams/payments": {"team": "payments"},
        "lab/orders/streams/sales": {"team": "research"},
    }
    for path, of_stream in labels.items():
        tables.patch(f"/v1/tables/{path}", json={"labels": of_stream}).raise_for_status()
    return tables


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ({"labels": ["team=payments"]}, ["shop.orders.sales", "shop.returns.payments"]),
        ({"labels": ["team"], "tables": ["lab.*"]}, ["lab.orders.sales"]),
        ({"labels": ["team=payments", "tier"]}, ["shop.orders.sales"]),
        ({"labels": ["tier=silver"]}, []),
        (
            {
                "labels": ["team=payments"],
                "streams": ["shop.orders.sales", "shop.orders.payments", "shop.none.sales"],
            },
            ["shop.none.sales", "shop.orders.sales"],
        ),
    ],
    ids=str,
)
def test_streams_are_selected_by_labels(
    labelled: HttpClient, selection: dict[str, list[str]], expected: list[str]
) -> None:
    answer = labelled.post("/v1/streams:stop", json=selection).json()

    named = [f"{one['database']}.{one['table']}.{one['stream']}" for one in answer["streams"]]
    assert named == expected
    stopped = {name for name, state in states(labelled).items() if state == "STOPPED"}
    assert stopped == {
        f"{database}/{table}/{stream}"
        for database, table, stream in (name.split(".") for name in expected)
        if table != "none"
    }


def test_only_failed_streams_are_restarted(
    tables: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    states_of_runner = {
        "shop.orders/sales": StreamState.FAILED,
        "shop.orders/payments": StreamState.RUNNING,
    }
    ProgressStore(file_io, "/w", clock).write(
        RunnerProgress(
            runner="r1",
            started_ms=0,
            updated_ms=clock.now_ms(),
            streams={name: StreamProgress(state=state) for name, state in states_of_runner.items()},
        )
    )
    body = {"tables": ["shop.orders"]}

    planned = tables.post("/v1/streams:restart/validate?only_failed=true", json=body).json()
    answer = tables.post("/v1/streams:restart?only_failed=true", json=body).json()

    assert planned == answer
    by_stream = {one["stream"]: one["message"] for one in answer["streams"]}
    assert by_stream["payments"] == "is RUNNING, so it has not failed: nothing to do"
    generations = {
        stream: tables.get(f"/v1/tables/shop/orders/streams/{stream}").json()["restart_generation"]
        for stream in by_stream
    }
    assert generations == {"sales": 1, "payments": 0}


def test_a_dry_run_answers_as_the_verb_and_changes_nothing(
    tables: HttpClient, file_io: MemoryFileIO
) -> None:
    tables.post("/v1/tables/shop/orders/streams/sales/stop").raise_for_status()
    body = {"streams": ["shop.orders.none"], "tables": ["shop.*"]}
    before = states(tables), versions(file_io, "shop.orders")

    for verb in Verb:
        planned = tables.post(f"/v1/streams:{verb}/validate", json=body)
        assert planned.status_code == 200
        assert (states(tables), versions(file_io, "shop.orders")) == before
    planned = tables.post("/v1/streams:restart/validate", json=body).json()

    assert planned == tables.post("/v1/streams:restart", json=body).json()
    assert planned["failed"] == 2


def test_an_unknown_verb_names_those_there_are(tables: HttpClient) -> None:
    answer = tables.post("/v1/streams:halt/validate", json={"tables": ["*"]})

    assert answer.status_code == 422
    assert "restart" in answer.text
