"""The data files that lookups have at hand: on local disk and in memory, within bounds.

A file is made ready once, by whoever asks first; others who ask for it wait, those who ask for other
files do not. What was not used for longest goes when a bound is passed, be it the cache's own or that
of all caches of a process (`lookup_budget`). What was not used for an hour goes anyway: compactions
leave many files behind that nobody will ask for. Whoever asks any of the caches has all looked through
for that, a few times an hour.

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
from lake.read.lookup.lookup_budget import LookupBudget

MakeLookup = Callable[[ScratchDirectory | None, Callable[[], None]], FileLookup]
"""From where to keep columns, and what to call when more are kept, to the lookup of a file."""

MEMORY_FILE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Files up to this size are kept in memory: above all those of level 0."""

IDLE_SECONDS: Final = 3_600.0

_LOOKS_PER_IDLE_TIME: Final = 4


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
        budget: LookupBudget | None = None,
        idle_seconds: float = IDLE_SECONDS,
        directory: str | None = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Remember the bounds; nothing is made yet.

        Args:
            max_disk_bytes: Of copies on local disk.
            max_memory_bytes: Of what is kept in memory.
            budget: Of all caches of the process; caches of one budget have one clock.
            idle_seconds: What was not used for so long goes.
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
        self._budget = budget
        self._idle_seconds = idle_seconds
        self._look_at = seconds() + idle_seconds / _LOOKS_PER_IDLE_TIME
        if budget is not None:
            budget.join(self)

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
        if self._budget is None:
            return self._max_disk_bytes
        return min(self._max_disk_bytes, self._budget.max_disk_bytes)

    @property
    def max_memory_bytes(self) -> int:
        """Bound of what is kept in memory."""
        if self._budget is None:
            return self._max_memory_bytes
        return min(self._max_memory_bytes, self._budget.max_memory_bytes)

    def ready(self, path: str) -> FileLookup | None:
        """Return the lookup of a file if it is ready, to read what it has loaded."""
        now = self._seconds()
        entry = self._entries.get(path)
        if entry is not None:
            entry.used_at = now
        if now >= self._look_at:
            self._look_through(now)
        return None if entry is None else entry.lookup

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
                in_memory = size <= min(MEMORY_FILE_BYTES_MAX, self.max_memory_bytes)
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

    def evict_idle(self) -> None:
        """Remove what was not used for long."""
        since = self._seconds() - self._idle_seconds
        with self._lock:
            for path, entry in self._free():
                if entry.used_at < since:
                    self._drop(path, entry)

    def removable(self) -> Iterator[tuple[float, str]]:
        """Yield when each file that nobody holds was used last, in seconds, and its path."""
        with self._lock:
            free = [(entry.used_at, path) for path, entry in self._free()]
        yield from free

    def remove(self, path: str, *, used_at: float) -> None:
        """Remove a file, unless it was used since, or somebody holds it."""
        with self._lock:
            entry = self._entries.get(path)
            if entry is not None and not entry.users and entry.used_at == used_at:
                self._drop(path, entry)

    def _look_through(self, now: float) -> None:
        # Who comes next does not look again while this one does.
        self._look_at = now + self._idle_seconds / _LOOKS_PER_IDLE_TIME
        if self._budget is None:
            self.evict_idle()
        else:
            self._budget.evict_idle()

    def _evict(self) -> None:
        """Remove what is idle, and what was not used for longest until the bounds hold."""
        self.evict_idle()
        with self._lock:
            disk = sum(item.disk_bytes for item in self._lookups()) - self._max_disk_bytes
            memory = sum(item.memory_bytes for item in self._lookups()) - self._max_memory_bytes
            for path, entry in sorted(self._free(), key=lambda item: item[1].used_at):
                lookup = entry.lookup
                assert lookup is not None, "free files are ready"
                if (lookup.disk_bytes and disk > 0) or (lookup.memory_bytes and memory > 0):
                    disk -= lookup.disk_bytes
                    memory -= lookup.memory_bytes
                    self._drop(path, entry)
            self._is_over = disk > 0 or memory > 0
        if self._budget is not None:
            # What others hold is theirs to give back, but nobody else may come by.
            self._is_over |= not self._budget.evict()

    def _free(self) -> list[tuple[str, _Entry]]:
        """Return what nobody holds."""
        return [item for item in self._entries.items() if item[1].lookup and not item[1].users]

    def _drop(self, path: str, entry: _Entry) -> None:
        assert entry.lookup is not None, "only what is ready is removed"
        entry.lookup.remove()
        del self._entries[path]
