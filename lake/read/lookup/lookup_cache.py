"""Cache of the copies of one table's data files.

For a file without a copy there are two ways. `bucket_files` waits until the copy is made (`get_or_copy`), which pays
for small files. Or it reads the row groups that may have the keys, and records this read (`record_read`). Once the
rows decoded in that way amount to a quarter of the file, the copy is queued and made in the background. If the bounds
leave no room for a copy, none is made. `copy_store` has the entries, the bounds and their eviction.

A copy that `get` returned stays readable after it was evicted, because its parts stay in memory or mapped.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final

from braid.lake.errors import LakeError
from braid.lake.read.lookup.copy_space import CopySpace, NoRoom
from braid.lake.read.lookup.copy_store import (
    EVICTABLE_SECONDS,
    IDLE_CHECKS_PER_TIMEOUT,
    IDLE_SECONDS,
    CopyEntry,
    CopyStore,
)
from braid.lake.read.lookup.file_lookup import FileLookup

MakeLookup = Callable[[CopySpace], FileLookup]
"""Makes the copy of a file in a space."""

READ_SHARE: Final = 4
"""A copy is made once a quarter of the file's rows was decoded for single keys: up to then, reading has
cost less than copying would have (decision 0037)."""


class LookupCache:
    """Copies of data files, by name; safe between threads."""

    def __init__(
        self,
        store: CopyStore,
        table: str,
        *,
        max_disk_bytes: int,
        max_memory_bytes: int,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """Set the bounds; nothing is copied yet.

        Args:
            store: Shared with other tables.
            table: Path of the table.
            max_disk_bytes: Bound of copies on local disk.
            max_memory_bytes: Bound of copies in memory.
            idle_seconds: A copy that was not used for this time is removed.
        """
        self._store = store
        self._budget = store.budget(
            table,
            max_disk_bytes=max_disk_bytes,
            max_memory_bytes=max_memory_bytes,
            idle_seconds=idle_seconds,
        )
        self._check_seconds = idle_seconds / IDLE_CHECKS_PER_TIMEOUT
        self._next_check = store.now() + self._check_seconds

    @property
    def disk_bytes(self) -> int:
        """Bytes of the table's copies on local disk."""
        return self._budget.disk_bytes

    @property
    def memory_bytes(self) -> int:
        """Bytes of the table's copies in memory."""
        return self._budget.memory_bytes

    @property
    def max_disk_bytes(self) -> int:
        """Bound of copies on local disk."""
        return min(self._budget.max_disk_bytes, self._store.max_disk_bytes)

    @property
    def max_memory_bytes(self) -> int:
        """Bound of copies in memory."""
        return min(self._budget.max_memory_bytes, self._store.max_memory_bytes)

    @property
    def idle_seconds(self) -> float:
        """A copy that was not used for this time is removed."""
        return self._budget.idle_seconds

    @property
    def read_slots(self) -> AbstractContextManager[object]:
        """Held while row groups are read; see `CopyStore.read_slots`."""
        return self._store.read_slots

    def get(self, name: str) -> FileLookup | None:
        """Return the copy of a file, None without one; it may lack columns."""
        now = self._store.now()
        entry = self._store.find(name)
        if entry is not None:
            entry.last_used = now
        if now >= self._next_check:
            # Moved first, so that other threads do not check at the same time.
            self._next_check = now + self._check_seconds
            self._store.evict_idle()
        return None if entry is None else entry.lookup

    def get_or_copy(
        self,
        name: str,
        make: MakeLookup,
        columns: Sequence[str],
        *,
        value_index: str | None = None,
    ) -> FileLookup | None:
        """Return the copy of a file with some columns, which is made if need be.

        Args:
            name: Name of an immutable file.
            make: Called when there is no copy.
            columns: Table columns, `SEQUENCE_NUMBER` or `VALUE_KIND`.
            value_index: One of them, by whose values the rows are indexed, too; None: by their keys alone.

        Returns:
            None where the bounds or the local disk leave no room.

        Raises:
            StorageUnavailable: Storage refuses.
            CorruptData: The file is absent or does not match its metadata.
        """
        entry = self._store.entry(name, self._budget)
        entry.last_used = self._store.now()
        with entry.build_lock:
            # Another thread may have made it while this one waited for the lock.
            if (
                entry.lookup is not None
                and entry.lookup.has_columns(columns)
                and (value_index is None or entry.lookup.has_value_index(value_index))
            ):
                return entry.lookup
            if not self._store.has_room(entry):
                return None
            try:
                lookup = entry.lookup or make(entry.space)
                # Set even if the columns below find no room: keys are then found without reading.
                entry.lookup = lookup
                lookup.load(columns)
                if value_index is not None:
                    lookup.index_values(value_index)
            except NoRoom as error:
                entry.needed_bytes = max(entry.needed_bytes, error.needed)
                entry.retry_at = self._store.now() + EVICTABLE_SECONDS
                if error.__cause__ is not None:  # else a bound is reached, as it is meant to be
                    self._store.note_refusal(error.__cause__)
                return None
            if entry.space.disk_bytes:
                self._store.note_copy()
            entry.decoded_rows = 0
            return lookup

    def record_read(
        self,
        name: str,
        make: MakeLookup,
        columns: Sequence[str],
        *,
        of_rows: int,
        rows: int,
        size: int,
    ) -> None:
        """Record that row groups were read for want of a copy; queue the copy when it pays.

        Args:
            name: Name of an immutable file.
            make: Makes its copy.
            columns: The columns that were read.
            of_rows: Number of rows of the file.
            rows: Number of rows that were decoded.
            size: Bytes of the decoded rows.
        """
        entry = self._store.entry(name, self._budget)
        entry.last_used = self._store.now()
        # Without a lock: a count that two threads change at once is a little low, which delays the
        # copy and harms nothing.
        entry.decoded_rows += rows
        entry.columns |= {*columns}
        if rows:
            entry.needed_bytes = max(entry.needed_bytes, size * of_rows // rows)
        if entry.decoded_rows * READ_SHARE < of_rows or entry.is_queued:
            return
        if self._store.has_room(entry):
            entry.is_queued = True
            self._store.submit(lambda: self._copy(entry, name, make))

    def _copy(self, entry: CopyEntry, name: str, make: MakeLookup) -> None:
        try:
            self.get_or_copy(name, make, sorted(entry.columns))
        except LakeError:
            pass  # a lookup that reads the file meets the same error, and reports it
        finally:
            entry.decoded_rows = 0
            entry.is_queued = False
