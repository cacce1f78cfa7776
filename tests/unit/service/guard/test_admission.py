"""A class of requests waits only for requests of its own class."""

import asyncio
from dataclasses import replace

import httpx
from starlette.types import Receive, Scope, Send

from braid.service.guard.admission import Admission
from braid.service.http.request_context import RequestContext
from braid.service.limits import ClassLimits, RequestClass, RequestLimits

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


def test_a_full_class_is_refused_and_others_continue() -> None:
    async def check() -> None:
        app = Stuck()
        transport = httpx.ASGITransport(RequestContext(Admission(app, LIMITS)))
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
        transport = httpx.ASGITransport(RequestContext(Admission(endless, limits)))
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
        transport = httpx.ASGITransport(RequestContext(Admission(app, limits)))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            read = asyncio.create_task(client.get("/v1/tables"))
            await app.has_begun.wait()
            late = [(await client.get("/v1/tables")).status_code for _ in range(3)]
            app.may_end.set()
            statuses = [(await read).status_code, (await client.get("/v1/tables")).status_code]

        assert late == [503] * 3
        assert statuses == [200, 200]

    asyncio.run(check())
