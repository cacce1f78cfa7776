"""HTTP to an app in this process, one request at a time; every answer has to be one that is documented."""

import asyncio
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import httpx
from fastapi import FastAPI

from braid.lake import MemoryFileIO
from braid.schemas.merge_patch import MEDIA_TYPE as MERGE_PATCH
from braid.service.app import create_app
from braid.service.braid_app import BraidApp
from braid.service.problems.problem_response import MEDIA_TYPE
from braid.service.settings import ServiceSettings

_WITHOUT_OPERATION = ("not_found", "method_not_allowed", "unauthenticated", "scope_missing")


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

    def patch(self, path: str, **options: Any) -> httpx.Response:
        return self.request("PATCH", path, **options)

    def delete(self, path: str, **options: Any) -> httpx.Response:
        return self.request("DELETE", path, **options)

    async def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=self._transport, base_url="http://braid") as client:
            if method not in ("GET", "HEAD", "OPTIONS"):
                given = options.pop("headers", {})
                # A list of pairs for a header in several lines.
                pairs = list(given.items() if isinstance(given, Mapping) else given)
                if "content-type" not in dict(pairs):
                    pairs.append(
                        ("content-type", MERGE_PATCH if method == "PATCH" else "application/json")
                    )
                options["headers"] = [pair for pair in pairs if pair[1] is not None]
            answer = await client.request(method, path, **options)
        if isinstance(self.app, BraidApp):
            _check_documented(answer)
        return answer


def _check_documented(answer: httpx.Response) -> None:
    """Check that the OpenAPI document lists the status of an answer, and its problem if it is one, for the operation."""
    method, path = answer.request.method, answer.request.url.raw_path.decode().partition("?")[0]
    is_problem = answer.headers.get("content-type") == MEDIA_TYPE and method != "HEAD"
    code = answer.json()["code"] if is_problem else None
    for pattern, operations in _operations():
        if pattern.fullmatch(path) and method.lower() in operations:
            found = operations[method.lower()]["responses"].get(str(answer.status_code))
            is_documented = found and (code is None or f"`{code}`" in found["description"])
            what = f"{answer.status_code} {code or ''} is not documented"
            assert is_documented, f"{method} {pattern.pattern}: {what}"
            return
    assert code in (None, *_WITHOUT_OPERATION), f"{method} {path}: {code}"


@cache
def _operations() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    """Return the operations of each address, by a pattern of the address."""
    document = create_app(ServiceSettings(warehouse="/w"), file_io=MemoryFileIO()).openapi()
    return [
        (re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), operations)
        for path, operations in document["paths"].items()
    ]
