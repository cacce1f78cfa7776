"""The lag of a stream is that of its living runner, and unknown without one."""

import math

import pytest

from braid.backfill.stream_lag import StreamLag
from braid.lake import ManualClock, MemoryFileIO
from braid.registry.store.progress import ProgressStore
from braid.schemas import RunnerProgress, StreamProgress, StreamState

KEY = "shop.parcels/s"


@pytest.mark.parametrize(
    ("state", "age_ms", "expected"),
    [
        (StreamState.RUNNING, 0, 7.5),
        (StreamState.RUNNING, 30_001, None),
        (StreamState.STOPPED, 0, None),
    ],
)
def test_only_a_running_stream_has_a_lag(
    state: StreamState, age_ms: int, expected: float | None
) -> None:
    clock = ManualClock()
    file_io = MemoryFileIO(clock=clock)
    lag = StreamLag(file_io, "/w", KEY, clock)
    assert lag.seconds() is None

    progress = StreamProgress(state=state, epoch=1, lag_seconds=7.5)
    ProgressStore(file_io, "/w", clock).write(
        RunnerProgress(runner="r", started_ms=0, updated_ms=clock.now_ms(), streams={KEY: progress})
    )
    clock.advance(ms=age_ms)

    assert lag.seconds() == expected


@pytest.mark.parametrize(("waiting", "expected"), [(3, math.inf), (0, None), (None, None)])
def test_records_of_unknown_age_may_be_of_any_age(
    waiting: int | None, expected: float | None
) -> None:
    clock = ManualClock()
    file_io = MemoryFileIO(clock=clock)
    progress = StreamProgress(state=StreamState.RUNNING, epoch=1, lag_records=waiting)
    ProgressStore(file_io, "/w", clock).write(
        RunnerProgress(runner="r", started_ms=0, updated_ms=clock.now_ms(), streams={KEY: progress})
    )

    assert StreamLag(file_io, "/w", KEY, clock).seconds() == expected
