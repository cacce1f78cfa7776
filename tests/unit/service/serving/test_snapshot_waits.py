"""Requests that wait for a snapshot: bounded in number and time, and no other request waits for them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pyarrow as pa
import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO, Table
from braid.service.app import create_app
from braid.service.limits import ClassLimits, RequestClass, RequestLimits
from braid.service.settings import ServiceSettings
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/shop/parcels"
SPEC = {
    "columns": [{"name": "id", "type": "BIGINT"}, {"name": "paid", "type": "INT"}],
    "primary_key": ["id"],
    "merge_engine": "deduplicate",
}
WAITING = 6
ONE = dict.fromkeys(RequestClass, ClassLimits(running=1, waiting=WAITING))
PATIENT = 60.0

Use = Callable[[httpx.AsyncClient, Table], Awaitable[None]]


def run(limits: RequestLimits, use: Use) -> None:
    """Run coroutines with a client of an app, whose table has one snapshot with the row 1."""
    clock = ManualClock()
    file_io = MemoryFileIO(clock=clock)
    settings = ServiceSettings(warehouse="/w", limits=limits)
    app = create_app(settings, file_io=file_io, clock=clock)
    HttpClient(app).put(TABLE, json=SPEC).raise_for_status()
    table = Catalog("/w", file_io=file_io, clock=clock).table("shop.parcels")
    write(table, 10)

    async def main() -> None:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://braid") as client:
            await use(client, table)

    asyncio.run(main())


def write(table: Table, paid: int) -> None:
    table.write_and_commit(
        pa.table({"id": pa.array([1], pa.int64()), "paid": pa.array([paid], pa.int32())})
    )


def wait_for(client: httpx.AsyncClient, snapshot: int, *, path: str = "rows") -> Any:
    if path == "rows/lookup":
        body = {"keys": [{"id": 1}], "min_snapshot": snapshot}
        return asyncio.create_task(client.post(f"{TABLE}/{path}", json=body))
    parameters = {"id": 1, "min_snapshot": snapshot}
    return asyncio.create_task(client.get(f"{TABLE}/{path}", params=parameters))


@pytest.mark.parametrize("path", ["rows", "rows/status", "rows/explain", "rows/lookup"])
def test_requests_that_wait_have_no_slot_of_their_class(path: str) -> None:
    async def use(client: httpx.AsyncClient, table: Table) -> None:
        waiting = [wait_for(client, 2, path=path) for _ in range(WAITING)]
        # The class has one slot: each of these needs that all requests before have given it back.
        beside = [await client.get(f"{TABLE}/{one}?id=1") for one in ("rows", "rows/explain")]
        assert [answer.status_code for answer in beside] == [200, 200]
        assert not any(one.done() for one in waiting)

        write(table, 20)
        answers = await asyncio.gather(*waiting)

        assert [answer.status_code for answer in answers] == [200] * WAITING
        assert "20" in answers[0].text

    run(RequestLimits(classes=ONE, snapshot_wait_seconds=PATIENT), use)


def test_a_snapshot_that_does_not_come_is_a_problem_with_a_time_to_retry() -> None:
    async def use(client: httpx.AsyncClient, _: Table) -> None:
        refused = await wait_for(client, 2)

        assert (refused.status_code, refused.json()["code"]) == (409, "snapshot_not_reached")
        assert refused.headers["retry-after"] == "1"
        assert "has snapshot 1 and reached no snapshot 2" in refused.json()["detail"]
        # The slot is free again.
        assert (await client.get(f"{TABLE}/rows?id=1")).status_code == 200

    run(RequestLimits(classes=ONE, snapshot_wait_seconds=0.2), use)


def test_a_wait_too_many_is_refused_at_once() -> None:
    async def use(client: httpx.AsyncClient, table: Table) -> None:
        first = wait_for(client, 2)
        await client.get(f"{TABLE}/rows?id=1")  # after the first one has begun to wait
        refused = await wait_for(client, 2)
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
        assert refused.headers["retry-after"] == "1"

        write(table, 20)
        assert (await first).status_code == 200
        assert (await wait_for(client, 2)).status_code == 200

    run(RequestLimits(classes=ONE, snapshot_wait_seconds=PATIENT, snapshot_waits=1), use)
