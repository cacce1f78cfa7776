"""Access log: one line per request with method, path, status, milliseconds and request id.

It is the outermost ASGI layer, so it sees the responses of every layer below. The request id is the one in
the response's header: the caller's own id or a new one. Query parameters are left out, because they contain
keys of rows. Requests with heads that `protocol` refuses do not reach this layer; `protocol` logs them itself.
"""

import logging
import time
from collections.abc import Callable, MutableMapping
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from braid.service.http.request_context import HEADER

logger = logging.getLogger(__name__)

_ID_HEADER: Final = HEADER.encode()
_PATH_CHARACTERS_MAX: Final = 500


class AccessLog:
    """Logs each HTTP request after its answer, or when it ends without one."""

    def __init__(self, app: ASGIApp, *, seconds: Callable[[], float] = time.perf_counter) -> None:
        """Wrap an application.

        Args:
            app: The application.
            seconds: A monotonic clock.
        """
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http" or not logger.isEnabledFor(logging.INFO):
            await self._app(scope, receive, send)
            return
        started = self._seconds()
        status, request_id = 0, "-"

        async def record(message: MutableMapping[str, Any]) -> None:
            nonlocal status, request_id
            if message["type"] == "http.response.start":
                status = message["status"]
                found = (value for name, value in message["headers"] if name == _ID_HEADER)
                request_id = next(found, b"-").decode("latin-1")
            await send(message)

        try:
            await self._app(scope, receive, record)
        finally:
            # The raw path: with escapes resolved, a path with a line break could forge a log line.
            path = scope.get("raw_path") or scope["path"].encode("unicode_escape")
            logger.info(
                "%s %s %s %.1f ms request_id=%s",
                scope["method"],
                path[:_PATH_CHARACTERS_MAX].decode("latin-1"),
                status or "unanswered",
                (self._seconds() - started) * 1_000,
                request_id,
            )
