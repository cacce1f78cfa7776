"""Samples of streams and tables from the reports of runners."""

from braid.schemas import (
    Account,
    BackPressure,
    HistoryName,
    RunnerProgress,
    StreamProgress,
    StreamState,
    TableProgress,
)
from braid.service.control.table_history import SeriesKey, StreamCount, stream_samples

NOW_MS = 1_000_000
TABLE = "shop.orders"
KEY = f"{TABLE}/sales"


def running(
    *, records: int = 0, commit_ms: int | None = None, batch_ms: int | None = None, runs: int = 0
) -> StreamProgress:
    return StreamProgress(
        state=StreamState.RUNNING,
        lag_records=7,
        lag_seconds=1.5,
        account=Account(accepted=records),
        last_commit_ms=commit_ms,
        batch_ms=batch_ms,
        back_pressure=BackPressure(factor=1, runs=runs, interval_ms=1, records_max=1),
    )


def report(
    name: str = "r", *, at_ms: int = NOW_MS, looks: int | None = None, **streams: StreamProgress
) -> RunnerProgress:
    return RunnerProgress(
        runner=name,
        started_ms=0,
        updated_ms=at_ms,
        streams={f"{TABLE}/{stream}": progress for stream, progress in streams.items()},
        tables={} if looks is None else {TABLE: TableProgress(looks=looks, most_runs=9)},
    )


def values_of(
    *runners: RunnerProgress, before: StreamCount | None = None
) -> dict[HistoryName, float]:
    values, _ = stream_samples(
        runners, {} if before is None else {KEY: before}, alive_since_ms=NOW_MS - 15_000
    )
    return {key.name: value for key, value in values.items()}


def test_the_first_sample_has_lag_and_runs_but_no_rate() -> None:
    values, counts = stream_samples([report(sales=running(runs=3))], {}, alive_since_ms=0)

    assert values == {
        SeriesKey(TABLE, HistoryName.LAG_RECORDS, "sales"): 7,
        SeriesKey(TABLE, HistoryName.LAG_SECONDS, "sales"): 1.5,
        SeriesKey(TABLE, HistoryName.SORTED_RUNS): 3,
    }
    assert counts == {KEY: StreamCount(records=0, commit_ms=None, at_ms=NOW_MS)}


def test_the_rate_is_that_between_two_reports() -> None:
    before = StreamCount(records=100, commit_ms=5, at_ms=NOW_MS - 4_000)

    values = values_of(report(sales=running(records=900, commit_ms=6, batch_ms=250)), before=before)

    assert values[HistoryName.RATE] == 200.0
    assert values[HistoryName.BATCH_SECONDS] == 0.25


def test_a_batch_that_was_sampled_before_is_not_repeated() -> None:
    before = StreamCount(records=900, commit_ms=6, at_ms=NOW_MS - 4_000)

    values = values_of(report(sales=running(records=900, commit_ms=6, batch_ms=250)), before=before)

    assert values[HistoryName.RATE] == 0.0
    assert HistoryName.BATCH_SECONDS not in values


def test_a_table_that_was_made_again_has_no_negative_rate() -> None:
    before = StreamCount(records=900, commit_ms=6, at_ms=NOW_MS - 4_000)

    assert HistoryName.RATE not in values_of(report(sales=running(records=1)), before=before)


def test_a_runner_that_is_gone_says_nothing() -> None:
    assert values_of(report(at_ms=NOW_MS - 15_001, sales=running())) == {}


def test_runs_are_those_that_maintenance_has_found_if_a_runner_maintains_the_table() -> None:
    assert values_of(report(looks=1, sales=running(runs=3)))[HistoryName.SORTED_RUNS] == 9
    assert values_of(report(looks=0, sales=running(runs=3)))[HistoryName.SORTED_RUNS] == 3
