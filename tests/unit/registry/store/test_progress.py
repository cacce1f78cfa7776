"""Progress reports of runners."""

import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.registry.store.observed_ages import ObservedAges
from braid.registry.store.progress import (
    ProgressStore,
    RunnerReports,
    current_report,
    newest_report,
    stream_key,
)
from braid.schemas import RunnerProgress, StreamProgress, StreamState

KEY = stream_key("shop.orders", "pay")


def progress(
    runner: str,
    *,
    updated_ms: int,
    epoch: int | None = None,
    state: StreamState = StreamState.RUNNING,
) -> RunnerProgress:
    said = StreamProgress(state=state, epoch=epoch)
    return RunnerProgress(runner=runner, started_ms=0, updated_ms=updated_ms, streams={KEY: said})


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(start_ms=1)


@pytest.fixture
def file_io(clock: ManualClock) -> MemoryFileIO:
    return MemoryFileIO(clock=clock)


@pytest.fixture
def store(file_io: MemoryFileIO, clock: ManualClock) -> ProgressStore:
    return ProgressStore(file_io, "/w", clock)


def test_a_warehouse_without_runners_has_no_progress(store: ProgressStore) -> None:
    assert store.read_all().runners == ()


def test_the_last_word_of_each_runner_is_read(store: ProgressStore, clock: ManualClock) -> None:
    store.write(progress("r2", updated_ms=1))
    store.write(progress("r1", updated_ms=1))
    clock.advance(ms=4)
    store.write(progress("r1", updated_ms=5))

    expected = (progress("r1", updated_ms=5), progress("r2", updated_ms=1))
    assert store.read_all() == RunnerReports(runners=expected)


@pytest.mark.parametrize("data", [b"", b'{"runner": "r1"', b"\0\0", b"[]"])
def test_an_unreadable_report_hides_no_other_and_is_repaired_by_the_next_one(
    store: ProgressStore, file_io: MemoryFileIO, data: bytes
) -> None:
    store.write(progress("r2", updated_ms=1))
    file_io.overwrite("/w/_braid/runners/r1.json", data)

    found = store.read_all()
    store.write(progress("r1", updated_ms=5))

    assert found == RunnerReports(runners=(progress("r2", updated_ms=1),), unreadable=("r1",))
    assert store.read_all().unreadable == ()


@pytest.mark.parametrize(
    ("runners", "expected"),
    [
        pytest.param(
            [
                progress("old", updated_ms=9, epoch=3),
                progress("new", updated_ms=5, epoch=4),
                progress("slow", updated_ms=4, epoch=4),
            ],
            "new",
            id="higher-epoch-then-later-word",
        ),
        pytest.param(
            [progress("gone", updated_ms=1, epoch=9), progress("new", updated_ms=5)],
            "new",
            id="living-before-gone",
        ),
        pytest.param(
            [
                progress("waits", updated_ms=9, epoch=9, state=StreamState.UNASSIGNED),
                progress("failed", updated_ms=5, state=StreamState.FAILED),
            ],
            "failed",
            id="something-to-say-before-waiting",
        ),
        pytest.param([progress("gone", updated_ms=1)], "gone", id="gone-before-nothing"),
    ],
)
def test_the_current_report_is_of_the_runner_that_has_the_stream(
    runners: list[RunnerProgress], expected: str
) -> None:
    report = current_report(runners, KEY, alive_since_ms=4)

    assert report is not None
    assert report.runner == expected


def test_a_stream_without_a_runner_has_no_report() -> None:
    runners = [progress("r1", updated_ms=5)]

    key = stream_key("shop.orders", "ship")
    assert newest_report(runners, key) is None
    assert current_report(runners, key, alive_since_ms=0) is None


def test_the_report_of_the_highest_epoch_is_used_although_its_runner_is_gone() -> None:
    runners = [
        progress("gone", updated_ms=1, epoch=9, state=StreamState.UNASSIGNED),
        progress("new", updated_ms=5, epoch=8),
    ]

    report = newest_report(runners, KEY)

    assert report is not None
    assert report.runner == "gone"


@pytest.mark.parametrize("ahead_ms", [-86_400_000, 86_400_000])
def test_the_clock_of_a_runner_does_not_say_how_old_its_report_is(
    store: ProgressStore, clock: ManualClock, ahead_ms: int
) -> None:
    store.write(progress("r1", updated_ms=clock.now_ms() + ahead_ms))
    clock.advance(ms=15_000)

    (found,) = store.read_all().runners

    assert found.updated_ms == clock.now_ms() - 15_000


def test_a_report_from_before_all_clocks_were_set_back_ages(file_io: MemoryFileIO) -> None:
    now_s = 7.0
    ages = ObservedAges(lambda: now_s)
    store = ProgressStore(file_io, "/w", ManualClock(start_ms=-86_400_000), ages=ages)
    store.write(progress("dead", updated_ms=1))

    (first,) = store.read_all().runners
    now_s += 15
    (second,) = store.read_all().runners

    assert (first.updated_ms, second.updated_ms) == (-86_400_000, -86_400_000 - 15_000)
