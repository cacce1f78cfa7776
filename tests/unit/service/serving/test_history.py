"""Samples of tables and streams are kept in rings, and recorded from the reports of runners."""

import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.registry.store.progress import ProgressStore
from braid.schemas import HistoryName, RunnerProgress, StreamProgress, StreamState, TableHistory
from braid.service.control.lists.recent_reports import RecentReports
from braid.service.control.table_history import SeriesKey
from braid.service.serving.completeness_counts import CompletenessCounts
from braid.service.serving.history import History, HistoryRecorder

LAG = SeriesKey("shop.orders", HistoryName.LAG_RECORDS, "sales")
RUNS = SeriesKey("shop.orders", HistoryName.SORTED_RUNS)


def values_by_name(found: TableHistory) -> dict[tuple[str, str | None], list[float | None]]:
    return {(one.name.value, one.stream): list(one.values) for one in found.series}


def test_series_have_the_same_times_and_are_null_where_unknown() -> None:
    history = History()
    history.add(1_000, {LAG: 5})
    history.add(2_000, {RUNS: 2})
    history.add(3_000, {LAG: 1_234_567, RUNS: 0.1})

    found = history.of_table("shop.orders", since_ms=0)

    assert found.times == (1_000, 2_000, 3_000)
    assert values_by_name(found) == {
        ("lag_records", "sales"): [5, None, 1_234_567],
        ("sorted_runs", None): [None, 2, 0.1],
    }
    assert [one.unit for one in found.series] == ["records", "runs"]


def test_only_the_newest_samples_are_kept_and_a_series_without_any_is_forgotten() -> None:
    history = History(samples_max=3, series_max=1)
    history.add(1, {RUNS: 1})
    for at_ms in (2, 3, 4):
        history.add(at_ms, {LAG: at_ms})  # no room beside the other series, until that is forgotten
    history.add(5, {LAG: 5})

    found = history.of_table("shop.orders", since_ms=0)

    assert found.times == (3, 4, 5)
    assert values_by_name(found) == {("lag_records", "sales"): [None, 4, 5]}


def test_older_samples_and_other_tables_are_left_out() -> None:
    history = History()
    history.add(1_000, {LAG: 5})
    history.add(2_000, {SeriesKey("shop.other", HistoryName.LAG_RECORDS, "sales"): 6})

    assert history.of_table("shop.orders", since_ms=1_001) == TableHistory(
        times=(2_000,), series=()
    )


@pytest.fixture
def progress(file_io: MemoryFileIO, clock: ManualClock) -> ProgressStore:
    return ProgressStore(file_io, "/w", clock)


def test_a_recorder_samples_the_reports_of_living_runners(
    progress: ProgressStore, clock: ManualClock
) -> None:
    stream = StreamProgress(state=StreamState.RUNNING, lag_records=3, lag_seconds=0.5)
    progress.write(
        RunnerProgress(
            runner="r", started_ms=0, updated_ms=0, streams={"shop.orders/sales": stream}
        )
    )
    recorder = HistoryRecorder(
        RecentReports(progress, clock),
        CompletenessCounts(clock),
        clock,
        runner_timeout_ms=15_000,
    )

    recorder.record()
    clock.advance(ms=15_001)  # the runner has not reported since
    recorder.record()

    found = recorder.history.of_table("shop.orders", since_ms=0)
    assert len(found.times) == 2
    assert values_by_name(found) == {
        ("lag_records", "sales"): [3, None],
        ("lag_seconds", "sales"): [0.5, None],
    }
