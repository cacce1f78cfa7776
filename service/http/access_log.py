"""Access log and metrics: one line per request with method, path, status, milliseconds, request id and client, and one observation.

It is the outermost ASGI layer, so it sees the responses of every layer below. The request id is the one in
the response's header: the caller's own id or a new one. The client is left out where none is known. Query parameters are left out, because they contain
keys of rows. Metrics have the route, the template of the path: `row_dispatch` or the framework notes it in the scope. Requests with heads that `protocol` refuses do not reach this layer; `protocol` logs them itself.
"""

import logging
import time
from collections.abc import Callable, MutableMapping
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from braid.service.http.request_context import HEADER
from braid.service.metrics import NO_ROUTE, NO_ROW, ServiceMetrics
from braid.service.scope_notes import CLIENT, ROUTE, ROW
from braid.telemetry.logs import ARGUMENT_NAMES

logger = logging.getLogger(__name__)

_ID_HEADER: Final = HEADER.encode()
_PATH_CHARACTERS_MAX: Final = 500
_NAMES: Final = {
    ARGUMENT_NAMES: ("method", "path", "status", "duration_ms", "request_id", "client")
}
_LINE: Final = "%s %s %s %.1f ms request_id=%s"
_LINE_OF_CLIENT: Final = f"{_LINE} client=%s"


class AccessLog:
    """Logs and counts each HTTP request after its answer, or when it ends without one."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: ServiceMetrics,
        *,
        seconds: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Wrap an application.

        Args:
            app: The application.
            metrics: Where requests are counted.
            seconds: A monotonic clock.
        """
        self._app = app
        self._metrics = metrics
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
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
            seconds = self._seconds() - started
            self._metrics.observe_request(
                scope["method"], route_of(scope), status, scope.get(ROW, NO_ROW), seconds
            )
            if logger.isEnabledFor(logging.INFO):
                # The raw path: with escapes resolved, a path with a line break could forge a log line.
                path = scope.get("raw_path") or scope["path"].encode("unicode_escape")
                client = scope.get(CLIENT)
                logger.info(
                    _LINE if client is None else _LINE_OF_CLIENT,
                    scope["method"],
                    path[:_PATH_CHARACTERS_MAX].decode("latin-1"),
                    status or "unanswered",
                    seconds * 1_000,
                    request_id,
                    *(() if client is None else (client,)),
                    extra=_NAMES,
                )


def route_of(scope: Scope) -> str:
    """Return the template of a request's path, as far as one was found."""
    noted = scope.get(ROUTE)
    if noted is not None:
        return str(noted)
    return getattr(scope.get("route"), "path", NO_ROUTE)
