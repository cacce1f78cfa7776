"""Cleaning of reports: once an hour the documents of runners that have long been gone are deleted (`ProgressStore.remove_dead`)."""

import asyncio
import logging
from typing import Final

from starlette.concurrency import run_in_threadpool

from braid.lake import LakeError
from braid.registry.store.progress import ProgressStore
from braid.registry.store.registry_view import RegistryView

PAUSE_S: Final = 3_600.0
_FIRST_S: Final = 60.0  # a service that has just started has other things to do

logger = logging.getLogger(__name__)


async def clean_reports(
    progress: ProgressStore, registry: RegistryView, *, retention_ms: int
) -> None:
    """Clean again and again, until the task is cancelled."""
    await asyncio.sleep(_FIRST_S)
    while True:
        await run_in_threadpool(clean_once, progress, registry, retention_ms=retention_ms)
        await asyncio.sleep(PAUSE_S)


def clean_once(progress: ProgressStore, registry: RegistryView, *, retention_ms: int) -> None:
    """Delete the documents that are due. An outage is logged, and the next time is soon enough.

    Args:
        progress: The reports.
        registry: Tells which tables there are: nobody needs reports of dropped ones.
        retention_ms: Age from which a document is deleted, milliseconds.
    """
    try:
        # A deleted stream may be registered again and continue, so all streams of a table count that is there.
        tables = frozenset(registry.tables().identifiers)
        removed = progress.remove_dead(
            lambda key: key.partition("/")[0] in tables, retention_ms=retention_ms
        )
    except (LakeError, OSError) as error:
        logger.warning("reports of runners that are gone cannot be deleted error=%s", error)
        return
    for runner in removed:
        logger.info("the report of a runner that is long gone was deleted runner=%s", runner)
