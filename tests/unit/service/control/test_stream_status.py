"""A stream's status where reports and the table differ or are missing."""

import pytest

from braid.lake import StreamPosition
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.store.progress import Report
from braid.schemas import (
    Account,
    BackPressure,
    DesiredState,
    StreamDefinition,
    StreamEntry,
    StreamProgress,
    StreamState,
    StreamStatus,
    TableDocument,
)
from braid.service.control.stream_status import stream_status
from tests.unit.registry.shop import definition, orders

NOW_MS = 1_000_000


def status_of(
    progress: StreamProgress | None, *, later_ms: int = 0, position: StreamPosition | None = None
) -> StreamStatus:
    """The status of a stream with a position in its table or none, some time after the report."""
    document = TableDocument(database="shop", name="orders", table=orders())
    report = None
    if progress is not None:
        report = Report(runner="runner-1", updated_ms=NOW_MS, progress=progress)
    return stream_status(
        document,
        StreamEntry(spec=complete_stream(document.table, definition(), name="sales")),
        report=report,
        position=position,
        now_ms=NOW_MS + later_ms,
        alive_since_ms=NOW_MS - 30_000,
    )


def test_without_a_report_and_a_position_nothing_is_known() -> None:
    status = status_of(None)

    assert status.state is StreamState.UNASSIGNED
    assert (status.lag_records, status.last_commit, status.reported_at) == (None, None, None)


@pytest.mark.parametrize(
    ("desired", "state"),
    [
        (DesiredState.RUNNING, StreamState.EXTERNAL),
        (DesiredState.PAUSED, StreamState.PAUSED),
        (DesiredState.STOPPED, StreamState.STOPPED),
    ],
)
def test_a_stream_of_spark_programs_waits_for_no_runner(
    desired: DesiredState, state: StreamState
) -> None:
    document = TableDocument(database="shop", name="orders", table=orders())
    declared = StreamDefinition.model_validate({"source": "spark"})
    spec = complete_stream(document.table, declared, name="sales")

    status = stream_status(
        document,
        StreamEntry(spec=spec, desired_state=desired),
        report=None,
        position=None,
        now_ms=NOW_MS,
        alive_since_ms=NOW_MS,
    )

    assert (status.state, status.trace) == (state, None)


def test_an_old_end_offset_gives_no_lag() -> None:
    progress = StreamProgress(
        state=StreamState.RUNNING,
        offsets={0: 5},
        end_offsets={0: 9},
        lag_seconds=1.0,
        broker_reached_ms=NOW_MS - 1_000,
    )

    fresh, old = status_of(progress, later_ms=9_000), status_of(progress, later_ms=9_001)

    assert (fresh.lag_records, fresh.lag_seconds) == (4, 1.0)
    assert (old.state, old.lag_records, old.lag_seconds) == (StreamState.RUNNING, None, None)


def test_before_the_first_commit_the_runners_word_counts() -> None:
    status = status_of(
        StreamProgress(
            state=StreamState.RUNNING,
            epoch=2,
            offsets={0: 5},
            end_offsets={0: 9, 1: 4},
            last_commit_ms=1_000,
            last_commit_snapshot=3,
            account=Account(accepted=5),
            back_pressure=BackPressure(factor=2, runs=9, interval_ms=2_000, records_max=10),
        )
    )

    assert (status.epoch, status.lag_records, status.account.records) == (2, 8, 5)
    assert status.back_pressure is not None
    assert status.back_pressure.factor == 2
    assert status.last_commit is not None
    assert (status.last_commit.snapshot_id, status.last_commit.time) == (
        3,
        "1970-01-01T00:00:01.000Z",
    )


@pytest.mark.parametrize("state", [s for s in StreamState if s is not StreamState.RUNNING])
def test_a_stream_that_does_not_run_has_no_lag(state: StreamState) -> None:
    progress = StreamProgress(state=state, offsets={0: 9}, end_offsets={0: 9}, lag_seconds=0.0)

    status = status_of(progress)

    assert (status.end_offsets, status.lag_records, status.lag_seconds) == (None, None, None)


def test_offsets_past_an_earlier_end_are_no_lag() -> None:
    status = status_of(
        StreamProgress(state=StreamState.RUNNING, offsets={0: 9}, end_offsets={0: 5})
    )

    assert status.lag_records == 0


def test_a_commit_after_the_measurement_leaves_nothing_waiting() -> None:
    measured = StreamProgress(
        state=StreamState.RUNNING, offsets={0: 5}, end_offsets={0: 9}, lag_seconds=17.5
    )
    position = StreamPosition(stream="sales", epoch=1, topic="t", topic_id="", offsets={0: 9})

    status = status_of(measured, position=position)

    assert (status.lag_records, status.lag_seconds) == (0, 0.0)
