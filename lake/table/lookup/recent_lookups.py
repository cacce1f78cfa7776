"""Lookups of the few snapshots of a table that were used last, and the cache of file copies that all lookups share."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import Snapshot
from braid.lake.options.table_options import TableOptions
from braid.lake.read.lookup.copy_store import CopyStore
from braid.lake.read.lookup.lookup_cache import LookupCache
from braid.lake.table.lookup.snapshot_lookup import SnapshotLookup

SNAPSHOTS_MAX: Final = 4
"""Number of lookups that are kept; all lookups share the copies of files, kept or not."""


class RecentLookups:
    """The lookups of one table that were used last; safe between threads."""

    def __init__(self, table: str, options: TableOptions, copies: CopyStore) -> None:
        """Set the bounds; nothing is copied yet.

        Args:
            table: Path of the table.
            options: The table's options, which have the bounds of its copies.
            copies: Shared with other tables.
        """
        self.cache = LookupCache(
            copies,
            table,
            max_disk_bytes=options.lookup_cache_max_disk_bytes,
            max_memory_bytes=options.lookup_cache_max_memory_bytes,
            idle_seconds=options.lookup_cache_file_retention_ms / 1_000,
        )
        self._recent: OrderedDict[tuple[Snapshot | None, int, bool], SnapshotLookup] = OrderedDict()
        self._lock = threading.Lock()

    def at(
        self,
        snapshot: Snapshot | None,
        schema: TableSchema,
        make: Callable[[LookupCache], SnapshotLookup],
        *,
        merged: bool = False,
    ) -> SnapshotLookup:
        """Return the lookup of a snapshot under a schema; `make` is called for one that is new.

        Args:
            snapshot: The snapshot; None for a table without one.
            schema: The schema that rows are read under.
            make: Makes the lookup.
            merged: The lookup sees the level 0 that the table hides from readers.
        """
        # The key has the whole snapshot: after a rollback another snapshot has the same id.
        key = snapshot, schema.id, merged
        with self._lock:
            lookup = self._recent.get(key)
            if lookup is not None:
                self._recent.move_to_end(key)
                return lookup
        # Without the lock: a lookup reads metadata. Two threads may make the same one, and the last
        # is kept.
        lookup = make(self.cache)
        with self._lock:
            self._recent[key] = lookup
            while len(self._recent) > SNAPSHOTS_MAX:
                self._recent.popitem(last=False)
        return lookup
