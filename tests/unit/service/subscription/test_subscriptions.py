"""Subscriptions send the state of changed rows, each changed key once for all of them, and continue from a cursor."""

import asyncio
from collections.abc import Iterator

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    ChangesExpired,
    InvalidRequest,
    ManualClock,
    MemoryFileIO,
    Table,
    TableNotFound,
)
from braid.service.app import create_app
from braid.service.braid_app import BraidApp
from braid.service.lifecycle import ServiceStops
from braid.service.limits import RequestLimits
from braid.service.settings import ServiceSettings
from tests.unit.service.subscription.subscriber import states_of, subscribed

PARCELS = "shop.parcels"
FOLLOW_MS = 5


@pytest.fixture
def table(catalog: Catalog) -> Table:
    """A table (id BIGINT, paid INT) of the engine deduplicate."""
    return catalog.create_table(
        PARCELS,
        columns=[("id", "BIGINT"), ("paid", "INT")],
        primary_key=["id"],
        options={"bucket": "2"},
    )


@pytest.fixture
def app(
    file_io: MemoryFileIO, clock: ManualClock, catalog: Catalog, table: Table
) -> Iterator[BraidApp]:
    settings = ServiceSettings(
        warehouse="/w", follow_ms=FOLLOW_MS, limits=RequestLimits(heartbeat_seconds=0.05)
    )
    app = create_app(settings, catalog=catalog, file_io=file_io, clock=clock)
    yield app
    app.state.components.subscriptions.close()
    app.state.components.followers.close()


def write(table: Table, *rows: tuple[int, int | None], kind: int = 0) -> int:
    """Commit rows (id, paid), all of one kind, and return the snapshot."""
    ids, paid = zip(*rows, strict=True)
    columns = {"id": pa.array(ids, pa.int64()), "paid": pa.array(paid, pa.int32())}
    kinds = pa.array([kind] * len(rows), pa.int8())
    return table.write_and_commit(pa.table(columns), kinds=kinds).snapshot_id


def test_changed_rows_are_sent_with_the_snapshot_they_are_of(app: BraidApp, table: Table) -> None:
    write(table, (1, 10))

    async def run() -> None:
        async with subscribed(app, PARCELS) as take:
            [begin] = await take(1)
            write(table, (1, 11), (2, 20))
            changed = await take(2)
            write(table, (2, 20), kind=3)
            deleted = await take(3)

        assert begin.event == "snapshot"
        assert [event.data for event in changed if event.event == "row"] == [
            {"key": {"id": 1}, "row": {"id": 1, "paid": 11}, "deleted": False, "snapshot_id": 2},
            {"key": {"id": 2}, "row": {"id": 2, "paid": 20}, "deleted": False, "snapshot_id": 2},
        ]
        assert [event.data for event in deleted if event.event == "row"] == [
            {"key": {"id": 2}, "row": None, "deleted": True, "snapshot_id": 3}
        ]

    asyncio.run(run())


def test_only_the_keys_that_were_named_are_sent(app: BraidApp, table: Table) -> None:
    write(table, (1, 10), (2, 20), (3, 30))

    async def run() -> None:
        async with (
            subscribed(app, PARCELS, id="2") as one,
            subscribed(app, PARCELS, keys='[{"id": 1}, {"id": "3"}]') as two,
        ):
            await one(1)
            await two(1)
            write(table, (1, 11), (2, 21))
            write(table, (3, 31), (4, 41))

            assert states_of(await one(3)) == [({"id": 2}, {"id": 2, "paid": 21})]
            assert sorted(key["id"] for key, _ in states_of(await two(3))) == [1, 3]

    asyncio.run(run())


@pytest.mark.parametrize("keys", [{}, {"id": "1"}])
def test_the_present_rows_are_sent_first(app: BraidApp, table: Table, keys: dict[str, str]) -> None:
    write(table, (1, 10))

    async def run() -> None:
        async with subscribed(app, PARCELS, initial="true", columns="paid", **keys) as take:
            assert states_of(await take(1)) == [({"id": 1}, {"paid": 10})]
            write(table, (1, 11))
            assert states_of(await take(2)) == [({"id": 1}, {"paid": 11})]

    asyncio.run(run())


def test_a_key_without_a_row_is_sent_as_deleted_first(app: BraidApp, table: Table) -> None:
    write(table, (1, 10))

    async def run() -> None:
        async with subscribed(app, PARCELS, id="7", initial="true") as take:
            assert states_of(await take(1)) == [({"id": 7}, None)]

    asyncio.run(run())


def test_a_cursor_continues_with_the_newest_state_of_what_has_changed(
    app: BraidApp, table: Table
) -> None:
    write(table, (1, 10))

    async def run() -> None:
        async with subscribed(app, PARCELS) as take:
            cursor = (await take(1))[-1].id or ""
        write(table, (1, 11), (2, 20))
        write(table, (2, 21))
        table.compact()
        expected = [({"id": 1}, {"id": 1, "paid": 11}), ({"id": 2}, {"id": 2, "paid": 21})]
        async with subscribed(app, PARCELS, cursor=cursor) as take:
            assert sorted(states_of(await take(4)), key=repr) == expected
        async with subscribed(app, PARCELS, last_event_id=cursor, initial="true") as take:
            assert sorted(states_of(await take(4)), key=repr) == expected

    asyncio.run(run())


