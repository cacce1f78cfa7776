"""Fault proxy in front of the S3 server: makes conditional puts exclusive, and injects faults on demand.

S3Proxy checks for a key and writes it afterwards, so two conditional puts at the same moment can both succeed. S3
itself guarantees that one of them fails. So the fault proxy forwards requests with `If-None-Match` for the same key
one after another. It forwards all other requests at once. Signatures stay valid.

Faults are drawn at random for each request, without a seed:

- a refusal without an effect: 503, 500, 429, and for conditional puts 409, which S3 answers while another put of the
  key is in progress;
- an answer that is lost after the effect;
- an answer whose body breaks off;
- a slow read.

A test can also plan a lost answer or a status for the next request with a method and address. It can hold requests
until several of them wait, for ten seconds at most, and see which requests came.
"""

import http.client
import random
import re
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

_STRIPES: Final = 64
_TIMEOUT_S: Final = 60.0
_MEETING_S: Final = 10.0
_REFUSALS: Final = (503, 503, 500, 429)
_REFUSALS_OF_CONDITIONS: Final = (503, 500, 429, 409)
# Headers of one connection, which are not forwarded.
_HOP: Final = frozenset({"connection", "transfer-encoding", "keep-alive", "date", "server"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """The frequency of each fault, as a share of requests.

    Attributes:
        refused: Requests that are answered with an error and not forwarded.
        lost: Requests that are forwarded, and the connection closed without an answer.
        broken: Answers whose body ends early.
        slow: Reads that wait first.
        slow_s: The longest wait, seconds.
    """

    refused: float = 0.0
    lost: float = 0.0
    broken: float = 0.0
    slow: float = 0.0
    slow_s: float = 0.3

    @classmethod
    def of(cls, share: float) -> "Faults":
        """Return faults of every kind, each at the same share."""
        return cls(refused=share, lost=share, broken=share, slow=share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to the server.

    Attributes:
        method: GET, PUT and so on.
        path: Without the query: `/bucket/key`.
        query: The part after `?`.
        range: The header; None without one.
    """

    method: str
    path: str
    query: str
    range: str | None


class S3FaultProxy:
    """A proxy on 127.0.0.1 in threads of this process.

    Attributes:
        faults: The faults from now on.
        requests: The requests that came while `is_recording`.
        request_count: The number of all requests.
        injected: The number of injected faults by kind.
    """

    def __init__(self, upstream: str, *, faults: Faults | None = None) -> None:
        """Listen; requests go to `upstream`, a URL."""
        self.faults = faults or Faults()
        self.requests: list[Request] = []
        self.request_count = 0
        self.is_recording = False
        self.injected: Counter[str] = Counter()
        self._random = random.SystemRandom()  # with many clients no seed would repeat a run
        self._lock = threading.Lock()
        self._planned: list[tuple[str, str, int | None]] = []
        self._held: tuple[re.Pattern[str], threading.Barrier] | None = None
        self._stripes = [threading.Lock() for _ in range(_STRIPES)]
        self.upstream = urlsplit(upstream)
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def endpoint(self) -> str:
        """URL for clients."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def lose_next(self, method: str, part: str) -> None:
        """Lose the answer to the next request of a method whose target contains a text."""
        self._plan(method, part, None)

    def answer_next(self, method: str, part: str, *, status: int) -> None:
        """Answer the next such request with a status, without forwarding it."""
        self._plan(method, part, status)

    def planned(self, method: str, target: str, *, is_answered: bool) -> int | None:
        """Return and drop the fault planned for a request: a status, or 0 for a lost answer; None: none is."""
        with self._lock:
            for plan in self._planned:
                wanted, part, status = plan
                if wanted == method and part in target and (status is None) == is_answered:
                    self._planned.remove(plan)
                    self.injected["lost" if status is None else "refused"] += 1
                    return status or 0
        return None

    def _plan(self, method: str, part: str, status: int | None) -> None:
        with self._lock:
            self._planned.append((method, part, status))

    def hold(self, pattern: str, *, beside: int) -> None:
        """Hold requests of a path until `beside` of them are waiting, or for some seconds."""
        self._held = re.compile(pattern), threading.Barrier(beside)

    def wait_for_others(self, path: str) -> None:
        """Wait if the path is held; a wait without the others is counted as `missed`."""
        held = self._held
        if held is None or not held[0].search(path):
            return
        try:
            held[1].wait(_MEETING_S)
        except threading.BrokenBarrierError:
            self.injected["missed"] += 1
        self._held = None

    def draw(self, kind: str, share: float) -> bool:
        """Return whether to inject a fault now, and count it."""
        if not share:
            return False
        with self._lock:
            is_now = self._random.random() < share
            self.injected[kind] += is_now
            return is_now

    def pick(self, bound: int) -> int:
        """Return a number below the bound."""
        with self._lock:
            return self._random.randrange(bound)

    def record(self, request: Request) -> None:
        """Count a request, and keep it while `is_recording`."""
        with self._lock:
            self.request_count += 1
            if self.is_recording:
                self.requests.append(request)

    def stripe(self, path: str) -> threading.Lock:
        """Return the lock of a key."""
        return self._stripes[hash(path) % _STRIPES]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing: client and proxy close connections in the middle of requests on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: S3FaultProxy

    def setup(self) -> None:
        """Disable Nagle's algorithm, so that small answers are sent at once."""
        super().setup()
        self._upstream_connection: http.client.HTTPConnection | None = None
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def finish(self) -> None:
        """Close the connections to client and server."""
        self._close_upstream_connection()
        super().finish()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing."""

    def handle_request(self) -> None:
        """Forward one request, or inject a fault."""
        owner, faults = self.owner, self.owner.faults
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        owner.record(
            Request(method=self.command, path=path, query=query, range=self.headers.get("Range"))
        )
        owner.wait_for_others(path)
        is_read = self.command == "GET" and "prefix=" not in query
        if is_read and owner.draw("slow", faults.slow):
            time.sleep(faults.slow_s * owner.pick(1000) / 1000)
        planned = owner.planned(self.command, self.path, is_answered=False)
        if planned is not None:
            self._answer(planned, [], b"")
            return
        if owner.draw("refused", faults.refused):
            is_conditional = bool(self.headers.get("If-None-Match"))
            refusals = _REFUSALS_OF_CONDITIONS if is_conditional else _REFUSALS
            self._answer(refusals[owner.pick(len(refusals))], [], b"")
            return
        headers = [(n, v) for n, v in self.headers.items() if n.lower() not in _HOP]
        if self.headers.get("If-None-Match"):
            with owner.stripe(path):
                status, received, content = self._forward(headers, body)
        else:
            status, received, content = self._forward(headers, body)
        is_lost = owner.planned(self.command, self.path, is_answered=True) is not None
        if is_lost or owner.draw("lost", faults.lost):
            self.close_connection = True
            return
        is_broken = bool(content) and owner.draw("broken", faults.broken)
        self._answer(status, received, content, is_broken=is_broken)

    def _forward(
        self, headers: list[tuple[str, str]], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Forward the request and return status, headers and body of the answer."""
        for is_last in (False, True):
            if self._upstream_connection is None:
                upstream = self.owner.upstream
                self._upstream_connection = http.client.HTTPConnection(
                    str(upstream.hostname), upstream.port, timeout=_TIMEOUT_S
                )
            try:
                onward = self._upstream_connection
                onward.putrequest(
                    self.command, self.path, skip_host=True, skip_accept_encoding=True
                )
                for name, value in headers:
                    onward.putheader(name, value)
                onward.endheaders(body or None)
                response = onward.getresponse()
                return response.status, response.getheaders(), response.read()
            except (http.client.HTTPException, OSError):
                # The server may have closed a connection that was kept open.
                self._close_upstream_connection()
                if is_last:
                    raise
        raise AssertionError

    def _close_upstream_connection(self) -> None:
        if self._upstream_connection is not None:
            self._upstream_connection.close()
            self._upstream_connection = None

    def _answer(
        self,
        status: int,
        headers: list[tuple[str, str]],
        content: bytes,
        *,
        is_broken: bool = False,
    ) -> None:
        self.send_response(status)
        lengths = [value for name, value in headers if name.lower() == "content-length"]
        for name, value in headers:
            if name.lower() not in _HOP | {"content-length"}:
                self.send_header(name, value)
        length = lengths[0] if self.command == "HEAD" and lengths else str(len(content))
        self.send_header("Content-Length", length)
        self.end_headers()
        if is_broken:
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
        else:
            self.wfile.write(content)


for _method in ("GET", "PUT", "POST", "HEAD", "DELETE"):
    setattr(_Handler, f"do_{_method}", _Handler.handle_request)
