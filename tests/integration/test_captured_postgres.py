"""Changes of a real PostgreSQL server, captured by a real connector, make the rows of the server (`make cdc`).

Two tables of one server feed one table, one with REPLICA IDENTITY DEFAULT and one with FULL. The connector is killed
and sends events again; it reads the tables again, chunk by chunk and as a whole, while they change.
"""

import json
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.property.capture_bed import CaptureBed, captured_stream, captured_table
from tests.support.captured_postgres.captured_events import CapturedEvent, ChangeCapture
from tests.support.captured_postgres.server import PostgresServer
from tests.support.captured_postgres.workload import Workload
from tests.support.change_capture.change_capture import POSTGRESQL
from tests.support.change_capture.change_event import UNAVAILABLE
from tests.support.change_capture.source_table import Value
from tests.support.change_capture.topic import KafkaRecord

pytestmark = [pytest.mark.integration, pytest.mark.cdc]

CHANGES = 20_000
KEYS = 1_500
PARTITIONS = 4
TABLES = "public.orders,public.bills"
MARK = KEYS
"""The key of a row that is inserted last."""


def captured(server: PostgresServer, seed: int) -> tuple[list[CapturedEvent], list[Any]]:
    """Return the events of a server that lives through `CHANGES` changes, and the rows of its tables at the end."""
    workload = Workload(server, tables=POSTGRESQL, keys=KEYS, seed=seed)
    workload.fill(KEYS // 2)
    settings = {"header.converter.schemas.enable": "false"}
    with ChangeCapture(server, tables=TABLES, settings=settings) as capture:
        # No transaction is open at the first snapshot: the order of its changes would not be told.
        capture.wait_for(lambda events: len(events) > 0)
        workload.run(CHANGES // 4)
        capture.wait_for(has_sent("false", 1_000))
        kill_between_stores(capture, workload)
        workload.run(CHANGES // 20)
        capture.start()
        workload.run(CHANGES // 5)
        workload.signal("beside", "blocking", TABLES)
        workload.run(CHANGES // 10)
        capture.wait_for(has_sent("last", 2))
        workload.signal("chunks", "incremental", TABLES)
        workload.run(CHANGES // 10)
        capture.wait_for(has_sent("incremental", 1_000))
        workload.run(CHANGES - workload.changes)
        workload.finish()
        workload.insert_mark(MARK)
        events = capture.wait_for(
            lambda events: any(key_of(event) == MARK for event in events[-500:])
        )
        capture.kill()
    rows = [workload.rows(index) for index in range(len(POSTGRESQL))]
    workload.close()
    return events, rows


def kill_between_stores(capture: ChangeCapture, workload: Workload) -> None:
    """Kill the connector while it has sent events behind the offset that it has stored: it will send them again.

    The log has been read for a while. If the offset of the snapshot were the stored one, the connector would begin anew with a
    snapshot, and never tell of rows that were deleted before it.
    """
    first = capture.stored_offset()
    while True:
        stored = capture.stored_offset()
        more = has_events(len(capture.events()) + 100)
        workload.run(200)
        capture.wait_for(more)
        if stored == first:
            continue
        capture.kill()
        if capture.stored_offset() == stored:
            return
        capture.start()


def has_events(count: int) -> Callable[[list[CapturedEvent]], bool]:
    """Return whether so many events have been sent."""
    return lambda events: len(events) >= count


def has_sent(snapshot: str, count: int) -> Callable[[list[CapturedEvent]], bool]:
    """Return whether so many events of a phase have been sent."""
    text = f'"snapshot":"{snapshot}"'
    return lambda events: sum(text in (event.value or "") for event in events) >= count


def key_of(event: CapturedEvent) -> int:
    """Return the key of an event's row; -1 for a signal."""
    found: int = json.loads(event.key or "{}").get("id") if "signals" not in event.topic else -1
    return found


def records_of(events: list[CapturedEvent]) -> Iterator[KafkaRecord]:
    """Yield the records of the tables' topics."""
    names = [f"shop.public.{table.name}" for table in POSTGRESQL]
    ends: Counter[tuple[int, int]] = Counter()
    for event in events:
        if event.topic not in names or event.key is None:
            continue
        table, key = names.index(event.topic), event.key.encode()
        partition = zlib.crc32(key) % PARTITIONS
        offset = ends[table, partition]
        ends[table, partition] += 1
        yield KafkaRecord(
            table=table,
            partition=partition,
            offset=offset,
            timestamp_ms=1_790_000_000_000 + offset,
            key=key,
            value=None if event.value is None else event.value.encode(),
            headers=tuple((name, value.encode()) for name, value in event.headers.items()),
        )


def sent_values(events: list[CapturedEvent]) -> set[tuple[int, str, Value]]:
    """Return which value some event has for which column of which row of the first table."""
    table = POSTGRESQL[0]
    topic = f"shop.public.{table.name}"
    return {
        (key_of(event), name, after[name])
        for event in events
        if event.topic == topic and event.value is not None
        for after in [json.loads(event.value)["after"]]
        if after is not None
        for name in table.texts
    }


@pytest.mark.parametrize("seed", [1])
def test_the_table_has_the_rows_of_the_server(seed: int) -> None:
    with PostgresServer() as server:
        events, (orders, bills) = captured(server, seed)
    position = {"source": "change_position"}
    bed = CaptureBed(
        spec=captured_table(POSTGRESQL),
        tables=POSTGRESQL,
        streams=[captured_stream(one, "postgresql", position=position) for one in POSTGRESQL],
        partitions=PARTITIONS,
        chance=random.Random(seed),
        batch_max=4_000,
    )
    bed.ingest(records_of(events))

    found, found_bills = (
        {key: row for key, row in bed.rows(index).items() if row is not None} for index in (0, 1)
    )
    assert bed.examples == []
    assert found_bills == bills
    assert found.keys() == orders.keys()
    sent = sent_values(events)
    never_sent = 0
    for key, row in orders.items():
        for name, value, expected in zip(POSTGRESQL[0].columns, found[key], row, strict=True):
            if value != expected:
                # Its key was changed: the log has not had the value under the new one.
                assert value is None
                assert (key, name, expected) not in sent
                never_sent += 1

    seen = Counter({"events": len(events), "never sent": never_sent, "tombstones": 0})
    for event in events:
        seen["tombstones"] += event.value is None
        seen["unavailable"] += UNAVAILABLE in (event.value or "")
        seen["key changed"] += "__debezium.newkey" in event.headers
    seen["sent again"] = len(events) - len({(event.topic, _place(event)) for event in events})
    print(dict(seen), dict(bed.counts))
    assert all(seen.values()), seen


def _place(event: CapturedEvent) -> Any:
    """Return what is the same in events that are sent again."""
    if event.value is None:
        return object()
    message = json.loads(event.value)
    return message["source"]["sequence"], event.key, message["op"]
