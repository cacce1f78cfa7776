"""Runners keep queries equal to the registry, and each other out of the way."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from lake import SystemClock
from pipelines.ingest import IngestContext
from pipelines.ingest_starter import IngestStarter
from pipelines.runner import Runner
from pipelines.settings import RunnerSettings
from registry.documents import RegistryStore
from registry.leases import LeaseStore
from registry.progress import ProgressStore, newest_report, stream_key
from registry.table_definition import complete_stream
from schemas import (
    DesiredState,
    StreamDefinition,
    StreamEntry,
    StreamProgress,
    StreamState,
    TableDocument,
)
from tests.integration.ingest_bed import IDENTIFIER, TRIGGER_MS, IngestBed, left

pytestmark = [pytest.mark.integration, pytest.mark.spark]

WAIT_SECONDS = 90
PROGRAM = """\
import sys
from pipelines.runner import main
from pipelines.settings import RunnerSettings
warehouse, name, kafka = sys.argv[1:]
sys.exit(main(RunnerSettings(
    warehouse=warehouse, name=name, kafka=kafka, memory="512m",
    lease_ttl_ms=3_000, poll_ms=200, progress_ms=400,
)))
"""


class Registry:
    """The registry of a bed, as the service writes it."""

    def __init__(self, bed: IngestBed) -> None:
        file_io = bed.table().file_io
        self._spec = bed.spec
        self._store = RegistryStore(file_io, bed.warehouse, SystemClock())
        self._progress = ProgressStore(file_io, bed.warehouse)
        self.leases = LeaseStore(file_io, bed.warehouse, SystemClock())
        database, name = IDENTIFIER.split(".")
        self._store.put_table(
            TableDocument(database=database, name=name, table=bed.spec), expected_version=None
        )

    def register(self, name: str, *, topic: str) -> None:
        """Register a stream; it is wanted to run."""
        definition = StreamDefinition(topic=topic, trigger_ms=TRIGGER_MS)
        spec = complete_stream(self._spec, definition, name=name)
        self._change(name, lambda _: StreamEntry(spec=spec))

    def want(self, name: str, state: DesiredState) -> None:
        """Pause, resume or stop a stream."""
        self._change(name, lambda entry: entry.model_copy(update={"desired_state": state}))

    def restart(self, name: str) -> None:
        """Ask for a restart."""
        self._change(
            name,
            lambda entry: entry.model_copy(
                update={"restart_generation": entry.restart_generation + 1}
            ),
        )

    def wait_for(
        self, name: str, condition: Callable[[StreamProgress], bool], *, runner: str | None = None
    ) -> StreamProgress:
        """Wait until a runner's report of a stream is as expected, and return it."""
        deadline = time.monotonic() + WAIT_SECONDS
        progress = None
        while time.monotonic() < deadline:
            reports = self._progress.read_all()
            reports = [report for report in reports if runner in (None, report.runner)]
            found = newest_report(reports, stream_key(IDENTIFIER, name))
            progress = None if found is None else found.progress
            if progress is not None and condition(progress):
                return progress
            time.sleep(0.1)
        message = f"stream {name} did not come to be as expected, it is: {progress}"
        raise AssertionError(message)

    def _change(self, name: str, change: Callable[[StreamEntry], StreamEntry]) -> None:
        versioned = self._store.table(IDENTIFIER)
        assert versioned is not None
        document = versioned.value
        # A stream that is not there yet has no entry to change.
        entry = change(document.streams.get(name))  # type: ignore[arg-type]
        streams = {**document.streams, name: entry}
        self._store.put_table(
            document.model_copy(update={"streams": streams}), expected_version=versioned.version
        )


def _has_read(records: int) -> Callable[[StreamProgress], bool]:
    return lambda progress: progress.account.records >= records


def _is(state: StreamState) -> Callable[[StreamProgress], bool]:
    return lambda progress: progress.state is state


