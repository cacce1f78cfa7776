"""uvicorn's HTTP protocol with bounds for the time and size of heads, small chunks, slow readers and connections.

It also refuses a request with two body lengths, and a request that is not HTTP/1.1.

The bounds are here because middleware sees requests, not connections: it cannot notice a head that never ends, a
connection without data, or a client that does not read its answer. A refused request gets a problem document,
unless its answer has begun. A connection above the bound, a silent connection, and a connection with a slow reader
are only closed.

States of the two timers:

* *Head timer*: runs while the server waits for a head or, after an early answer, for the rest of a body, which it
  discards. It stops when the head or the rest has arrived. After `head_seconds` it closes the connection; if a
  part of a head has arrived, it refuses the request first. After a refusal it closes the connection within
  seconds. Between an answer and the first byte of the next head, uvicorn's own timer runs instead.
* *Write timer*: runs while the transport's buffer is full; aborts the connection after `write_seconds`.
"""

import asyncio
import json
import logging
import secrets
import sys
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from braid.schemas import ProblemCode
from braid.service.limits import RequestLimits
from braid.service.problems.problem_response import MEDIA_TYPE, problem_of

_HEADERS_TOO_LARGE = 431  # the status that h11 suggests for heads above its own bound
_LINGER_SECONDS = 2.0  # time for the client to read a refusal before the connection is closed
_SMALL_CHUNK = 256  # bytes
_SMALL_CHUNKS_MAX = 2_000  # chunks of a request: 20 ms of the event loop at 10 us for each

logger = logging.getLogger(__name__)


def protocol_with(limits: RequestLimits) -> type[asyncio.Protocol]:
    """Return a protocol class for uvicorn with these bounds."""

    class Bounded(_BoundedProtocol):
        LIMITS = limits

    return Bounded


class _Refused(h11.RemoteProtocolError):
    """A valid HTTP request that exceeds a bound."""

    def __init__(self, code: ProblemCode, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


class _Connection(h11.Connection):
    """An h11 connection with bounds on the size of heads and on the number of small chunks.

    h11 bounds *incomplete* heads only: a head that arrives complete in one read may be as large as the
    read. Each chunk takes time of the event loop, however small it is: a megabyte in chunks of one byte
    takes ten seconds.
    """

    def __init__(self, head_bytes: int) -> None:
        super().__init__(h11.SERVER, head_bytes)
        self._head_bytes = head_bytes
        self._small_chunks = 0
        self.is_head_request = False  # a method whose answer has no body

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        # The size of a head is the number of buffered bytes that its event has consumed.
        unread = len(self.trailing_data[0]) if self.their_state is h11.IDLE else 0
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._small_chunks = 0
            self.is_head_request = event.method == b"HEAD"
            self._check_head(event, unread - len(self.trailing_data[0]))
        elif isinstance(event, h11.Data) and event.chunk_end and len(event.data) < _SMALL_CHUNK:
            self._small_chunks += 1
            if self._small_chunks > _SMALL_CHUNKS_MAX:
                detail = (
                    f"more than {_SMALL_CHUNKS_MAX} chunks are smaller than {_SMALL_CHUNK} bytes"
                )
                raise _Refused(ProblemCode.LIMIT_EXCEEDED, detail)
        return event

    def start_next_cycle(self) -> None:
        super().start_next_cycle()
        self.is_head_request = False

    def _check_head(self, request: h11.Request, size: int) -> None:
        assert size >= 0, "a request consumes bytes that were buffered"
        if size > self._head_bytes:
            raise _Refused(ProblemCode.HEADERS_TOO_LARGE, _head_too_large(self._head_bytes))
        # Request smuggling: if a proxy trusts one of the two and h11 the other, the rest of the body
        # would be read as the next request.
        if {b"content-length", b"transfer-encoding"} <= {name for name, _ in request.headers}:
            detail = "the body's length is given twice: by content-length and by transfer-encoding"
            raise _Refused(ProblemCode.MALFORMED_REQUEST, f"{detail}; send one of them")


def _head_too_large(head_bytes: int) -> str:
    return f"request line and headers are larger than {head_bytes} bytes"


class _BoundedProtocol(H11Protocol):
    LIMITS: RequestLimits
    conn: _Connection

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn = _Connection(self.LIMITS.head_bytes)
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        # Bytes received since the refusal of a request; None before. A refused connection reads and
        # discards: closed with unread bytes it would be reset, and the client could lose the answer.
        self._discarded: int | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        super().connection_made(transport)
        if len(self.connections) > self.LIMITS.connections:
            # Without an answer: sending one would keep open the very connections that are too many.
            transport.abort()
            return
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self._stop_write_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._discarded is not None:
            self._discarded += len(data)
            if self._discarded > self.LIMITS.discarded_bytes:
                self.transport.abort()
            return
        super().data_received(data)
        self._watch_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(self.LIMITS.write_seconds, self._on_unread)

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        error = sys.exception()
        if isinstance(error, _Refused):
            self._refuse(error.code, error.detail)
        elif getattr(error, "error_status_hint", None) == _HEADERS_TOO_LARGE:
            detail = _head_too_large(self.LIMITS.head_bytes)
            self._refuse(ProblemCode.HEADERS_TOO_LARGE, detail)
        else:
            self._refuse(ProblemCode.MALFORMED_REQUEST, "this is not HTTP/1.1")

    def _watch_head(self) -> None:
        """Start the head timer if a head is awaited, else stop it; bytes of a head do not restart it."""
        if self._discarded is not None:
            return
        # Between an answer and the first byte of the next head uvicorn's keep-alive timer runs instead.
        is_waiting = self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None
        # The answer is complete and the request is not: the rest of the request may take no longer than a head.
        is_waiting = is_waiting or (
            self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY
        )
        if not is_waiting or self.transport.is_closing():
            self._stop_head_timer()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.LIMITS.head_seconds, self._on_late_head)

    def _on_late_head(self) -> None:
        self._head_timer = None
        # If a part of a head has arrived, the client gets an answer; a silent connection is only closed.
        if self.conn.trailing_data[0] and self.conn.our_state is h11.IDLE:
            seconds = self.LIMITS.head_seconds
            detail = f"the head of the request did not arrive within {seconds:g} seconds"
            self._refuse(ProblemCode.REQUEST_TIMEOUT, detail)
        else:
            self.transport.close()

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _on_unread(self) -> None:
        self._write_timer = None
        self.transport.abort()

    def _refuse(self, code: ProblemCode, detail: str) -> None:
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()  # within an answer no other one can be sent
            return
        assert self._discarded is None, "a refused connection handles no further data"
        request_id = secrets.token_hex(8)
        logger.warning("request refused code=%s request_id=%s", code.value, request_id)
        problem = problem_of(code, detail, instance="", request_id=request_id)
        body = json.dumps(problem.model_dump(mode="json")).encode()
        headers = [
            ("content-type", MEDIA_TYPE),
            ("content-length", str(len(body))),
            ("x-request-id", request_id),
            ("connection", "close"),
        ]
        for event in (
            h11.Response(status_code=problem.status, headers=headers),
            h11.Data(data=b"" if self.conn.is_head_request else body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        # Half-close, then read and discard for a while (`data_received`): a socket that is closed with
        # unread bytes is reset, and the client may never see the answer.
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._discarded = 0
        self._stop_head_timer()
        self._head_timer = self.loop.call_later(_LINGER_SECONDS, self.transport.close)
