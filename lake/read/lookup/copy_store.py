"""Store of the copies that lookups keep, for all tables of a catalog: its entries and bounds.

| bound | counts | when it is reached |
|---|---|---|
| memory | parts of copies, up to 2 MB of each copy | further parts are kept on disk |
| disk | all other parts | files get no copy; their keys are read by row group |
| time | since the last use | a later lookup removes the copy; often a compaction has replaced its file |

There are bounds of memory and disk for each table, and for all tables together. A copy is evicted for another only if
it was not used in the last minute. So a table that is larger than its bound keeps the copies it has, instead of
making each again and again. After a compaction, the copies of the replaced files make room for copies of the new
files.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from weakref import WeakValueDictionary

from braid.lake.files.storage.scratch import ScratchDirectory, free_bytes
from braid.lake.read.lookup.background import BackgroundJobs, Submit, reader_slots
from braid.lake.read.lookup.copy_space import MEMORY_FILE_BYTES_MAX, CopySpace
from braid.lake.read.lookup.copy_usage import CopyUsage
from braid.lake.read.lookup.file_lookup import FileLookup
from braid.lake.read.lookup.lookup_settings import LookupSettings

logger = logging.getLogger(__name__)

IDLE_SECONDS: Final = 3_600.0
"""A copy that was not used for this time is removed."""

EVICTABLE_SECONDS: Final = 60.0
"""A copy that was not used for this time may be evicted for another."""

IDLE_CHECKS_PER_TIMEOUT: Final = 4
"""Checks for idle copies per idle time: a copy is removed at most a quarter of that time late."""

_UNKNOWN: Final = -1
"""Bound of the disk before the first copy: the free space is read only when it is needed."""


@dataclass(kw_only=True, eq=False)
class TableBudget:
    """Bounds of one table, and the bytes it keeps; changed under the store's lock.

    Attributes:
        max_disk_bytes: Bound of copies on local disk.
        max_memory_bytes: Bound of copies in memory.
        idle_seconds: A copy that was not used for this time is removed.
        disk_bytes: Bytes kept on disk.
        memory_bytes: Bytes kept in memory.
    """

    max_disk_bytes: int
    max_memory_bytes: int
    idle_seconds: float = IDLE_SECONDS
    disk_bytes: int = 0
    memory_bytes: int = 0

    def has_room(self, *, disk: int, memory: int) -> bool:
        """Return whether the bounds leave this number of bytes."""
        return (not disk or self.disk_bytes + disk <= self.max_disk_bytes) and (
            not memory or self.memory_bytes + memory <= self.max_memory_bytes
        )


@dataclass(kw_only=True, eq=False)
class CopyEntry:
    """One data file, with or without a copy.

    Attributes:
        budget: Budget of the file's table.
        space: Where the file's copy is kept.
        last_used: Time of the last use.
        build_lock: Held while the copy is made or removed.
        lookup: The copy; None until its keys are indexed.
        decoded_rows: Rows that were decoded for single keys since the copy was last made, or tried in the
            background.
        columns: Columns that were read from the file for want of a copy of them.
        needed_bytes: Bytes that the copy takes at least, as far as is known.
        retry_at: When the next attempt is made after one that found no room.
        is_queued: Whether a background job is to make the copy.
    """

    budget: TableBudget
    space: CopySpace
    last_used: float
    build_lock: threading.Lock = field(default_factory=threading.Lock)
    lookup: FileLookup | None = None
    decoded_rows: int = 0
    columns: frozenset[str] = frozenset()
    needed_bytes: int = 0
    retry_at: float = 0.0
    is_queued: bool = False


class CopyStore:
    """Copies by the name of what they are made from; safe between threads.

    Locks: a thread that holds `build_lock` of an entry may take the store's lock; a thread that
    holds the store's lock takes a `build_lock` only without waiting.

    Attributes:
        submit: Queues jobs that make copies in the background.
        read_slots: Held by lookups that read row groups for want of a copy, a few at a time: dozens at
            once would leave no processor time for making the copies.
    """

    def __init__(
        self,
        settings: LookupSettings | None = None,
        *,
        seconds: Callable[[], float] = time.monotonic,
        submit: Submit | None = None,
    ) -> None:
        """Keep nothing yet.

        Args:
            settings: Directory and bounds.
            seconds: A clock that never goes back.
            submit: Queues jobs that make copies in the background; None: the store has its own
                threads.
        """
        self._settings = settings or LookupSettings()
        self._seconds = seconds
        self.submit: Submit = BackgroundJobs().submit if submit is None else submit
        self.read_slots = threading.BoundedSemaphore(reader_slots())
        self._entries: dict[str, CopyEntry] = {}
        self._budgets: WeakValueDictionary[str, TableBudget] = WeakValueDictionary()
        self._lock = threading.RLock()
        self._scratch: ScratchDirectory | None = None
        self._is_refused = False
        self._total = TableBudget(
            max_disk_bytes=_UNKNOWN, max_memory_bytes=self._settings.max_memory_bytes
        )

    def __reduce__(self) -> tuple[partial["CopyStore"], tuple[()]]:
        """Return a new store for another process, which makes copies of its own."""
        return partial(CopyStore, self._settings), ()

    def budget(
        self, table: str, *, max_disk_bytes: int, max_memory_bytes: int, idle_seconds: float
    ) -> TableBudget:
        """Return the budget of a table, which all handles of the table share.

        Args:
            table: Path of the table.
            max_disk_bytes: Bound of its copies on local disk.
            max_memory_bytes: Bound of its copies in memory.
            idle_seconds: A copy that was not used for this time is removed.
        """
        with self._lock:
            budget = self._budgets.get(table)
            if budget is None:
                budget = self._budgets[table] = TableBudget(max_disk_bytes=0, max_memory_bytes=0)
            # The newest handle has the newest options.
            budget.max_disk_bytes = max_disk_bytes
            budget.max_memory_bytes = max_memory_bytes
            budget.idle_seconds = idle_seconds
            return budget

    @property
    def usage(self) -> CopyUsage:
        """Number and size of all copies; takes no lock, so the numbers may be of slightly different moments."""
        total = self._total
        known = total.max_disk_bytes != _UNKNOWN
        return CopyUsage(
            copies=sum(entry.lookup is not None for entry in list(self._entries.values())),
            memory_bytes=total.memory_bytes,
            disk_bytes=total.disk_bytes,
            max_memory_bytes=total.max_memory_bytes,
            max_disk_bytes=total.max_disk_bytes if known else self._settings.max_disk_bytes,
        )

    @property
    def max_disk_bytes(self) -> int:
        """Bound of copies on local disk, of all tables.

        Raises:
            StorageUnavailable: The free space of the file system is unknown.
        """
        with self._lock:
            if self._total.max_disk_bytes == _UNKNOWN:
                chosen = self._settings.max_disk_bytes
                if chosen is None:
                    # The directory has to exist before its free space is read.
                    _ = self._own_scratch()
                    chosen = free_bytes(self._settings.directory) // 2
                self._total.max_disk_bytes = chosen
            return self._total.max_disk_bytes

    @property
    def max_memory_bytes(self) -> int:
        """Bound of copies in memory, of all tables."""
        return self._total.max_memory_bytes

    def now(self) -> float:
        """Return the seconds of the clock."""
        return self._seconds()

    def find(self, name: str) -> CopyEntry | None:
        """Return the entry of a file, None without one; takes no lock."""
        return self._entries.get(name)

    def entry(self, name: str, budget: TableBudget) -> CopyEntry:
        """Return the entry of a file, a new one if there is none."""
        with self._lock:
            entry = self._entries.get(name)
            if entry is None:
                space = CopySpace(
                    _StoreQuota(store=self, budget=budget),
                    self._own_scratch,
                    shared_name=name if self._settings.are_shared else None,
                )
                entry = CopyEntry(budget=budget, space=space, last_used=self._seconds())
                self._entries[name] = entry
            return entry

    def has_room(self, entry: CopyEntry) -> bool:
        """Return whether a copy would find room, as far as its size is known; may evict others."""
        if self._seconds() < entry.retry_at:
            return False
        needed = max(1, entry.needed_bytes - entry.space.disk_bytes - entry.space.memory_bytes)
        with self._lock:
            if needed <= MEMORY_FILE_BYTES_MAX and self._make_room(entry.budget, memory=needed):
                return True
            return self._make_room(entry.budget, disk=needed)

    def reserve(self, budget: TableBudget, *, disk: int, memory: int) -> bool:
        """Reserve bytes if the bounds allow it, after evictions if need be; return whether they did."""
        with self._lock:
            if not self._make_room(budget, disk=disk, memory=memory):
                return False
            self._add(budget, disk=disk, memory=memory)
            return True

    def release(self, budget: TableBudget, *, disk: int, memory: int) -> None:
        """Give reserved bytes back."""
        with self._lock:
            self._add(budget, disk=-disk, memory=-memory)

    def note_refusal(self, error: BaseException) -> None:
        """Log that the local disk has refused a copy: once, until it has taken one again."""
        with self._lock:
            is_new, self._is_refused = not self._is_refused, True
        if is_new:
            logger.warning(
                "copies of data files cannot be written, rows are read from storage, which takes longer error=%s",
                error,
            )

    def note_copy(self) -> None:
        """Log that the local disk has taken a copy, if it has refused one before."""
        if self._is_refused:
            with self._lock:
                was_refused, self._is_refused = self._is_refused, False
            if was_refused:
                logger.info("resolved: copies of data files can be written again")

    def evict_idle(self) -> None:
        """Remove the copies that were not used for longer than their table's idle time."""
        now = self._seconds()
        with self._lock:
            for name, entry in list(self._entries.items()):
                if entry.last_used < now - entry.budget.idle_seconds:
                    self._remove(name, entry)

    def close(self) -> None:
        """Remove all copies. Requires: no lookup uses the store any more."""
        with self._lock:
            for name, entry in list(self._entries.items()):
                self._remove(name, entry)
            if self._scratch is not None:
                self._scratch.close()
                self._scratch = None

    def _make_room(self, budget: TableBudget, *, disk: int = 0, memory: int = 0) -> bool:
        """Return whether the bounds leave this number of bytes, after evictions where allowed.

        Requires: `disk` or `memory` is 0, and the store's lock is held.
        """
        assert not (disk and memory), "a part is in one of the two"
        if disk:
            _ = self.max_disk_bytes  # reads the free space at the first copy
        budgets = (budget, self._total)
        if all(one.has_room(disk=disk, memory=memory) for one in budgets):
            return True
        # A part that is larger than a bound finds no room, however much is evicted.
        if any(
            disk > one.max_disk_bytes if disk else memory > one.max_memory_bytes for one in budgets
        ):
            return False
        for name, entry in self._evictable():
            exceeded = [one for one in budgets if not one.has_room(disk=disk, memory=memory)]
            if not exceeded:
                break
            held = entry.space.disk_bytes if disk else entry.space.memory_bytes
            # Where the table's own bound is exceeded, copies of other tables would be evicted in
            # vain.
            if held and (entry.budget is budget or budget not in exceeded):
                self._remove(name, entry)
        return all(one.has_room(disk=disk, memory=memory) for one in budgets)

    def _evictable(self) -> Iterator[tuple[str, CopyEntry]]:
        """Yield the copies that were not used in the last minute, least recently used first."""
        since = self._seconds() - EVICTABLE_SECONDS
        old = [item for item in self._entries.items() if item[1].last_used < since]
        yield from sorted(old, key=lambda item: item[1].last_used)

    def _remove(self, name: str, entry: CopyEntry) -> None:
        # A copy that is being made is in use. Its maker may wait for the store's lock, which this
        # thread holds: to wait for the maker here would be a deadlock.
        if entry.build_lock.acquire(blocking=False):
            try:
                entry.space.close()
                entry.lookup = None
                del self._entries[name]
            finally:
                entry.build_lock.release()

    def _add(self, budget: TableBudget, *, disk: int, memory: int) -> None:
        for one in (budget, self._total):
            one.disk_bytes += disk
            one.memory_bytes += memory
            assert one.disk_bytes >= 0, "no more is released than was reserved"
            assert one.memory_bytes >= 0, "no more is released than was reserved"

    def _own_scratch(self) -> ScratchDirectory:
        with self._lock:
            if self._scratch is None:
                self._scratch = ScratchDirectory(self._settings.directory, name="braid-lookup")
            return self._scratch


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoreQuota:
    """The bounds of one table in a store."""

    store: CopyStore
    budget: TableBudget

    def reserve(self, *, disk: int = 0, memory: int = 0) -> bool:
        return self.store.reserve(self.budget, disk=disk, memory=memory)

    def release(self, *, disk: int, memory: int) -> None:
        self.store.release(self.budget, disk=disk, memory=memory)
