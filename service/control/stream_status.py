"""A stream's status: pure, from what is wanted, what its runner says and what the table holds."""

from collections.abc import Mapping

from lake import BatchAccount, StreamPosition
from registry.progress import Report
from schemas import (
    Account,
    AccountView,
    DesiredState,
    LastCommit,
    StreamEntry,
    StreamState,
    StreamStatus,
    TableDocument,
)
from service.times import iso_utc

# States in which some runner has the stream.
_HOSTED = (StreamState.STARTING, StreamState.RUNNING, StreamState.PAUSED, StreamState.FAILED)


def stream_status(
    document: TableDocument,
    entry: StreamEntry,
    *,
    report: Report | None,
    position: StreamPosition | None,
    alive_since_ms: int,
    snapshot_id: int | None = None,
    unreadable_reports: tuple[str, ...] = (),
) -> StreamStatus:
    """Return the status of a stream.

    What has been committed is answered by the table where it knows, because a runner's report is
    a few seconds old and may be a gone runner's; the topic's end is known to the runner alone.

    Args:
        document: The stream's table.
        entry: The stream.
        report: The report that counts; None when no runner ever reported it.
        position: The table's memory of the stream; None when it has none.
        alive_since_ms: A report from before is of a runner that is gone.
        snapshot_id: The snapshot of the stream's newest commit, found in the table; None: not
            found there.
        unreadable_reports: Runners that say something which cannot be read.
    """
    is_fresh = report is not None and report.updated_ms >= alive_since_ms
    said = None if report is None else report.progress
    state = _state(entry, report if is_fresh else None)
    offsets = position.offsets if position is not None else (said.offsets if said else {})
    # The end of a topic is known while somebody looks: an old one would pass for no lag.
    watched = said if state is StreamState.RUNNING else None
    end_offsets = watched.end_offsets if watched else {}
    return StreamStatus(
        database=document.database,
        table=document.name,
        stream=entry.spec.name,
        state=state,
        desired_state=entry.desired_state,
        trace=said.trace if said and is_fresh else None,
        worker_id=report.runner if report is not None and state in _HOSTED else None,
        reported_at=None if report is None else iso_utc(report.updated_ms),
        epoch=position.epoch if position is not None else (said.epoch if said else None),
        offsets=dict(offsets),
        end_offsets=dict(end_offsets) if watched else None,
        lag_records=_lag_records(offsets, end_offsets),
        lag_seconds=watched.lag_seconds if watched else None,
        last_commit=_last_commit(position, report, snapshot_id),
        account=_account(position.account if position else (said.account if said else None)),
        dead_letters=dict(said.dead_letters_by_reason) if said else {},
        back_pressure=watched.back_pressure if watched else None,
        version=entry.version,
        followed_version=said.stream_version if said else None,
        followed_schema_id=said.schema_id if said else None,
        followed_since=None
        if said is None or said.followed_ms is None
        else iso_utc(said.followed_ms),
        unreadable_reports=unreadable_reports,
    )


def is_running(report: Report | None, *, alive_since_ms: int) -> bool:
    """Return whether a living runner reports the stream as starting or running."""
    return (
        report is not None
        and report.updated_ms >= alive_since_ms
        and report.progress.state in (StreamState.STARTING, StreamState.RUNNING)
    )


def _state(entry: StreamEntry, report: Report | None) -> StreamState:
    if report is not None:
        return report.progress.state
    # A stream that shall not run needs no runner to be stopped.
    is_stopped = entry.desired_state is DesiredState.STOPPED
    return StreamState.STOPPED if is_stopped else StreamState.UNASSIGNED


def _lag_records(offsets: Mapping[int, int], end_offsets: Mapping[int, int]) -> int | None:
    if not end_offsets:
        return None
    return sum(max(0, end - offsets.get(partition, 0)) for partition, end in end_offsets.items())


def _last_commit(
    position: StreamPosition | None, report: Report | None, snapshot_id: int | None
) -> LastCommit | None:
    said = None if report is None else report.progress
    time_ms = position.commit_time_ms if position is not None else None
    if time_ms is None:
        time_ms = said.last_commit_ms if said else None
    if time_ms is None:
        return None
    is_same = said is not None and said.last_commit_ms == time_ms
    if snapshot_id is None and said is not None and is_same:
        snapshot_id = said.last_commit_snapshot
    return LastCommit(snapshot_id=snapshot_id, time=iso_utc(time_ms))


def _account(account: Account | BatchAccount | None) -> AccountView:
    if account is None:
        return AccountView()
    return AccountView(
        records=account.records,
        accepted=account.accepted,
        folded=account.folded,
        ignored=account.ignored,
        dead_lettered=account.dead_lettered,
    )
