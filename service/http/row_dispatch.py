"""ASGI layer that answers requests for rows before the framework, whose routing and dependencies take longer than a row.

It is the innermost layer, so all bounds and logs of the others hold for these requests, too. The routes of rows call the
same answers (`row_answers`), and the framework documents them. A request that this layer does not know, and a body that is not as
declared, go to the framework.
"""

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from fastapi.exceptions import HTTPException, RequestValidationError
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from braid.lake import LakeError
from braid.registry.errors import RegistryError
from braid.schemas.api import RowKeys
from braid.service.body_thread import SMALL, BodyThread
from braid.service.checked_body import checked
from braid.service.control.row_lookup import RowNotFound
from braid.service.principal import mask_of
from braid.service.problems.error_handlers import on_own_error
from braid.service.replayed_body import replayed
from braid.service.scope_headers import header_of
from braid.service.scope_notes import ROUTE, ROW
from braid.service.serving.row_answers import RowAnswer, RowAnswers, RowState

_PATH: Final = re.compile(
    r"/v1/tables/([^/]+)/([^/]+)/(?:rows|rows(?P<status>/status)|views/(?P<view>[^/]+)/rows)"
)
_TABLE: Final = "/v1/tables/{database}/{table}"
_LOOKUP: Final = re.compile(r"/v1/tables/([^/]+)/([^/]+)/(?:rows|views/(?P<view>[^/]+))/lookup")


class RowDispatch:
    """Answers `GET …/rows`, `GET …/rows/status`, `GET …/views/{view}/rows`, and `POST …/lookup` of rows and of views."""

    def __init__(self, app: ASGIApp, rows: RowAnswers, bodies: BodyThread) -> None:
        """Put the layer before an app; large bodies are parsed in the thread of bodies."""
        self._app = app
        self._rows = rows
        self._bodies = bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        method = scope["method"] if scope["type"] == "http" else None
        if method == "GET" and (found := _PATH.fullmatch(scope["path"])):
            accept = header_of(scope, b"accept")
            scope[ROUTE] = _route_of(found)
            table = f"{found[1]}.{found[2]}"
            answer = self._answer_to(found, accept)
            answering = answer(table, scope["query_string"], mask=mask_of(scope, table))
            await _send(answering, scope, receive, send)
        elif method == "POST" and (found := _LOOKUP.fullmatch(scope["path"])):
            await self._look_up(found, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _answer_to(
        self, found: re.Match[str], accept: str | None
    ) -> Callable[..., Awaitable[RowAnswer]]:
        """Return the function that answers a request for an address, from its table and query."""
        if found["view"] is not None:
            return partial(self._rows.view_row, view=found["view"])
        if found["status"] is not None:
            return self._rows.status
        return partial(self._rows.row, accept=accept)

    async def _look_up(
        self, found: re.Match[str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer a request for the rows of several keys."""
        body = (await receive())["body"]  # `BodyBounds` has read it as a whole
        keys = await self._keys_in(body)
        if keys is None:
            await self._app(scope, replayed(body, receive), send)
            return
        table, view = f"{found[1]}.{found[2]}", found["view"]
        scope[ROUTE] = (
            f"{_TABLE}/rows/lookup" if view is None else f"{_TABLE}/views/{{view}}/lookup"
        )
        mask = mask_of(scope, table)
        answering = (
            self._rows.rows(table, keys, header_of(scope, b"accept"), mask=mask)
            if view is None
            else self._rows.view_rows(table, keys, view=view, mask=mask)
        )
        await _send(answering, scope, receive, send)

    async def _keys_in(self, body: bytes) -> RowKeys | None:
        """Return the keys of a body; None if it is not as declared."""
        try:
            keys = (
                checked(body, RowKeys)
                if len(body) <= SMALL
                else await self._bodies.run(checked, body, RowKeys)
            )
        except (RequestValidationError, HTTPException):
            return None  # the framework finds it again, and says what is wrong
        assert isinstance(keys, RowKeys), "the model of these bodies"
        return keys


def _route_of(found: re.Match[str]) -> str:
    """Return the template of a path that `_PATH` matches."""
    if found["view"] is not None:
        return f"{_TABLE}/views/{{view}}/rows"
    return f"{_TABLE}/rows" if found["status"] is None else f"{_TABLE}/rows/status"


async def _send(
    answering: Awaitable[RowAnswer], scope: Scope, receive: Receive, send: Send
) -> None:
    try:
        answer = await answering
    except (LakeError, RegistryError) as error:
        if isinstance(error, RowNotFound):
            scope[ROW] = RowState.ABSENT
        response = await on_own_error(Request(scope, receive), error)
        await response(scope, receive, send)
        return
    if answer.row is not None:
        scope[ROW] = answer.row
    status, headers, body = answer.response(header_of(scope, b"if-none-match"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
