"""Benchmark of a service under thousands of hostile requests: its memory must stay almost constant, and /health must stay quick.

    make bench-hostile ARGS="--requests 10000 --rounds 3"

The memory of all rounds is compared with the memory after the first thousand requests, when everything that is
loaded or cached only once is in memory. Two services run, and only one is attacked. Another process requests /health
from both all the time. The bound applies to the attacked service. The other service shows how fast the machine
answers the same request at the same time, because the attack, the services and the probe share its cores.

The exit status is 1 if a request gets no answer, or an answer that is neither a success nor a documented problem.
From status 500 on, only the problem `overloaded` is allowed. The exit status is also 1 if memory or /health exceeds
its bound.
"""

import argparse
import asyncio
import http.client
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, Self

import httpx

from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, Supervisor
from tests.support.hostile_attack import WARM_UP, HostileResults, send_hostile_requests

PROBE_SECONDS = 0.02
MEMORY_GROWTH_MAX = 0.10
HEALTH_P99_MS = 50.0


def main() -> int:
    """Send the requests, print the figures, and return the status to exit with."""
    parser = argparse.ArgumentParser(prog="make bench-hostile ARGS=…", description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="each with requests of its own")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="braid-hostile-") as folder,
        Supervisor(Path(folder) / "logs") as supervisor,
    ):
        attacked, port = _start(supervisor, Path(folder), "attacked")
        _, other_port = _start(supervisor, Path(folder), "other")
        found = HostileResults()
        with _Probe(port, other_port) as probe:
            for number in range(arguments.rounds):
                seed = arguments.seed + number
                asyncio.run(
                    send_hostile_requests(
                        port, attacked.process_id, found, seed=seed, count=arguments.requests
                    )
                )
                print(found.progress_line(), flush=True)
    return _report(found, *probe.found)


def _start(supervisor: Supervisor, folder: Path, name: str) -> tuple[ChildProcess, int]:
    port = free_port()
    (folder / name).mkdir()
    service = supervisor.start_module(
        name, "braid", "service", "--warehouse", str(folder / name), "--port", str(port),
    )  # fmt: skip
    service.wait_ready(lambda: _is_alive(port), timeout_s=60)
    return service, port


class _Probe:
    """Requests /health of services, in turn, in a process of its own, until the block ends.

    Attributes:
        found: The milliseconds of each answer, by service; set when it has ended.
    """

    def __init__(self, *ports: int) -> None:
        self._stop = multiprocessing.Event()
        self._waits: multiprocessing.Queue[list[list[float]]] = multiprocessing.Queue()
        self._process = multiprocessing.Process(
            target=_ask_for_health, args=(ports, self._stop, self._waits)
        )
        self.found: list[list[float]] = []

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self.found = self._waits.get(timeout=60)
        self._process.join()


def _ask_for_health(ports: Sequence[int], stop: Event, waits: Any) -> None:
    found: list[list[float]] = [[] for _ in ports]
    connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for port in ports]
    while not stop.wait(PROBE_SECONDS):
        for connection, milliseconds in zip(connections, found, strict=True):
            started = time.perf_counter()
            connection.request("GET", "/health")
            connection.getresponse().read()
            milliseconds.append((time.perf_counter() - started) * 1_000)
    for connection in connections:
        connection.close()
    waits.put(found)


def _report(
    found: HostileResults, health: Sequence[float], health_of_other: Sequence[float]
) -> int:
    first, most, last = found.memory[0], max(found.memory), found.memory[-1]
    growth = most / first - 1
    print(f"answers: {dict(sorted(found.statuses.items()))}")
    print(
        f"memory after {WARM_UP} requests {first / 1e6:.0f} MB, most {most / 1e6:.0f} MB "
        f"({growth:+.1%}), at the end {last / 1e6:.0f} MB"
    )
    print(f"/health of the attacked service, {len(health)} times: {_shown(health)}")
    print(f"/health of the other service: {_shown(health_of_other)}")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for fault, count in found.faults.most_common(20):
        print(f"fault ({count} times): {fault}")
    p99 = _percentile(health, 0.99)
    is_fine = growth <= MEMORY_GROWTH_MAX and p99 <= HEALTH_P99_MS and not found.faults
    return 0 if is_fine else 1


def _shown(milliseconds: Sequence[float]) -> str:
    p50, p99 = (_percentile(milliseconds, part) for part in (0.5, 0.99))
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, longest {max(milliseconds):.1f} ms"


def _percentile(values: Sequence[float], part: float) -> float:
    return sorted(values)[int(len(values) * part)]


def _is_alive(port: int) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"http://127.0.0.1:{port}/health").is_success
    return False


if __name__ == "__main__":
    sys.exit(main())
