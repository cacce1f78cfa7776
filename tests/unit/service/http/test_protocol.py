"""Heads that are late, too large or invalid, slow readers, and too many connections."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from braid.service.http.protocol import protocol_with
from braid.service.limits import RequestLimits
from tests.unit.service.guard.asgi import echo

REQUEST = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"
LIMITS = RequestLimits(head_bytes=2_000, discarded_bytes=10_000)


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer at once, whatever of the body has come."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})


class Timers(asyncio.SelectorEventLoop):
    """An event loop whose timers the test fires."""

    def __init__(self) -> None:
        super().__init__()
        self.timers: list[asyncio.TimerHandle] = []

    def call_later(  # type: ignore[override]  # of any arguments
        self, delay: float, callback: Callable[[], object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(delay, callback, args, self, context)
        self.timers.append(handle)
        return handle

    def fire(self) -> None:
        timers, self.timers = self.timers, []
        for timer in timers:
            if not timer.cancelled():
                timer._run()


class Client(asyncio.Transport):
    """The client's end of a connection: what it was sent, and whether it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.got = b""
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.got += bytes(data)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        pass

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


class Connection:
    """A connection to the service."""

    def __init__(self, loop: Timers, limits: RequestLimits = LIMITS, app: ASGIApp = answer) -> None:
        self.loop = loop
        self.client = Client()
        protocol = protocol_with(limits)
        config = uvicorn.Config(app, log_config=None)
        state = uvicorn.server.ServerState()
        self.protocol = protocol(config, state, {}, self.loop)  # type: ignore[call-arg]  # uvicorn's
        self.protocol.connection_made(self.client)

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self.protocol.data_received(part)
            self.run()

    def run(self, turns: int = 2) -> None:
        for _ in range(turns):
            self.loop.run_until_complete(asyncio.sleep(0))

    def lose(self) -> None:
        self.protocol.connection_lost(None)
        self.run(turns=9)


@pytest.fixture
def loop() -> Iterator[Timers]:
    with closing(Timers()) as loop:
        yield loop


def problem_in(answered: bytes) -> dict[str, Any]:
    head, _, body = answered.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    found: dict[str, Any] = json.loads(body)
    return found


def test_a_head_that_does_not_end_is_a_timeout(loop: Timers) -> None:
    connection = Connection(loop)

    connection.send(b"GET / HTTP/1.1\r\nhost: a\r\n", b"x: y\r\n")
    connection.loop.fire()

    problem = problem_in(connection.client.got)
    assert (problem["status"], problem["code"]) == (408, "request_timeout")
    connection.loop.fire()
    assert connection.client.is_closed


def test_a_silent_connection_is_closed(loop: Timers) -> None:
    connection = Connection(loop)

    connection.loop.fire()

    assert (connection.client.got, connection.client.is_closed) == (b"", True)


def test_a_complete_request_has_no_head_timer(loop: Timers) -> None:
    connection = Connection(loop)

    connection.send(REQUEST, REQUEST)

    assert connection.client.got.count(b"200 OK") == 2
    assert not connection.client.is_closed