def test_changes_after_a_snapshot_or_since_the_beginning_are_sent(
    app: BraidApp, table: Table
) -> None:
    write(table, (1, 10))
    write(table, (2, 20))

    async def run() -> None:
        async with subscribed(app, PARCELS, from_="1") as take:
            assert states_of(await take(2)) == [({"id": 2}, {"id": 2, "paid": 20})]
        async with subscribed(app, PARCELS, from_="0") as take:
            assert sorted(key["id"] for key, _ in states_of(await take(2))) == [1, 2]
        with pytest.raises(InvalidRequest, match="does not exist"):
            async with subscribed(app, PARCELS, from_="3"):
                pass

    asyncio.run(run())


def test_a_cursor_whose_snapshot_has_expired_is_refused(app: BraidApp, table: Table) -> None:
    write(table, (1, 10))

    async def run() -> None:
        async with subscribed(app, PARCELS) as take:
            cursor = (await take(1))[-1].id or ""
        write(table, (1, 11))
        write(table, (1, 12))
        table.expire(retain_max=1, retain_min=1)
        app.state.components.followers.newest(PARCELS)
        with pytest.raises(ChangesExpired, match="start anew"):
            async with subscribed(app, PARCELS, cursor=cursor):
                pass
        with pytest.raises(ChangesExpired):
            async with subscribed(app, PARCELS, from_="1"):
                pass

    asyncio.run(run())


def test_a_cursor_from_before_a_rollback_is_refused(app: BraidApp, table: Table) -> None:
    write(table, (1, 10))
    write(table, (1, 11))

    async def run() -> None:
        async with subscribed(app, PARCELS) as take:
            cursor = (await take(2))[-1].id or ""
            table.rollback(snapshot_id=1)
            with pytest.raises(ChangesExpired, match="rolled back"):
                await take(3)
        write(table, (1, 12))
        with pytest.raises(ChangesExpired, match="rolled back"):
            async with subscribed(app, PARCELS, cursor=cursor):
                pass

    asyncio.run(run())


def test_a_heartbeat_has_the_cursor_of_the_last_snapshot(app: BraidApp, table: Table) -> None:
    write(table, (1, 10))

    async def run() -> None:
        async with subscribed(app, PARCELS) as take:
            [first] = await take(1)
            [second] = await take(1)
            assert first == second

    asyncio.run(run())


def test_the_rows_of_a_snapshot_are_looked_up_once_for_all_subscribers(
    app: BraidApp, table: Table
) -> None:
    write(table, (1, 10))

    async def run() -> None:
        async with subscribed(app, PARCELS) as one, subscribed(app, PARCELS) as other:
            await one(1)
            await other(1)
            write(table, (1, 11))
            [feed] = app.state.components.subscriptions._feeds.values()
            computed: list[object] = []
            new_part = feed._new_part

            def counted(*arguments: object) -> object:
                computed.append(arguments)
                return new_part(*arguments)

            feed._new_part = counted
            rows = await asyncio.gather(one(2), other(2))

            assert states_of(rows[0]) == states_of(rows[1]) == [({"id": 1}, {"id": 1, "paid": 11})]
            assert len(computed) == 1

    asyncio.run(run())


def test_nothing_is_looked_for_after_the_last_subscriber(app: BraidApp, table: Table) -> None:
    write(table, (1, 10))

    async def run() -> None:
        async with subscribed(app, PARCELS) as take:
            await take(1)
            assert len(app.state.components.subscriptions._feeds) == 1
        assert not app.state.components.subscriptions._feeds
        assert len(asyncio.all_tasks()) <= 2, "this test, and a task that was cancelled"

    asyncio.run(run())


def test_a_subscription_ends_when_the_table_is_dropped(
    app: BraidApp, table: Table, catalog: Catalog
) -> None:
    write(table, (1, 10))

    async def run() -> None:
        async with subscribed(app, PARCELS) as take:
            await take(1)
            catalog.drop_table(PARCELS)
            with pytest.raises(TableNotFound):
                await take(2)

    asyncio.run(run())


def test_a_subscription_ends_with_the_process(app: BraidApp, table: Table) -> None:
    async def run() -> None:
        async with subscribed(app, PARCELS) as take:
            await take(0)
            app.state.components.subscriptions.close()
            with pytest.raises(ServiceStops):
                await take(1)
        with pytest.raises(ServiceStops):
            async with subscribed(app, PARCELS):
                pass

    asyncio.run(run())


def test_a_process_that_follows_no_table_looks_itself(
    file_io: MemoryFileIO, clock: ManualClock, catalog: Catalog, table: Table
) -> None:
    app = create_app(
        ServiceSettings(warehouse="/w", follow_ms=0), catalog=catalog, file_io=file_io, clock=clock
    )

    async def run() -> None:
        async with subscribed(app, PARCELS, id="1") as take:
            await take(0)
            write(table, (1, 10))
            assert states_of(await take(1)) == [({"id": 1}, {"id": 1, "paid": 10})]

    asyncio.run(run())
