"""A client that applies the events of a subscription has the rows of a scan, however slow it is, and wherever it connects again."""

import asyncio
import random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from braid.lake import Catalog, ManualClock, Table, TableSchema
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas.api import RowSubscription
from braid.service.column_mask import NO_MASK
from braid.service.open_tables import OpenTables
from braid.service.serving.followers import Followers
from braid.service.subscription.subscription_request import SubscriptionRequest, request_of_body
from braid.service.subscription.subscriptions import Subscriptions
from tests.property.test_lookup import ENGINES, scanned
from tests.property.test_table_model import Engine, commits, create, write
from tests.support.server_sent_events import events_of

KEYS = [{"k": 0, "p": ""}, {"k": 2, "p": "é/b"}, {"k": 9, "p": "x"}]
Rows = dict[tuple[int, str], dict[str, Any]]


class Client:
    """A client that keeps the rows that it is sent, and the id of the last event."""

    def __init__(self, subscriptions: Subscriptions, keys: list[dict[str, Any]] | None) -> None:
        self.rows: Rows = {}
        self.complete_id = -1
        self._subscriptions = subscriptions
        self._keys = keys
        self._last_id: str | None = None

    async def connect(self) -> None:
        if self._last_id is None:
            self.rows.clear()  # the present rows are sent anew, and say nothing of rows that are gone
        body = RowSubscription.model_validate({"keys": self._keys, "initial": True})

        def request_of(schema: TableSchema) -> SubscriptionRequest:
            return request_of_body("db.t", schema, body, last_event_id=self._last_id, mask=NO_MASK)

        self._subscription = await self._subscriptions.open("db.t", request_of)
        self._stream = self._subscription.events()

    async def take(self) -> None:
        """Apply what comes next."""
        text = (await anext(self._stream)).decode()
        for event in events_of(text.split("\n"), last_id=self._last_id):
            self._last_id = event.id
            if event.event == "snapshot":
                self.complete_id = event.data["snapshot_id"]
                continue
            key = event.data["key"]["k"], event.data["key"]["p"]
            assert event.data["deleted"] == (event.data["row"] is None)
            self.rows.pop(key, None)
            if event.data["row"] is not None:
                self.rows[key] = event.data["row"]

    async def see_newest(self) -> None:
        """Let the feed see what was committed, without a pause."""
        await self._subscription.feed.refresh()

    async def disconnect(self) -> None:
        await self._stream.aclose()
        self._subscription.feed.leave()


@pytest.mark.parametrize("name", ["deduplicate", "aggregation", "first-row", "rows removed"])
@pytest.mark.parametrize("keys", [None, KEYS], ids=["all keys", "some keys"])
@settings(deadline=None, max_examples=10)
@given(data=st.data())
def test_the_rows_of_events_are_those_of_a_scan(
    name: str, keys: list[dict[str, Any]] | None, data: st.DataObject
) -> None:
    options, has_deletes = ENGINES[name]
    engine = Engine(options=options, apply=lambda *_: None, has_deletes=has_deletes)
    table = create(engine, is_partitioned=False, bucket=2, target="400 b")
    asyncio.run(check(table, engine, keys, data))


async def check(
    table: Table, engine: Engine, keys: list[dict[str, Any]] | None, data: st.DataObject
) -> None:
    subscriptions = subscriptions_of(
        table, part_records=data.draw(st.sampled_from([1, 3, 1_000]), label="records of a part")
    )
    clients = [Client(subscriptions, keys), Client(subscriptions, None)]
    for client in clients:
        await client.connect()
    for commit in data.draw(st.lists(commits(engine), min_size=1, max_size=6), label="commits"):
        write(table, commit, flush_after=0)
        if data.draw(st.booleans(), label="compacts"):
            table.compact(full=data.draw(st.booleans(), label="full"))
        for client in clients:
            await client.see_newest()
            # As many as a slow client takes: there is always one more, if only the next heartbeat.
            for _ in range(data.draw(st.integers(0, 4), label="taken")):
                await client.take()
            if data.draw(st.booleans(), label="connects again"):
                await client.disconnect()
                await client.connect()
    newest = table.latest_snapshot()
    assert newest is not None
    for client in clients:
        await client.see_newest()
        while client.complete_id < newest.id:
            await client.take()
        await client.disconnect()
    subscriptions.close()

    rows = {(row["k"], row["p"]): row for row in scanned(table, newest.id)}
    wanted = rows.keys() if keys is None else {(key["k"], key["p"]) for key in keys}
    assert clients[0].rows == {key: row for key, row in rows.items() if key in wanted}
    assert clients[1].rows == rows


def subscriptions_of(table: Table, *, part_records: int) -> Subscriptions:
    """Return the subscriptions of a process that follows no table: it looks where the test says so."""
    clock = ManualClock()
    catalog = Catalog("/wh", file_io=table.file_io, clock=clock, random=random.Random(5))
    store = RegistryStore(table.file_io, "/wh", clock)
    followers = Followers(
        tables=OpenTables(catalog, clock=clock),
        registrar=Registrar(store, catalog, clock),
        clock=clock,
        follow_ms=0,
    )
    return Subscriptions(followers, follow_ms=0, heartbeat_s=0.001, part_records=part_records)
