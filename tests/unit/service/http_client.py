"""HTTP to an app in this process, one request at a time."""

import asyncio
from typing import Any

import httpx
from fastapi import FastAPI


class HttpClient:
    """Sends requests to an app without a socket; errors become answers, as with a server.

    State-changing requests are sent as JSON; a header that is None is left out.
    """

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self._transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return asyncio.run(self._request(method, path, **options))

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def put(self, path: str, **options: Any) -> httpx.Response:
        return self.request("PUT", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)

    def delete(self, path: str, **options: Any) -> httpx.Response:
        return self.request("DELETE", path, **options)

    async def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=self._transport, base_url="http://braid") as client:
            if method not in ("GET", "HEAD", "OPTIONS"):
                headers = {"content-type": "application/json", **options.pop("headers", {})}
                options["headers"] = {k: v for k, v in headers.items() if v is not None}
            return await client.request(method, path, **options)
