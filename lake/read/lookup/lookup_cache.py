"""The data files of one table as its lookups have them: those with a copy, and those without.

Whoever asks a file without a copy has the choice: to wait until it is made (`made`), which small files are
worth, or to read the row groups that may have the keys, and say so (`was_read`). When as many rows were
decoded that way as make a quarter of the file, its copy is made in the background. Where the bounds leave
no room for it, row groups are read for as long as that is so.

What `ready` returns stays readable, whatever goes meanwhile: its files are mapped.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final

from lake.errors import LakeError
from lake.read.lookup.copy_space import CopySpace, NoRoom
from lake.read.lookup.copy_store import (
    IDLE_SECONDS,
    LOOKS_PER_IDLE_TIME,
    YIELDING_SECONDS,
    CopyStore,
    Entry,
)
from lake.read.lookup.file_lookup import FileLookup

MakeLookup = Callable[[CopySpace], FileLookup]
"""From where to keep it to the lookup of a file."""

READ_SHARE: Final = 4
"""A quarter of a file's rows is decoded for single keys at most, before its copy is made."""


class LookupCache:
    """Lookups of data files, by name; safe between threads."""

    def __init__(
        self,
        store: CopyStore,
        table: str,
        *,
        max_disk_bytes: int,
        max_memory_bytes: int,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """Remember the bounds; nothing is made yet.

        Args:
            store: Shared with other tables.
            table: Path of the table.
            max_disk_bytes: Of copies on local disk.
            max_memory_bytes: Of what is kept in memory.
            idle_seconds: What was not asked for in so long goes.
        """
        self._store = store
        self._account = store.account(
            table,
            max_disk_bytes=max_disk_bytes,
            max_memory_bytes=max_memory_bytes,
            idle_seconds=idle_seconds,
        )
        self._look_seconds = idle_seconds / LOOKS_PER_IDLE_TIME
        self._look_at = store.now() + self._look_seconds

    @property
    def disk_bytes(self) -> int:
        """Bytes of the table's copies on local disk."""
        return self._account.disk_bytes

    @property
    def memory_bytes(self) -> int:
        """Bytes of what is kept of the table in memory."""
        return self._account.memory_bytes

    @property
    def max_disk_bytes(self) -> int:
        """Bound of copies on local disk."""
        return min(self._account.max_disk_bytes, self._store.max_disk_bytes)

    @property
    def max_memory_bytes(self) -> int:
        """Bound of what is kept in memory."""
        return min(self._account.max_memory_bytes, self._store.max_memory_bytes)

    @property
    def idle_seconds(self) -> float:
        """A copy that nobody asked for in this time goes."""
        return self._account.idle_seconds

    @property
    def reading(self) -> AbstractContextManager[object]:
        """What is held while row groups are read: so many at once that they leave time to make copies."""
        return self._store.reading

    def ready(self, name: str) -> FileLookup | None:
        """Return the copy of a file if there is one, to read what it has loaded."""
        now = self._store.now()
        entry = self._store.find(name)
        if entry is not None:
            entry.used_at = now
        if now >= self._look_at:
            # Who comes next does not look again while this one does.
            self._look_at = now + self._look_seconds
            self._store.remove_idle()
        return None if entry is None else entry.lookup

    def made(self, name: str, make: MakeLookup, columns: Sequence[str]) -> FileLookup | None:
        """Return the copy of a file with some columns, which is made if need be.

        Args:
            name: Of an immutable file.
            make: Called when there is no copy.
            columns: Of the table or `SEQUENCE_NUMBER` or `VALUE_KIND`.

        Returns:
            None where the bounds leave no room, or the local disk does.

        Raises:
            StorageUnavailable: Storage refuses.
            CorruptData: The file is absent or not what its metadata says.
        """
        entry = self._store.entry(name, self._account)
        entry.used_at = self._store.now()
        with entry.making:
            if entry.lookup is not None and entry.lookup.has(columns):
                return entry.lookup
            if not self._store.has_room(entry):
                return None
            try:
                # Kept only when it has all: what has the keys alone would still read row groups.
                lookup = entry.lookup or make(entry.space)
                entry.lookup = lookup
                lookup.load(columns)
            except NoRoom as error:
                entry.needed = max(entry.needed, error.needed)
                entry.retry_at = self._store.now() + YIELDING_SECONDS
                return None
            entry.read_rows = 0
            return lookup

    def was_read(
        self,
        name: str,
        make: MakeLookup,
        columns: Sequence[str],
        *,
        of_rows: int,
        rows: int,
        size: int,
    ) -> None:
        """Take notice of row groups that were read for want of a copy; it may be made for that.

        Args:
            name: Of an immutable file.
            make: Called when there is no copy.
            columns: That were wanted.
            of_rows: Rows of the file.
            rows: How many were decoded.
            size: Their bytes.
        """
        entry = self._store.entry(name, self._account)
        entry.used_at = self._store.now()
        # A count that two threads change at once may be off by one, which is nobody's harm.
        entry.read_rows += rows
        entry.columns |= {*columns}
        if rows:
            entry.needed = max(entry.needed, size * of_rows // rows)
        if entry.read_rows * READ_SHARE < of_rows or entry.is_awaited:
            return
        if self._store.has_room(entry):
            entry.is_awaited = True
            self._store.submit(lambda: self._make(entry, name, make))

    def _make(self, entry: Entry, name: str, make: MakeLookup) -> None:
        try:
            self.made(name, make, sorted(entry.columns))
        except LakeError:
            pass  # who asks for the file finds the same, and is told
        finally:
            entry.read_rows = 0
            entry.is_awaited = False
