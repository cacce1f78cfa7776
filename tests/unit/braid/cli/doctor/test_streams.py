"""Checks of streams and of compaction: each state has its finding, with what to do."""

from typing import Any

import pytest

from braid.cli.doctor.findings import Level
from braid.cli.doctor.streams import check_compaction, check_stream
from braid.schemas import (
    AccountView,
    DesiredState,
    FailureView,
    MaintenanceStatus,
    StreamState,
    StreamStatus,
    TableMaintenanceView,
)

FAILURE = FailureView(
    cause="the topic is missing", since="2026-01-01T00:00:00Z", attempts=3, next_attempt_at=None
)
CRASH_LOOP = FAILURE.model_copy(update={"crash_loop": True})


def status(state: StreamState, **fields: Any) -> StreamStatus:
    desired = fields.pop("desired_state", DesiredState.RUNNING)
    return StreamStatus(
        database="shop",
        table="orders",
        stream="payments",
        state=state,
        desired_state=desired,
        **fields,
    )


def compaction(runs: int, *upkeep: TableMaintenanceView) -> MaintenanceStatus:
    return MaintenanceStatus(
        database="shop",
        table="orders",
        snapshot_id=7,
        buckets=2,
        most_runs=runs,
        tombstones=0,
        compaction_trigger=5,
        stop_trigger=8,
        upkeep=upkeep,
    )


def upkeep(error: str | None = None) -> TableMaintenanceView:
    return TableMaintenanceView(worker_id="r1", reported_at="2026-01-01T00:00:00Z", error=error)


@pytest.mark.parametrize(
    ("found", "level", "text"),
    [
        (status(StreamState.RUNNING, lag_records=3, lag_seconds=1.0), Level.OK, "3 records behind"),
        (status(StreamState.FAILED, failure=FAILURE), Level.PROBLEM, "the topic is missing"),
        (status(StreamState.RETRYING, failure=FAILURE), Level.WARNING, "the topic is missing"),
        *(
            (status(state, failure=CRASH_LOOP), Level.PROBLEM, "its starts fail again and again")
            for state in (StreamState.RETRYING, StreamState.STARTING, StreamState.RUNNING)
        ),
        (status(StreamState.UNASSIGNED), Level.PROBLEM, "no runner has it"),
        (
            status(StreamState.STOPPED, desired_state=DesiredState.STOPPED),
            Level.OK,
            "STOPPED",
        ),
        (
            status(StreamState.RUNNING, lag_records=3, lag_seconds=700.0),
            Level.PROBLEM,
            "waits for 700 s",
        ),
        (
            status(StreamState.RUNNING, unmatched_columns={"total": "totl"}),
            Level.WARNING,
            "total (totl)",
        ),
        (
            status(
                StreamState.RUNNING,
                account=AccountView(records=5, accepted=2, dead_lettered=3),
                replayed_dead_letters=1,
            ),
            Level.WARNING,
            "2 dead letters",
        ),
        (
            status(StreamState.RUNNING, missing_features=("triggers",)),
            Level.PROBLEM,
            "lacks: triggers",
        ),
    ],
)
def test_a_stream_has_a_finding_by_its_state(found: StreamStatus, level: Level, text: str) -> None:
    (finding,) = check_stream(found)

    assert (finding.check, finding.level) == ("stream shop.orders/payments", level)
    assert text in finding.found
    assert (finding.advice is None) == (level is Level.OK)


@pytest.mark.parametrize(
    ("found", "level", "text"),
    [
        (compaction(3), Level.OK, "at most 3 sorted runs"),
        (compaction(6, upkeep()), Level.OK, "at most 6 sorted runs"),
        (compaction(6), Level.WARNING, "no process maintains the table"),
        (compaction(9, upkeep()), Level.PROBLEM, "above 8 streams are slowed down"),
        (compaction(3, upkeep("disk full")), Level.PROBLEM, "disk full"),
    ],
)
def test_compaction_has_a_finding_by_its_debt(
    found: MaintenanceStatus, level: Level, text: str
) -> None:
    (finding,) = check_compaction(found)

    assert finding.level is level
    assert text in finding.found
    assert (finding.advice is None) == (level is Level.OK)
