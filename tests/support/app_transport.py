"""A transport of httpx that hands requests of a synchronous client to an app in this process, without a socket."""

import asyncio

import httpx
from fastapi import FastAPI


class AppTransport(httpx.BaseTransport):
    """Each request has an event loop of its own, so that several threads may send at once."""

    def __init__(self, app: FastAPI) -> None:
        self._transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return asyncio.run(self._answer(request))

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = await self._transport.handle_async_request(request)
        content = await answer.aread()
        return httpx.Response(answer.status_code, headers=answer.headers, content=content)
