"""The service that compacts and expires, for the command line: its log on stderr, sums on stdout."""

import logging
import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Final

import typer

from braid.arguments import EXIT_TRY_AGAIN
from lake import Catalog, MaintenanceService, MaintenanceStats

_GRACE_SECONDS: Final = 30.0
"""For the buckets that are worked on when the service is told to end."""


def maintain(
    warehouse: str,
    identifiers: Sequence[str],
    *,
    every_s: float,
    workers: int,
    expires: bool,
    is_once: bool,
) -> int:
    """Look after tables until SIGTERM or SIGINT, or once.

    Args:
        warehouse: Absolute path.
        identifiers: `db.table` each; empty: all tables that there are at each look.
        every_s: Seconds between two looks at what is due.
        workers: Buckets compacted at once.
        expires: Whether snapshots expire as well.
        is_once: Do what is due now, and come back.

    Returns:
        The status to exit with: 0; after one time that for trying again later where work was
        dropped, or 1 where something failed.

    Raises:
        LakeError: One of the named tables cannot be opened.
    """
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("lake.table").setLevel(logging.INFO)
    catalog = Catalog(warehouse)
    for identifier in identifiers:
        catalog.table(identifier)
    names = (lambda: identifiers) if identifiers else catalog.list_tables
    service = MaintenanceService(catalog, names, workers=workers, expires=expires)
    _stop_on_signals(service)
    try:
        # In a thread, so that a signal never finds the service's own locks taken by its handler.
        with ThreadPoolExecutor(max_workers=1) as thread:
            work = service.round if is_once else lambda: service.run(interval_s=every_s)
            thread.submit(work).result()
    finally:
        service.close(grace_s=_GRACE_SECONDS)
    for identifier, stats in sorted(service.stats.items()):
        typer.echo(f"{identifier}: {_summary(stats)}")
    return _status(list(service.stats.values())) if is_once else 0


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
