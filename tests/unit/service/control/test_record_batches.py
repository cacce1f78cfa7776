"""The micro-batch that has read a record is found in the snapshots that are kept."""

import random
from collections.abc import Mapping

import pytest

from braid.lake import (
    BatchAccount,
    Catalog,
    InvalidRequest,
    ManualClock,
    MemoryFileIO,
    Snapshot,
    StreamBatch,
    Table,
    batch_of,
)
from braid.service.control.read_after import PushedPlace, ReadAfter
from braid.service.control.record_batches import find_batch

PARTITIONS = 3
AFTER = ReadAfter(table="shop.orders", stream="sales", topic_id="T", records={})


@pytest.fixture
def table() -> Table:
    catalog = Catalog("/w", file_io=MemoryFileIO(), clock=ManualClock())
    return catalog.create_table(
        "shop.orders", columns=[("id", "BIGINT")], primary_key=["id"], options={"bucket": "1"}
    )


def claim(table: Table, stream: str) -> int:
    offsets = dict.fromkeys(range(PARTITIONS), 0)
    position = table.committer().claim_stream(
        stream, topic="orders", topic_id="T", initial_offsets=offsets
    )
    return position.epoch


def commit(
    table: Table,
    batch_id: int,
    start: Mapping[int, int],
    end: Mapping[int, int],
    *,
    stream: str = "sales",
    epoch: int = 1,
) -> StreamBatch:
    batch = StreamBatch(
        stream=stream,
        epoch=epoch,
        batch_id=batch_id,
        topic="orders",
        topic_id="T",
        start=dict(start),
        end=dict(end),
        account=BatchAccount(ignored=sum(end.values()) - sum(start.values())),
    )
    table.committer().commit_stream_batch([], batch)
    return batch


def feed(table: Table, count: int) -> list[StreamBatch]:
    """Commit micro-batches of two streams; return those of the first."""
    chance = random.Random(7)
    claim(table, "sales")
    other_epoch = claim(table, "other")
    offsets, found = dict.fromkeys(range(PARTITIONS), 0), []
    other: dict[int, int] = dict(offsets)
    for number in range(count):
        end = {p: offset + chance.randint(0, 3) for p, offset in offsets.items()}
        found.append(commit(table, number, offsets, end))
        offsets = end
        if chance.random() < 0.5:
            after = {p: offset + 1 for p, offset in other.items()}
            commit(table, number, other, after, stream="other", epoch=other_epoch)
            other = after
    return found


def newest(table: Table) -> Snapshot:
    found = table.latest_snapshot()
    assert found is not None
    return found


def places_of(batch: StreamBatch) -> list[PushedPlace]:
    return [
        PushedPlace(p, offset)
        for p in range(PARTITIONS)
        for offset in range(batch.start[p], batch.end[p])
    ]


def test_every_record_is_found(table: Table) -> None:
    batches = feed(table, 40)

    for batch in batches:
        for place in places_of(batch):
            assert find_batch(table, newest(table), AFTER, place) == batch


def test_records_of_expired_snapshots_are_not_found(table: Table) -> None:
    batches = feed(table, 20)
    count = 7
    table.expire(retain_min=count, retain_max=count)
    last = newest(table).id
    kept = [batch_of(table.snapshot(number)) for number in range(last - count + 1, last + 1)]
    with pytest.raises(InvalidRequest):
        table.snapshot(last - count)

    for batch in batches:
        for place in places_of(batch):
            found = find_batch(table, newest(table), AFTER, place)
            assert found == (batch if batch in kept else None)


def test_records_of_another_topic_are_not_found(table: Table) -> None:
    feed(table, 5)
    after = ReadAfter(table="shop.orders", stream="sales", topic_id="U", records={})

    assert find_batch(table, newest(table), after, PushedPlace(0, 0)) is None
