"""A runner that starts says whether its name may be taken."""

import threading

import pytest

from lake import ManualClock, MemoryFileIO
from pipelines.runner import Runner
from pipelines.settings import RunnerSettings
from registry.progress import ProgressStore
from schemas import RunnerProgress
from tests.unit.pipelines.test_stream_supervisor import StubStarter

SETTINGS = RunnerSettings(warehouse="/w", name="r")


def _start_beside(name: str, *, silent_ms: int) -> None:
    """Start and stop a runner when another has reported a while ago."""
    clock, file_io = ManualClock(), MemoryFileIO()
    updated_ms = clock.now_ms() - silent_ms
    other = RunnerProgress(runner=name, started_ms=0, updated_ms=updated_ms)
    ProgressStore(file_io, "/w").write(other)
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
