"""What a table keeps for lookups: files made ready, and the last snapshots taken apart."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from lake.format.schema import TableSchema
from lake.format.snapshot import Snapshot
from lake.options import TableOptions
from lake.read.lookup.copy_store import CopyStore
from lake.read.lookup.lookup_cache import LookupCache
from lake.table.snapshot_lookup import SnapshotLookup

SNAPSHOTS_MAX: Final = 4
"""RecentLookups that are kept; files are shared between all, also with those given out before."""


class RecentLookups:
    """RecentLookups of one table; safe between threads."""

    def __init__(self, table: str, options: TableOptions, copies: CopyStore) -> None:
        """Take the bounds of what is kept; nothing is made yet.

        Args:
            table: Path of the table.
            options: Of the table; its own bounds.
            copies: Shared with other tables.
        """
        self.cache = LookupCache(
            copies,
            table,
            max_disk_bytes=options.lookup_cache_max_disk_bytes,
            max_memory_bytes=options.lookup_cache_max_memory_bytes,
            idle_seconds=options.lookup_cache_file_retention_ms / 1_000,
        )
        self._recent: OrderedDict[tuple[Snapshot | None, int], SnapshotLookup] = OrderedDict()
        self._lock = threading.Lock()

    def at(
        self,
        snapshot: Snapshot | None,
        schema: TableSchema,
        make: Callable[[LookupCache], SnapshotLookup],
    ) -> SnapshotLookup:
        """Return the lookup of a snapshot under a schema; `make` is called for one that is new."""
        # By all of the snapshot, for a rollback uses numbers again.
        key = snapshot, schema.id
        with self._lock:
            lookup = self._recent.get(key)
            if lookup is not None:
                self._recent.move_to_end(key)
                return lookup
        lookup = make(self.cache)
        with self._lock:
            self._recent[key] = lookup
            while len(self._recent) > SNAPSHOTS_MAX:
                self._recent.popitem(last=False)
        return lookup
