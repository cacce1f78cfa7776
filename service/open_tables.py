"""The tables that were asked for, kept open so that what they have read and made ready stays useful.

So many at most, and none for longer than nobody asks for it: a service of thousands of tables holds what
is in use.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from lake import Catalog, Clock, Table, TableNotFound
from registry.rules import names

TABLES_MAX: Final = 200
IDLE_MS: Final = 15 * 60_000


@dataclass(slots=True)
class _Open:
    table: Table
    asked_ms: int


class OpenTables:
    """Opens tables and keeps those that are asked for; safe between threads."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        clock: Clock,
        tables_max: int = TABLES_MAX,
        idle_ms: int = IDLE_MS,
    ) -> None:
        """Keep nothing yet.

        Args:
            catalog: Opens tables.
            clock: Says for how long nobody has asked.
            tables_max: Beyond these the one goes that was asked for longest ago.
            idle_ms: A table goes that nobody has asked for in so long.
        """
        self._catalog = catalog
        self._clock = clock
        self._tables_max = tables_max
        self._idle_ms = idle_ms
        self._tables: OrderedDict[str, _Open] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, identifier: str) -> Table:
        """Return a table at its newest schema.

        Raises:
            TableNotFound: There is none of that name, or not any more.
        """
        table = self._kept(identifier)
        if table is None:
            return self._keep(identifier, self._open(identifier))
        try:
            table.refresh()
        except TableNotFound:
            # Dropped; another may have been made under the name.
            with self._lock:
                self._tables.pop(identifier, None)
            return self._keep(identifier, self._open(identifier))
        return table

    @property
    def names(self) -> tuple[str, ...]:
        """The tables that are kept, the one asked for longest ago first."""
        with self._lock:
            return tuple(self._tables)

    def _kept(self, identifier: str) -> Table | None:
        now_ms = self._clock.now_ms()
        with self._lock:
            found = self._tables.get(identifier)
            if found is not None:
                found.asked_ms = now_ms
                self._tables.move_to_end(identifier)
            self._let_go(now_ms)
        return None if found is None else found.table

    def _keep(self, identifier: str, table: Table) -> Table:
        now_ms = self._clock.now_ms()
        with self._lock:
            # Of two that opened it at once one is kept.
            kept = self._tables.setdefault(identifier, _Open(table, now_ms))
            self._tables.move_to_end(identifier)
            self._let_go(now_ms)
        return kept.table

    def _let_go(self, now_ms: int) -> None:
        """Forget the tables that nobody asks for; requests that have one go on with it."""
        while self._tables:
            oldest = next(iter(self._tables))
            is_idle = now_ms - self._tables[oldest].asked_ms > self._idle_ms
            if not is_idle and len(self._tables) <= self._tables_max:
                return
            del self._tables[oldest]

    def _open(self, identifier: str) -> Table:
        try:
            if names.is_identifier(identifier):
                return self._catalog.table(identifier)
        except TableNotFound:
            pass  # said below, without the place on storage, which is not the caller's business
        message = f"there is no table {identifier}"
        raise TableNotFound(message)
