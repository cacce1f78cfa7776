"""Metadata of tables that a process remembers: decoded manifests and the live files of snapshots.

All tables of a process share one number of bytes, however often they are opened: a file of a storage that
is the same for everybody (a disk of this machine, an object store) is decoded once. Storage that only its
owner sees has a memory of its own.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Final

from lake.files.object_store.store import ObjectStoreFileIO
from lake.files.storage.file_io import FileIO
from lake.files.storage.local import LocalFileIO
from lake.format.manifest import ManifestEntry
from lake.format.statistics import SimpleStats
from lake.snapshots.lru_cache import LruCache

METADATA_BYTES: Final = 256 << 20
"""The bound of one process, about. Of a table whose live files alone take more, these are kept."""

_ENTRY_BYTES: Final = 1_100
"""Python objects of one manifest entry without its keys and statistics, and its place in a state."""

_SAMPLE: Final = 256


class MetadataCache:
    """A part of what is remembered: that of one storage."""

    def __init__(self, cache: LruCache | None = None, *, storage: Hashable = None) -> None:
        """Remember nothing yet, or go on with what others have remembered.

        Args:
            cache: Shared with others; None: of its own.
            storage: Tells the storage from others in the same cache; None: it has a cache of its own.
        """
        self._cache = cache or LruCache(METADATA_BYTES)
        self._storage = storage

    def __reduce__(self) -> tuple[Callable[..., "MetadataCache"], tuple[Hashable, ...]]:
        """Return what another process needs: its own memory."""
        return (MetadataCache, ()) if self._storage is None else (_shared, (self._storage,))

    def get(self, path: str) -> object | None:
        """Return what is remembered under a path, None when nothing is."""
        return self._cache.get((self._storage, path))

    def put(self, path: str, value: object, size: int) -> None:
        """Remember what takes so many bytes."""
        self._cache.put((self._storage, path), value, size)

    def remove(self, path: str) -> None:
        """Forget what is remembered under a path."""
        self._cache.remove((self._storage, path))


def metadata_cache_for(file_io: FileIO) -> MetadataCache:
    """Return the memory of a storage: that of the process where everybody sees the same files."""
    storage: Hashable = None
    if isinstance(file_io, LocalFileIO | ObjectStoreFileIO):
        storage = file_io.identity
    return MetadataCache() if storage is None else _shared(storage)


def entries_bytes(entries: Sequence[ManifestEntry]) -> int:
    """Return how much memory decoded entries take, about: of many, some are looked at."""
    step = len(entries) // _SAMPLE + 1
    sample = entries[::step]
    return sum(map(_entry_bytes, sample)) * len(entries) // max(len(sample), 1)


def _entry_bytes(entry: ManifestEntry) -> int:
    file = entry.file
    variable = len(entry.partition) + len(file.min_key) + len(file.max_key)
    variable += len(file.embedded_file_index or b"")
    return _ENTRY_BYTES + variable + _stats_bytes(file.key_stats) + _stats_bytes(file.value_stats)


def _stats_bytes(stats: SimpleStats) -> int:
    return len(stats.min_values) + len(stats.max_values) + 8 * len(stats.null_counts)


def _shared(storage: Hashable) -> MetadataCache:
    return MetadataCache(_process_cache(), storage=storage)


@cache
def _process_cache() -> LruCache:
    return LruCache(METADATA_BYTES)
