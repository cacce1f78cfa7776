"""A subscription ends when its client may not read the rows any more."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import orjson

from braid.service.limits import RequestLimits
from tests.unit.registry.shop import ORDERS
from tests.unit.service.access.guarded import Guarded

PATH = "/v1/tables/shop/orders/rows/events"


def test_a_subscription_ends_when_its_token_expires() -> None:
    guarded = Guarded(limits=RequestLimits(heartbeat_seconds=0.01))
    admin = guarded.token("ops", "admin:*")
    guarded.request("PUT", "/v1/tables/shop/orders", admin, json=ORDERS).raise_for_status()
    expires_ms = guarded.clock.now_ms() + 1_000
    reader = guarded.token("reader", "read:shop.*", expires_ms=expires_ms)
    sent: list[bytes] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message.get("body", b""))
        if len(sent) == 5:  # some heartbeats have come
            guarded.clock.advance(ms=1_000)

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    headers = [(b"host", b"braid"), (b"authorization", f"Bearer {reader}".encode())]
    scope = {
        "type": "http", "http_version": "1.1", "method": "GET", "path": PATH, "headers": headers,
        "raw_path": PATH.encode(), "query_string": b"", "scheme": "http", "server": ("braid", 80),
        "asgi": {"spec_version": "2.4", "version": "3.0"},
    }  # fmt: skip
    asyncio.run(guarded.client.app(scope, receive, send))

    events = [event for chunk in sent for event in chunk.decode().split("\n\n") if event]
    assert len(events) > 3
    assert not any("event: error" in event for event in events[:-1])
    assert "event: error\n" in events[-1]
    problem = orjson.loads(events[-1].partition("data: ")[2])
    assert (problem["status"], problem["code"]) == (401, "unauthenticated")
    assert "has expired" in problem["detail"]
