"""ASGI layer that refuses a request whose client accepts no media type that its answer can have.

Otherwise a client that asks for another form of an answer would read JSON as that form. Answers without a body and problems
have no such choice, so deletions pass.
"""

import re
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from braid.schemas import ProblemCode
from braid.schemas.field_problems import SHOWN_MAX, parameter_problem
from braid.service.arrow_stream import ARROW, JSON
from braid.service.guard.asgi_problem import send_problem
from braid.service.media_ranges import weight_in, weights_of
from braid.service.scope_headers import header_of
from braid.service.subscription.server_sent_events import MEDIA_TYPE as EVENTS

_ROWS: Final = re.compile(r"/v1/tables/[^/]+/[^/]+/rows(/lookup|/scan)?")
_ROW_EVENTS: Final = re.compile(r"/v1/tables/[^/]+/[^/]+/rows/events")


class AcceptableTypes:
    """Compares the header `accept` with the media types of the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "http" and is_negotiated(scope["method"], scope["path"]):
            accept = header_of(scope, b"accept")
            offered = _offered(scope["path"])
            if accept is not None and not _is_acceptable(accept, offered):
                await _refuse(accept, offered, scope, receive, send)
                return
        await self._app(scope, receive, send)


def is_negotiated(method: str, path: str) -> bool:
    """Return whether the answer to a request has one of the media types that its client accepts.

    >>> is_negotiated("GET", "/v1/tables"), is_negotiated("GET", "/console/")
    (True, False)
    """
    return method != "DELETE" and (path == "/v1" or path.startswith("/v1/"))


def _offered(path: str) -> tuple[str, ...]:
    if _ROW_EVENTS.fullmatch(path):
        return (EVENTS,)
    return (JSON, ARROW) if _ROWS.fullmatch(path) else (JSON,)


def _is_acceptable(accept: str, offered: tuple[str, ...]) -> bool:
    if accept in ("*/*", offered[0]):  # of nearly all clients
        return True
    weights = weights_of(accept)
    return any(weight_in(weights, media_type) > 0 for media_type in offered)


async def _refuse(
    accept: str, offered: tuple[str, ...], scope: Scope, receive: Receive, send: Send
) -> None:
    known = " or ".join(f"`{media_type}`" for media_type in offered)
    problem = parameter_problem(
        "accept",
        value=accept[:SHOWN_MAX],
        message=f"the answer is {known}",
        hint=f"send `accept: {offered[0]}`, or leave the header out",
    )
    await send_problem(
        ProblemCode.NOT_ACCEPTABLE,
        "the client accepts no media type that the answer can have",
        scope=scope,
        receive=receive,
        send=send,
        errors=[problem],
    )
