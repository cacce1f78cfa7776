"""ASGI layer with a span for each request, for processes that trace.

The span has method, route and status; the path and the query are left out, because they contain keys of rows.
"""

from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from braid.service.http.access_log import route_of
from braid.service.scope_headers import header_of
from braid.telemetry.tracing import request_span

_CONTEXT = ("traceparent", "tracestate")


class RequestTraces:
    """Begins a span with each request, in the trace of its client if it names one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = {name: header_of(scope, name.encode()) for name in _CONTEXT}
        headers = {name: value for name, value in given.items() if value is not None}
        method = scope["method"]
        with request_span(method, headers, {"http.request.method": method}) as span:

            async def record(message: MutableMapping[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                await send(message)

            try:
                await self._app(scope, receive, record)
            finally:
                span.update_name(f"{method} {route_of(scope)}")
                span.set_attribute("http.route", route_of(scope))
                request_id = scope.get("state", {}).get("request_id")
                if request_id is not None:
                    span.set_attribute("braid.request_id", request_id)
