"""The data files that lookups have at hand: on local disk and in memory, within bounds.

A file is made ready once, by whoever asks first; others who ask for it wait, those who ask for other
files do not. What was not used for longest goes when a bound is passed, but never while it is used:
then the bound is passed for so long.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from lake.files.scratch import ScratchDirectory
from lake.read.lookup.file_lookup import FileLookup

MakeLookup = Callable[[ScratchDirectory | None, Callable[[], None]], FileLookup]
"""From where to keep columns, and what to call when more are kept, to the lookup of a file."""

MEMORY_FILE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Files up to this size are kept in memory: above all those of level 0."""


@dataclass(kw_only=True)
class _Entry:
    """One file.

    Attributes:
        ready: Held by whoever makes the file ready.
        lookup: None until it is.
        users: How many use it now.
    """

    ready: threading.Lock = field(default_factory=threading.Lock)
    lookup: FileLookup | None = None
    users: int = 0


class LookupCache:
    """Lookups of data files, by path; safe between threads."""

    def __init__(
        self, *, max_disk_bytes: int, max_memory_bytes: int, directory: str | None = None
    ) -> None:
        """Remember the bounds; nothing is made yet.

        Args:
            max_disk_bytes: Of copies on local disk.
            max_memory_bytes: Of what is kept in memory.
            directory: An existing one of this machine; the system's for temporary files when None.
        """
        self._max_disk_bytes = max_disk_bytes
        self._max_memory_bytes = max_memory_bytes
        self._directory = directory
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = threading.Lock()
        self._scratch: ScratchDirectory | None = None
        self._is_over = False

    @property
    def disk_bytes(self) -> int:
        """Bytes of copies on local disk."""
        with self._lock:
            return sum(item.disk_bytes for item in self._lookups())

    @property
    def memory_bytes(self) -> int:
        """Bytes of what is kept in memory."""
        with self._lock:
            return sum(item.memory_bytes for item in self._lookups())

    def resident(self, path: str) -> FileLookup | None:
        """Return the lookup of a file if it is ready, for a look at what it has; do not ask it."""
        entry = self._entries.get(path)
        return None if entry is None else entry.lookup

    @contextmanager
    def using(self, path: str, *, size: int, make: MakeLookup) -> Iterator[FileLookup]:
        """Give the lookup of a file, which stays at hand within the block.

        Args:
            path: Of an immutable file.
            size: Its bytes on storage.
            make: Called when the file is not ready.

        Raises:
            StorageUnavailable: Storage or the local disk refuses.
            CorruptData: The file is absent or not what its metadata says.
        """
        with self._lock:
            entry = self._entries.get(path)
            if entry is None:
                entry = self._entries[path] = _Entry()
            self._entries.move_to_end(path)
            entry.users += 1
        try:
            lookup = entry.lookup
            if lookup is None:
                lookup = self._made(entry, size, make)
            yield lookup
        finally:
            with self._lock:
                entry.users -= 1
                if entry.lookup is None and not entry.users:
                    self._entries.pop(path, None)
            if self._is_over:
                self._evict()

    def close(self) -> None:
        """Give everything back; nobody may use the cache any more."""
        with self._lock:
            self._entries.clear()
            if self._scratch is not None:
                self._scratch.close()
                self._scratch = None

    def __del__(self) -> None:
        scratch = getattr(self, "_scratch", None)
        if scratch is not None:
            scratch.close()

    def _made(self, entry: _Entry, size: int, make: MakeLookup) -> FileLookup:
        with entry.ready:
            if entry.lookup is None:
                in_memory = size <= min(MEMORY_FILE_BYTES_MAX, self._max_memory_bytes)
                entry.lookup = make(None if in_memory else self._own_scratch(), self._evict)
            lookup = entry.lookup
        self._evict()
        return lookup

    def _own_scratch(self) -> ScratchDirectory:
        with self._lock:
            if self._scratch is None:
                self._scratch = ScratchDirectory(self._directory, name="braid-lookup")
            return self._scratch

    def _lookups(self) -> list[FileLookup]:
        return [entry.lookup for entry in self._entries.values() if entry.lookup is not None]

    def _evict(self) -> None:
        """Remove what was not used for longest until the bounds hold."""
        with self._lock:
            disk = sum(item.disk_bytes for item in self._lookups()) - self._max_disk_bytes
            memory = sum(item.memory_bytes for item in self._lookups()) - self._max_memory_bytes
            for path, entry in list(self._entries.items()):
                if disk <= 0 and memory <= 0:
                    break
                lookup = entry.lookup
                if lookup is None or entry.users:
                    continue
                if (lookup.disk_bytes and disk > 0) or (lookup.memory_bytes and memory > 0):
                    disk -= lookup.disk_bytes
                    memory -= lookup.memory_bytes
                    lookup.remove()
                    del self._entries[path]
            self._is_over = disk > 0 or memory > 0
