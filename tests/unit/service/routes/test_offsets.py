"""Offsets of streams over HTTP."""

from typing import Any

import pytest

from braid.lake import BatchAccount, Catalog, ManualClock, MemoryFileIO, StreamBatch, StreamFenced
from braid.lake.commit.streams.stream_position import MOVES_PROPERTY
from braid.registry.store.leases import LeaseStore
from braid.registry.store.progress import ProgressStore
from braid.schemas import RunnerProgress, StreamProgress, StreamState, TopicOffsets
from tests.unit.service.http_client import HttpClient

SALES = "/v1/tables/shop/orders/streams/sales"
OFFSETS = f"{SALES}/offsets"


def read(catalog: Catalog, *, start: int, end: int) -> None:
    """Claim `sales` and commit one batch of dead letters."""
    committer = catalog.table("shop.orders").committer()
    position = committer.claim_stream(
        "sales", topic="orders", topic_id="t1", initial_offsets={0: 0, 1: 0}
    )
    assert position.offsets[0] == start
    batch = StreamBatch(
        stream="sales",
        epoch=position.epoch,
        batch_id=0,
        topic="orders",
        topic_id="t1",
        start={0: start},
        end={0: end},
        account=BatchAccount(dead_lettered=end - start),
    )
    committer.commit_stream_batch([], batch)


@pytest.fixture
def sales(shop: HttpClient, catalog: Catalog) -> HttpClient:
    """The service with the stopped stream `sales`, which has read 100 records of partition 0."""
    shop.put(SALES, json={"topic": "orders"}).raise_for_status()
    read(catalog, start=0, end=100)
    shop.post(f"{SALES}/stop").raise_for_status()
    return shop


def put(client: HttpClient, offsets: dict[str, Any], **headers: str) -> Any:
    return client.put(OFFSETS, json={"offsets": offsets}, headers=headers)


def test_offsets_are_those_of_the_table(sales: HttpClient) -> None:
    answer = sales.get(OFFSETS).json()

    assert answer["offsets"] == {"0": 100, "1": 0}
    assert (answer["topic"], answer["topic_id"], answer["epoch"]) == ("orders", "t1", 1)
    assert (answer["beginning_offsets"], answer["end_offsets"]) == (None, None)


def test_a_stream_that_never_ran_has_no_offsets(shop: HttpClient) -> None:
    shop.put(SALES, json={"topic": "orders"}).raise_for_status()
    shop.post(f"{SALES}/stop").raise_for_status()

    answer = shop.get(OFFSETS)

    assert answer.json()["offsets"] == {}
    assert answer.headers["etag"].startswith("W/")  # of the answer, which no `if-match` takes
    assert put(shop, {"0": 1}).status_code == 422


def test_an_unknown_stream_has_no_offsets(shop: HttpClient) -> None:
    assert shop.get(OFFSETS).json()["code"] == "stream_not_found"
    assert put(shop, {"0": 1}).json()["code"] == "stream_not_found"


