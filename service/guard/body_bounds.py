"""Bounds of the bodies of state-changing requests: size, time to arrive, depth, number of values, and total memory.

The layers below get a complete body, so no route waits for the body of such a request, and no route parses a body that
is too large. The layer is plain ASGI, because every request passes through it.

A body is refused as soon as it is known to be too large. The rest of the body is then read and discarded for a while, because
a client that sends its whole body before it reads would lose the answer if the connection were closed at once.
"""

import asyncio
import contextlib
from functools import partial

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from braid.schemas import ProblemCode
from braid.service.body_thread import SMALL, BodyThread
from braid.service.guard.asgi_problem import send_problem
from braid.service.guard.json_shape import json_shape
from braid.service.guard.request_class import STATE_CHANGING, class_of
from braid.service.limits import BodyLimits, RequestClass, RequestLimits
from braid.service.replayed_body import replayed

_DIGITS = 18  # digits of `content-length`: more than any body needs, and quick to parse
_QUIET_SECONDS = (
    2.0  # a refused sender that is silent for this time has read its answer, or never will
)
_WITH_KEYS = (RequestClass.BULK, RequestClass.SUBSCRIPTION)
_CLOSE = {"connection": "close"}


class _Refused(Exception):
    def __init__(self, code: ProblemCode, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


class _TooLarge(_Refused):
    def __init__(self, limits: BodyLimits, read: int) -> None:
        detail = f"the body is larger than {limits.bytes} bytes"
        super().__init__(ProblemCode.LIMIT_EXCEEDED, detail)
        self.read = read


class _ClientDisconnected(Exception):
    """The client has closed the connection before its body was complete."""


class BodyBounds:
    """Reads and checks the bodies of requests with a state-changing method, before anything else."""

    def __init__(self, app: ASGIApp, limits: RequestLimits, thread: BodyThread) -> None:
        self._app = app
        self._limits = limits
        self._thread = thread
        self._buffered = 0  # bytes of the bodies of all current requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http" or scope["method"] not in STATE_CHANGING:
            await self._app(scope, receive, send)
            return
        has_keys = class_of(scope["method"], scope["path"]) in _WITH_KEYS
        limits = self._limits.bulk_body if has_keys else self._limits.body
        held = [0]  # bytes of this body in `_buffered`; counted also if reading it fails
        try:
            body = await self._read(scope, receive, limits, held)
            if len(body) <= SMALL:
                _check_json(body, limits)
            else:
                await self._thread.run(_check_json, body, limits)
            await self._app(scope, replayed(body, receive), send)
        except _ClientDisconnected:
            return
        except _Refused as refused:
            await send_problem(
                refused.code,
                refused.detail,
                scope=scope,
                receive=receive,
                send=send,
                headers=_CLOSE,
                before_end=(
                    partial(self._discard, receive, refused.read)
                    if isinstance(refused, _TooLarge)
                    else None
                ),
            )
        finally:
            self._buffered -= held[0]
            assert self._buffered >= 0, "every byte is released once"

    async def _read(
        self, scope: Scope, receive: Receive, limits: BodyLimits, held: list[int]
    ) -> bytes:
        """Return the body.

        Args:
            scope: The request's scope.
            receive: The request's `receive`.
            limits: The bounds of the body.
            held: One number: the bytes of the body that are counted in `_buffered`.
        """
        # By its declared length a body is refused unread; a body in chunks has none, and is counted as it comes.
        declared = Headers(scope=scope).get("content-length", "")
        size = int(declared[:_DIGITS]) if declared.isdecimal() else 0
        if size > limits.bytes:
            raise _TooLarge(limits, 0)
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                return await self._collect(receive, limits, held)
        except TimeoutError as error:
            seconds = self._limits.body_seconds
            detail = f"the body did not arrive within {seconds:g} seconds"
            raise _Refused(ProblemCode.REQUEST_TIMEOUT, detail) from error

    async def _collect(self, receive: Receive, limits: BodyLimits, held: list[int]) -> bytes:
        parts: list[bytes] = []
        while True:
            message = await _next_part(receive)
            part = message.get("body", b"")
            if held[0] + len(part) > limits.bytes:
                parts.clear()
                raise _TooLarge(limits, held[0])
            # Checked part by part, not by declared lengths: a client that declares much and sends
            # little takes no room from others.
            if self._buffered + len(part) > self._limits.buffered_bytes:
                detail = (
                    "the bodies of current requests use all the memory that is allowed for "
                    "bodies; try again later"
                )
                raise _Refused(ProblemCode.TOO_MANY_REQUESTS, detail)
            parts.append(part)
            held[0] += len(part)
            self._buffered += len(part)
            if not message.get("more_body", False):
                body = b"".join(parts)
                assert len(body) == held[0], "every byte of a body is counted"
                return body

    async def _discard(self, receive: Receive, read: int) -> None:
        """Read and discard the rest of a refused body.

        Args:
            receive: The request's `receive`.
            read: Bytes of the body that have been read already.
        """
        # Three ends besides the body's own: enough bytes, a silent client, and the time for a body.
        with contextlib.suppress(TimeoutError, _ClientDisconnected):
            async with asyncio.timeout(self._limits.body_seconds):
                while read < self._limits.discarded_bytes:
                    async with asyncio.timeout(_QUIET_SECONDS):
                        message = await _next_part(receive)
                    read += len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return


async def _next_part(receive: Receive) -> Message:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise _ClientDisconnected
    return message


def _check_json(body: bytes, limits: BodyLimits) -> None:
    if b"\0" in body:
        # UTF-16 or UTF-32, for which the shape below would count wrong bytes; or not JSON at all.
        detail = "the body is not JSON in UTF-8: it has a zero byte"
        raise _Refused(ProblemCode.MALFORMED_REQUEST, detail)
    shape = json_shape(body)
    if shape.depth > limits.depth:
        detail = f"the body nests {shape.depth} levels deep; the limit is {limits.depth}"
        raise _Refused(ProblemCode.LIMIT_EXCEEDED, detail)
    if shape.values > limits.values:
        detail = f"the body has {shape.values} commas and colons; the limit is {limits.values}"
        raise _Refused(ProblemCode.LIMIT_EXCEEDED, detail)
