"""Status of a stream's backfills: pure, from their positions in the table and the reports of their processes."""

from collections.abc import Mapping
from typing import Final

from braid.lake import StreamPosition, split_backfill_name
from braid.schemas import BackfillReport, BackfillState, BackfillStatus
from braid.service.control.stream_status import account_view
from braid.service.times import iso_utc

REPORT_AGE_MS_MAX: Final = 30_000
"""A process reports every few seconds; one that has not for so long is gone."""
_ALIVE: Final = (BackfillState.RUNNING, BackfillState.WAITING)


def backfills_of(
    stream: str, positions: Mapping[str, StreamPosition]
) -> Mapping[str, StreamPosition]:
    """Return the positions of a stream's backfills by the names of these, in the order in which they were begun.

    Args:
        stream: The stream's name.
        positions: All positions of the table.
    """
    found = {
        name[1]: position
        for key, position in positions.items()
        if (name := split_backfill_name(key)) is not None and name[0] == stream
    }
    return dict(sorted(found.items(), key=lambda one: one[1].generation))


def backfill_status(
    name: str,
    position: StreamPosition,
    report: BackfillReport | None,
    *,
    alive_since_ms: int,
) -> BackfillStatus:
    """Return the status of a backfill.

    Args:
        name: Its name.
        position: Its position in the table.
        report: The newest report of its process; None if there is none that can be read.
        alive_since_ms: A process whose report is older is gone; milliseconds since the epoch.
    """
    state = BackfillState.STOPPED if report is None else report.state
    if report is not None and state in _ALIVE and report.updated_ms < alive_since_ms:
        state = BackfillState.STOPPED
    is_alive = report is not None and state in _ALIVE
    return BackfillStatus(
        name=name,
        state=state,
        source=position.topic,
        generation=position.generation,
        account=account_view(position.account),
        done=None if report is None else report.done,
        rows_per_second=report.rows_per_second if is_alive and report is not None else None,
        seconds_left=report.seconds_left if is_alive and report is not None else None,
        last_commit_at=iso_utc(position.commit_time_ms),
        reported_at=None if report is None else iso_utc(report.updated_ms),
        error=None if report is None else report.error,
    )
