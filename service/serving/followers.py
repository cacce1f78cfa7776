"""Followers of the tables in use: one thread for each table that was requested lately.

A table is followed from its first request on, and not any more once nothing has been requested for `IDLE_MS`. Between two
looks at storage a follower waits `follow_ms`. With `follow_ms` 0 no table is followed: each request looks at storage
itself.
"""

import logging
import threading
from typing import Final

from braid.lake import Clock, LakeError, TableNotFound
from braid.registry.errors import RegistryError
from braid.registry.registrar import Registrar
from braid.schemas import TableDocument
from braid.service.open_tables import TABLES_MAX, OpenTables
from braid.service.serving.follower import Follower
from braid.service.serving.served_table import ServedTable

IDLE_MS: Final = 60_000
_ERROR_WAIT_S: Final = 1.0
"""Pause after a look at storage that has failed."""

logger = logging.getLogger(__name__)


class _Following:
    """A follower with its thread."""

    def __init__(self, follower: Follower, *, used_ms: int) -> None:
        self.follower = follower
        self.used_ms = used_ms
        self.ended = threading.Event()


class Followers:
    """The tables in use; safe between threads. Close it at the end."""

    def __init__(
        self,
        *,
        tables: OpenTables,
        registrar: Registrar,
        clock: Clock,
        follow_ms: int,
        tables_max: int = TABLES_MAX,
    ) -> None:
        """Follow no table yet.

        Args:
            tables: Opens tables.
            registrar: Reads declarations.
            clock: Measures the age of what is served.
            follow_ms: Pause between two looks at a table, milliseconds; 0: no table is followed.
            tables_max: Tables that are followed at once; others are read from storage by each request.
        """
        self._tables = tables
        self._registrar = registrar
        self._clock = clock
        self._follow_ms = follow_ms
        self._tables_max = tables_max
        self._followed: dict[str, _Following] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    def current(self, identifier: str, *, staleness_ms: int | None = None) -> Follower | None:
        """Return the follower of a table if what it serves is new enough; does not wait.

        Args:
            identifier: The table.
            staleness_ms: How long ago it may have been verified to be the newest; None: as long as a follower that
                works needs.

        Returns:
            None if the table is not followed, or is not new enough: call `newest`.
        """
        following = self._followed.get(identifier)
        if following is None:
            return None
        now_ms = self._clock.now_ms()
        following.used_ms = now_ms
        follower = following.follower
        bound_ms = self._staleness_max_ms if staleness_ms is None else staleness_ms
        if follower.served is None or now_ms - follower.verified_ms > bound_ms:
            return None
        return follower

    def newest(self, identifier: str) -> tuple[ServedTable, int]:
        """Look at storage, and return what is newest and when that was verified; follow the table from now on.

        Raises:
            TableNotFound: There is no table of that name.
            LakeError: Storage or the registry cannot be read.
        """
        follower = self._follower(identifier)
        served = follower.poll()
        return served, follower.verified_ms

    def document(self, identifier: str) -> TableDocument:
        """Return the newest declaration of a table, from storage.

        Raises:
            TableNotFound: No table of that name is registered.
        """
        return self._registrar.document(identifier)

    def close(self) -> None:
        """End all threads, without waiting for them."""
        with self._lock:
            self._is_closed = True
            for following in self._followed.values():
                following.ended.set()
            self._followed.clear()

    @property
    def _staleness_max_ms(self) -> int:
        # Three pauses: a follower that makes files ready, or a busy machine, may miss a look or two.
        return 3 * self._follow_ms

    def _follower(self, identifier: str) -> Follower:
        following = self._followed.get(identifier)
        if following is not None:
            return following.follower
        follower = Follower(
            identifier, tables=self._tables, registrar=self._registrar, clock=self._clock
        )
        if not self._follow_ms:
            return follower
        follower.poll()  # only tables that exist are followed
        with self._lock:
            if self._is_closed or len(self._followed) >= self._tables_max:
                return follower
            known = self._followed.get(identifier)
            if known is not None:
                return known.follower
            following = _Following(follower, used_ms=self._clock.now_ms())
            self._followed[identifier] = following
        threading.Thread(
            target=self._follow,
            args=(identifier, following),
            name=f"follow {identifier}",
            daemon=True,
        ).start()
        return follower

    def _follow(self, identifier: str, following: _Following) -> None:
        failed = False
        while not following.ended.wait(_ERROR_WAIT_S if failed else self._follow_ms / 1_000):
            if self._clock.now_ms() - following.used_ms > IDLE_MS:
                break
            try:
                following.follower.poll()
                failed = False
            except TableNotFound:
                break  # dropped: the next request tells it
            except (LakeError, RegistryError) as error:
                if not failed:
                    logger.warning("table cannot be followed table=%s error=%s", identifier, error)
                failed = True
        with self._lock:
            if self._followed.get(identifier) is following:
                del self._followed[identifier]
