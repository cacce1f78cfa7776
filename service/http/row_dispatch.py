"""ASGI layer that answers requests for rows before the framework, whose routing and dependencies take longer than a row.

It is the innermost layer, so all bounds and logs of the others hold for these requests, too. The routes of rows call the
same answers (`row_answers`), and the framework documents them. A request that this layer does not know goes to the framework.
"""

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from braid.lake import LakeError
from braid.registry.errors import RegistryError
from braid.service.problems.error_handlers import on_own_error
from braid.service.scope_headers import header_of
from braid.service.serving.row_answers import RowAnswer, RowAnswers

_PATH: Final = re.compile(
    r"/v1/tables/([^/]+)/([^/]+)/(?:rows|rows(?P<status>/status)|views/(?P<view>[^/]+)/rows)"
)


class RowDispatch:
    """Answers `GET …/rows`, `GET …/rows/status` and `GET …/views/{view}/rows`."""

    def __init__(self, app: ASGIApp, rows: RowAnswers) -> None:
        """Put the layer before an app."""
        self._app = app
        self._rows = rows

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        found = _PATH.fullmatch(scope["path"])
        if found is None:
            await self._app(scope, receive, send)
            return
        try:
            answer = self._answer_to(found, header_of(scope, b"accept"))
            given = await answer(f"{found[1]}.{found[2]}", scope["query_string"])
        except (LakeError, RegistryError) as error:
            response = await on_own_error(Request(scope, receive), error)
            await response(scope, receive, send)
            return
        status, headers, body = given.response(header_of(scope, b"if-none-match"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _answer_to(
        self, found: re.Match[str], accept: str | None
    ) -> Callable[[str, bytes], Awaitable[RowAnswer]]:
        """Return the function that answers a request for an address, from its table and query."""
        if found["view"] is not None:
            return partial(self._rows.view_row, view=found["view"])
        if found["status"] is not None:
            return self._rows.status
        return partial(self._rows.row, accept=accept)
