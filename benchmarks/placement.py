"""Program: two thousand registered streams and three runners, without Spark: what a runner costs, and how long streams are alone.

    python -m benchmarks.placement [--tables 200] [--streams 10] [--running 20] [--seconds 20]

Runners are processes whose queries commit nothing. One of them is drained, so it hosts no stream. One of the others is killed.
Figures: processor time of the runners, their requests to storage per second, and the time until the streams of the killed runner
are assigned to others, and until their queries have started there.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from braid.lake import FileIO, SystemClock, file_io_for
from braid.pipelines.runner import Runner
from braid.pipelines.settings import RunnerSettings
from braid.pipelines.sink.sink_progress import SinkProgress
from braid.registry.placement.assignment import Assignment
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.store.assignments import AssignmentStore
from braid.registry.store.documents import RegistryStore
from braid.registry.store.progress import ProgressStore
from braid.schemas import (
    ColumnSpec,
    DesiredState,
    StreamDefinition,
    StreamEntry,
    StreamState,
    TableDocument,
    TableSpec,
    Unordered,
)

_IDLE: Final = "c"
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class _Counted:
    """Storage that counts its calls."""

    def __init__(self, inner: FileIO) -> None:
        self._inner = inner
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            return found(*arguments, **named)

        return call


class _Query:
    """A query that runs and commits nothing."""

    is_active, is_finished, is_completed = True, False, False
    failure = mirror = None
    progress: SinkProgress | None = None
    beginning_offsets: Mapping[int, int] = {}

    def refresh_plan(self) -> None: ...

    def finish_step(self) -> None: ...

    def apply_back_pressure(self) -> None: ...

    def end_offsets(self) -> Mapping[int, int]:
        return {}

    def stop(self) -> None: ...


class _Starter:
    def start(self, document: TableDocument, entry: StreamEntry) -> _Query:
        return _Query()

    def record_completion(self, table: str, stream: str, *, generation: int) -> None: ...


def run_runner(warehouse: str, name: str) -> None:
    """Run a runner until SIGTERM; each line of standard output is its number of requests to storage so far."""
    counted: Any = _Counted(file_io_for(warehouse))
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())

    def report() -> None:
        while not stop.wait(1):
            print(counted.calls, flush=True)

    threading.Thread(target=report, daemon=True).start()
    settings = RunnerSettings(warehouse=warehouse, name=name, maintains=False, drain_seconds=0)
    Runner(settings, starter=_Starter(), file_io=counted, clock=SystemClock()).run(stop)


class _Process:
    """A runner's process, with what it has cost."""

    def __init__(self, warehouse: str, name: str) -> None:
        self.name = name
        command = [sys.executable, "-m", "benchmarks.placement", "--runner", name, warehouse]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.calls = 0
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def processor_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def end(self) -> None:
        self.process.kill()
        self.process.wait()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.calls = int(line)


def register(warehouse: str, *, tables: int, streams: int, running: int) -> None:
    """Register tables with streams, of which some are to run and all others are stopped."""
    clock = SystemClock()
    store = RegistryStore(file_io_for(warehouse), warehouse, clock)
    columns = tuple(ColumnSpec(name=name, type="INT") for name in ("id", "a"))
    spec = TableSpec(columns=columns, primary_key=("id",), unordered=Unordered.ALLOWED)
    left = running
    for number in range(tables):
        entries = {}
        for other in range(streams):
            definition = StreamDefinition(topic=f"topic-{number}-{other}")
            state = DesiredState.STOPPED
            if other == 0 and left:
                state, left = DesiredState.RUNNING, left - 1
            stream = complete_stream(spec, definition, name=f"s{other}")
            entries[f"s{other}"] = StreamEntry(spec=stream, desired_state=state)
        document = TableDocument(database="db", name=f"t{number}", table=spec, streams=entries)
        store.put_table(document, expected_version=None)


def measure(*, tables: int, streams: int, running: int, seconds: int) -> dict[str, object]:
    """Return the figures of one run."""
    with ExitStack() as stack:
        warehouse = stack.enter_context(tempfile.TemporaryDirectory())
        clock, file_io = SystemClock(), file_io_for(warehouse)
        assignments = AssignmentStore(file_io, warehouse, clock)
        progress = ProgressStore(file_io, warehouse, clock)
        assignments.change(lambda one: one.with_drained(_IDLE, is_drained=True))
        processes = {name: _Process(warehouse, name) for name in ("a", "b", _IDLE)}
        for one in processes.values():
            stack.callback(one.end)
        _wait(lambda: len(assignments.read().value.runners) == len(processes))
        # Afterwards, so that the two share the streams.
        register(warehouse, tables=tables, streams=streams, running=running)
        _wait(lambda: len(_started(progress)) == running)
        begun_s = time.monotonic()
        before = {name: (one.processor_s, one.calls) for name, one in processes.items()}
        time.sleep(seconds)
        passed_s = time.monotonic() - begun_s
        costs = {
            name: {
                "streams": len(_streams(assignments.read().value, name)),
                "percent of a core": round((one.processor_s - before[name][0]) / passed_s * 100, 1),
                "requests per second": round((one.calls - before[name][1]) / passed_s, 1),
            }
            for name, one in processes.items()
        }
        dead = max("ab", key=lambda name: len(_streams(assignments.read().value, name)))
        lost = _streams(assignments.read().value, dead)
        kept = {key for key, runner in _started(progress).items() if runner != dead}
        killed_s = time.monotonic()
        processes[dead].end()
        _wait(lambda: dead not in assignments.read().value.runners)
        assigned_s = time.monotonic() - killed_s
        _wait(lambda: _started(progress, besides=dead).keys() >= lost)
        started_s = time.monotonic() - killed_s
        return {
            "registered streams": tables * streams,
            "runners": costs,
            "streams of the killed runner": len(lost),
            "seconds until they are assigned": round(assigned_s, 1),
            "seconds until they have started": round(started_s, 1),
            "streams of others that were kept": kept <= _started(progress, besides=dead).keys(),
        }


def _streams(assignment: Assignment, name: str) -> set[str]:
    member = assignment.runners.get(name)
    return set() if member is None else set(assignment.streams_of(member.owner))


def _started(progress: ProgressStore, *, besides: str = "") -> dict[str, str]:
    """Return the runners of the streams that run, as runners report them."""
    return {
        key: report.runner
        for report in progress.read_all().runners
        for key, stream in report.streams.items()
        if stream.state is StreamState.RUNNING and report.runner != besides
    }


def _wait(condition: Callable[[], bool]) -> None:
    end_s = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end_s, (
            "the runners are not where they should be after two minutes"
        )
        time.sleep(0.2)


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--streams", type=int, default=10, help="streams of each table")
    parser.add_argument("--running", type=int, default=20, help="streams that run, of all")
    parser.add_argument("--seconds", type=int, default=20, help="time in which costs are measured")
    parser.add_argument("--runner", nargs=2, metavar=("NAME", "WAREHOUSE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.runner is not None:
        run_runner(given.runner[1], given.runner[0])
        return
    found = measure(
        tables=given.tables, streams=given.streams, running=given.running, seconds=given.seconds
    )
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
