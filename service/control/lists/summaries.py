"""Entries of the lists of tables and streams, from documents and the reports of runners. Pure.

Nothing is read from the tables. So positions, accounts and commits are as runners last reported them; the status of a single
stream has them as the table does.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from braid.lake import InvalidRequest, TableOptions
from braid.registry.store.progress import RunnerReports, current_report, stream_key
from braid.schemas import (
    DesiredState,
    StreamEntry,
    StreamState,
    StreamStatus,
    TableDocument,
    TableProgress,
)
from braid.schemas.resource_lists import StreamSummary, TableStatus, TableSummary
from braid.service.control.stream_status import stream_status

SEVERITY: Final = (
    StreamState.FAILED,
    StreamState.RETRYING,
    StreamState.UNASSIGNED,
    StreamState.STARTING,
    StreamState.PAUSED,
    StreamState.STOPPED,
    StreamState.COMPLETED,
    StreamState.EXTERNAL,
    StreamState.RUNNING,
)
"""States from those that need attention to the usual one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedStream:
    """A stream in a list.

    Attributes:
        document: The document of its table.
        entry: The stream.
        status: Its status, without what only the table knows.
        freshness_seconds: See `TableStatus.freshness_seconds`.
    """

    document: TableDocument
    entry: StreamEntry
    status: StreamStatus
    freshness_seconds: float | None

    def summary(self, *, shows_status: bool) -> StreamSummary:
        """Return the entry of the list."""
        spec = self.entry.spec
        return StreamSummary(
            database=self.document.database,
            table=self.document.name,
            name=spec.name,
            topic=spec.topic,
            sequence_group=spec.sequence_group,
            desired_state=self.entry.desired_state,
            version=self.entry.version,
            labels=spec.labels,
            owner=spec.owner,
            state=self.status.state,
            lag_records=self.status.lag_records,
            freshness_seconds=self.freshness_seconds,
            status=self.status if shows_status else None,
        )


def listed_streams(
    document: TableDocument, reports: RunnerReports, *, now_ms: int, alive_since_ms: int
) -> Iterator[ListedStream]:
    """Yield the streams of a table, by name.

    Args:
        document: The table's document.
        reports: The reports of all runners.
        now_ms: Milliseconds since the epoch, UTC.
        alive_since_ms: A runner whose report is older is gone; milliseconds since the epoch.
    """
    for name, entry in sorted(document.streams.items()):
        key = stream_key(document.identifier, name)
        status = stream_status(
            document,
            entry,
            report=current_report(reports.runners, key, alive_since_ms=alive_since_ms),
            position=None,
            now_ms=now_ms,
            alive_since_ms=alive_since_ms,
            unreadable_reports=reports.unreadable,
        )
        yield ListedStream(
            document=document,
            entry=entry,
            status=status,
            freshness_seconds=_freshness(entry, status, now_ms),
        )


def table_status(
    document: TableDocument,
    streams: list[ListedStream],
    reports: RunnerReports,
    *,
    alive_since_ms: int,
) -> TableStatus:
    """Return the status of a table, from those of its streams and the reports of its maintenance."""
    statuses = [one.status for one in streams]
    upkeep = [
        runner.tables[document.identifier]
        for runner in reports.runners
        if document.identifier in runner.tables and runner.is_alive(alive_since_ms)
    ]
    lags = [one.lag_records for one in statuses if one.lag_records is not None]
    return TableStatus(
        states=Counter(one.state for one in statuses),
        lag_records=sum(lags) if lags else None,
        lag_seconds=max(
            (one.lag_seconds for one in statuses if one.lag_seconds is not None), default=None
        ),
        freshness_seconds=worst_freshness(streams),
        last_commit_at=max(
            (one.last_commit.time for one in statuses if one.last_commit), default=None
        ),
        most_runs=max((one.most_runs for one in upkeep), default=None),
        compaction_trigger=_compaction_trigger(document),
        maintenance_error=_error(upkeep),
    )


def table_summary(document: TableDocument, *, status: TableStatus | None = None) -> TableSummary:
    """Return the entry of a table whose document was read."""
    return TableSummary(
        database=document.database,
        name=document.name,
        labels=document.table.labels,
        owner=document.table.owner,
        streams=len(document.streams),
        status=status,
    )


def worst_freshness(streams: list[ListedStream]) -> float | None:
    """Return the largest known freshness of streams; None: none is known."""
    known = [one.freshness_seconds for one in streams if one.freshness_seconds is not None]
    return max(known, default=None)


def severity(state: StreamState) -> int:
    """Return the rank of a state: the lower, the more it needs attention."""
    return SEVERITY.index(state)


def _freshness(entry: StreamEntry, status: StreamStatus, now_ms: int) -> float | None:
    is_wanted = entry.desired_state is DesiredState.RUNNING
    if not is_wanted or status.state is StreamState.COMPLETED:
        return None
    if status.lag_seconds is not None:
        return status.lag_seconds
    if status.last_commit is None:
        return None
    committed = datetime.fromisoformat(status.last_commit.time).timestamp()
    return max(0.0, round(now_ms / 1000 - committed, 3))


def _error(upkeep: list[TableProgress]) -> str | None:
    return next((one.error for one in upkeep if one.error is not None), None)


def _compaction_trigger(document: TableDocument) -> int | None:
    try:
        options = TableOptions.parse(document.table.options)
    except InvalidRequest:  # of a version with other bounds
        return None
    return options.num_sorted_run_compaction_trigger
