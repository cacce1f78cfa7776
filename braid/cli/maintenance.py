"""Implementation of `braid maintain` (declared in `main`): compaction and expiry in one round, or in rounds until a signal.

The engine's `MaintenanceService` does the rounds. At the end the totals are printed on stdout.
"""

import logging
import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Final

import typer

from braid.cli.exits import EXIT_TRY_AGAIN
from braid.lake import Catalog, MaintenanceService, MaintenanceStats, SystemClock
from braid.schemas import RunnerProgress
from braid.telemetry.disk_metrics import DiskMetrics
from braid.telemetry.logs import LogFormat, change_levels_on_signals, set_up_logs
from braid.telemetry.maintenance_reports import maintenance_reports
from braid.telemetry.metric_texts import process_registry
from braid.telemetry.probe_server import ProbeServer
from braid.telemetry.report_metrics import ReportMetrics

_GRACE_SECONDS: Final = 30.0
"""Time that buckets under compaction have to finish once the service is stopped."""

_LOG_TEXT: Final = "%(asctime)s %(levelname)s %(message)s"
_LOG_LEVELS: Final = {"braid.lake.table": logging.INFO, "braid.telemetry": logging.INFO}
_NAME: Final = "maintain"
_REPORT_MS_MAX: Final = 1_000
"""Age of a report that is made when it is asked for."""


def maintain(
    warehouse: str,
    identifiers: Sequence[str],
    *,
    every_s: float,
    workers: int,
    expires: bool,
    is_once: bool,
    metrics_at: tuple[str, int] | None = None,
    log_format: LogFormat = LogFormat.TEXT,
) -> int:
    """Compact and expire tables until SIGTERM or SIGINT, or for one round.

    Args:
        warehouse: Absolute path or address.
        identifiers: The tables, as `database.table`; empty: in each round all tables that exist.
        every_s: Seconds between two rounds.
        workers: Buckets compacted at once.
        expires: Whether snapshots expire as well.
        is_once: Do one round, and return.
        metrics_at: Address and port for metrics and probes; None: none is opened.
        log_format: Form of the lines of the log.

    Returns:
        The exit status: 0; after a single round 1 when something failed, or the tables could not be
        listed, and `EXIT_TRY_AGAIN` when work was dropped.

    Raises:
        LakeError: One of the named tables cannot be opened.
        InvalidRequest: The port for metrics is in use.
    """
    set_up_logs(log_format, _LOG_LEVELS, text=_LOG_TEXT)
    change_levels_on_signals(_LOG_LEVELS)
    catalog = Catalog(warehouse)
    for identifier in identifiers:
        catalog.table(identifier)
    names = (lambda: identifiers) if identifiers else catalog.list_tables
    service = MaintenanceService(catalog, names, workers=workers, expires=expires)
    _stop_on_signals(service)
    probes = None if metrics_at is None else _probe_server(service, warehouse, *metrics_at)
    try:
        # In another thread: signal handlers run in this one, and would wait for ever for a lock of
        # the service that this thread holds.
        with ThreadPoolExecutor(max_workers=1) as thread:
            work = service.round if is_once else lambda: service.run(interval_s=every_s)
            thread.submit(work).result()
    finally:
        if probes is not None:
            probes.close()
        service.close(grace_s=_GRACE_SECONDS)
    for identifier, stats in sorted(service.stats.items()):
        typer.echo(f"{identifier}: {_summary(stats)}")
    if not is_once:
        return 0
    return _status(list(service.stats.values())) if service.is_list_known else 1


def _probe_server(service: MaintenanceService, warehouse: str, host: str, port: int) -> ProbeServer:
    """Return the server of metrics and probes, which answers already."""
    clock = SystemClock()
    started_ms = clock.now_ms()

    def report() -> RunnerProgress:
        return RunnerProgress(
            runner=_NAME,
            started_ms=started_ms,
            updated_ms=clock.now_ms(),
            tables=maintenance_reports(service.stats),
        )

    registry = process_registry()
    registry.register(DiskMetrics({"warehouse": warehouse}))
    registry.register(
        ReportMetrics(lambda: [report()], clock=clock, runner_timeout_ms=_REPORT_MS_MAX)
    )
    server = ProbeServer(
        registry,
        host=host,
        port=port,
        not_ready=lambda: None if service.is_list_known else "the tables cannot be listed",
    )
    server.start()
    return server


def _stop_on_signals(service: MaintenanceService) -> None:
    def stop(_number: int, _frame: FrameType | None) -> None:
        service.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def _status(tables: Sequence[MaintenanceStats]) -> int:
    if any(one.failures for one in tables):
        return 1
    return EXIT_TRY_AGAIN if any(one.dropped for one in tables) else 0


def _summary(stats: MaintenanceStats) -> str:
    return (
        f"{stats.compactions} compacted, {stats.dropped} dropped, {stats.expired} snapshots "
        f"expired, {stats.failures} failed"
    )
