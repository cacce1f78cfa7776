"""Measurement of lookups in the wide table, of one key and of a hundred keys at a time, in process and over HTTP.

The server is another process, and its clients keep their connections. Each measurement begins with a time
that is not counted, in which files are cached; the first rows are reported separately. The processor time of
the answering process is reported as well, because a busy machine changes it less.
"""

import http.client
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final

import numpy as np
import orjson
import pyarrow as pa

from braid.demo.ports import free_port
from braid.lake import Table

CONNECTIONS: Final = 16
BATCH_CONNECTIONS: Final = 4
BATCH_KEYS: Final = 100
_START_S: Final = 120.0
_POLL_S: Final = 0.1
_ROWS: Final = "/v1/tables/bench/wide/rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """The rate of one kind of request.

    Attributes:
        name: Of the request.
        first_ms: The median of the first seconds, in which nothing is cached.
        per_s: Keys per second afterwards.
        median_ms: Of one request.
        high_ms: Its 99th percentile.
        processor_ms: Of one request; over HTTP the server's.
    """

    name: str
    first_ms: float
    per_s: float
    median_ms: float
    high_ms: float
    processor_ms: float


def in_process(path: str, *, rows: int, seconds: float) -> Iterator[Rate]:
    """Yield the rates of `get`, of `lookup_at` and of batches, each with a handle of its own.

    Args:
        path: Of the table.
        rows: The number of its rows.
        seconds: Of each measurement, after as many that are not counted.
    """
    random = np.random.default_rng(1)

    def one() -> int:
        return 2 * int(random.integers(rows))

    def got(table: Table) -> Callable[[], None]:
        return lambda: _check(table.get({"id": one()}) is not None)

    def looked_up(table: Table, count: int) -> Callable[[], None]:
        at = table.lookup_at()

        def ask() -> None:
            keys = 2 * random.integers(0, rows, count)
            _check(at.rows(pa.table({"id": keys})).num_rows == count)

        return ask

    for name, keys, ask in (
        ("get", 1, got),
        ("lookup of one", 1, partial(looked_up, count=1)),
        (f"lookup of {BATCH_KEYS}", BATCH_KEYS, partial(looked_up, count=BATCH_KEYS)),
    ):
        clients = [ask(Table.open(path))]
        yield _rate(f"in process, {name}", keys, clients, seconds, time.process_time)


def over_http(warehouse: str, *, rows: int, seconds: float) -> Iterator[Rate]:
    """Yield the rates of a server process, started for each kind of question."""
    with served(warehouse) as (port, processor_s):
        clients = [_one_row(port, rows, number) for number in range(CONNECTIONS)]
        name = f"over HTTP, one row, {CONNECTIONS} connections"
        yield _rate(name, 1, clients, seconds, processor_s)
    with served(warehouse) as (port, processor_s):
        clients = [_batch(port, rows, number) for number in range(BATCH_CONNECTIONS)]
        name = f"over HTTP, {BATCH_KEYS} rows, {BATCH_CONNECTIONS} connections"
        yield _rate(name, BATCH_KEYS, clients, seconds, processor_s)


def _rate(
    name: str,
    keys: int,
    clients: list[Callable[[], None]],
    seconds: float,
    processor_s: Callable[[], float],
) -> Rate:
    first, _ = _times(clients, seconds)
    before = processor_s()
    times, took = _times(clients, seconds)
    median, high = np.percentile(times, [50, 99]) * 1e3
    return Rate(
        name=name,
        first_ms=float(np.median(first)) * 1e3,
        per_s=len(times) * keys / took,
        median_ms=float(median),
        high_ms=float(high),
        processor_ms=(processor_s() - before) * 1e3 / len(times),
    )


def _times(clients: list[Callable[[], None]], seconds: float) -> tuple[list[float], float]:
    """Return the seconds of each question that clients ask side by side, and of all together."""
    started = time.perf_counter()

    def ask(client: Callable[[], None]) -> list[float]:
        times = []
        while (before := time.perf_counter()) < started + seconds:
            client()
            times.append(time.perf_counter() - before)
        return times

    if len(clients) == 1:
        times = ask(clients[0])
    else:
        with ThreadPoolExecutor(len(clients)) as pool:
            times = [one for part in pool.map(ask, clients) for one in part]
    return times, time.perf_counter() - started


def _one_row(port: int, rows: int, seed: int) -> Callable[[], None]:
    random = np.random.default_rng(seed)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask() -> None:
        status, _ = _answer(connection, "GET", f"{_ROWS}?id={2 * int(random.integers(rows))}", None)
        _check(status == http.client.OK)

    return ask


def _batch(port: int, rows: int, seed: int) -> Callable[[], None]:
    random = np.random.default_rng(seed)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask() -> None:
        keys = (2 * random.integers(0, rows, BATCH_KEYS)).tolist()
        body = orjson.dumps({"keys": [{"id": key} for key in keys]})
        status, answer = _answer(connection, "POST", f"{_ROWS}/lookup", body)
        _check(status == http.client.OK and None not in orjson.loads(answer)["rows"])

    return ask


def _answer(
    connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None
) -> tuple[int, bytes]:
    headers = {} if body is None else {"content-type": "application/json"}
    while True:
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # The server closes connections that were idle while others had not finished a measurement.
            connection.close()


@contextmanager
def served(warehouse: str) -> Iterator[tuple[int, Callable[[], float]]]:
    """Start a server, and yield its port and a function that returns the processor time it has taken."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "braid",
        "service",
        "--warehouse",
        warehouse,
        "--port",
        str(port),
        "--no-access-control",
    ]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _START_S
        while not _is_ready(port):
            if server.poll() is not None or time.monotonic() > deadline:
                message = "the service did not start"
                raise RuntimeError(message)
            time.sleep(_POLL_S)
        yield port, lambda: _processor_s(server.pid)
    finally:
        server.terminate()
        server.wait(timeout=60)


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_START_S)
    try:
        connection.request("GET", "/ready")
        return connection.getresponse().status == HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()


def _processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _check(is_right: object) -> None:
    if not is_right:
        message = "a row was not found"
        raise RuntimeError(message)
