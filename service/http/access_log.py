"""One line of the log per request: method, path, status, milliseconds and request id.

Plain ASGI, outside of everything else, so that it sees what every layer below answers. The id is taken
from the answer, where it is the caller's own or a new one. Parameters are left out: they name rows.
"""

import logging
import time
from collections.abc import Callable, MutableMapping
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from service.http.request_context import HEADER

logger = logging.getLogger(__name__)

_ID_HEADER: Final = HEADER.encode()
_PATH_CHARACTERS_MAX: Final = 500


class AccessLog:
    """Logs each HTTP request when it has been answered, or given up."""

    def __init__(self, app: ASGIApp, *, seconds: Callable[[], float] = time.perf_counter) -> None:
        """Wrap an application.

        Args:
            app: What answers.
            seconds: A clock that never goes back.
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

        async def note(message: MutableMapping[str, Any]) -> None:
            nonlocal status, request_id
            if message["type"] == "http.response.start":
                status = message["status"]
                found = (value for name, value in message["headers"] if name == _ID_HEADER)
                request_id = next(found, b"-").decode("latin-1")
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            # As it came: escapes are not resolved, so no path makes a second line.
            path = scope.get("raw_path") or scope["path"].encode("unicode_escape")
            logger.info(
                "%s %s %s %.1f ms request_id=%s",
                scope["method"],
                path[:_PATH_CHARACTERS_MAX].decode("latin-1"),
                status or "unanswered",
                (self._seconds() - started) * 1_000,
                request_id,
            )
