"""The metadata cache of a process: decoded manifests and the live files of snapshots.

All tables that the catalogs of a process open on a local file system or an object store share one cache with one
bound in bytes. So a table that is opened again finds there what was read before. Two kinds of tables have a cache of
their own: those that are opened by their path alone, and those on storage whose files are visible through one
`FileIO` object only, such as memory.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Final

from braid.lake.files.object_store.store import ObjectStoreFileIO
from braid.lake.files.storage.file_io import FileIO
from braid.lake.files.storage.local import LocalFileIO
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.null_counts import counts_bytes
from braid.lake.format.statistics import SimpleStats
from braid.lake.snapshots.lru_cache import LruCache

METADATA_BYTES: Final = 256 << 20
"""Approximate bound of a cache, in bytes. Exceeded for a table whose live files alone take more."""

_ENTRY_BYTES: Final = 1_100
"""Bytes of the Python objects of a manifest entry, including its dictionary entry in the live files, but not
its keys and statistics."""

_SAMPLE: Final = 256


class MetadataCache:
    """The part of a cache that belongs to one storage."""

    def __init__(self, cache: LruCache | None = None, *, storage: Hashable = None) -> None:
        """Create a view of a shared cache, or an empty one.

        Args:
            cache: Cache shared with other storage; None: a new one.
            storage: Identifies the storage within the shared cache; None if the cache is not shared.
        """
        self._cache = cache or LruCache(METADATA_BYTES)
        self._storage = storage

    def __reduce__(self) -> tuple[Callable[..., "MetadataCache"], tuple[Hashable, ...]]:
        """Return a cache for another process: the one of that process, or an empty one if not shared."""
        return (MetadataCache, ()) if self._storage is None else (_shared, (self._storage,))

    def get(self, path: str) -> object | None:
        """Return the value of a path, or None if it is not in the cache."""
        return self._cache.get((self._storage, path))

    def put(self, path: str, value: object, size: int) -> None:
        """Put a value that takes `size` bytes."""
        self._cache.put((self._storage, path), value, size)

    def remove(self, path: str) -> None:
        """Remove the value of a path, if it is in the cache."""
        self._cache.remove((self._storage, path))


def metadata_cache_for(file_io: FileIO) -> MetadataCache:
    """Return the process's cache for a local file system or object store, a new one for other storage."""
    storage: Hashable = None
    if isinstance(file_io, LocalFileIO | ObjectStoreFileIO):
        storage = file_io.identity
    return MetadataCache() if storage is None else _shared(storage)


def entries_bytes(entries: Sequence[ManifestEntry]) -> int:
    """Return the approximate bytes of decoded entries in memory, extrapolated from a sample of many."""
    step = len(entries) // _SAMPLE + 1
    sample = entries[::step]
    return sum(map(_entry_bytes, sample)) * len(entries) // max(len(sample), 1)


def _entry_bytes(entry: ManifestEntry) -> int:
    file = entry.file
    variable = len(entry.partition) + len(file.min_key) + len(file.max_key)
    variable += len(file.embedded_file_index or b"")
    return (
        _ENTRY_BYTES
        + variable
        + statistics_bytes(file.key_stats)
        + statistics_bytes(file.value_stats)
    )


def statistics_bytes(stats: SimpleStats) -> int:
    """Return the approximate bytes of statistics, in memory and in a manifest."""
    return len(stats.min_values) + len(stats.max_values) + counts_bytes(stats.null_counts)


def _shared(storage: Hashable) -> MetadataCache:
    return MetadataCache(_process_cache(), storage=storage)


@cache
def _process_cache() -> LruCache:
    return LruCache(METADATA_BYTES)