@contextmanager
def _runner(bed: IngestBed) -> Iterator[None]:
    """Run a runner of this process's session in a thread."""
    table = bed.table()
    clock = SystemClock()
    settings = RunnerSettings(
        warehouse=bed.warehouse,
        name="inside",
        kafka=bed.broker.bootstrap_servers,
        poll_ms=50,
        progress_ms=100,
    )
    context = IngestContext(
        session=bed.session, cores=2, work_dir=bed.directory / "work", clock=clock
    )
    starter = IngestStarter(
        context,
        warehouse=bed.warehouse,
        file_io=table.file_io,
        progress=ProgressStore(table.file_io, bed.warehouse),
        kafka=settings.kafka,
    )
    runner = Runner(settings, starter=starter, file_io=table.file_io, clock=clock)
    stop = threading.Event()
    thread = threading.Thread(target=runner.run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()


def test_a_stream_does_what_the_registry_wants(bed: IngestBed) -> None:
    registry = Registry(bed)
    topic = bed.topic("left")
    bed.produce(topic, [left(key, 1, "x") for key in range(5)] + [b"not JSON"])
    with _runner(bed):
        registry.register("left", topic=topic)
        running = registry.wait_for("left", lambda p: _has_read(6)(p) and p.lag_records == 0)
        registry.want("left", DesiredState.PAUSED)
        registry.wait_for("left", _is(StreamState.PAUSED))
        bed.produce(topic, [left(key, 2, "y") for key in range(5)])
        held = registry.leases.holder(IDENTIFIER, "left")
        registry.want("left", DesiredState.RUNNING)
        resumed = registry.wait_for("left", _has_read(11))
        registry.restart("left")
        restarted = registry.wait_for(
            "left", lambda p: p.restart_generation == 1 and _is(StreamState.RUNNING)(p)
        )
        registry.want("left", DesiredState.STOPPED)
        stopped = registry.wait_for("left", _is(StreamState.STOPPED))
        free = registry.leases.holder(IDENTIFIER, "left")

    assert (running.state, running.epoch, running.trace) == (StreamState.RUNNING, 1, None)
    assert running.dead_letters_by_reason == {"malformed": 1}
    assert running.last_commit_snapshot is not None
    assert running.end_offsets == running.offsets
    assert held is not None
    assert held.owner.startswith("inside-")
    assert (resumed.epoch, restarted.epoch) == (2, 3)
    assert stopped.account.accepted == 10
    assert free is None
    assert [row["a"] for row in bed.rows("a")] == ["y"] * 5


def test_a_failed_stream_says_why_and_leaves_others_alone(bed: IngestBed) -> None:
    registry = Registry(bed)
    topic = bed.topic("right")
    registry.register("left", topic="nobody-made-it")
    registry.register("right", topic=topic)
    bed.produce(topic, [{"id": 1, "b": 0.5}])
    with _runner(bed):
        failed = registry.wait_for("left", _is(StreamState.FAILED))
        registry.wait_for("right", _has_read(1))
        bed.broker.create_topics({"nobody-made-it": 1})
        bed.produce("nobody-made-it", [left(1, 1, "x")])
        registry.restart("left")
        mended = registry.wait_for("left", _has_read(1))

    assert failed.trace is not None
    assert "there is no such topic" in failed.trace
    assert (mended.state, mended.trace) == (StreamState.RUNNING, None)
    assert bed.rows("a", "b") == [{"id": 1, "a": "x", "b": 0.5}]


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_runner_that_slept_past_its_lease_finds_another_at_work(bed: IngestBed) -> None:
    """Two processes with two Spark drivers; the first to get both streams is put to sleep."""
    registry = Registry(bed)
    lefts, rights = bed.topic("left"), bed.topic("right")
    registry.register("left", topic=lefts)
    registry.register("right", topic=rights)
    logs = bed.directory / "logs"
    logs.mkdir()

    def produce(first: int) -> None:
        bed.produce(lefts, [left(key, 1, f"{key}") for key in range(first, first + 10)])
        bed.produce(rights, [{"id": key, "b": float(key)} for key in range(first, first + 10)])

    with _process(bed, "sleeper", logs) as sleeper, _process(bed, "heir", logs) as heir:
        produce(0)
        # Whichever starts first has both leases after a while; make the sleeper that one.
        for name in ("left", "right"):
            registry.wait_for(name, _has_read(10))
        first = registry.leases.holder(IDENTIFIER, "left")
        assert first is not None
        names = {"sleeper": sleeper, "heir": heir}
        asleep_name = first.owner.rpartition("-")[0]
        asleep = names.pop(asleep_name)
        ((awake_name, _),) = names.items()
        os.kill(asleep.pid, signal.SIGSTOP)
        try:
            produce(10)
            for name in ("left", "right"):
                registry.wait_for(name, _has_read(20), runner=awake_name)
        finally:
            os.kill(asleep.pid, signal.SIGCONT)
        produce(20)
        for name in ("left", "right"):
            registry.wait_for(name, _has_read(30), runner=awake_name)
        registry.wait_for("left", _is(StreamState.UNASSIGNED), runner=asleep_name)
        children = {pid for process in (sleeper, heir) for pid in _descendants(process.pid)}
        assert _ended(sleeper) == _ended(heir) == 0

    assert not [pid for pid in children if _is_alive(pid)]
    assert registry.leases.holder(IDENTIFIER, "left") is None
    assert bed.rows("a", "b") == [{"id": k, "a": f"{k}", "b": float(k)} for k in range(30)]
    assert bed.file_rows() == 60
    for name in ("left", "right"):
        assert bed.batch_accounts(name) == bed.position(name).account
        assert bed.position(name).account.records == 30


@contextmanager
def _process(bed: IngestBed, name: str, logs: Path) -> Iterator[subprocess.Popen[bytes]]:
    arguments = [bed.warehouse, name, bed.broker.bootstrap_servers]
    with (logs / f"{name}.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _ended(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGTERM)
    return process.wait(WAIT_SECONDS)


def _descendants(process_id: int) -> set[int]:
    children = Path(f"/proc/{process_id}/task").glob("*/children")
    direct = {int(word) for path in children for word in path.read_text().split()}
    return direct.union(*map(_descendants, direct))


def _is_alive(process_id: int) -> bool:
    with suppress(OSError):
        return ") Z " not in Path(f"/proc/{process_id}/stat").read_text()
    return False
