"""Metrics of streams, tables and runners for the service: those of the reports of all runners, of what is registered.

The report of a runner that is gone stays as it is, and a stream that no runner has taken is in no report. So the documents of the
tables decide which streams there are, and whether one without a living runner is waited for. They are read in a thread, because
there may be thousands, and Prometheus does not wait for long.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from braid.lake import Clock, LakeError
from braid.registry.store.progress import stream_key
from braid.registry.store.registry_view import RegistryView
from braid.schemas import RunnerProgress, StreamState
from braid.service.access.refreshed import Refreshed, RefreshTimes
from braid.service.control.lists.recent_reports import RecentReports
from braid.service.control.stream_status import unreported_state
from braid.telemetry.report_metrics import ReportMetrics

TIMES: Final = RefreshTimes(every_s=15.0, pause_s=0.25, wait_s=6.0, kept_s=300.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The streams of the tables whose documents can be read.

    Attributes:
        tables: These tables, as `db.table`.
        streams: The states in which the streams are while no living runner reports them, by `db.table/stream`.
    """

    tables: frozenset[str]
    streams: Mapping[str, StreamState]


def declared_streams(registry: RegistryView) -> Refreshed[Declared]:
    """Return the streams that are registered, as of the last seconds once they are followed. Close it at the end."""

    def load() -> Declared:
        documents = registry.tables().documents
        return Declared(
            tables=frozenset(document.identifier for document in documents),
            streams={
                stream_key(document.identifier, name): unreported_state(entry)
                for document in documents
                for name, entry in document.streams.items()
            },
        )

    return Refreshed(
        load, name="registered streams, for metrics,", times=TIMES, errors=(LakeError, OSError)
    )


def reported_metrics(
    recent: RecentReports,
    registry: RegistryView,
    clock: Clock,
    *,
    runner_timeout_ms: int,
    declared: Refreshed[Declared],
) -> ReportMetrics:
    """Return the metrics, which read the reports when they are collected.

    Args:
        recent: The reports.
        registry: Knows which tables there are.
        clock: Tells the age of reports.
        runner_timeout_ms: Age of a runner's report from which it counts as gone, milliseconds.
        declared: The streams that are registered. While it has none, reports alone tell which there are.
    """

    def reports() -> Sequence[RunnerProgress]:
        runners = recent.get().runners
        known = frozenset(registry.tables().identifiers)
        return [_registered(runner, known, declared.current()) for runner in runners]

    def states() -> Mapping[str, StreamState]:
        found = declared.current()
        return {} if found is None else found.streams

    return ReportMetrics(reports, clock=clock, runner_timeout_ms=runner_timeout_ms, declared=states)


def _registered(
    runner: RunnerProgress, known: Collection[str], declared: Declared | None
) -> RunnerProgress:
    """Return a report without the tables that were dropped, and without the streams that were deleted."""

    def is_stream(key: str) -> bool:
        table = key.partition("/")[0]
        if declared is not None and table in declared.tables:
            return key in declared.streams
        return table in known

    return runner.model_copy(
        update={
            "streams": {key: one for key, one in runner.streams.items() if is_stream(key)},
            "tables": {name: one for name, one in runner.tables.items() if name in known},
        }
    )
