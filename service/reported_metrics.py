"""Metrics of streams, tables and runners for the service: those of the reports of all runners, without tables that are dropped."""

from collections.abc import Sequence

from braid.lake import Clock
from braid.registry.store.documents import RegistryStore
from braid.registry.store.progress import ProgressStore
from braid.schemas import RunnerProgress
from braid.telemetry.report_metrics import ReportMetrics


def reported_metrics(
    progress: ProgressStore, registry: RegistryStore, clock: Clock, *, runner_timeout_ms: int
) -> ReportMetrics:
    """Return the metrics, which read the reports when they are collected."""

    def reports() -> Sequence[RunnerProgress]:
        runners = progress.read_all().runners
        # The report of a runner that is gone has its tables for ever.
        known = frozenset(registry.identifiers())
        return [_without_dropped(runner, known) for runner in runners]

    return ReportMetrics(reports, clock=clock, runner_timeout_ms=runner_timeout_ms)


def _without_dropped(runner: RunnerProgress, known: frozenset[str]) -> RunnerProgress:
    streams = {k: v for k, v in runner.streams.items() if k.partition("/")[0] in known}
    tables = {k: v for k, v in runner.tables.items() if k in known}
    return runner.model_copy(update={"streams": streams, "tables": tables})
