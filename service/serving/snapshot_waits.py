"""Waits of requests for the state of a table that they demand: bounded in number and time, without threads and slots of requests.

what is served is as new as demanded ──────────────────────────────────────────────► answer
else: a look at storage ──► as new as demanded ────────────────────────────────────► answer
                        └─► wait; one look after the other for all waits of a table ─► answer, or `SnapshotNotReached`
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from starlette.concurrency import run_in_threadpool

from braid.lake import LakeError
from braid.service.control.row_lookup import SnapshotNotReached
from braid.service.control.row_request import Freshness
from braid.service.limits import RequestLimits
from braid.service.metrics import ServiceMetrics
from braid.service.request_slot import without_slot
from braid.service.serving.followers import Followers, missing_of
from braid.service.serving.served_table import Served
from braid.telemetry.tracing import span

_PAUSE_S: Final = 0.05
_THREADS: Final = 2

RequestT = TypeVar("RequestT")


class TooManyWaits(LakeError):
    """Too many requests wait already."""


class SnapshotWaits:
    """Waits for states of tables. Close it at the end."""

    def __init__(
        self, followers: Followers, limits: RequestLimits, metrics: ServiceMetrics
    ) -> None:
        """Wait for nothing yet.

        Args:
            followers: What is served of each table.
            limits: The longest wait, and the number of waits.
            metrics: Where waits are counted.
        """
        self._metrics = metrics
        self._followers = followers
        self._wait_s = limits.snapshot_wait_seconds
        self._waits_max = limits.snapshot_waits
        self._waits = 0
        # Threads of their own, and one look for all waits of a table: a thousand waits do not delay other requests.
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="snapshot wait")
        self._looks: dict[str, Future[Served]] = {}

    async def state(
        self,
        identifier: str,
        parse: Callable[[Served], RequestT],
        freshness_of: Callable[[RequestT], Freshness],
    ) -> tuple[Served, RequestT]:
        """Return a state of a table that is as new as a request demands, and the request.

        Args:
            identifier: The table.
            parse: Returns the request by what is served, whose schema says what a parameter means.
            freshness_of: Returns how new the state has to be.

        Raises:
            SnapshotNotReached: The table has no such snapshot in time.
            TooManyWaits: Too many requests wait already.
            SlotNotFree: After the wait other requests are running.
            InvalidRequest: The records that are waited for are of a topic that the stream does not read.
            TableNotFound: There is no table of that name.
            LakeError: Storage or the registry cannot be read.
        """
        served = self._followers.current(identifier)
        if served is not None:
            request = parse(served)
            if self._followers.is_fresh(served, freshness_of(request)):
                return served, request
        served = await run_in_threadpool(self._followers.newest, identifier)
        request = parse(served)
        freshness = freshness_of(request)
        if missing_of(served, freshness) is not None:
            async with self.entered():
                with span("wait for a snapshot"):
                    served = await self._reached(served, freshness)
            request = parse(served)
        return served, request

    def close(self) -> None:
        """End the threads, without waiting for them."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @asynccontextmanager
    async def entered(self) -> AsyncIterator[None]:
        """Count a wait, during which the request has no slot.

        Raises:
            TooManyWaits: Too many requests wait already.
            SlotNotFree: After the wait other requests are running.
        """
        if self._waits >= self._waits_max:
            message = f"{self._waits} requests wait for snapshots or dead letters already"
            raise TooManyWaits(message)
        self._waits += 1
        try:
            async with without_slot():
                yield
        finally:
            self._waits -= 1

    async def _reached(self, served: Served, freshness: Freshness) -> Served:
        identifier = served.table.lookup.identifier
        begun_s, outcome = time.perf_counter(), "not_reached"
        try:
            async with asyncio.timeout(self._wait_s):
                while missing_of(served, freshness) is not None:
                    await asyncio.sleep(_PAUSE_S)
                    served = await self._look(identifier)
            outcome = "reached"
        except TimeoutError:
            message = (
                f"{identifier} has snapshot {served.snapshot_id or 'none'} and reached no snapshot "
                f"{missing_of(served, freshness)} within {self._wait_s:g} seconds"
            )
            raise SnapshotNotReached(message) from None
        finally:
            waits = self._metrics.snapshot_waits.labels(outcome)
            waits.observe(time.perf_counter() - begun_s)
        return served

    async def _look(self, identifier: str) -> Served:
        """Look at storage, together with the other waits of the table."""
        look = self._looks.get(identifier)
        if look is None or look.done():
            look = self._threads.submit(self._followers.newest, identifier)
            # Those of other tables are removed here too, so that none is kept for long.
            self._looks = {name: one for name, one in self._looks.items() if not one.done()}
            self._looks[identifier] = look
        # Shielded: the wait of one request may end before that of another one.
        return await asyncio.shield(asyncio.wrap_future(look))
