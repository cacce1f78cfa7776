"""Benchmark of a service under thousands of hostile requests: its memory must stay almost constant, and /health must stay quick.

    make bench-hostile ARGS="--requests 10000 --rounds 3"

The memory of all rounds is compared with the memory after 40 requests and connections of every kind, when everything that is
loaded or cached only once is in memory. Between hostile requests, rows of another table are read.

Two services run, and only one is attacked. Another process requests /health from both all the time. The bound applies to
the attacked service. The other service shows how fast the machine answers the same request at the same time, because the
attack, the services and the probe share its cores.

The exit status is 1 if a request gets no answer, or an answer that is neither a success nor a documented problem, or if a row
is not served. From status 500 on, only 503 with `retry-after` is allowed. The exit status is also 1 if memory or /health
exceeds its bound.
"""

import argparse
import asyncio
import http.client
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, Final, Self

from tests.support.hostile.attack import AttackResults, Wave, attack, warm_up, wave
from tests.support.hostile.attacked_service import AttackedService, attacked_service

WARM_UP_EACH: Final = 40
"""Requests, and connections, of each kind."""

PROBE_SECONDS = 0.02
MEMORY_GROWTH_MAX = 0.10
HEALTH_P99_MS = 50.0


def main() -> int:
    """Send the requests, print the figures, and return the status to exit with."""
    parser = argparse.ArgumentParser(prog="make bench-hostile ARGS=…", description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="each with requests of its own")
    parser.add_argument("--workers", type=int, default=1, help="processes of each service")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="braid-hostile-") as folder:
        folders = [Path(folder) / name for name in ("attacked", "other")]
        for one in folders:
            one.mkdir()
        with (
            attacked_service(folders[0], workers=arguments.workers) as attacked,
            attacked_service(folders[1], workers=arguments.workers) as other,
            _Probe(attacked.port, other.port) as probe,
        ):
            print(f"memory at the start {attacked.memory() / 1e6:.0f} MB")
            found = [_sent(attacked, warm_up(arguments.seed, each=WARM_UP_EACH))]
            for number in range(arguments.rounds):
                seed = arguments.seed + number
                found.append(_sent(attacked, wave(seed, count=arguments.requests)))
    return _report(found, *probe.found)


def _sent(service: AttackedService, sent: Wave) -> AttackResults:
    (found,) = asyncio.run(attack(service, sent))
    least, most, last = min(found.memory) / 1e6, max(found.memory) / 1e6, found.memory[-1] / 1e6
    answers = sum(found.statuses.values())
    print(
        f"{answers} answers; memory {least:.0f} to {most:.0f} MB, at the end {last:.0f} MB",
        flush=True,
    )
    return found


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
    found: Sequence[AttackResults], health: Sequence[float], health_of_other: Sequence[float]
) -> int:
    first = found[0].memory[-1]
    memory = [one for results in found[1:] for one in results.memory]
    statuses = sum((results.statuses for results in found), Counter[int]())
    faults = sum((results.faults for results in found), Counter[str]())
    growth = max(memory) / first - 1
    print(f"answers: {dict(sorted(statuses.items()))}")
    print(
        f"memory after the warm-up {first / 1e6:.0f} MB, most {max(memory) / 1e6:.0f} MB "
        f"({growth:+.1%}), at the end {memory[-1] / 1e6:.0f} MB"
    )
    print(f"/health of the attacked service, {len(health)} times: {_shown(health)}")
    print(f"/health of the other service: {_shown(health_of_other)}")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for fault, count in faults.most_common(20):
        print(f"fault ({count} times): {fault}")
    p99 = _percentile(health, 0.99)
    is_fine = growth <= MEMORY_GROWTH_MAX and p99 <= HEALTH_P99_MS and not faults
    return 0 if is_fine else 1


def _shown(milliseconds: Sequence[float]) -> str:
    p50, p99 = (_percentile(milliseconds, part) for part in (0.5, 0.99))
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, longest {max(milliseconds):.1f} ms"


def _percentile(values: Sequence[float], part: float) -> float:
    return sorted(values)[int(len(values) * part)]


if __name__ == "__main__":
    sys.exit(main())
