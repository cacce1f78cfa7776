"""Request ids and security headers of answers, and the response to exceptions that have no handler.

The layer is plain ASGI, because the framework's middleware class buffers responses and adds a task to each request.
"""

import logging
import re
import secrets
from collections.abc import MutableMapping
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from braid.schemas import ProblemCode
from braid.service.http.security_headers import with_security_headers
from braid.service.problems.problem_response import problem_response
from braid.service.scope_headers import header_of
from braid.telemetry.logs import REQUEST_ID

HEADER = "x-request-id"
_NAME = HEADER.encode()
_USABLE = re.compile(r"[A-Za-z0-9._:-]{1,128}")  # safe in a log line and in a header

logger = logging.getLogger(__name__)


class RequestContext:
    """Gives each request the id that its caller sent, if it is usable, or a new id, and returns the id in a header; logs have it, too.

    An exception without a handler becomes a problem without details; the log has them, with the id.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = header_of(scope, _NAME) or ""
        request_id = given if _USABLE.fullmatch(given) else secrets.token_hex(8)
        header = _NAME, request_id.encode()
        scope.setdefault("state", {})["request_id"] = request_id
        token = REQUEST_ID.set(request_id)
        has_started = False

        async def send_with_id(message: MutableMapping[str, Any]) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                others = (item for item in message.get("headers", ()) if item[0] != _NAME)
                message = {**message, "headers": [*with_security_headers(others), header]}
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except Exception:  # the outermost layer that can still answer
            logger.exception("request failed request_id=%s", request_id)
            # After the status line no other answer is possible: the server closes the connection.
            if has_started:
                raise
            response = problem_response(
                ProblemCode.INTERNAL_ERROR,
                "the service failed; the log has the reason, under the request id",
                instance=Request(scope).url.path,
                request_id=request_id,
            )
            await response(scope, receive, send_with_id)
        finally:
            REQUEST_ID.reset(token)
