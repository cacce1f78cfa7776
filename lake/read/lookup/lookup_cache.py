"""The data files that lookups have at hand: on local disk and in memory, within bounds.

A file is made ready once, by whoever asks first; others who ask for it wait, those who ask for other
files do not. What was not used for longest goes when a bound is passed, and what was not used for an
hour goes anyway: compactions leave many files behind that nobody will ask for.

Whoever is about to load columns holds the file (`using`), and a file that is held stays, even where
a bound is passed for so long. To read what is loaded takes no hold (`ready`): what goes then leaves
the cache, and the disk as soon as the last reader has let go of it, for its files are mapped.
"""

import threading
import time
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

IDLE_SECONDS: Final = 3_600.0


@dataclass(kw_only=True)
class _Entry:
    """One file.

    Attributes:
        ready: Held by whoever makes the file ready.
        lookup: None until it is.
        users: How many hold it now.
        used_at: When it was asked for last.
    """

    ready: threading.Lock = field(default_factory=threading.Lock)
    lookup: FileLookup | None = None
    users: int = 0
    used_at: float = 0.0


class LookupCache:
    """Lookups of data files, by path; safe between threads."""

    def __init__(
        self,
        *,
        max_disk_bytes: int,
        max_memory_bytes: int,
        directory: str | None = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Remember the bounds; nothing is made yet.

        Args:
            max_disk_bytes: Of copies on local disk.
            max_memory_bytes: Of what is kept in memory.
            directory: An existing one of this machine; the system's for temporary files when None.
            seconds: A clock that never goes back.
        """
        self._max_disk_bytes = max_disk_bytes
        self._max_memory_bytes = max_memory_bytes
        self._directory = directory
        self._seconds = seconds
        self._entries: dict[str, _Entry] = {}
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

    @property
    def max_disk_bytes(self) -> int:
        """Bound of copies on local disk."""
        return self._max_disk_bytes

    @property
    def max_memory_bytes(self) -> int:
        """Bound of what is kept in memory."""
        return self._max_memory_bytes

    def ready(self, path: str) -> FileLookup | None:
        """Return the lookup of a file if it is ready, to read what it has loaded."""
        entry = self._entries.get(path)
        if entry is None:
            return None
        entry.used_at = self._seconds()
        return entry.lookup

    @contextmanager
    def using(self, path: str, *, size: int, make: MakeLookup) -> Iterator[FileLookup]:
        """Give the lookup of a file, which stays within the block.

        Args:
            path: Of an immutable file.
            size: Its bytes on storage.
            make: Called when the file is not ready.

        Raises:
            StorageUnavailable: Storage or the local disk refuses.
            CorruptData: The file is absent or not what its metadata says.
        """
        with self._lock:
            entry = self._entries.setdefault(path, _Entry())
            entry.used_at = self._seconds()
            entry.users += 1
        try:
            yield entry.lookup or self._made(entry, size, make)
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
        """Remove what is idle, and what was not used for longest until the bounds hold."""
        with self._lock:
            disk = sum(item.disk_bytes for item in self._lookups()) - self._max_disk_bytes
            memory = sum(item.memory_bytes for item in self._lookups()) - self._max_memory_bytes
            idle_since = self._seconds() - IDLE_SECONDS
            for path, entry in sorted(self._entries.items(), key=lambda item: item[1].used_at):
                lookup = entry.lookup
                if lookup is None or entry.users:
                    continue
                frees = (lookup.disk_bytes and disk > 0) or (lookup.memory_bytes and memory > 0)
                if frees or entry.used_at < idle_since:
                    disk -= lookup.disk_bytes
                    memory -= lookup.memory_bytes
                    lookup.remove()
                    del self._entries[path]
            self._is_over = disk > 0 or memory > 0
