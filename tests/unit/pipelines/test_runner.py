"""A runner warns when its name may be taken."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.pipelines.runner import Runner
from braid.pipelines.settings import RunnerSettings
from braid.registry.store.documents import RegistryStore
from braid.registry.store.progress import ProgressStore
from braid.registry.store.stream_holders import StreamHolders
from braid.schemas import DesiredState, RunnerProgress, StreamState
from tests.support.waiting import wait_until
from tests.unit.pipelines.stream.test_stream_supervisor import DOCUMENT, StubStarter

SETTINGS = RunnerSettings(warehouse="/w", name="r")


def _start_beside(name: str, *, silent_ms: int) -> None:
    """Start and stop a runner when another has reported a while ago."""
    clock = ManualClock()
    file_io = MemoryFileIO(clock=clock)
    other = RunnerProgress(runner=name, started_ms=0, updated_ms=clock.now_ms())
    ProgressStore(file_io, "/w", clock).write(other)
    clock.advance(ms=silent_ms)
    stop = threading.Event()
    stop.set()

    Runner(SETTINGS, starter=StubStarter(), file_io=file_io, clock=clock).run(stop)


def test_a_living_namesake_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    _start_beside("r", silent_ms=1_000)

    (message,) = caplog.messages
    assert "another runner of this name reported 1000 ms ago name=r" in message
    assert "its_start=1970-01-01T00:00:00.000+00:00 our_start=2023-11-14" in message


@pytest.mark.parametrize(
    ("name", "silent_ms"), [("r", SETTINGS.lease_ttl_ms), ("another", 0)], ids=["gone", "another"]
)
def test_no_other_runner_is_warned_of(
    caplog: pytest.LogCaptureFixture, name: str, silent_ms: int
) -> None:
    _start_beside(name, silent_ms=silent_ms)

    assert not caplog.messages


def test_a_runner_that_ends_in_order_says_so_and_is_not_taken_for_a_namesake(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = ManualClock()
    file_io = MemoryFileIO(clock=clock)
    stop = threading.Event()
    stop.set()
    Runner(SETTINGS, starter=StubStarter(), file_io=file_io, clock=clock).run(stop)
    (last,) = ProgressStore(file_io, "/w", clock).read_all().runners

    Runner(SETTINGS, starter=StubStarter(), file_io=file_io, clock=clock).run(stop)

    assert last.has_ended
    assert not caplog.messages


def test_an_unreadable_document_stops_no_stream_of_its_table_or_another() -> None:
    clock, file_io = ManualClock(), MemoryFileIO()
    registry, progress = RegistryStore(file_io, "/w", clock), ProgressStore(file_io, "/w", clock)
    registry.put_table(DOCUMENT, expected_version=None)
    settings = replace(SETTINGS, poll_ms=1, progress_ms=0, maintains=False)
    runner = Runner(settings, starter=StubStarter(), file_io=file_io, clock=clock)
    stop = threading.Event()

    def states() -> dict[str, StreamState]:
        runners = progress.read_all().runners
        return {key: stream.state for one in runners for key, stream in one.streams.items()}

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(runner.run, stop)
        try:
            wait_until(lambda: states() == {"db.t/s": StreamState.RUNNING})
            file_io.write_new("/w/_braid/tables/db.t/00000000000000000002.json", b"")
            later = DOCUMENT.model_copy(update={"name": "u"})
            registry.put_table(later, expected_version=None)
            wait_until(lambda: "db.u/s" in states())
            found = states()["db.t/s"]
        finally:
            stop.set()
        running.result()

    assert found is StreamState.RUNNING


def test_a_stream_that_needs_a_newer_version_is_let_go() -> None:
    clock, file_io = ManualClock(), MemoryFileIO()
    registry, progress = RegistryStore(file_io, "/w", clock), ProgressStore(file_io, "/w", clock)
    version = registry.put_table(DOCUMENT, expected_version=None)
    settings = replace(SETTINGS, poll_ms=1, progress_ms=0, maintains=False)
    runner = Runner(settings, starter=StubStarter(), file_io=file_io, clock=clock)
    stop = threading.Event()

    def state() -> StreamState | None:
        runners = progress.read_all().runners
        return runners[0].streams["db.t/s"].state if runners and runners[0].streams else None

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(runner.run, stop)
        try:
            wait_until(lambda: state() is StreamState.RUNNING)
            entry = DOCUMENT.streams["s"].model_copy(update={"features": ("time-travel",)})
            newer = DOCUMENT.model_copy(update={"streams": {"s": entry}})
            registry.put_table(newer, expected_version=version)
            wait_until(lambda: state() is StreamState.UNASSIGNED)
            holder = StreamHolders(file_io, "/w", clock).holder("db.t", "s")
        finally:
            stop.set()
        running.result()

    assert holder is None


def test_a_clock_that_is_set_back_delays_no_report() -> None:
    clock, file_io = ManualClock(), MemoryFileIO()
    settings = replace(SETTINGS, poll_ms=1, progress_ms=2_000, maintains=False)
    runner = Runner(settings, starter=StubStarter(), file_io=file_io, clock=clock)
    stop = threading.Event()

    def reports_at(moment_ms: int) -> bool:
        path = "/w/_braid/runners/r.json"
        if not file_io.exists(path):
            return False
        written = RunnerProgress.model_validate_json(file_io.read_bytes(path))
        return written.updated_ms == moment_ms

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(runner.run, stop)
        try:
            wait_until(lambda: reports_at(clock.now_ms()))
            clock.advance(ms=-86_400_000)
            wait_until(lambda: reports_at(clock.now_ms()))
        finally:
            stop.set()
        running.result()


def test_a_runner_that_ends_leaves_its_stream_to_another_and_keeps_its_report() -> None:
    clock, file_io = ManualClock(), MemoryFileIO()
    registry, progress = RegistryStore(file_io, "/w", clock), ProgressStore(file_io, "/w", clock)
    version = registry.put_table(DOCUMENT, expected_version=None)
    quick = replace(SETTINGS, poll_ms=1, progress_ms=1, maintains=False, drain_seconds=0)

    def start(name: str) -> tuple[threading.Event, threading.Thread]:
        settings, stop = replace(quick, name=name), threading.Event()
        runner = Runner(settings, starter=StubStarter(), file_io=file_io, clock=clock)
        thread = threading.Thread(target=runner.run, args=(stop,))
        thread.start()
        return stop, thread

    def states() -> dict[str, StreamState]:
        reports = progress.read_all().runners
        return {one.runner: stream.state for one in reports for stream in one.streams.values()}

    first = start("a")
    try:
        wait_until(lambda: states() == {"a": StreamState.RUNNING})
        second = start("b")
        first[0].set()
        wait_until(lambda: states().get("b") is StreamState.RUNNING)
        assert states()["a"] is StreamState.UNASSIGNED
        entry = DOCUMENT.streams["s"].model_copy(update={"desired_state": DesiredState.STOPPED})
        stopped = DOCUMENT.model_copy(update={"streams": {"s": entry}})
        registry.put_table(stopped, expected_version=version)
        wait_until(lambda: states()["b"] is StreamState.STOPPED)
        holder = StreamHolders(file_io, "/w", clock).holder("db.t", "s")
        second[0].set()
        second[1].join()
        second = start("b")
        wait_until(lambda: StreamHolders(file_io, "/w", clock).is_alive("b", ttl_ms=15_000))
        wait_until(lambda: states().get("b") is StreamState.STOPPED)
    finally:
        for stop, thread in (first, second):
            stop.set()
            thread.join()

    assert holder is None