def test_a_body_that_is_dripped_after_the_answer_is_not_waited_for(loop: Timers) -> None:
    connection = Connection(loop)

    connection.send(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 99\r\n\r\nx", b"x", b"x")
    connection.loop.fire()

    assert b"ok" in connection.client.got
    assert connection.client.is_closed


@pytest.mark.parametrize("size", [3_000, 8_000])
def test_headers_that_are_too_large_are_refused_and_the_rest_is_discarded(
    loop: Timers, size: int
) -> None:
    connection = Connection(loop)

    connection.send(b"GET / HTTP/1.1\r\nx: " + b"y" * size, b"y" * 2_000)

    problem = problem_in(connection.client.got)
    assert (problem["status"], problem["code"]) == (431, "headers_too_large")
    assert not connection.client.is_closed  # it shall read the answer
    connection.send(b"y" * 10_000)
    assert connection.client.is_closed


LARGE = b"GET / HTTP/1.1\r\nhost: a\r\nx: " + b"y" * 3_000 + b"\r\n\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        LARGE,
        LARGE.replace(b"x: ", b"x: " + b" " * 3_000).replace(b"y", b""),
        b"GET /" + b"y" * 3_000 + b" HTTP/1.1\r\nhost: a\r\n\r\n",
        REQUEST + LARGE + REQUEST,  # pipelined: what comes before is answered, nothing after it
    ],
)
def test_a_head_that_comes_whole_is_bounded_as_well(loop: Timers, sent: bytes) -> None:
    connection = Connection(loop)

    connection.send(sent)
    connection.run(turns=9)

    is_pipelined = sent.startswith(REQUEST)
    assert connection.client.got.count(b"200 OK") == is_pipelined
    problem = json.loads(connection.client.got.rpartition(b"\r\n\r\n")[2])
    assert (problem["status"], problem["code"]) == (431, "headers_too_large")
    assert not connection.client.is_closed  # it shall read the answer
    connection.loop.fire()
    assert connection.client.is_closed


def test_heads_within_the_bound_are_answered_however_many_come_at_once(loop: Timers) -> None:
    connection = Connection(loop)
    request = LARGE.replace(b"y" * 3_000, b"y" * 1_900)

    connection.send(request * 5)
    connection.run(turns=9)

    assert connection.client.got.count(b"200 OK") == 5


def test_a_refused_head_request_is_answered_without_a_body(loop: Timers) -> None:
    connection = Connection(loop)

    connection.send(LARGE.replace(b"GET", b"HEAD"))

    head, _, body = connection.client.got.partition(b"\r\n\r\n")
    assert (b" 431 " in head, body) == (True, b"")


def test_a_body_with_two_lengths_is_refused(loop: Timers) -> None:
    connection = Connection(loop, app=echo)
    both = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"

    connection.send(both + in_chunks(300, 1) + REQUEST)

    problem = problem_in(connection.client.got)
    assert (problem["status"], problem["code"]) == (400, "malformed_request")
    assert "given twice" in problem["detail"]


@pytest.mark.parametrize("sent", [b"\x16\x03\x01\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"G\r\n\r\n"])
def test_what_is_no_http_is_refused(loop: Timers, sent: bytes) -> None:
    connection = Connection(loop)

    connection.send(sent)

    problem = problem_in(connection.client.got)
    assert (problem["status"], problem["code"]) == (400, "malformed_request")


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\n x: folded\r\n\r\n",
        b"GET / HTTP/1.1\nhost: a\n\n",
        b"GET / HTTP/1.1\r\nho st: a\r\n\r\n",
    ],
)
def test_heads_that_proxies_may_read_in_another_way_are_refused(loop: Timers, sent: bytes) -> None:
    connection = Connection(loop)

    connection.send(sent + REQUEST)

    problem = problem_in(connection.client.got)
    assert (problem["status"], problem["code"]) == (400, "malformed_request")
    assert b"200 OK" not in connection.client.got


def test_a_body_that_is_refused_behind_a_request_is_refused_after_its_answer(loop: Timers) -> None:
    connection = Connection(loop, app=echo)

    connection.send(REQUEST + CHUNKED + in_chunks(1, 30_000))
    connection.run(turns=9)

    first, second = connection.client.got.split(b"HTTP/1.1 ")[1:]
    assert first.startswith(b"200 OK")
    assert second.startswith(b"413 ")


@pytest.mark.parametrize("target", [b"http://a", b"http://a?x", b"http://a:99999/"])
def test_an_address_without_a_path_is_refused_and_hurts_no_other_request(
    loop: Timers, target: bytes
) -> None:
    alone, behind = Connection(loop), Connection(loop)
    bad = REQUEST.replace(b"/ ", target + b" ", 1)

    alone.send(bad)
    behind.send(REQUEST + bad)
    behind.run(turns=9)

    assert problem_in(alone.client.got)["code"] == "malformed_request"
    first, second = behind.client.got.split(b"HTTP/1.1 ")[1:]
    assert first.startswith(b"200 OK")
    assert second.startswith(b"400 ")


