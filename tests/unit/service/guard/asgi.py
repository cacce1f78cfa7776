"""An app behind one ASGI layer, called without a socket."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from braid.service.http.request_context import RequestContext

Guard = Callable[[ASGIApp], ASGIApp]


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the length of the body, once it is there."""
    size, is_more = 0, True
    while is_more:
        message = await receive()
        size += len(message.get("body", b""))
        is_more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


def ask(
    guard: Guard,
    method: str = "GET",
    path: str = "/v1/tables",
    *,
    host: str = "localhost:8080",
    headers: Mapping[str, str] | None = None,
    more_headers: Sequence[tuple[str, str]] = (),
    content: bytes | AsyncIterator[bytes] | None = None,
    app: ASGIApp = echo,
) -> httpx.Response:
    """Return the answer to one request; `more_headers` may repeat names."""

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(RequestContext(guard(app)))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            sent = [*{"host": host, **(headers or {})}.items(), *more_headers]
            options: dict[str, Any] = {"headers": sent}
            return await client.request(method, path, content=content, **options)

    return asyncio.run(send())
