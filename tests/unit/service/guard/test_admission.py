"""A class of requests waits only for requests of its own class."""

import asyncio
from contextlib import suppress
from dataclasses import replace

import httpx
import pytest
from prometheus_client import Gauge
from starlette.types import Receive, Scope, Send

from braid.service.guard.admission import Admission
from braid.service.http.request_context import RequestContext
from braid.service.limits import ClassLimits, RequestClass, RequestLimits
from braid.service.metrics import ServiceMetrics
from braid.service.request_slot import SlotNotFree, without_slot

ONE = ClassLimits(running=1, waiting=1, wait_seconds=60)
LIMITS = RequestLimits(classes=dict.fromkeys(RequestClass, ONE))


class Stuck:
    """An app whose reads do not end until they may."""

    def __init__(self) -> None:
        self.has_begun = asyncio.Event()
        self.may_end = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.has_begun.set()
        if scope["path"] == "/v1/tables" and scope["method"] == "GET":
            await self.may_end.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def test_requests_that_run_wait_and_are_refused_are_metrics() -> None:
    metrics = ServiceMetrics()

    def value(gauge: Gauge) -> float:
        metrics.sample()
        return next(
            sample.value
            for sample in next(iter(gauge.collect())).samples
            if sample.labels["class"] == "read"
        )

    async def check() -> None:
        app = Stuck()
        transport = httpx.ASGITransport(RequestContext(Admission(app, LIMITS, metrics)))
        async with httpx.AsyncClient(transport=transport, base_url="http://braid") as client:
            running = asyncio.create_task(client.get("/v1/tables"))
            await app.has_begun.wait()
            waiting = asyncio.create_task(client.get("/v1/tables"))
            while value(metrics.waiting) == 0:  # noqa: ASYNC110 - a gate has no event
                await asyncio.sleep(0)
            assert value(metrics.running) == 1
            refused = await client.get("/v1/tables")
            app.may_end.set()
            assert {(await running).status_code, (await waiting).status_code} == {200}
        assert refused.status_code == 429
        assert (value(metrics.running), value(metrics.waiting)) == (0, 0)
        (counted,) = next(iter(metrics.refused.collect())).samples
        assert counted.labels == {"class": "read", "code": "too_many_requests"}

    asyncio.run(check())


def test_a_full_class_is_refused_and_others_continue() -> None:
    async def check() -> None:
        app = Stuck()
        transport = httpx.ASGITransport(RequestContext(Admission(app, LIMITS, ServiceMetrics())))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            reads = [asyncio.create_task(client.get("/v1/tables")) for _ in range(2)]
            await app.has_begun.wait()
            refused = await client.get("/v1/tables")
            beside = [
                await client.get("/health"),
                await client.get("/ready"),
                await client.post("/v1/tables"),
                await client.get("/v1/tables/a/b/changes"),
            ]
            app.may_end.set()
            answers = await asyncio.gather(*reads)
            after = await client.get("/v1/tables")

        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
        assert refused.headers["retry-after"] == "1"
        assert [answer.status_code for answer in (*beside, *answers, after)] == [200] * 7

    asyncio.run(check())


def test_a_subscription_too_many_is_refused_at_once() -> None:
    async def check() -> None:
        started = asyncio.Event()

        async def endless(scope: Scope, receive: Receive, send: Send) -> None:
            started.set()
            await asyncio.Event().wait()

        defaults = RequestLimits().classes[RequestClass.SUBSCRIPTION]
        limits = RequestLimits(classes={RequestClass.SUBSCRIPTION: replace(defaults, running=1)})
        transport = httpx.ASGITransport(
            RequestContext(Admission(endless, limits, ServiceMetrics()))
        )
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            address = "/v1/tables/a/b/rows/events"
            open_one = asyncio.create_task(client.get(address))
            await started.wait()
            refused = await client.get(address)
            open_one.cancel()

        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_subscriptions")
        assert int(refused.headers["retry-after"]) > 0

    asyncio.run(check())


def test_a_request_that_waits_too_long_is_refused_and_keeps_no_slot() -> None:
    hasty = ClassLimits(running=1, waiting=1, wait_seconds=0.0)

    async def check() -> None:
        app = Stuck()
        limits = RequestLimits(classes=dict.fromkeys(RequestClass, hasty))
        transport = httpx.ASGITransport(RequestContext(Admission(app, limits, ServiceMetrics())))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            read = asyncio.create_task(client.get("/v1/tables"))
            await app.has_begun.wait()
            late = [(await client.get("/v1/tables")).status_code for _ in range(3)]
            app.may_end.set()
            statuses = [(await read).status_code, (await client.get("/v1/tables")).status_code]

        assert late == [503] * 3
        assert statuses == [200, 200]

    asyncio.run(check())


class Waiting:
    """An app whose requests to `/v1/tables` wait without their slot, and all others with it."""

    def __init__(self) -> None:
        self.begun = asyncio.Queue[str]()
        self.may_end = {path: asyncio.Event() for path in ("/v1/tables", "/v1/tables/a/b")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, status = scope["path"], 200
        try:
            if path == "/v1/tables":
                async with without_slot():
                    await self._wait(path)
            else:
                await self._wait(path)
        except SlotNotFree:
            status = 503
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def _wait(self, path: str) -> None:
        self.begun.put_nowait(path)
        await self.may_end[path].wait()


@pytest.mark.parametrize(("wait_seconds", "status"), [(0.0, 503), (60.0, 200)])
def test_a_request_that_waits_without_its_slot_takes_one_again(
    wait_seconds: float, status: int
) -> None:
    one = ClassLimits(running=1, waiting=0, wait_seconds=wait_seconds)

    async def check() -> None:
        app = Waiting()
        limits = RequestLimits(classes=dict.fromkeys(RequestClass, one))
        transport = httpx.ASGITransport(RequestContext(Admission(app, limits, ServiceMetrics())))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            first = asyncio.create_task(client.get("/v1/tables"))
            assert await app.begun.get() == "/v1/tables"
            second = asyncio.create_task(client.get("/v1/tables/a/b"))
            assert await app.begun.get() == "/v1/tables/a/b"
            app.may_end["/v1/tables"].set()
            if not wait_seconds:
                assert (await first).status_code == status
            app.may_end["/v1/tables/a/b"].set()
            assert (await second).status_code == 200
            assert (await first).status_code == status

    asyncio.run(check())


def test_a_slot_that_was_given_back_is_not_freed_twice() -> None:
    one = ClassLimits(running=1, waiting=0)

    async def check() -> None:
        app = Waiting()
        limits = RequestLimits(classes=dict.fromkeys(RequestClass, one))
        transport = httpx.ASGITransport(
            RequestContext(Admission(app, limits, ServiceMetrics())), raise_app_exceptions=False
        )
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            first = asyncio.create_task(client.get("/v1/tables"))
            await app.begun.get()
            first.cancel()  # its client has gone, while it has no slot
            with suppress(asyncio.CancelledError):
                await first
            running = asyncio.create_task(client.get("/v1/tables/a/b"))
            await app.begun.get()
            assert (await client.get("/v1/tables/a/b")).status_code == 429
            app.may_end["/v1/tables/a/b"].set()
            assert (await running).status_code == 200

    asyncio.run(check())
