"""Progress reports of runners."""

import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.registry.store.observed_ages import ObservedAges
from braid.registry.store.progress import (
    SETTLED_S,
    ProgressStore,
    RunnerReports,
    current_report,
    newest_report,
    stream_key,
)
from braid.schemas import RunnerProgress, StreamProgress, StreamState
from tests.support.faulty_file_io import FaultyFileIO

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


def test_a_document_is_read_again_only_if_it_may_have_changed(
    file_io: MemoryFileIO, clock: ManualClock
) -> None:
    """Storage dates files in whole seconds at worst, so a second write may have the time and size of the first."""
    now_s = 0.0
    counted = FaultyFileIO(file_io)
    store = ProgressStore(counted, "/w", clock, steady_s=lambda: now_s)
    for runner in ("r1", "r2"):
        store.write(progress(runner, updated_ms=1))

    def reads() -> int:
        counted.calls.clear()
        store.read_all()
        return sum(method == "read_bytes" for method, _ in counted.calls)

    first, early = reads(), reads()
    now_s = SETTLED_S
    late, settled = reads(), reads()
    clock.advance(ms=1)
    store.write(progress("r1", updated_ms=2))

    assert (first, early, late, settled) == (2, 2, 2, 0)
    assert reads() == 1
    assert [one.updated_ms for one in store.read_all().runners] == [clock.now_ms(), 1]


def test_a_write_of_the_same_time_and_size_is_seen_at_the_next_look(store: ProgressStore) -> None:
    for epoch in (1, 2):
        store.write(progress("r1", updated_ms=1, epoch=epoch))
        (found,) = store.read_all().runners

        assert found.streams[KEY].epoch == epoch


def test_a_document_that_is_gone_is_forgotten(store: ProgressStore, file_io: MemoryFileIO) -> None:
    store.write(progress("r1", updated_ms=1))
    store.read_all()
    file_io.delete("/w/_braid/runners/r1.json")

    assert store.read_all() == RunnerReports(runners=())


def test_a_runner_that_has_ended_is_gone_at_once() -> None:
    ended = progress("ended", updated_ms=9, epoch=9).model_copy(update={"has_ended": True})
    alive = progress("alive", updated_ms=5, epoch=1)

    report = current_report([ended, alive], KEY, alive_since_ms=5)

    assert report is not None
    assert report.runner == "alive"
    assert (ended.is_alive(5), alive.is_alive(5), alive.is_alive(6)) == (False, True, False)


def test_documents_of_runners_that_are_long_gone_are_deleted_once_they_decide_nothing(
    store: ProgressStore, clock: ManualClock
) -> None:
    for runner, epoch in (("former", 1), ("last", 2), ("waits", None)):
        store.write(progress(runner, updated_ms=1, epoch=epoch))
    clock.advance(ms=999)

    early = store.remove_dead(lambda _: True, retention_ms=1_000)
    clock.advance(ms=1)
    removed = store.remove_dead(lambda _: True, retention_ms=1_000)
    left = [one.runner for one in store.read_all().runners]
    dropped = store.remove_dead(lambda _: False, retention_ms=1_000)

    assert (early, removed, left, dropped) == ([], ["former", "waits"], ["last"], ["last"])


def test_the_document_of_a_runner_that_has_just_reported_again_stays(
    file_io: MemoryFileIO, clock: ManualClock
) -> None:
    counted = FaultyFileIO(file_io)
    store = ProgressStore(counted, "/w", clock)
    store.write(progress("former", updated_ms=1, epoch=1))
    store.write(progress("last", updated_ms=1, epoch=2))
    clock.advance(ms=5_000)

    def report_again(_: int, method: str, __: str) -> None:
        if method == "modified_ms":
            ProgressStore(file_io, "/w", clock).write(progress("former", updated_ms=2, epoch=1))

    counted.before = report_again

    assert store.remove_dead(lambda _: True, retention_ms=1_000) == []
