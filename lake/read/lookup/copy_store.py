"""The copies of data files that the lookups of a process keep, for all tables of a catalog.

| bound | of | when it is reached |
|---|---|---|
| memory | small files | they are kept on disk |
| disk | all others | files get no copy; their keys are read by row group |
| time | what nobody asked for | it goes: compactions leave files behind that nobody will ask for |

Each table has bounds of its own, and all together have some. A copy gives way to another only when it was not
asked for in the last minute. So a table that is larger than its bound keeps the copies it has, instead
of making each again and again; and the copies of files that a compaction replaced make room for those
of the files that replaced them.
"""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from weakref import WeakValueDictionary

from lake.files.storage.scratch import ScratchDirectory, free_bytes
from lake.read.lookup.background import BackgroundJobs, Submit, readers
from lake.read.lookup.copy_space import MEMORY_FILE_BYTES_MAX, CopySpace
from lake.read.lookup.file_lookup import FileLookup
from lake.read.lookup.lookup_settings import LookupSettings

IDLE_SECONDS: Final = 3_600.0
"""A copy that nobody asked for in this time goes."""

YIELDING_SECONDS: Final = 60.0
"""A copy that nobody asked for in this time goes when another needs the room."""

LOOKS_PER_IDLE_TIME: Final = 4


@dataclass(kw_only=True, eq=False)
class Account:
    """What one table may keep, and keeps; changed under the store's lock.

    Attributes:
        max_disk_bytes: Of copies on local disk.
        max_memory_bytes: Of what is kept in memory.
        idle_seconds: What was not asked for in so long goes.
        disk_bytes: What it keeps on disk.
        memory_bytes: What it keeps in memory.
    """

    max_disk_bytes: int
    max_memory_bytes: int
    idle_seconds: float = IDLE_SECONDS
    disk_bytes: int = 0
    memory_bytes: int = 0

    def has_room(self, *, disk: int, memory: int) -> bool:
        """Return whether the bounds leave so much."""
        return (not disk or self.disk_bytes + disk <= self.max_disk_bytes) and (
            not memory or self.memory_bytes + memory <= self.max_memory_bytes
        )


@dataclass(kw_only=True, eq=False)
class Entry:
    """One data file.

    Attributes:
        account: Of its table.
        space: Where its copy is kept.
        making: Held by whoever makes the copy, or removes it.
        lookup: None until its keys are there.
        used_at: When it was asked for last.
        read_rows: Rows that were decoded for single keys since the copy was last asked for.
        columns: That were wanted of a file that had no copy of them.
        needed: Bytes that its copy takes at least, as far as is known.
        retry_at: When it is tried again to make a copy that found no room, or a disk that refused.
        is_awaited: Whether a job in the background is to make it.
    """

    account: Account
    space: CopySpace
    used_at: float
    making: threading.Lock = field(default_factory=threading.Lock)
    lookup: FileLookup | None = None
    read_rows: int = 0
    columns: frozenset[str] = frozenset()
    needed: int = 0
    retry_at: float = 0.0
    is_awaited: bool = False


