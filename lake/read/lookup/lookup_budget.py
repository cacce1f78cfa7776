"""What the lookups of all tables of a process may keep together.

Each table has bounds of its own, and a service has hundreds of tables. So their caches share one
budget: past it, what was not used for longest in any of them goes first.
"""

import threading
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Final, Protocol

from lake.files.scratch import free_bytes

MEMORY_BYTES_MAX: Final = 1 << 30
"""In memory, of all tables."""


class Kept(Protocol):
    """What one table keeps."""

    @property
    def disk_bytes(self) -> int:
        """Return the bytes of copies on local disk."""
        ...

    @property
    def memory_bytes(self) -> int:
        """Return the bytes of what is kept in memory."""
        ...

    def evict_idle(self) -> None:
        """Remove what was not used for long."""
        ...

    def removable(self) -> Iterator[tuple[float, str]]:
        """Yield when each file that nobody holds was used last, in seconds, and its path."""
        ...

    def remove(self, path: str, *, used_at: float) -> None:
        """Remove a file, unless it was used since, or somebody holds it."""
        ...


class LookupBudget:
    """Bounds that several caches keep together; safe between threads."""

    def __init__(
        self, *, max_disk_bytes: int | None = None, max_memory_bytes: int = MEMORY_BYTES_MAX
    ) -> None:
        """Remember the bounds.

        Args:
            max_disk_bytes: Of copies on local disk; None leaves others half of what is free when
                the first cache joins.
            max_memory_bytes: Of what is kept in memory.
        """
        self._max_disk_bytes = max_disk_bytes
        self._max_memory_bytes = max_memory_bytes
        self._caches: weakref.WeakSet[Kept] = weakref.WeakSet()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[partial["LookupBudget"], tuple[()]]:
        """Return what another process needs; it has a budget of its own."""
        anew = partial(
            LookupBudget,
            max_disk_bytes=self._max_disk_bytes,
            max_memory_bytes=self._max_memory_bytes,
        )
        return anew, ()

    @property
    def max_disk_bytes(self) -> int:
        """Bound of copies on local disk."""
        assert self._max_disk_bytes is not None, "somebody has joined"
        return self._max_disk_bytes

    @property
    def max_memory_bytes(self) -> int:
        """Bound of what is kept in memory."""
        return self._max_memory_bytes

    def join(self, cache: Kept) -> None:
        """Take a cache in; it leaves when nobody has it any more.

        Raises:
            StorageUnavailable: The file system does not say how much is free.
        """
        with self._lock:
            if self._max_disk_bytes is None:
                self._max_disk_bytes = free_bytes() // 2
            self._caches.add(cache)

    def evict_idle(self) -> None:
        """Remove what was not used for long in any cache."""
        for cache in self._members():
            cache.evict_idle()

    def evict(self) -> bool:
        """Remove what was not used for longest, until the bounds hold; return whether they do."""
        caches = self._members()
        if not self._is_over(caches):
            return True
        oldest = sorted(
            (
                (used_at, place, path)
                for place, cache in enumerate(caches)
                for used_at, path in cache.removable()
            )
        )
        for used_at, place, path in oldest:
            caches[place].remove(path, used_at=used_at)
            if not self._is_over(caches):
                return True
        return False

    def _members(self) -> list[Kept]:
        with self._lock:
            return list(self._caches)

    def _is_over(self, caches: list[Kept]) -> bool:
        if sum(cache.memory_bytes for cache in caches) > self._max_memory_bytes:
            return True
        return sum(cache.disk_bytes for cache in caches) > self.max_disk_bytes
