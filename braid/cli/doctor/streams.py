"""Checks of streams and of compaction, from the statuses that the service answers. Pure."""

from collections.abc import Iterator
from typing import Final

from braid.cli.doctor.findings import Finding, Level
from braid.schemas import DesiredState, MaintenanceStatus, StreamState, StreamStatus

_STALLED_SECONDS: Final = 600
"""The age of the oldest record that was not read, from which a running stream counts as stalled."""


def check_stream(status: StreamStatus) -> Iterator[Finding]:
    """Yield what is wrong with a stream; a finding that nothing is, if nothing is."""
    name = f"{status.database}.{status.table}/{status.stream}"
    check = f"stream {name}"
    command = f"{status.database}.{status.table} {status.stream}"
    problems = list(_stream_problems(check, command, status))
    yield from problems or [Finding(check=check, level=Level.OK, found=_state_text(status))]


def check_compaction(status: MaintenanceStatus) -> Iterator[Finding]:
    """Yield how far the compaction of a table is behind, and whether a process does it."""
    name = f"{status.database}.{status.table}"
    check = f"compaction {name}"
    runs, due, slow = status.most_runs, status.compaction_trigger, status.stop_trigger
    found = f"at most {runs} sorted runs in a bucket"
    failures = [one for one in status.upkeep if one.error is not None]
    for one in failures:
        yield Finding(
            check=check,
            level=Level.PROBLEM,
            found=f"the maintenance by {one.worker_id} fails: {one.error}",
            advice=f"see `braid table maintenance {name}` and the log of {one.worker_id}",
        )
    if runs > slow:
        yield Finding(
            check=check,
            level=Level.PROBLEM,
            found=f"{found}; above {slow} streams are slowed down",
            advice=f"compact it now: braid compact {name} --warehouse PATH; then give maintenance more `--compactors`",
        )
    elif runs >= due and not status.upkeep:
        yield Finding(
            check=check,
            level=Level.WARNING,
            found=f"{found}, a compaction is due from {due} on, and no process maintains the table",
            advice="start a runner for its streams, or `braid maintain --warehouse PATH`",
        )
    elif not failures:
        yield Finding(check=check, level=Level.OK, found=found)


def _stream_problems(check: str, command: str, status: StreamStatus) -> Iterator[Finding]:
    if status.missing_features:
        yield Finding(
            check=check,
            level=Level.PROBLEM,
            found=f"needs features that this version lacks: {', '.join(status.missing_features)}",
            advice="upgrade runners and services",
        )
    failure = status.failure
    if status.state is StreamState.FAILED:
        yield Finding(
            check=check,
            level=Level.PROBLEM,
            found=f"FAILED: {failure.cause if failure else status.trace}",
            advice=f"correct the cause, then: braid stream resume {command}",
        )
    elif failure is not None and failure.crash_loop:
        # While the stream is RETRYING, STARTING or RUNNING, until it commits.
        yield Finding(
            check=check,
            level=Level.PROBLEM,
            found=f"its starts fail again and again, since {failure.since}: {failure.cause}",
            advice="correct the cause; the runner tries on",
        )
    elif status.state is StreamState.RETRYING:
        yield Finding(
            check=check,
            level=Level.WARNING,
            found=f"RETRYING since {failure.since if failure else '-'}: {failure.cause if failure else status.trace}",
            advice="nothing, if the cause passes; else correct it",
        )
    elif status.state is StreamState.UNASSIGNED and status.desired_state is DesiredState.RUNNING:
        yield Finding(
            check=check,
            level=Level.PROBLEM,
            found="no runner has it",
            advice="start a runner: braid runner --warehouse PATH",
        )
    if status.state is StreamState.RUNNING:
        yield from _running_problems(check, command, status)
    open_letters = status.account.dead_lettered - status.replayed_dead_letters
    if open_letters > 0:
        yield Finding(
            check=check,
            level=Level.WARNING,
            found=f"{open_letters} dead letters, which are in no row",
            advice=f"see why: braid stream dead-letters {command}; after a mend: braid stream replay {command}",
        )


def _running_problems(check: str, command: str, status: StreamStatus) -> Iterator[Finding]:
    if status.lag_seconds is not None and status.lag_seconds >= _STALLED_SECONDS:
        yield Finding(
            check=check,
            level=Level.PROBLEM,
            found=f"{_state_text(status)}: the oldest record waits for {round(status.lag_seconds)} s",
            advice=f"see braid stream status {command}; more cores for its runner, or a larger max_records_per_batch",
        )
    if status.unmatched_columns:
        columns = ", ".join(f"{name} ({path})" for name, path in status.unmatched_columns.items())
        yield Finding(
            check=check,
            level=Level.WARNING,
            found=f"no record had a value for: {columns}",
            advice="correct the paths if they are misspelt: braid stream show " + command,
        )


def _state_text(status: StreamStatus) -> str:
    lag = "" if status.lag_records is None else f", {status.lag_records} records behind"
    return f"{status.state.value}{lag}"