def test_measured_bounds_are_shown_after_the_query_has_ended(
    sales: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    def report(runner: str, topic_id: str, measured_ms: int, end: int) -> None:
        progress = StreamProgress(
            state=StreamState.STOPPED,
            topic_id=topic_id,
            topic_offsets=TopicOffsets(beginning={0: 30}, end={0: end}, measured_ms=measured_ms),
        )
        ProgressStore(file_io, "/w", clock).write(
            RunnerProgress(
                runner=runner,
                started_ms=0,
                updated_ms=clock.now_ms(),
                streams={"shop.orders/sales": progress},
            )
        )

    report("a", "t1", 1_000, 120)
    report("b", "t1", 2_000, 140)
    report("c", "another", 3_000, 1)
    answer = sales.get(OFFSETS).json()

    assert (answer["beginning_offsets"], answer["end_offsets"]) == ({"0": 30}, {"0": 140})
    assert answer["measured_at"].startswith("1970-01-01T00:00:02")
    assert put(sales, {"0": 29}).json()["errors"][0]["pointer"] == "/offsets/0"
    assert put(sales, {"0": 141}).status_code == 422
    beyond = {"offsets": {"0": 141}, "beyond_end": True}
    assert sales.put(OFFSETS, json=beyond).status_code == 200


def test_a_dry_run_tells_the_effect_and_changes_nothing(
    sales: HttpClient, catalog: Catalog
) -> None:
    before = catalog.table("shop.orders").committer().stream_positions()
    answer = sales.post(f"{OFFSETS}/validate", json={"offsets": {"0": 40, "1": 7, "5": 0}}).json()

    assert answer["valid"] is False
    assert [error["pointer"] for error in answer["errors"]] == ["/offsets/5"]
    assert answer["partitions"] == {
        "0": {"before": 100, "after": 40, "read_again": 60, "read_late": 0, "skipped": 0},
        "1": {"before": 0, "after": 7, "read_again": 0, "read_late": 0, "skipped": 7},
    }
    assert catalog.table("shop.orders").committer().stream_positions() == before


def test_a_position_is_set_and_told(sales: HttpClient, catalog: Catalog) -> None:
    answer = put(sales, {"0": 40, "1": 7})

    assert answer.status_code == 200
    assert answer.json()["partitions"]["0"]["read_again"] == 60
    assert answer.json()["skipped"] == {"1": [{"start": 0, "end": 7}]}
    assert answer.json()["moves"][0]["offsets"]["0"] == {"start": 100, "end": 40}
    table = catalog.table("shop.orders")
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert '"sales"' in snapshot.properties[MOVES_PROPERTY]
    position = table.committer().stream_positions()["sales"]
    assert (position.offsets, position.account.records) == ({0: 40, 1: 7}, 100)
    read(catalog, start=40, end=110)
    after = sales.get(OFFSETS).json()
    assert after["read_again"] == {"0": [{"start": 40, "end": 100}]}
    assert after["offsets"] == {"0": 110, "1": 7}
    assert sales.get(f"{SALES}/status").json()["skipped_offsets"] == 7


def test_what_was_read_can_be_put_again(sales: HttpClient, catalog: Catalog) -> None:
    offsets = sales.get(OFFSETS).json()["offsets"]
    before = catalog.table("shop.orders").committer().stream_positions()

    assert put(sales, offsets).json()["partitions"] == {}
    assert catalog.table("shop.orders").committer().stream_positions() == before


def test_an_etag_refuses_a_move_of_another_position(sales: HttpClient) -> None:
    etag = sales.get(OFFSETS).headers["etag"]
    moved = put(sales, {"0": 40}, **{"if-match": etag})

    assert moved.status_code == 200
    assert moved.headers["etag"] not in ("", etag)
    assert put(sales, {"0": 30}, **{"if-match": etag}).status_code == 412
    assert put(sales, {"0": 30}, **{"if-match": moved.headers["etag"]}).status_code == 200


def test_only_a_stopped_and_released_stream_is_moved(
    sales: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    leases = LeaseStore(file_io, "/w", clock)
    lease = leases.acquire("shop.orders", "sales", "runner-1", 10_000)
    held = put(sales, {"0": 40})
    assert lease is not None
    leases.release(lease)
    sales.post(f"{SALES}/pause").raise_for_status()
    paused = put(sales, {"0": 40})

    assert (held.status_code, held.json()["code"]) == (409, "stream_not_stopped")
    assert "runner-1 holds it" in held.json()["detail"]
    assert (paused.status_code, paused.json()["code"]) == (409, "stream_not_stopped")


def test_a_delayed_query_cannot_commit_after_a_move(sales: HttpClient, catalog: Catalog) -> None:
    put(sales, {"0": 40}).raise_for_status()
    batch = StreamBatch(
        stream="sales",
        epoch=1,
        batch_id=1,
        topic="orders",
        topic_id="t1",
        start={0: 100},
        end={0: 101},
    )

    with pytest.raises(StreamFenced):
        catalog.table("shop.orders").committer().commit_stream_batch([], batch)


@pytest.mark.parametrize(
    "offsets",
    [{"0": -1}, {"0": 1.5}, {"0": "7"}, {"0": True}, {"-1": 3}, {"x": 3}, {"00": 3}, {"0": 2**48}],
    ids=str,
)
def test_what_is_no_offset_is_refused(sales: HttpClient, offsets: dict[str, Any]) -> None:
    answer = put(sales, offsets)

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith("/offsets/")


def test_a_small_move_back_does_not_open_the_way_forwards(
    client: HttpClient, catalog: Catalog
) -> None:
    whole = {
        "columns": [{"name": "id", "type": "BIGINT"}, {"name": "amount", "type": "INT"}],
        "primary_key": ["id"],
        "merge_engine": "deduplicate",
    }
    client.put("/v1/tables/shop/orders", json=whole).raise_for_status()
    client.put(SALES, json={"topic": "orders"}).raise_for_status()
    read(catalog, start=0, end=100)
    client.post(f"{SALES}/stop").raise_for_status()
    put(client, {"0": 40}).raise_for_status()
    read(catalog, start=40, end=60)
    put(client, {"0": 59}).raise_for_status()

    refused = put(client, {"0": 100})

    assert refused.status_code == 422
    assert "would skip 41 offsets" in refused.json()["errors"][0]["message"]
    read(catalog, start=59, end=100)
    put(client, {"0": 110}).raise_for_status()
