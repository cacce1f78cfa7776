"""Cache of open tables, which keep the metadata and the lookup files that they have read.

The cache is bounded by the number of tables and by their idle time, so a service with thousands of
tables keeps only some. Idle tables are removed when a table is requested.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from braid.lake import Catalog, Clock, Table, TableNotFound
from braid.registry import names

TABLES_MAX: Final = 200
IDLE_MS: Final = 15 * 60_000


@dataclass(slots=True)
class _OpenTable:
    table: Table
    used_ms: int


class OpenTables:
    """Opens tables and keeps the tables in use; thread-safe."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        clock: Clock,
        tables_max: int = TABLES_MAX,
        idle_ms: int = IDLE_MS,
    ) -> None:
        """Create an empty cache.

        Args:
            catalog: Opens tables.
            clock: Measures idle time.
            tables_max: The largest number of tables; beyond it the least recently used one is evicted.
            idle_ms: Time without a use after which a table is evicted, milliseconds.
        """
        assert tables_max >= 1
        self._catalog = catalog
        self._clock = clock
        self._tables_max = tables_max
        self._idle_ms = idle_ms
        self._tables: OrderedDict[str, _OpenTable] = OrderedDict()  # least recently used first
        self._lock = threading.Lock()

    def get(self, identifier: str) -> Table:
        """Return a table at its newest schema.

        Raises:
            TableNotFound: There is no table of that name, or it was dropped.
        """
        table = self._cached(identifier)
        if table is None:
            return self._keep(identifier, self._open(identifier))
        # Storage is read outside of the lock, so that one slow table does not delay the others.
        try:
            table.refresh()
        except TableNotFound:
            # Dropped; another table may have been created under the name since.
            with self._lock:
                self._tables.pop(identifier, None)
            return self._keep(identifier, self._open(identifier))
        return table

    @property
    def names(self) -> tuple[str, ...]:
        """The cached tables, the least recently used first."""
        with self._lock:
            return tuple(self._tables)

    def _cached(self, identifier: str) -> Table | None:
        now_ms = self._clock.now_ms()
        with self._lock:
            found = self._tables.get(identifier)
            if found is not None:
                found.used_ms = now_ms
                self._tables.move_to_end(identifier)
            self._evict(now_ms)
        return None if found is None else found.table

    def _keep(self, identifier: str, table: Table) -> Table:
        now_ms = self._clock.now_ms()
        with self._lock:
            # If two requests have opened the table at once, both use the first one.
            kept = self._tables.setdefault(identifier, _OpenTable(table, now_ms))
            self._tables.move_to_end(identifier)
            self._evict(now_ms)
            assert len(self._tables) <= self._tables_max
        return kept.table

    def _evict(self, now_ms: int) -> None:
        """Remove idle tables and tables beyond the bound; current requests keep theirs."""
        while self._tables:
            oldest = next(iter(self._tables))
            is_idle = now_ms - self._tables[oldest].used_ms > self._idle_ms
            if not is_idle and len(self._tables) <= self._tables_max:
                return
            del self._tables[oldest]

    def _open(self, identifier: str) -> Table:
        try:
            if names.is_identifier(identifier):
                return self._catalog.table(identifier)
        except TableNotFound:
            pass  # raised below without the path on storage, which only operators may see
        message = f"there is no table {identifier}"
        raise TableNotFound(message)
