"""Bodies within bounds reach the app whole; others are refused with the reason."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from starlette.types import ASGIApp, Message

from braid.service.body_thread import BodyThread
from braid.service.guard.body_bounds import BodyBounds
from braid.service.limits import BodyLimits, RequestLimits
from tests.unit.service.guard.asgi import Guard, ask, echo

LIMITS = RequestLimits(
    body=BodyLimits(bytes=1_000, values=20, depth=4),
    bulk_body=BodyLimits(bytes=3_000, values=100, depth=4),
    buffered_bytes=2_500,
    discarded_bytes=5_000,
)
BULK = "/v1/tables/a/b/rows/lookup"


def guard(limits: RequestLimits = LIMITS) -> Guard:
    def put_before(app: ASGIApp) -> ASGIApp:
        return BodyBounds(app, limits, BodyThread())

    return put_before


async def parts(count: int, size: int = 100) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b" " * size


def test_a_body_in_parts_arrives_whole() -> None:
    assert ask(guard(), "PUT", content=parts(10)).text == "1000"
    assert ask(guard(), "POST", content=b"[1, 2]").text == "6"
    assert ask(guard(), "POST").text == "0"


@pytest.mark.parametrize(
    ("path", "content", "detail"),
    [
        ("/v1/tables", b" " * 1_001, "larger than 1000 bytes"),
        (BULK, b" " * 3_001, "larger than 3000 bytes"),
        ("/v1/tables", b"[" * 5, "nests 5 levels deep"),
        ("/v1/tables", b"[" + b"1," * 21 + b"1]", "21 commas and colons"),
    ],
)
def test_a_body_beyond_a_bound_is_refused_with_the_bound(
    path: str, content: bytes, detail: str
) -> None:
    answer = ask(guard(), "POST", path, content=content)

    assert (answer.status_code, answer.json()["code"]) == (413, "limit_exceeded")
    assert detail in answer.json()["detail"]
    assert answer.headers["connection"] == "close"


def test_a_body_without_a_declared_length_is_counted_as_it_comes() -> None:
    answer = ask(guard(), "POST", content=parts(1_000_000_000, 600))

    assert answer.status_code == 413  # it stopped reading long before the end


def test_brackets_in_texts_do_not_count() -> None:
    text = b'{"a": "' + b'[[[[[[,,,,,,,::::::::::,,,,,,,,,\\"[[[[[[' + b'"}'

    assert ask(guard(), "POST", content=text).status_code == 200


@pytest.mark.parametrize("text", ['{"a": [[[[[[[[[1]]]]]]]]]}', "[1,1]"])
def test_another_encoding_does_not_get_around_the_bounds(text: str) -> None:
    answer = ask(guard(), "POST", content=text.encode("utf-16"))

    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_request")


def test_bodies_that_are_held_are_bounded_together() -> None:
    tight = replace(LIMITS, buffered_bytes=900)

    answer = ask(guard(tight), "POST", content=b" " * 1_000)

    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_requests")
    assert answer.headers["retry-after"] == "1"


def test_buffered_bytes_are_released_with_their_request() -> None:
    bounds = BodyBounds(echo, LIMITS, BodyThread())
    for content in (b" " * 1_000, b" " * 1_001, b"[" * 9, b"\0"):
        for _ in range(5):
            ask(lambda _app: bounds, "POST", content=content)

    assert bounds._buffered == 0


def test_a_body_that_does_not_come_is_a_timeout() -> None:
    hasty = replace(LIMITS, body_seconds=0.0)

    async def never() -> AsyncIterator[bytes]:
        yield b"["
        await asyncio.Event().wait()

    answer = ask(guard(hasty), "POST", content=never())

    assert (answer.status_code, answer.json()["code"]) == (408, "request_timeout")


@pytest.mark.parametrize(
    ("headers", "sent_first"),
    [([(b"content-length", b"99999999999")], b""), ([], b" " * 1_001)],
)
def test_what_is_too_large_is_refused_before_the_rest_of_it_comes(
    headers: list[tuple[bytes, bytes]], sent_first: bytes
) -> None:
    sent: list[Message] = []
    seen: list[bytes] = []

    async def receive() -> Message:
        if sent_first and not sent:
            return {"type": "http.request", "body": sent_first, "more_body": True}
        seen.append(b"".join(message.get("body", b"") for message in sent))
        if len(seen) == 3:
            return {"type": "http.disconnect"}  # it has read the answer
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/tables",
        "headers": headers,
        "state": {"request_id": "r"},
    }
    asyncio.run(BodyBounds(echo, LIMITS, BodyThread())(scope, receive, send))

    start, *_, end = sent
    assert start["status"] == 413
    assert [json.loads(body)["code"] for body in seen] == ["limit_exceeded"] * 3
    assert end == {"type": "http.response.body", "body": b"", "more_body": False}


def test_a_client_that_leaves_is_not_answered() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/tables", "headers": []}
    asyncio.run(BodyBounds(echo, LIMITS, BodyThread())(scope, receive, send))

    assert sent == []
