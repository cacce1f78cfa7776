"""Metrics of streams, tables and runners from the reports of runners, with bounded labels."""

import logging
from collections.abc import Mapping, Sequence

import pytest

from braid.lake import ManualClock, StorageUnavailable
from braid.schemas import (
    Account,
    BackPressure,
    RunnerProgress,
    StreamFailure,
    StreamProgress,
    StreamState,
    TableProgress,
)
from braid.telemetry.report_metrics import NAMES_MAX, ReportMetrics

NOW_MS = 10_000_000


def collected(
    *runners: RunnerProgress,
    names_max: int = NAMES_MAX,
    declared: Mapping[str, StreamState] | None = None,
) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the values of all samples by name and values of labels."""
    metrics = ReportMetrics(
        lambda: runners,
        clock=ManualClock(start_ms=NOW_MS),
        runner_timeout_ms=15_000,
        names_max=names_max,
        declared=lambda: declared or {},
    )
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in metrics.collect():
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


def report(
    name: str = "r",
    *,
    age_ms: int = 0,
    streams: dict[str, StreamProgress] | None = None,
    tables: dict[str, TableProgress] | None = None,
) -> RunnerProgress:
    return RunnerProgress(
        runner=name,
        started_ms=0,
        updated_ms=NOW_MS - age_ms,
        streams=streams or {},
        tables=tables or {},
    )


def test_a_stream_has_its_lag_account_and_failures_in_base_units() -> None:
    progress = StreamProgress(
        state=StreamState.RETRYING,
        failure=StreamFailure(cause="x", since_ms=1, attempts=4),
        lag_records=12,
        lag_seconds=2.5,
        account=Account(accepted=8, folded=1, dead_lettered=3),
        dead_letters_by_reason={"malformed": 2, "too_large": 1},
        last_commit_ms=5_500,
        batch_ms=250,
        batch_records=100,
        back_pressure=BackPressure(factor=2, runs=9, interval_ms=1, records_max=1),
    )

    found = collected(report(streams={"a.t/s": progress}))

    stream = ("a.t", "s")
    assert found["braid_stream_state"] == {(*stream, "RETRYING"): 1}
    assert found["braid_stream_lag_records"] == {stream: 12}
    assert found["braid_stream_lag_seconds"] == {stream: 2.5}
    assert found["braid_stream_records_total"][(*stream, "accepted")] == 8
    assert found["braid_stream_records_total"][(*stream, "dead_lettered")] == 3
    assert found["braid_stream_dead_letters_total"] == {
        (*stream, "malformed"): 2,
        (*stream, "too_large"): 1,
    }
    assert found["braid_stream_last_commit_timestamp_seconds"] == {stream: 5.5}
    assert found["braid_stream_batch_duration_seconds"] == {stream: 0.25}
    assert found["braid_stream_back_pressure_factor"] == {stream: 2}
    assert found["braid_stream_failed_attempts"] == {stream: 4}
    assert found["braid_runner_leases"] == {("r", "stream"): 1, ("r", "maintenance"): 0}


def test_a_stream_whose_runner_is_gone_is_unassigned_and_has_no_other_series() -> None:
    lagging = StreamProgress(state=StreamState.RUNNING, lag_records=12)
    wanted = {name: StreamProgress(state=StreamState(name)) for name in ("COMPLETED", "STOPPED")}

    found = collected(
        report(
            age_ms=15_001, streams={"a.t/s": lagging} | {f"a.t/{k}": v for k, v in wanted.items()}
        )
    )

    assert found["braid_stream_state"] == {
        ("a.t", "s", "UNASSIGNED"): 1,
        ("a.t", "COMPLETED", "COMPLETED"): 1,
        ("a.t", "STOPPED", "STOPPED"): 1,
    }
    assert "braid_stream_lag_records" not in found
    assert found["braid_runner_report_age_seconds"] == {("r",): 15.001}


def test_a_runner_that_has_ended_has_no_age_and_its_streams_are_unassigned() -> None:
    streams = {"shop.orders/sales": StreamProgress(state=StreamState.RUNNING)}
    ended = report(streams=streams).model_copy(update={"has_ended": True})

    found = collected(ended, report("alive"))

    assert found["braid_runner_report_age_seconds"] == {("alive",): 0.0}
    assert found["braid_stream_state"] == {("shop.orders", "sales", "UNASSIGNED"): 1.0}


def test_the_registry_tells_the_state_of_a_stream_without_a_living_runner() -> None:
    running = StreamProgress(state=StreamState.RUNNING, lag_records=12)
    waiting = StreamProgress(state=StreamState.UNASSIGNED)

    found = collected(
        report("gone", age_ms=15_001, streams={"a.t/moved": running, "a.t/ended": running}),
        report("alive", streams={"a.t/moved": running, "a.t/awaited": waiting}),
        declared={
            "a.t/moved": StreamState.UNASSIGNED,
            "a.t/ended": StreamState.STOPPED,
            "a.t/awaited": StreamState.UNASSIGNED,
            "a.t/new": StreamState.UNASSIGNED,
        },
    )

    assert found["braid_stream_state"] == {
        ("a.t", "moved", "RUNNING"): 1,
        ("a.t", "ended", "STOPPED"): 1,
        ("a.t", "awaited", "UNASSIGNED"): 1,
        ("a.t", "new", "UNASSIGNED"): 1,
    }
    assert found["braid_stream_lag_records"][("a.t", "moved")] == 12
    assert ("a.t", "new") not in found["braid_stream_lag_records"]


def test_a_table_that_moves_between_runners_has_one_series() -> None:
    found = collected(
        report("old", tables={"a.t": TableProgress(looks=1, most_runs=9)}),
        report("new", tables={"a.t": TableProgress(looks=2, most_runs=3, error="x", snapshots=7)}),
    )

    assert found["braid_table_sorted_runs"] == {("a.t",): 3}
    assert found["braid_table_maintenance_failing"] == {("a.t",): 1}
    assert found["braid_table_snapshots"] == {("a.t",): 7}
    assert "braid_table_newest_snapshot" not in found


def test_streams_beyond_the_bound_are_one_series() -> None:
    streams = {
        f"a.t/s{number}": StreamProgress(
            state=StreamState.RUNNING,
            lag_records=number,
            lag_seconds=float(number),
            last_commit_ms=number * 1_000,
        )
        for number in range(1, 6)
    }

    found = collected(report(streams=streams), names_max=2)

    assert found["braid_stream_lag_records"] == {
        ("a.t", "s1"): 1,
        ("a.t", "s2"): 2,
        ("other", "other"): 12,
    }
    assert found["braid_stream_lag_seconds"][("other", "other")] == 5
    assert found["braid_stream_last_commit_timestamp_seconds"][("other", "other")] == 3
    assert found["braid_stream_state"][("other", "other", "RUNNING")] == 3


def test_reports_that_cannot_be_read_leave_the_other_metrics(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def unreadable() -> Sequence[RunnerProgress]:
        message = "storage does not answer"
        raise StorageUnavailable(message)

    metrics = ReportMetrics(unreadable, clock=ManualClock(), runner_timeout_ms=1)
    with caplog.at_level(logging.WARNING):
        found = [list(metrics.collect()) for _ in range(2)]

    assert [[one.name for one in families] for families in found] == [
        ["braid_reports_readable"]
    ] * 2
    assert found[0][0].samples[0].value == 0
    assert len(caplog.records) == 1


def test_all_metrics_are_described_before_there_are_reports() -> None:
    metrics = ReportMetrics(list, clock=ManualClock(), runner_timeout_ms=1)

    described = {one.name for one in metrics.describe()}

    assert described == {one.name for one in metrics.collect()}
    assert all(not one.samples for one in metrics.describe())
