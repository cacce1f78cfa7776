"""Kinds of hostile connections: bytes that no HTTP client library would send, and clients that do not behave as one."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

from tests.support.hostile.hostile_request import drawn_table


class Ending(Enum):
    """What the client does when it has sent its bytes."""

    READ = auto()  # read all answers, until the service closes the connection
    READ_HEAD = auto()  # read the head of the first answer, and be gone
    GONE = auto()  # be gone at once
    READ_NOTHING = auto()  # keep the connection for a while without reading, and be gone


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileConnection:
    """One connection.

    Attributes:
        kind: What is wrong with it.
        sent: The bytes that the client sends.
        ending: What the client does then.
        status: The status of the last answer; None: any documented one, or none.
    """

    kind: str
    sent: bytes
    ending: Ending = Ending.READ
    status: int | None = None


_Kind: TypeAlias = Callable[[random.Random], HostileConnection]

_HOST: Final = b"host: localhost\r\n"
_JSON: Final = _HOST + b"content-type: application/json\r\n"
_ORDERS: Final = b"/v1/tables/shop/orders"


def hostile_connections(seed: int, count: int) -> Iterator[HostileConnection]:
    """Yield connections, the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        yield chance.choice(_KINDS)(chance)


def connections_of_every_kind(seed: int, count: int) -> Iterator[HostileConnection]:
    """Yield so many connections of each kind, the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        for kind in dict.fromkeys(_KINDS):
            yield kind(chance)


def _slow_heads(chance: random.Random) -> HostileConnection:
    head = b"GET " + _ORDERS + b" HTTP/1.1\r\n" + _HOST + b"x: " + b"x" * chance.choice([0, 10_000])
    return HostileConnection(
        kind="slow head", sent=head[: chance.randint(1, len(head))], status=408
    )


def _slow_bodies(chance: random.Random) -> HostileConnection:
    method, path = chance.choice(
        [(b"PUT", b""), (b"POST", b"/rows/lookup"), (b"POST", b"/streams/sales/records")]
    )
    target = drawn_table(chance).encode() + path
    head = method + b" " + target + b" HTTP/1.1\r\n" + _JSON
    framed = chance.choice(
        [b"content-length: 1000\r\n\r\n{", b"transfer-encoding: chunked\r\n\r\n3e8\r\n{", b"transfer-encoding: chunked\r\n\r\n"]
    )  # fmt: skip
    return HostileConnection(kind="slow body", sent=head + framed, status=408)


def _endless_bodies(chance: random.Random) -> HostileConnection:
    head = b"POST " + drawn_table(chance).encode() + b"/rows/lookup HTTP/1.1\r\n" + _JSON
    head += b"transfer-encoding: chunked\r\n\r\n"
    chunks = (b"10000\r\n" + b"x" * 65_536 + b"\r\n") * 90
    small = b"1\r\n \r\n" * 3_000
    extension = b"1;" + b"x" * 400_000
    body, status = chance.choice([(chunks, 413), (small, 413), (extension, 431)])
    return HostileConnection(kind="body without an end", sent=head + body, status=status)


def _large_heads(chance: random.Random) -> HostileConnection:
    large = chance.choice(
        [
            b"x: " + b"x" * 20_000 + b"\r\n\r\n",
            b"x" * 1_000_000,
            b"a:b\r\n" * 5_000 + b"\r\n",
            b"cookie: " + b"a=b; " * 8_000 + b"\r\n\r\n",
        ]
    )
    head = b"GET /health HTTP/1.1\r\n" + _HOST
    if chance.random() < 0.3:
        head, large = b"GET /", b"x" * chance.choice([20_000, 200_000])
    return HostileConnection(kind="large head", sent=head + large, status=431)


def _garbage(chance: random.Random) -> HostileConnection:
    garbage = chance.choice(
        [
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + chance.randbytes(200),  # TLS
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"GET / HTTP/0.9\r\n\r\n",
            b"\x00" * 100 + b"\r\n\r\n",
            b"GET /health\r\n\r\n",
            b"BREW / HTCPCP/1.0\r\n\r\n",
            b" \r\n\r\n\r\nx\r\n\r\n",
        ]
    )
    request = b"GET /health HTTP/1.1\r\n" + _HOST + b"\r\n"
    before = request * chance.choice([0, 1, 20])
    return HostileConnection(kind="garbage", sent=before + garbage, status=400)


def _ambiguous_heads(chance: random.Random) -> HostileConnection:
    lines = chance.choice(
        [
            b"",
            _HOST * 2,
            _HOST + b"content-length: 2\r\ntransfer-encoding: chunked\r\n",
            _HOST + b"content-length: 2\r\ncontent-length: 3\r\n",
            _HOST + b"content-length: -1\r\n",
            _HOST + b"content-length: 99999999999999999999999\r\n",
            _HOST + b"transfer-encoding: chunked, chunked\r\n",
            _HOST + b"x\x00y: 1\r\n",
            _HOST + b" folded: 1\r\n",
            _HOST + b"x : 1\r\n",
        ]
    )
    head = b"POST " + _ORDERS + b"/validate HTTP/1.1\r\ncontent-type: application/json\r\n"
    return HostileConnection(kind="ambiguous head", sent=head + lines + b"\r\n{}")


def _targets(chance: random.Random) -> HostileConnection:
    target = chance.choice(
        [
            _ORDERS + b"/rows?id=%zz", _ORDERS + b"/rows?id=%", _ORDERS + b"/rows?id=%u0041", _ORDERS + b"/rows?%ff=%c0%80",
            _ORDERS + b"/rows?id=\xff", b"/v1/tables/%/%25/rows?id=1", b"/v1/tables/%c0%ae%c0%ae/x", b"/v1/tables/shop/%zz",
            _ORDERS + b"/rows?" + b"&" * 10_000, _ORDERS + b"/rows?" + b"id=1&" * 2_000, _ORDERS + b"/rows?id=1#x",
            b"http://evil.example/v1/tables", b"//evil.example/v1/tables", b"*", b"localhost:80", b"/v1/tables/../../x", b"/\x01",
        ]
    )  # fmt: skip
    header = chance.choice([b"", b"accept: \xe9\xff\r\n", b"x-request-id: \xff\r\n", b"if-none-match: \x80\r\n"])  # fmt: skip
    sent = b"GET " + target + b" HTTP/1.1\r\nconnection: close\r\n" + _HOST + header + b"\r\n"
    return HostileConnection(kind="targets", sent=sent)


def _silent(chance: random.Random) -> HostileConnection:
    ending = chance.choice([Ending.READ, Ending.GONE])
    return HostileConnection(kind="silent", sent=b"", ending=ending)


def _gone(chance: random.Random) -> HostileConnection:
    """Return a request whose client is gone before its answer."""
    body = chance.choice(
        [
            (b"/rows/lookup", {"keys": [{"id": number} for number in range(1_000)]}),
            (b"/rows/explain", {"key": {"id": 1}, "without": {"stream": "sales"}}),
            (b"/rows/scan", {"prefix": {}, "limit": 1_000}),
            (b":test", {"cases": []}),
        ]
    )
    data = json.dumps(body[1]).encode()
    head = b"POST " + _ORDERS + body[0] + b" HTTP/1.1\r\n" + _JSON
    sent = head + b"content-length: %d\r\n\r\n" % len(data) + data
    return HostileConnection(
        kind="gone", sent=sent[: chance.randint(len(head), len(sent))], ending=Ending.GONE
    )


def _gone_subscribers(chance: random.Random) -> HostileConnection:
    query = chance.choice([b"", b"?id=1", b"?initial=true", b"?from=0", b"?from=999999", b"?columns=total"])  # fmt: skip
    sent = b"GET " + _ORDERS + b"/rows/events" + query + b" HTTP/1.1\r\n" + _HOST + b"\r\n"
    ending = chance.choice([Ending.READ_HEAD, Ending.READ_HEAD, Ending.GONE, Ending.READ_NOTHING])
    return HostileConnection(kind="subscriber that is gone", sent=sent, ending=ending)


def _unread(chance: random.Random) -> HostileConnection:
    """Return many requests at once, whose answers nobody reads."""
    path = chance.choice([b"/v1/openapi.json", _ORDERS + b"/inspect/files", _ORDERS + b"/rows?id=1"])  # fmt: skip
    request = b"GET " + path + b" HTTP/1.1\r\n" + _HOST + b"\r\n"
    return HostileConnection(kind="unread", sent=request * 200, ending=Ending.READ_NOTHING)


_KINDS: Final[tuple[_Kind, ...]] = (
    *(_targets,) * 5, *(_garbage,) * 4, *(_ambiguous_heads,) * 4, *(_gone_subscribers,) * 4, *(_gone,) * 3,
    *(_large_heads,) * 2, *(_silent,) * 2, _slow_heads, _slow_bodies, _endless_bodies, _unread,
)  # fmt: skip
