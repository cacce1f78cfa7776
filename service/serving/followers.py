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
from braid.service.control.read_after import is_taken_in
from braid.service.control.row_request import READ_AFTER, Freshness
from braid.service.metrics import ServiceMetrics
from braid.service.open_tables import TABLES_MAX, OpenTables
from braid.service.serving.follower import Follower
from braid.service.serving.served_table import Served

IDLE_MS: Final = 60_000
_ERROR_WAIT_S: Final = 1.0
"""Pause after a look at storage that has failed."""

logger = logging.getLogger(__name__)


def missing_of(served: Served, freshness: Freshness) -> str | None:
    """Return which snapshot a request demands if what is served is older; None if it is not.

    Raises:
        InvalidRequest: The request demands records of another table, or of a topic that the stream does not read.
    """
    bound, after = freshness.min_snapshot, freshness.read_after
    if bound is not None and served.snapshot_id < bound:
        return str(bound)
    table = served.table
    if after is not None and not is_taken_in(after, table.positions, table=table.lookup.identifier):
        return f"with the records of stream {after.stream} that `{READ_AFTER}` names"
    return None


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

    def current(self, identifier: str) -> Served | None:
        """Return what is served of a table, however old; None if it is not followed. Does not wait."""
        following = self._followed.get(identifier)
        if following is None:
            return None
        following.used_ms = self._clock.now_ms()
        return following.follower.served

    def is_fresh(self, served: Served, freshness: Freshness) -> bool:
        """Return whether what is served is as new as a request demands; if not, look at storage (`snapshot_waits`)."""
        bound_ms = freshness.max_staleness_ms
        if bound_ms is None:
            bound_ms = self._staleness_max_ms
        if self._clock.now_ms() - served.verified_ms > bound_ms:
            return False
        return missing_of(served, freshness) is None

    def newest(self, identifier: str) -> Served:
        """Look at storage, and return what is newest; follow the table from now on.

        Raises:
            TableNotFound: There is no table of that name.
            LakeError: Storage or the registry cannot be read.
        """
        following = self._followed.get(identifier)
        if following is not None:
            return following.follower.look()
        follower = Follower(
            identifier, tables=self._tables, registrar=self._registrar, clock=self._clock
        )
        served = follower.look()  # only tables that exist are followed
        if self._follow_ms:
            self._begin(identifier, follower)
        return served

    def document(self, identifier: str) -> TableDocument:
        """Return the newest declaration of a table, from storage.

        Raises:
            TableNotFound: No table of that name is registered.
        """
        return self._registrar.document(identifier)

    def sample(self, metrics: ServiceMetrics) -> None:
        """Set how many tables are followed, and the longest time since one was verified."""
        served = [one.follower.served for one in list(self._followed.values())]
        now_ms = self._clock.now_ms()
        ages_ms = [now_ms - one.verified_ms for one in served if one is not None]
        metrics.followed_tables.set(len(served))
        metrics.staleness.set(max(0, *ages_ms, 0) / 1_000)

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

    def _begin(self, identifier: str, follower: Follower) -> None:
        with self._lock:
            is_followed = identifier in self._followed
            if is_followed or self._is_closed or len(self._followed) >= self._tables_max:
                return
            following = _Following(follower, used_ms=self._clock.now_ms())
            self._followed[identifier] = following
        threading.Thread(
            target=self._follow,
            args=(identifier, following),
            name=f"follow {identifier}",
            daemon=True,
        ).start()

    def _follow(self, identifier: str, following: _Following) -> None:
        has_failed = False
        try:
            while not following.ended.wait(
                _ERROR_WAIT_S if has_failed else self._follow_ms / 1_000
            ):
                if self._clock.now_ms() - following.used_ms > IDLE_MS:
                    return
                try:
                    following.follower.follow()
                    has_failed = False
                except TableNotFound:
                    return  # dropped: the next request tells it
                except Exception as error:  # whatever it is, the table may be read again later
                    if not has_failed:
                        is_known = isinstance(error, LakeError | RegistryError)
                        logger.warning(
                            "table cannot be followed table=%s error=%s",
                            identifier,
                            error,
                            exc_info=None if is_known else error,
                        )
                    has_failed = True
        finally:
            with self._lock:
                if self._followed.get(identifier) is following:
                    del self._followed[identifier]
