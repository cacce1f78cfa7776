"""Status of a stream: pure, from its registration, its runner's report and its position in the table."""

from collections import Counter
from collections.abc import Callable, Mapping

from braid.lake import BatchAccount, StreamPosition, skipped_ranges
from braid.registry.placement.admission import NO_RUNNER
from braid.registry.store.progress import Report, RunnerReports, current_report, stream_key
from braid.registry.store.stored_documents import missing_features
from braid.schemas import (
    Account,
    AccountView,
    BackfillStatus,
    DesiredState,
    FailureView,
    LastCommit,
    MirrorView,
    StreamEntry,
    StreamFailure,
    StreamProgress,
    StreamState,
    StreamStatus,
    TableDocument,
)
from braid.service.times import iso_utc

# States in which a runner has the stream.
_HOSTED = (
    StreamState.STARTING,
    StreamState.RUNNING,
    StreamState.RETRYING,
    StreamState.PAUSED,
    StreamState.FAILED,
)
# A runner polls Kafka every 2 seconds and reports every few seconds; no lag is computed from an older end
# offset.
_LAG_AGE_MS_MAX = 10_000


def stream_status(
    document: TableDocument,
    entry: StreamEntry,
    *,
    report: Report | None,
    position: StreamPosition | None,
    now_ms: int,
    alive_since_ms: int,
    snapshot_id: int | None = None,
    backfills: tuple[BackfillStatus, ...] = (),
    unreadable_reports: tuple[str, ...] = (),
    why_unassigned: Callable[[], str] | None = None,
) -> StreamStatus:
    """Return the status of a stream.

    Commits are read from the table where it has them, because a runner's report is a few seconds old
    and the runner may be gone. Only the runner knows the topic's end.

    Args:
        document: The stream's table.
        entry: The stream.
        report: The current report (`current_report`); None if no runner ever reported the stream.
        position: The stream's position in the table; None if the stream has none.
        now_ms: Milliseconds since the epoch, UTC.
        alive_since_ms: A runner whose report is older is gone; milliseconds since the epoch.
        snapshot_id: The snapshot of the stream's newest commit; None: not found in the table.
        backfills: The backfills of the stream.
        unreadable_reports: Runners whose reports cannot be read.
        why_unassigned: Returns why no runner has the stream; called only if none has it. None: not known.
    """
    is_fresh = report is not None and report.is_alive(alive_since_ms)
    progress = None if report is None else report.progress
    state = _state(entry, report if is_fresh else None)
    is_hosted = is_fresh and state not in (StreamState.COMPLETED, StreamState.UNASSIGNED)
    offsets = position.offsets if position is not None else (progress.offsets if progress else {})
    # Only a running query measures the topic's end: with an old end the lag would seem to be 0.
    running = progress if state is StreamState.RUNNING else None
    measured = running if running and _is_measured(running, now_ms) else None
    end_offsets = measured.end_offsets if measured else {}
    lag_records = _lag_records(offsets, end_offsets)
    return StreamStatus(
        database=document.database,
        table=document.name,
        stream=entry.spec.name,
        state=state,
        desired_state=entry.desired_state,
        trace=progress.trace
        if progress and is_hosted
        else _missing_runner(entry, report, why_unassigned),
        failure=_failure(progress) if progress and is_hosted else None,
        worker_id=report.runner if report is not None and state in _HOSTED else None,
        reported_at=None if report is None else iso_utc(report.updated_ms),
        epoch=position.epoch if position is not None else (progress.epoch if progress else None),
        offsets=dict(offsets),
        end_offsets=dict(end_offsets) if end_offsets else None,
        lag_records=lag_records,
        lag_seconds=_lag_seconds(lag_records, measured),
        broker_reached_at=_moment(progress.broker_reached_ms if progress else None),
        storage_reached_at=_moment(progress.storage_reached_ms if progress else None),
        last_commit=_last_commit(position, report, snapshot_id),
        account=account_view(
            position.account if position else (progress.account if progress else None)
        ),
        skipped_offsets=0 if position is None else _skipped_offsets(position),
        dead_letters=_dead_letters(progress, position),
        replayed_dead_letters=0 if position is None else position.letters.replayed_records,
        back_pressure=running.back_pressure if running else None,
        mirror=_mirror(entry, progress),
        records_since_start=running.records_since_start if running else None,
        unmatched_columns=dict(running.unmatched_columns) if running else {},
        unmatched_fields=running.unmatched_fields if running else (),
        version=entry.version,
        followed_version=progress.stream_version if progress else None,
        followed_schema_id=progress.schema_id if progress else None,
        followed_since=_moment(progress.followed_ms if progress else None),
        backfills=backfills,
        unreadable_reports=unreadable_reports,
        missing_features=missing_features(document, entry),
    )


def unreported_state(entry: StreamEntry) -> StreamState:
    """Return the state in which a stream is while no living runner reports it: UNASSIGNED or one in which none should."""
    if _is_completed(entry):
        return StreamState.COMPLETED
    if entry.spec.is_from_spark and entry.desired_state is DesiredState.PAUSED:
        return StreamState.PAUSED
    if entry.spec.is_from_spark and entry.desired_state is DesiredState.RUNNING:
        return StreamState.EXTERNAL
    # A stream whose desired state is STOPPED is in that state without a runner.
    is_stopped = entry.desired_state is DesiredState.STOPPED
    return StreamState.STOPPED if is_stopped else StreamState.UNASSIGNED


