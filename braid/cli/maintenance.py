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

from braid.cli.arguments import EXIT_TRY_AGAIN
from braid.lake import Catalog, MaintenanceService, MaintenanceStats

_GRACE_SECONDS: Final = 30.0
"""Time that buckets under compaction have to finish once the service is stopped."""


def maintain(
    warehouse: str,
    identifiers: Sequence[str],
    *,
    every_s: float,
    workers: int,
    expires: bool,
    is_once: bool,
) -> int:
    """Compact and expire tables until SIGTERM or SIGINT, or for one round.

    Args:
        warehouse: Absolute path or address.
        identifiers: The tables, as `database.table`; empty: in each round all tables that exist.
        every_s: Seconds between two rounds.
        workers: Buckets compacted at once.
        expires: Whether snapshots expire as well.
        is_once: Do one round, and return.

    Returns:
        The exit status: 0; after a single round 1 when something failed, or the tables could not be
        listed, and `EXIT_TRY_AGAIN` when work was dropped.

    Raises:
        LakeError: One of the named tables cannot be opened.
    """
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("braid.lake.table").setLevel(logging.INFO)
    catalog = Catalog(warehouse)
    for identifier in identifiers:
        catalog.table(identifier)
    names = (lambda: identifiers) if identifiers else catalog.list_tables
    service = MaintenanceService(catalog, names, workers=workers, expires=expires)
    _stop_on_signals(service)
    try:
        # In another thread: signal handlers run in this one, and would wait for ever for a lock of
        # the service that this thread holds.
        with ThreadPoolExecutor(max_workers=1) as thread:
            work = service.round if is_once else lambda: service.run(interval_s=every_s)
            thread.submit(work).result()
    finally:
        service.close(grace_s=_GRACE_SECONDS)
    for identifier, stats in sorted(service.stats.items()):
        typer.echo(f"{identifier}: {_summary(stats)}")
    if not is_once:
        return 0
    return _status(list(service.stats.values())) if service.is_list_known else 1


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