@pytest.mark.parametrize("framing", [b"0\r\nx: ", b"5;x="])
def test_what_is_neither_head_nor_body_is_bounded(loop: Timers, framing: bytes) -> None:
    connection = Connection(loop, app=echo)

    connection.send(CHUNKED + framing + b"y" * 1_000, b"y" * 3_000)

    assert problem_in(connection.client.got)["code"] == "headers_too_large"


def test_a_trailer_is_no_header(loop: Timers) -> None:
    seen: list[tuple[bytes, bytes]] = []

    async def headers(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        seen.extend(scope["headers"])
        await answer(scope, receive, send)

    connection = Connection(loop, app=headers)
    connection.send(CHUNKED + b"0\r\nhost: evil\r\n\r\n")
    connection.run(turns=9)

    assert b"200 OK" in connection.client.got
    assert [value for name, value in seen if name == b"host"] == [b"a"]


def test_nothing_that_follows_an_upgrade_is_a_request(loop: Timers) -> None:
    connection = Connection(loop)
    upgrade = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"

    connection.send(upgrade + b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 99\r\n\r\n", REQUEST)
    connection.run(turns=9)

    assert connection.client.got.count(b"200 OK") == 1
    assert connection.client.is_closed


def test_a_head_whose_end_is_split_has_no_more_bytes_than_it_has(loop: Timers) -> None:
    connection = Connection(loop, app=echo)
    head = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5000\r\n\r"

    connection.send(head, b"\n" + b"x" * 5_000)
    connection.run(turns=9)

    assert b"200 OK" in connection.client.got


@pytest.mark.parametrize("version", [b"HTTP/2.0", b"HTTP/0.9"])
def test_other_versions_are_refused(loop: Timers, version: bytes) -> None:
    connection = Connection(loop)

    connection.send(REQUEST.replace(b"HTTP/1.1", version))

    assert problem_in(connection.client.got)["code"] == "malformed_request"


def test_more_connections_than_allowed_are_closed(loop: Timers) -> None:
    assert Connection(loop, replace(LIMITS, connections=0)).client.is_closed


def test_a_client_that_does_not_read_is_left(loop: Timers) -> None:
    connection = Connection(loop)
    connection.send(REQUEST)

    connection.protocol.pause_writing()
    connection.protocol.resume_writing()
    connection.protocol.pause_writing()
    connection.loop.fire()

    assert connection.client.is_closed


CHUNKED = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"


def in_chunks(size: int, count: int) -> bytes:
    return (b"%x\r\n" % size + b"x" * size + b"\r\n") * count + b"0\r\n\r\n"


def test_a_body_in_very_many_small_chunks_is_refused(loop: Timers) -> None:
    connection = Connection(loop, app=echo)

    connection.send(CHUNKED + in_chunks(1, 30_000))
    connection.lose()

    problem = problem_in(connection.client.got)
    assert (problem["status"], problem["code"]) == (413, "limit_exceeded")


def test_chunks_that_are_not_small_are_as_many_as_the_body_may_have(loop: Timers) -> None:
    connection = Connection(loop, app=echo)

    for _ in range(30):
        connection.send(CHUNKED + in_chunks(1, 100))  # each request has its own
        connection.run(turns=9)
    connection.send(CHUNKED + in_chunks(300, 3_000))
    connection.run(turns=9)

    assert connection.client.got.count(b"\r\n100\r\n") == 30
    assert b"\r\n900000\r\n" in connection.client.got


def test_small_chunks_after_the_answer_end_the_connection(loop: Timers) -> None:
    connection = Connection(loop)  # which answers before the body

    connection.send(CHUNKED, in_chunks(1, 5_000))

    assert b"ok" in connection.client.got
    assert connection.client.is_closed
