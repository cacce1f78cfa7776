"""uvicorn's HTTP protocol with bounds for the time and size of heads, small chunks, slow readers and connections.

It also refuses a request with two body lengths, a request without exactly one host, and a request that is not
HTTP/1.1. Requests that were sent before a refused one on the same connection are answered first.

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

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from braid.schemas import ProblemCode
from braid.service.limits import RequestLimits
from braid.service.problems.problem_response import MEDIA_TYPE, problem_of

_LINGER_SECONDS = 2.0  # time for the client to read a refusal before the connection is closed
_SMALL_CHUNK = 256  # bytes
_SMALL_CHUNKS_MAX = 2_000  # chunks of a request: some milliseconds of the event loop
_HEADER_BYTES = 4  # of a header beside name and value: colon, blank and the end of the line
_END_OF_HEAD = b"\r\n\r\n"
_TWO_LENGTHS = (
    "present with Content-Length",
    "present with Transfer-Encoding",
)  # the parser's words

logger = logging.getLogger(__name__)


def protocol_with(limits: RequestLimits) -> type[asyncio.Protocol]:
    """Return a protocol class for uvicorn with these bounds."""

    class Bounded(_BoundedProtocol):
        LIMITS = limits

    return Bounded


class _Refused(Exception):
    """A request that exceeds a bound or is ambiguous."""

    def __init__(self, code: ProblemCode, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


class _BoundedProtocol(HttpToolsProtocol):
    LIMITS: RequestLimits

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        # Bytes received since the refusal of a request; None before. A refused connection reads and
        # discards: closed with unread bytes it would be reset, and the client could lose the answer.
        self._discarded: int | None = None
        # A refusal that waits for the answers to the requests before it.
        self._refusal: tuple[ProblemCode, str] | None = None
        self._unanswered = 0  # requests whose heads were complete and whose answers are not
        self._is_in_body = (
            False  # whether the newest request's head is complete and its body is not
        )
        self._received = 0  # bytes of the reads since the last complete head or body
        self._head_start = b""  # the first bytes of the head that is awaited
        self._head_end = b""  # and the last ones that were read
        self._framing = 0  # bytes since the head or the last chunk that are not bytes of the body
        self._parsed = 0  # bytes of the head that the parser has given out
        self._hosts = 0
        self._chunk_bytes = 0
        self._small_chunks = 0

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
        if not self._is_in_body and not self._is_small_head(data):
            self._unset_keepalive_if_required()
            self._refuse(ProblemCode.HEADERS_TOO_LARGE, _head_too_large(self.LIMITS.head_bytes))
            return
        self._framing += len(data)
        super().data_received(data)
        self._bound_framing()
        self._watch_head()

    def _bound_framing(self) -> None:
        """Refuse a body with too much beside it: the parser keeps a trailer until it is complete."""
        is_open = self._discarded is None and not self.transport.is_closing()
        if is_open and self._is_in_body and self._framing > self.LIMITS.head_bytes:
            detail = f"trailers, or what a chunk begins with, exceed {self.LIMITS.head_bytes} bytes"
            self._refuse(ProblemCode.HEADERS_TOO_LARGE, detail)

    def _is_small_head(self, data: bytes) -> bool:
        """Return whether a head that continues or begins with a read is within the bound, blanks included."""
        # The end may be split between two reads.
        kept, both = len(self._head_end), self._head_end + data
        end = both.find(_END_OF_HEAD)
        size = self._received + (len(data) if end < 0 else end + len(_END_OF_HEAD) - kept)
        self._head_end = both[-len(_END_OF_HEAD) + 1 :]
        if len(self._head_start) < len(b"HEAD "):
            self._head_start = (self._head_start + data)[: len(b"HEAD ")]
        self._received += len(data)
        return size <= self.LIMITS.head_bytes

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._parsed = self._hosts = self._small_chunks = 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_in_body:
            # A trailer is no header: neither may it name another host.
            self._count(len(name) + len(value) + _HEADER_BYTES)
            return
        super().on_header(name, value)
        if name.lower() == b"host":
            self._hosts += 1
        self._count(len(name) + len(value) + _HEADER_BYTES)

    def _count(self, size: int) -> None:
        # Heads behind another request in one read are bounded here, and nowhere else.
        self._parsed += size
        if self._parsed > self.LIMITS.head_bytes:
            raise _Refused(ProblemCode.HEADERS_TOO_LARGE, _head_too_large(self.LIMITS.head_bytes))

    def on_headers_complete(self) -> None:
        # The parser itself refuses a head with two lengths of the body: if a proxy trusts one of them and the
        # parser the other, the rest of the body would be read as the next request. It accepts several hosts.
        version = self.parser.get_http_version()
        if self._hosts != 1 and version != "1.0":
            detail = f"the request has {self._hosts} headers `host`; HTTP/1.1 needs exactly one"
            raise _Refused(ProblemCode.MALFORMED_REQUEST, detail)
        if version not in ("1.0", "1.1"):
            raise _Refused(ProblemCode.MALFORMED_REQUEST, f"this is HTTP/{version}, not HTTP/1.1")
        super().on_headers_complete()
        # Only now: the framework refuses some addresses, and then `cycle` is the request before this one.
        self._is_in_body = True
        self._received = self._framing = 0
        self._head_end = b""
        self._unanswered += 1
        if self.parser.should_upgrade():
            # No other protocol is spoken here. What follows the request would be in the other one.
            self.cycle.keep_alive = False

    def on_chunk_header(self) -> None:
        """Begin a chunk of a body."""
        self._chunk_bytes = 0

    def on_body(self, body: bytes) -> None:
        self._chunk_bytes += len(body)
        self._framing -= len(body)
        super().on_body(body)

    def on_chunk_complete(self) -> None:
        """Count a chunk if it is small: each takes time of the event loop, however small it is."""
        self._framing = 0
        if self._chunk_bytes >= _SMALL_CHUNK:
            return
        self._small_chunks += 1
        if self._small_chunks > _SMALL_CHUNKS_MAX:
            detail = f"more than {_SMALL_CHUNKS_MAX} chunks are smaller than {_SMALL_CHUNK} bytes"
            raise _Refused(ProblemCode.LIMIT_EXCEEDED, detail)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._is_in_body = False
        self._received = 0
        self._head_start = self._head_end = b""
        if not self._unanswered:
            self._stop_head_timer()  # it ran for the rest of this body; the next head has a time of its own
        if self.parser.should_upgrade():
            self._discarded = 0

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._unanswered -= 1
        assert self._unanswered >= 0, "a request is answered once"
        if self._refusal is not None and not self._unanswered:
            self._send_refusal(*self._refusal)
            return
        self._watch_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(self.LIMITS.write_seconds, self._on_unread)

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        error = sys.exception()
        # The parser wraps what a callback raises.
        cause = None if error is None else error.__context__
        if isinstance(cause, _Refused):
            self._refuse(cause.code, cause.detail)
        elif any(words in str(error) for words in _TWO_LENGTHS):
            detail = "the body's length is given twice: by content-length and by transfer-encoding"
            self._refuse(ProblemCode.MALFORMED_REQUEST, f"{detail}; send one of them")
        elif isinstance(error, httptools.HttpParserCallbackError):
            self._refuse(ProblemCode.MALFORMED_REQUEST, "the address of the request is not valid")
        else:
            self._refuse(ProblemCode.MALFORMED_REQUEST, f"this is not HTTP/1.1: {error}")

    def _watch_head(self) -> None:
        """Start the head timer if a head is awaited, else stop it; bytes of a head do not restart it."""
        if self._discarded is not None:
            return
        # Between an answer and the first byte of the next head uvicorn's keep-alive timer runs instead.
        is_waiting = not self._is_in_body and self.timeout_keep_alive_task is None
        # The answer is complete and the request is not: the rest of the request may take no longer than a head.
        is_waiting = (is_waiting or self._is_in_body) and not self._unanswered
        if not is_waiting or self.transport.is_closing():
            self._stop_head_timer()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.LIMITS.head_seconds, self._on_late_head)

    def _on_late_head(self) -> None:
        self._head_timer = None
        # If a part of a head has arrived, the client gets an answer; a silent connection is only closed.
        if self._received and not self._is_in_body:
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
        """Refuse the request that is being received, after the answers to those before it."""
        assert self._discarded is None, "a refused connection handles no further data"
        if self._is_in_body:
            if self.cycle.response_started:
                self.transport.abort()  # within an answer no other one can be sent
                return
            # The application learns that nobody waits for its answer.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.pipeline and self.pipeline[0][0] is self.cycle:
                self.pipeline.popleft()
            self._unanswered -= 1
        self._discarded = 0
        self._stop_head_timer()
        if self._unanswered:
            self._refusal = code, detail
        else:
            self._send_refusal(code, detail)

    def _send_refusal(self, code: ProblemCode, detail: str) -> None:
        self._refusal = None
        self._unset_keepalive_if_required()
        if self.transport.is_closing():
            return
        self.flow.resume_reading()  # a large body may have paused it; what is left of it is discarded
        request_id = secrets.token_hex(8)
        logger.warning("request refused code=%s request_id=%s", code.value, request_id)
        problem = problem_of(code, detail, instance="", request_id=request_id)
        body = json.dumps(problem.model_dump(mode="json")).encode()
        head = (
            f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
            f"x-request-id: {request_id}\r\nconnection: close\r\n\r\n"
        )
        is_without_body = self._head_start == b"HEAD "
        self.transport.write(
            STATUS_LINE[problem.status] + head.encode() + (b"" if is_without_body else body)
        )
        # Half-close, then read and discard for a while (`data_received`): a socket that is closed with
        # unread bytes is reset, and the client may never see the answer.
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._head_timer = self.loop.call_later(_LINGER_SECONDS, self.transport.close)


def _head_too_large(head_bytes: int) -> str:
    return f"request line and headers are larger than {head_bytes} bytes"
