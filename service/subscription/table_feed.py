"""Feed of one table: its newest snapshot, and the parts of changed rows that all of its subscriptions share.

    follower ──► `served` ──► wakes the subscriptions ──► `part`, one computation for all that are at the same position

While a table has subscribers, a task looks at what its follower serves, or at storage if the table is not followed. Subscriptions
take parts at their own speed: one that is behind gets a part that ends at the newest snapshot, with the newest state of each key.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final, TypeVar

from braid.lake import ChangedKeysPosition, LakeError, TableNotFound
from braid.registry.errors import RegistryError
from braid.service.control.row_request import Freshness
from braid.service.serving.followers import Followers
from braid.service.serving.served_table import Served
from braid.service.subscription.changed_rows import ChangedRows

_PARTS_MAX: Final = 4
"""Parts that are kept for other subscriptions."""

_ERROR_PAUSE_S: Final = 1.0

T = TypeVar("T")
_PartId = tuple[ChangedKeysPosition, ChangedKeysPosition]

logger = logging.getLogger(__name__)


class TableFeed:
    """The feed of one table, for one event loop.

    Attributes:
        served: The newest snapshot that the feed knows.
        error: Why the feed has ended; None while it has not.
    """

    def __init__(
        self,
        identifier: str,
        served: Served,
        *,
        followers: Followers,
        pause_s: float,
        part_records: int,
        threads: Executor,
        on_empty: Callable[[], None],
    ) -> None:
        """Wait for subscribers.

        Args:
            identifier: `db.table`.
            served: What is served now.
            followers: What is served later.
            pause_s: Pause between two looks.
            part_records: Upper bound of the records of a part.
            threads: Runs what reads storage or takes long.
            on_empty: Called when the last subscriber has left.
        """
        self.served = served
        self.error: Exception | None = None
        self._identifier = identifier
        self._followers = followers
        self._pause_s = pause_s
        self._part_records = part_records
        self._threads = threads
        self._on_empty = on_empty
        self._changed = asyncio.Event()
        self._parts: OrderedDict[_PartId, asyncio.Task[ChangedRows]] = OrderedDict()
        self._subscribers = 0
        self._looking: asyncio.Task[None] | None = None

    @property
    def subscribers(self) -> int:
        """Number of subscribers."""
        return self._subscribers

    def join(self) -> None:
        """Count a subscriber, and look for snapshots from now on."""
        self._subscribers += 1
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_on())

    def leave(self) -> None:
        """Count a subscriber less; nothing is looked for after the last one."""
        self._subscribers -= 1
        assert self._subscribers >= 0, "a subscriber leaves once"
        if not self._subscribers:
            if self._looking is not None:
                self._looking.cancel()
            self._on_empty()

    def end(self, error: Exception) -> None:
        """End the feed: its subscriptions send the error."""
        self.error = error
        self._wake()

    async def run(self, call: Callable[[], T]) -> T:
        """Run a call in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def submit(self, call: Callable[[], object]) -> None:
        """Run a call in a thread without waiting for it."""
        self._threads.submit(call)

    async def refresh(self) -> Served:
        """Look at storage, and return what is newest."""
        self._take(await self.run(lambda: self._followers.newest(self._identifier)))
        return self.served

    async def changes_from(self, served: Served, seconds: float) -> bool:
        """Wait until the feed has another snapshot than `served`, or has ended; return False after `seconds`."""
        if self.error is None and _position(served) == _position(self.served):
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            except TimeoutError:
                return False
        return True

    async def part(self, after: ChangedKeysPosition) -> ChangedRows:
        """Return the changed rows after a position up to the newest snapshot, or the first part of them.

        Raises:
            ChangesExpired: Snapshots after the position have expired, or the table was rolled back.
            LakeError: As `Table.changed_keys`.
        """
        part_id = after, _position(self.served)
        task = self._parts.get(part_id)
        if task is None:
            task = self._parts[part_id] = asyncio.create_task(self._new_part(after, self.served))
            while len(self._parts) > _PARTS_MAX:
                self._parts.popitem(last=False)
        try:
            # Shielded: the client of one subscription may go while others wait for the same part.
            return await asyncio.shield(task)
        except Exception:
            if self._parts.get(part_id) is task:
                del self._parts[part_id]
            raise

    async def _new_part(self, after: ChangedKeysPosition, served: Served) -> ChangedRows:
        table, lookup = served.table.table, served.table.lookup

        def compute() -> ChangedRows:
            changed = table.changed_keys(after, lookup.snapshot, records_max=self._part_records)
            return ChangedRows(changed, lookup)

        return await self.run(compute)

    async def _look_on(self) -> None:
        has_failed = False
        while True:
            await asyncio.sleep(_ERROR_PAUSE_S if has_failed else self._pause_s)
            try:
                served = self._followers.current(self._identifier)
                if served is None or not self._followers.is_fresh(served, Freshness()):
                    await self.refresh()
                else:
                    self._take(served)
                has_failed = False
            except TableNotFound as error:
                self.end(error)
                return
            except Exception as error:  # whatever it is, the table may be read again later
                if not has_failed:
                    is_known = isinstance(error, LakeError | RegistryError)
                    logger.warning(
                        "subscribed table cannot be read table=%s error=%s",
                        self._identifier,
                        error,
                        exc_info=None if is_known else error,
                    )
                has_failed = True

    def _take(self, served: Served) -> None:
        if served.verified_ms < self.served.verified_ms:
            return
        is_new = _position(served) != _position(self.served)
        self.served = served
        if is_new:
            self._wake()

    def _wake(self) -> None:
        woken, self._changed = self._changed, asyncio.Event()
        woken.set()


def _position(served: Served) -> ChangedKeysPosition:
    return ChangedKeysPosition.after(served.table.lookup.snapshot)
