"""Lookups of the few snapshots of a table that were used last, which share a cache of file copies."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from braid.lake.format.bucket import BucketId
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import Snapshot
from braid.lake.options.table_options import TableOptions
from braid.lake.read.lookup.copy_store import CopyStore
from braid.lake.read.lookup.lookup_cache import LookupCache
from braid.lake.table.lookup.snapshot_lookup import SnapshotLookup

SNAPSHOTS_MAX: Final = 4
"""Number of lookups that are kept; all lookups share the copies of files, kept or not."""

BUCKET_LOOKUPS_MAX: Final = 64
"""Number of lookups of a few buckets that are kept."""

ValueT = TypeVar("ValueT")


class RecentValues(Generic[ValueT]):
    """The values that were used last, by key; safe between threads."""

    def __init__(self, values_max: int = SNAPSHOTS_MAX) -> None:
        """Keep at most so many values."""
        self._values_max = values_max
        self._recent: OrderedDict[Hashable, ValueT] = OrderedDict()
        self._lock = threading.Lock()

    def has(self, key: Hashable) -> bool:
        """Return whether there is a value of a key."""
        with self._lock:
            return key in self._recent

    def get(self, key: Hashable, make: Callable[[], ValueT]) -> ValueT:
        """Return the value of a key; `make` is called for one that is new."""
        with self._lock:
            value = self._recent.get(key)
            if value is not None:
                self._recent.move_to_end(key)
                return value
        # Without the lock: metadata is read. Two threads may make the same value, and the last is kept.
        value = make()
        with self._lock:
            self._recent[key] = value
            while len(self._recent) > self._values_max:
                self._recent.popitem(last=False)
        return value


class RecentLookups:
    """The lookups of one table that were used last; safe between threads.

    Attributes:
        cache: The copies of files that the lookups share.
    """

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
        self._recent: RecentValues[SnapshotLookup] = RecentValues()
        self._of_buckets: RecentValues[SnapshotLookup] = RecentValues(BUCKET_LOOKUPS_MAX)

    def at(
        self,
        snapshot: Snapshot | None,
        schema: TableSchema,
        make: Callable[[LookupCache], SnapshotLookup],
        *,
        merged: bool = False,
        buckets: frozenset[BucketId] | None = None,
    ) -> SnapshotLookup:
        """Return the lookup of a snapshot under a schema; `make` is called for one that is new.

        Args:
            snapshot: The snapshot; None for a table without one.
            schema: The schema that rows are read under.
            make: Makes the lookup.
            merged: The lookup sees the level 0 that the table hides from readers.
            buckets: The lookup is of these buckets alone; None: of all.
        """
        # The key has the whole snapshot: after a rollback another snapshot has the same id.
        if buckets is None:
            return self._recent.get((snapshot, schema.id, merged), lambda: make(self.cache))
        key = (snapshot, schema.id, merged, buckets)
        return self._of_buckets.get(key, lambda: make(self.cache))

    def has(self, snapshot: Snapshot, schema: TableSchema) -> bool:
        """Return whether there is a lookup of all buckets of a snapshot."""
        return self._recent.has((snapshot, schema.id, False))
