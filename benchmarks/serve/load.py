"""Process that sends HTTP requests and measures each answer: `python -m benchmarks.serve.load`.

It reads a `Load` as JSON from its standard input, and writes a `Result`. Without a rate each connection sends its next request once
it has the answer to the one before. With a rate requests are due at equal distances; one that finds no connection idle waits, and its
time begins when it was due: a server that stands still is not asked less.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter, deque
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import uvloop

from benchmarks.serve.questions import QUESTIONS, Question
from benchmarks.serve.server import started

_END_OF_HEAD: Final = b"\r\n\r\n"
_LENGTH: Final = b"content-length: "
_TICK_S: Final = 0.001
_STATUS: Final = slice(9, 12)  # of a status line: `HTTP/1.1 200 OK`


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is sent.

    Attributes:
        port: Of the server, on this machine.
        question: Name of the kind of requests.
        rows: Rows of the table.
        seconds: How long requests are sent.
        connections: Connections that are kept open.
        rate: Requests a second; None: as fast as they are answered.
        seed: Chooses the keys.
        token: Access token of the client; None: it has none.
    """

    port: int
    question: str
    rows: int
    seconds: float
    connections: int
    rate: float | None = None
    seed: int = 1
    token: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What was measured.

    Attributes:
        answers: Answers that were right.
        seconds: From the first request to the last answer.
        wrong: Answers of another status, and connections that ended, by what they were.
        p50_ms: Median of the times of all answers.
        p95_ms: 95th percentile.
        p99_ms: 99th percentile.
        longest_ms: The longest.
    """

    answers: int
    seconds: float
    wrong: dict[str, int]
    p50_ms: float
    p95_ms: float
    p99_ms: float
    longest_ms: float

    @property
    def per_s(self) -> float:
        """Answers a second."""
        return self.answers / self.seconds


class LoadFailed(Exception):
    """The requests could not be sent."""


def run(load: Load, *, core: int) -> Result:
    """Send requests from a process of its own on one core."""
    command = [sys.executable, "-m", "benchmarks.serve.load"]
    process = started(command, core=core, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    found, _ = process.communicate(json.dumps(asdict(load)))
    if process.returncode:
        message = "the requests could not be sent: the server has ended, if the lines above say that it refused connections"
        raise LoadFailed(message)
    return Result(**json.loads(found))


class _Sender:
    """Requests in turn, and the times of their answers."""

    def __init__(self, question: Question, load: Load) -> None:
        self._requests = question.requests(load.rows, seed=load.seed, token=load.token)
        self._status = str(question.status).encode()
        self._next = 0
        self.is_paced = load.rate is not None
        self.idle: deque[_Connection] = deque()
        self.due: deque[float] = deque()
        self.times: list[float] = []
        self.wrong: Counter[str] = Counter()
        self.is_over = False
        self._port = load.port
        self._connecting: set[asyncio.Task[None]] = set()

    async def connect(self) -> None:
        """Make a connection that waits for a request."""
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: _Connection(self), "127.0.0.1", self._port
        )
        self.idle.append(connection)

    def ended(self, connection: "_Connection", error: Exception | None) -> None:
        """Note that the server has ended a connection, and make another one."""
        if self.is_over:
            return
        if connection in self.idle:
            # Servers end connections that are idle for some seconds; nobody waits for an answer.
            self.idle.remove(connection)
        else:
            self.wrong[f"connection ended: {error}"] += 1
        task = asyncio.ensure_future(self._connect_again())
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connect_again(self) -> None:
        await self.connect()
        self._go_on(self.idle.pop())

    def request(self) -> bytes:
        """Return the next request."""
        self._next += 1
        return self._requests[self._next % len(self._requests)]

    def answered(self, connection: "_Connection", status: bytes, seconds: float) -> None:
        """Note an answer, and send the next request."""
        if status == self._status:
            self.times.append(seconds)
        else:
            self.wrong[status.decode()] += 1
        if not self.is_over:
            self._go_on(connection)

    def _go_on(self, connection: "_Connection") -> None:
        """Send the next request, if it is due, by a connection that waits for none."""
        if not self.is_paced:
            connection.ask(time.perf_counter())
        elif self.due:
            connection.ask(self.due.popleft())
        else:
            self.idle.append(connection)


class _Connection(asyncio.Protocol):
    def __init__(self, sender: _Sender) -> None:
        self._sender = sender
        self._transport: Any = None
        self._received = b""
        self._since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def ask(self, since: float) -> None:
        """Send a request whose time began at `since`."""
        self._since = since
        self._transport.write(self._sender.request())

    def data_received(self, data: bytes) -> None:
        self._received = data if not self._received else self._received + data
        end = self._received.find(_END_OF_HEAD)
        if end < 0:
            return
        at = self._received.find(_LENGTH, 0, end) + len(_LENGTH)
        length = int(self._received[at : self._received.index(b"\r", at)])
        if len(self._received) < end + len(_END_OF_HEAD) + length:
            return
        status, self._received = self._received[_STATUS], b""
        self._sender.answered(self, status, time.perf_counter() - self._since)

    def connection_lost(self, exc: Exception | None) -> None:
        self._sender.ended(self, exc)


async def _send(load: Load) -> Result:
    question = next(one for one in QUESTIONS if one.name == load.question)
    sender = _Sender(question, load)
    for _ in range(load.connections):
        await sender.connect()
    started = time.perf_counter()
    if load.rate is None:
        while sender.idle:
            sender.idle.popleft().ask(time.perf_counter())
        await asyncio.sleep(load.seconds)
    else:
        await _send_at_rate(sender, load.rate, load.seconds)
    sender.is_over = True
    seconds = time.perf_counter() - started
    times = np.array(sender.times or [np.nan]) * 1e3
    p50, p95, p99 = (float(each) for each in np.percentile(times, [50, 95, 99]))
    return Result(
        answers=len(sender.times),
        seconds=seconds,
        wrong=dict(sender.wrong),
        p50_ms=p50,
        p95_ms=p95,
        p99_ms=p99,
        longest_ms=float(times.max()),
    )


async def _send_at_rate(sender: _Sender, rate: float, seconds: float) -> None:
    started = time.perf_counter()
    sent = 0
    while (now := time.perf_counter()) < started + seconds:
        due = int((now - started) * rate)
        for _ in range(due - sent):
            # What this process is late by is not the server's time.
            if sender.idle:
                sender.idle.popleft().ask(time.perf_counter())
            else:
                sender.due.append(now)
        sent = due
        await asyncio.sleep(_TICK_S)


if __name__ == "__main__":
    given = Load(**json.load(sys.stdin))
    print(json.dumps(asdict(uvloop.run(_send(given)))))
