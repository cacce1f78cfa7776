"""Dry runs about one stream say what the request would do, or why it would be refused, and change nothing."""

from typing import Any

import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.registry.store.leases import LeaseStore
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/shop/orders"
SALES = f"{TABLE}/streams/sales"


@pytest.fixture
def sales(shop: HttpClient) -> HttpClient:
    shop.put(SALES, json={"topic": "orders"}).raise_for_status()
    return shop


def planned(client: HttpClient, path: str, **options: Any) -> dict[str, Any]:
    answer = client.post(path, **options)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found["valid"] == (found["errors"] == []) == (found["plan"] != [])
    return found


@pytest.mark.parametrize("verb", ["start", "pause", "resume", "restart", "stop"])
def test_a_verb_is_told_in_the_words_of_its_answer(sales: HttpClient, verb: str) -> None:
    before = sales.get(SALES).json()

    plan = planned(sales, f"{SALES}/{verb}/validate")["plan"]

    assert sales.get(SALES).json() == before
    assert plan == [sales.post(f"{SALES}/{verb}").json()["message"]]


def test_a_verb_that_would_be_refused_says_why(sales: HttpClient) -> None:
    sales.post(f"{SALES}/pause").raise_for_status()

    (error,) = planned(sales, f"{SALES}/restart/validate")["errors"]

    assert error["message"] == "the stream sales is PAUSED: `resume` makes it run"
    assert planned(sales, f"{SALES}/restart/validate?only_failed=true")["valid"]


def test_a_stream_or_verb_that_is_not_there_is_no_plan(sales: HttpClient) -> None:
    stream = sales.post(f"{TABLE}/streams/none/stop/validate")
    verb = sales.post(f"{SALES}/halt/validate")

    assert (stream.status_code, stream.json()["code"]) == (404, "stream_not_found")
    assert (verb.status_code, verb.json()["errors"][0]["field"]) == (422, "verb")


def test_offsets_have_a_dry_run_of_their_own(sales: HttpClient) -> None:
    answer = sales.post(f"{SALES}/offsets/validate", json={"offsets": {"0": 1}})

    assert answer.status_code == 200
    assert "partitions" in answer.json()


def test_the_deletion_of_a_stream_is_planned(
    sales: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    (running,) = planned(sales, f"{SALES}/validate-delete")["errors"]
    sales.post(f"{SALES}/stop").raise_for_status()
    lease = LeaseStore(file_io, "/w", clock).acquire(
        "shop.orders", "sales", owner="runner-1", ttl_ms=1_000
    )
    (held,) = planned(sales, f"{SALES}/validate-delete")["errors"]
    clock.advance(ms=2_000)
    plan = planned(sales, f"{SALES}/validate-delete")["plan"]

    assert lease is not None
    assert "is RUNNING" in running["message"]
    assert running["hint"] == "stop it, and wait until its runner has released it"
    assert "held by runner-1" in held["message"]
    assert plan[0] == "deletes the stream `sales`: the group `sales` is free for another stream"
    assert sales.delete(SALES).status_code == 204


def test_a_deletion_may_repeat_the_name_of_the_stream(sales: HttpClient) -> None:
    sales.post(f"{SALES}/stop").raise_for_status()

    refused = sales.delete(f"{SALES}?confirm=payments")
    deleted = sales.delete(f"{SALES}?confirm=sales")

    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "confirm")
    assert deleted.status_code == 204


@pytest.mark.parametrize(
    ("selection", "which"),
    [
        ({}, "all dead letters"),
        ({"reasons": ["too_large"]}, "dead letters with the reasons `too_large`"),
        (
            {"offsets": {"0": {"start": 1, "end": 2}}},
            "all dead letters in ranges of offsets of the partitions `0`",
        ),
    ],
    ids=str,
)
def test_a_replay_is_planned(sales: HttpClient, selection: dict[str, Any], which: str) -> None:
    plan = planned(sales, f"{SALES}/dead-letters/replay/validate", json=selection)["plan"]

    assert f"writes the records of {which}, each once" in plan[0]
    assert sales.get(f"{SALES}/dead-letters?limit=0").json()["replay"] is None


def test_a_replay_that_cannot_be_right_is_refused_before(sales: HttpClient) -> None:
    selection = {"reasons": ["no such reason"]}

    (error,) = planned(sales, f"{SALES}/dead-letters/replay/validate", json=selection)["errors"]
    refused = sales.post(f"{SALES}/dead-letters/replay", json=selection).json()

    assert [error] == refused["errors"]


def test_the_drop_of_a_table_is_planned(sales: HttpClient) -> None:
    (running,) = planned(sales, f"{TABLE}/validate-delete")["errors"]
    sales.post(f"{SALES}/stop").raise_for_status()
    dropped = planned(sales, f"{TABLE}/validate-delete")["plan"]
    kept = planned(sales, f"{TABLE}/validate-delete?keep_data=true")["plan"]
    unknown = sales.post("/v1/tables/shop/returns/validate-delete")

    assert "sales (desired state RUNNING)" in running["message"]
    assert dropped == [
        "drops the table `shop.orders`, and its streams `sales`",
        "deletes its files: rows, snapshots and tags cannot be restored",
    ]
    assert kept[1].startswith("keeps its files")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "table_not_found")
    assert sales.delete(f"{TABLE}?confirm=orders").status_code == 204
