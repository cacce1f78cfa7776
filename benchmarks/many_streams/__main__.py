"""Benchmark of many registered streams: two warehouses, of which one has ten times the streams, and the same 20 that run.

    make bench-many-streams ARGS="--streams 200 2000 --seconds 32"

In each warehouse a runner that may have none of the streams and a service run for some time, longer than the pause between two
listings of the registry: first the service is idle, then it answers status requests. Calls to storage per second should be the
same in both.
"""

import argparse
import http.client
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from typing import Final

from benchmarks.machine import machine
from benchmarks.many_streams.many_tables import fill, report_running
from benchmarks.many_streams.measured_process import (
    Costs,
    MeasuredProcess,
    measured,
)
from braid.lake import LocalFileIO, SystemClock

LISTS: Final = {
    "streams by name, with status": "/v1/streams?expand=status&page_size=1000",
    "streams by state": "/v1/streams?sort=state",
    "streams that failed": "/v1/streams?state=FAILED&sort=lag",
    "tables with status": "/v1/tables?expand=status&page_size=1000",
    "tables by lag": "/v1/tables?sort=-lag&expand=status",
    "declarations": "/v1/declarations?page_size=500",
    "runners": "/v1/runners",
    "metrics": "/metrics",
}
_REPEATS: Final = 5
_REPORT_S: Final = 2.0
_START_S: Final = 5.0
"""Until a runner has read all documents for the first time."""
_REQUEST_PAUSE_S: Final = 0.5


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="make bench-many-streams ARGS=…",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--streams", type=int, nargs="+", default=[200, 2_000])
    parser.add_argument("--seconds", type=float, default=32.0, help="of each measurement")
    arguments = parser.parse_args()
    print(machine())
    for streams in arguments.streams:
        with tempfile.TemporaryDirectory(prefix="braid-many-streams-") as warehouse:
            _measure(warehouse, streams=streams, seconds=arguments.seconds)


def _measure(warehouse: str, *, streams: int, seconds: float) -> None:
    file_io, clock = LocalFileIO(), SystemClock()
    began_s = time.monotonic()
    keys = fill(file_io, warehouse, clock, streams=streams)
    filled_s = time.monotonic() - began_s
    print(f"\n{streams} streams on {streams // 10} tables, registered in {filled_s:.1f} s")
    report_running(file_io, warehouse, clock, keys)
    with measured("counted_service", warehouse) as service:
        _requested(
            service, "/health"
        )  # the framework's first answer takes a second, whatever it is
        for name, target in LISTS.items():
            cold_s, size = _requested(service, target)
            warm_s = statistics.median(_requested(service, target)[0] for _ in range(_REPEATS))
            print(f"  {name:30} first {cold_s:6.3f} s, then {warm_s:6.3f} s, {size:>9,} bytes")
        with measured("idle_runner", warehouse) as runner:
            time.sleep(_START_S)
            for process in (runner, service):
                process.costs()
            end_s = time.monotonic() + seconds
            while time.monotonic() < end_s:
                report_running(file_io, warehouse, clock, keys)
                time.sleep(_REPORT_S)
            _show("runner without a stream", runner.costs())
            _show("service, idle", service.costs())
        targets = list(LISTS.values())
        end_s, number = time.monotonic() + seconds, 0
        while time.monotonic() < end_s:
            if number % int(_REPORT_S / _REQUEST_PAUSE_S) == 0:
                report_running(file_io, warehouse, clock, keys)
            _requested(service, targets[number % len(targets)])
            number += 1
            time.sleep(_REQUEST_PAUSE_S)
        _show(f"service, {number} lists", service.costs())


def _requested(service: MeasuredProcess, target: str) -> tuple[float, int]:
    """Return how long an answer takes, in seconds, and its size in bytes."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    began_s = time.monotonic()
    connection.request("GET", target)
    answer = connection.getresponse()
    body = answer.read()
    passed_s = time.monotonic() - began_s
    connection.close()
    assert answer.status == 200, json.loads(body)
    return passed_s, len(body)


def _show(what: str, costs: Costs) -> None:
    print(
        f"  {what:30} {sum(costs.calls.values()) / costs.seconds:6.2f} calls/s, "
        f"{100 * costs.processor_s / costs.seconds:5.2f} % of a core, "
        f"peak {costs.peak_bytes / 1e6:.0f} MB; {_by_method(costs)}",
        flush=True,
    )


def _by_method(costs: Costs) -> str:
    ordered: Sequence[tuple[str, int]] = sorted(costs.calls.items(), key=lambda one: -one[1])
    return ", ".join(f"{method} {count / costs.seconds:.2f}" for method, count in ordered)


if __name__ == "__main__":
    main()