def reported_state(report: Report | None, *, alive_since_ms: int) -> StreamState | None:
    """Return the state that the living runner of a stream reports; None if no runner has it."""
    if report is None or not report.is_alive(alive_since_ms):
        return None
    state = report.progress.state
    return None if state is StreamState.UNASSIGNED else state


def state_in(
    reports: RunnerReports, identifier: str, stream: str, *, alive_since_ms: int
) -> StreamState | None:
    """Return the state of a stream in the reports of living runners; None if none of them has it.

    Args:
        reports: The reports.
        identifier: `<database>.<table>`.
        stream: The stream's name.
        alive_since_ms: Time of the oldest report of a living runner, milliseconds since the epoch, UTC.
    """
    key = stream_key(identifier, stream)
    report = current_report(reports.runners, key, alive_since_ms=alive_since_ms)
    return reported_state(report, alive_since_ms=alive_since_ms)


def _is_measured(progress: StreamProgress, now_ms: int) -> bool:
    reached_ms = progress.broker_reached_ms
    return reached_ms is None or now_ms - reached_ms <= _LAG_AGE_MS_MAX


def _missing_runner(
    entry: StreamEntry, report: Report | None, why_unassigned: Callable[[], str] | None
) -> str | None:
    """Return why a stream that should not be stopped has no runner."""
    if unreported_state(entry) is not StreamState.UNASSIGNED:
        return None
    if why_unassigned is not None and (why := why_unassigned()) != NO_RUNNER:
        return why
    if report is None:
        return "no runner has taken the stream yet\nhint: start one: `braid runner`"
    return (
        f"the last report of the runner {report.runner} is from {iso_utc(report.updated_ms)}: the "
        "runner has ended, or does not reach the warehouse\nhint: the stream continues with the "
        "next runner "
        "that takes it: `braid runner`"
    )


def _failure(progress: StreamProgress) -> FailureView | None:
    failure: StreamFailure | None = progress.failure
    if failure is None:
        return None
    return FailureView(
        cause=failure.cause,
        errors=failure.errors,
        since=iso_utc(failure.since_ms),
        attempts=failure.attempts,
        next_attempt_at=_moment(failure.next_attempt_ms),
        crash_loop=failure.crash_loop,
    )


def _mirror(entry: StreamEntry, progress: StreamProgress | None) -> MirrorView | None:
    group = entry.spec.mirror_consumer_group
    mirror = None if progress is None else progress.mirror
    if group is None or mirror is None or mirror.group != group:
        return None if group is None else MirrorView(group=group)
    return MirrorView(group=group, mirrored_at=_moment(mirror.mirrored_ms), error=mirror.error)


def _moment(at_ms: int | None) -> str | None:
    return None if at_ms is None else iso_utc(at_ms)


def _is_completed(entry: StreamEntry) -> bool:
    return entry.is_completed and entry.desired_state is DesiredState.RUNNING


def _state(entry: StreamEntry, report: Report | None) -> StreamState:
    # The registry knows it first, and after the runner has ended.
    if _is_completed(entry):
        return StreamState.COMPLETED
    return unreported_state(entry) if report is None else report.progress.state


def _lag_records(offsets: Mapping[int, int], end_offsets: Mapping[int, int]) -> int | None:
    if not end_offsets:
        return None
    return sum(max(0, end - offsets.get(partition, 0)) for partition, end in end_offsets.items())


def _lag_seconds(lag_records: int | None, measured: StreamProgress | None) -> float | None:
    # The table may have a commit that is newer than the runner's measurement: then nothing waits any more.
    if lag_records == 0:
        return 0.0
    return measured.lag_seconds if measured else None


def _last_commit(
    position: StreamPosition | None, report: Report | None, snapshot_id: int | None
) -> LastCommit | None:
    progress = None if report is None else report.progress
    time_ms = position.commit_time_ms if position is not None else None
    if time_ms is None:
        time_ms = progress.last_commit_ms if progress else None
    if time_ms is None:
        return None
    is_same = progress is not None and progress.last_commit_ms == time_ms
    if snapshot_id is None and progress is not None and is_same:
        snapshot_id = progress.last_commit_snapshot
    return LastCommit(snapshot_id=snapshot_id, time=iso_utc(time_ms))


def _skipped_offsets(position: StreamPosition) -> int:
    return sum(
        end - start
        for partition, offset in position.offsets.items()
        for start, end in skipped_ranges(position.moves, partition, offset)
    )


def _dead_letters(
    progress: StreamProgress | None, position: StreamPosition | None
) -> dict[str, int]:
    """Return the numbers by reason; those that earlier versions have counted are only in reports."""
    reported = {} if progress is None else progress.dead_letters_by_reason
    stored = {} if position is None else position.letters.by_reason
    if not reported and not stored:  # nearly always, and lists have thousands of streams
        return {}
    return dict(sorted((Counter(dict(reported)) | Counter(dict(stored))).items()))


def account_view(account: Account | BatchAccount | None) -> AccountView:
    """Return an account as the service shows it; zeros where there is none."""
    if account is None:
        return AccountView()
    return AccountView(
        records=account.records,
        accepted=account.accepted,
        folded=account.folded,
        ignored=account.ignored,
        dead_lettered=account.dead_lettered,
    )