class CopyStore:
    """Copies by the name of what they are made from; safe between threads.

    Attributes:
        submit: Has copies made beside those who ask.
        reading: Held while row groups are read for want of a copy, by a few at a time: dozens at once would
            leave the copies no time to be made.
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
            settings: Where, and how much.
            seconds: A clock that never goes back.
            submit: Has copies made beside those who ask; threads of its own when None.
        """
        self._settings = settings or LookupSettings()
        self._seconds = seconds
        self.submit: Submit = BackgroundJobs().submit if submit is None else submit
        self.reading = threading.BoundedSemaphore(readers())
        self._entries: dict[str, Entry] = {}
        self._accounts: WeakValueDictionary[str, Account] = WeakValueDictionary()
        self._lock = threading.RLock()
        self._scratch: ScratchDirectory | None = None
        self._all = Account(max_disk_bytes=-1, max_memory_bytes=self._settings.max_memory_bytes)

    def __reduce__(self) -> tuple[partial["CopyStore"], tuple[()]]:
        """Return what another process needs; it makes copies of its own."""
        return partial(CopyStore, self._settings), ()

    def account(
        self, table: str, *, max_disk_bytes: int, max_memory_bytes: int, idle_seconds: float
    ) -> Account:
        """Return the account of a table, the same for all who have the table open.

        Args:
            table: Its path.
            max_disk_bytes: Of its copies on local disk.
            max_memory_bytes: Of what is kept of it in memory.
            idle_seconds: What was not asked for in so long goes.
        """
        with self._lock:
            account = self._accounts.get(table)
            if account is None:
                account = self._accounts[table] = Account(max_disk_bytes=0, max_memory_bytes=0)
            account.max_disk_bytes = max_disk_bytes
            account.max_memory_bytes = max_memory_bytes
            account.idle_seconds = idle_seconds
            return account

    @property
    def max_disk_bytes(self) -> int:
        """Bound of copies on local disk, of all tables.

        Raises:
            StorageUnavailable: The file system does not say how much is free.
        """
        with self._lock:
            if self._all.max_disk_bytes < 0:
                chosen = self._settings.max_disk_bytes
                if chosen is None:
                    _ = self._own_scratch()
                    chosen = free_bytes(self._settings.directory) // 2
                self._all.max_disk_bytes = chosen
            return self._all.max_disk_bytes

    @property
    def max_memory_bytes(self) -> int:
        """Bound of what is kept in memory, of all tables."""
        return self._all.max_memory_bytes

    def now(self) -> float:
        """Return the seconds of the clock."""
        return self._seconds()

    def find(self, name: str) -> Entry | None:
        """Return what is kept of a file; takes no lock."""
        return self._entries.get(name)

    def entry(self, name: str, account: Account) -> Entry:
        """Return the entry of a file, a new one if there is none."""
        with self._lock:
            entry = self._entries.get(name)
            if entry is None:
                space = CopySpace(_Bounds(store=self, account=account), self._own_scratch)
                entry = Entry(account=account, space=space, used_at=self._seconds())
                self._entries[name] = entry
            return entry

    def has_room(self, entry: Entry) -> bool:
        """Return whether a copy would find room, as far as is known how large it is."""
        if self._seconds() < entry.retry_at:
            return False
        needed = max(1, entry.needed - entry.space.disk_bytes - entry.space.memory_bytes)
        with self._lock:
            if needed <= MEMORY_FILE_BYTES_MAX and self._make_room(entry.account, memory=needed):
                return True
            return self._make_room(entry.account, disk=needed)

    def reserve(self, account: Account, *, disk: int, memory: int) -> bool:
        """Take bytes if the bounds leave them, and return whether they did."""
        with self._lock:
            if not self._make_room(account, disk=disk, memory=memory):
                return False
            self._add(account, disk=disk, memory=memory)
            return True

    def release(self, account: Account, *, disk: int, memory: int) -> None:
        """Give bytes back."""
        with self._lock:
            self._add(account, disk=-disk, memory=-memory)

    def remove_idle(self) -> None:
        """Remove what was not asked for in long."""
        now = self._seconds()
        with self._lock:
            for name, entry in list(self._entries.items()):
                if entry.used_at < now - entry.account.idle_seconds:
                    self._remove(name, entry)

    def close(self) -> None:
        """Give everything back; nobody may use the store any more."""
        with self._lock:
            for name, entry in list(self._entries.items()):
                self._remove(name, entry)
            if self._scratch is not None:
                self._scratch.close()
                self._scratch = None

    def _make_room(self, account: Account, *, disk: int = 0, memory: int = 0) -> bool:
        """Return whether there is room, removing what was not asked for in the last minute."""
        if disk:
            _ = self.max_disk_bytes
        accounts = (account, self._all)
        if all(one.has_room(disk=disk, memory=memory) for one in accounts):
            return True
        if any(
            disk > one.max_disk_bytes if disk else memory > one.max_memory_bytes for one in accounts
        ):
            return False
        for name, entry in self._yielding():
            narrow = [one for one in accounts if not one.has_room(disk=disk, memory=memory)]
            if not narrow:
                break
            is_there = entry.space.disk_bytes if disk else entry.space.memory_bytes
            if is_there and (entry.account is account or account not in narrow):
                self._remove(name, entry)
        return all(one.has_room(disk=disk, memory=memory) for one in accounts)

    def _yielding(self) -> Iterator[tuple[str, Entry]]:
        """Yield what was not asked for in the last minute, what was not for longest first."""
        since = self._seconds() - YIELDING_SECONDS
        old = [item for item in self._entries.items() if item[1].used_at < since]
        yield from sorted(old, key=lambda item: item[1].used_at)

    def _remove(self, name: str, entry: Entry) -> None:
        # What is being made is in use. Its maker may wait for the store, so nobody waits for it here.
        if entry.making.acquire(blocking=False):
            try:
                entry.space.close()
                entry.lookup = None
                del self._entries[name]
            finally:
                entry.making.release()

    def _add(self, account: Account, *, disk: int, memory: int) -> None:
        for one in (account, self._all):
            one.disk_bytes += disk
            one.memory_bytes += memory

    def _own_scratch(self) -> ScratchDirectory:
        with self._lock:
            if self._scratch is None:
                self._scratch = ScratchDirectory(self._settings.directory, name="braid-lookup")
            return self._scratch


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    """The bounds of one table in a store."""

    store: CopyStore
    account: Account

    def reserve(self, *, disk: int = 0, memory: int = 0) -> bool:
        return self.store.reserve(self.account, disk=disk, memory=memory)

    def release(self, *, disk: int, memory: int) -> None:
        self.store.release(self.account, disk=disk, memory=memory)
