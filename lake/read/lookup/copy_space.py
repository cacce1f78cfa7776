"""Storage of the copy of one file: its columns and its index, in memory or in mapped files.

Parts are written once and never changed. Up to `MEMORY_FILE_BYTES_MAX` of a copy stay in memory, because files for
small parts would cost more. Other parts, and all parts once the bound of memory is reached, are written to local disk
and mapped, so that the page cache holds as much of them as there is memory for. Columns that are nested too deeply
for an Arrow file stay in memory.

```
<scratch>/<process>-<n>.arrow   some columns, uncompressed
<scratch>/<process>-<n>.index   entries and begins of a hash index
```
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from braid.lake.errors import StorageUnavailable
from braid.lake.files.storage.scratch import ScratchDirectory
from braid.lake.read.lookup.hash_index import HashIndex

MEMORY_FILE_BYTES_MAX: Final = 2 * 1024 * 1024
"""Upper bound of the decoded bytes of one data file that are kept in memory."""


class NoRoom(Exception):
    """The bounds, or the local disk, leave no room for a copy.

    Attributes:
        needed: Bytes that the copy takes at least.
    """

    def __init__(self, needed: int) -> None:
        """Remember how many bytes the copy would have taken."""
        super().__init__(f"no room for {needed} bytes")
        self.needed = needed


class SpaceQuota(Protocol):
    """Bounds that bytes are reserved within."""

    def reserve(self, *, disk: int = 0, memory: int = 0) -> bool:
        """Reserve bytes if the bounds allow it; return whether they did."""
        ...

    def release(self, *, disk: int, memory: int) -> None:
        """Give reserved bytes back."""
        ...


class CopySpace:
    """Keeps the parts of one file's copy; used by one thread at a time.

    Attributes:
        disk_bytes: Bytes kept on disk.
        memory_bytes: Bytes kept in memory.
    """

    def __init__(self, quota: SpaceQuota, scratch: Callable[[], ScratchDirectory]) -> None:
        """Keep nothing yet; `scratch` is called when a part goes to disk."""
        self._quota = quota
        self._scratch = scratch
        self._paths: list[str] = []
        self._is_closed = False
        self.disk_bytes = 0
        self.memory_bytes = 0

    def keep(self, part: pa.Table) -> pa.Table:
        """Store columns, and return them from where they are kept, each in one piece.

        Raises:
            NoRoom: The bounds are reached, the disk refuses, or the copy was removed.
        """
        size = part.nbytes
        if self._is_kept_in_memory(size):
            return part
        self._reserve_disk(size)
        try:
            return self._on_disk(part)
        except StorageUnavailable as error:
            # Most likely the disk is full. The lookup then reads from storage.
            raise NoRoom(self._all_bytes) from error
        except pa.ArrowInvalid:
            # Arrow files nest 64 levels at most, two for each MAP: such a column stays in memory,
            # above the bound of a file if need be.
            self._scratch().remove(self._paths.pop())
            self._quota.release(disk=size, memory=0)
            self.disk_bytes -= size
            if not self._quota.reserve(memory=size):
                raise NoRoom(self._all_bytes + size) from None
            self.memory_bytes += size
            return part

    def keep_index(self, index: HashIndex) -> HashIndex:
        """Store an index, and return it from where it is kept.

        Raises:
            NoRoom: The bounds are reached, the disk refuses, or the copy was removed.
        """
        if self._is_kept_in_memory(index.size):
            return index
        self._reserve_disk(index.size)
        try:
            mapped = self._index_on_disk(index)
        except StorageUnavailable as error:
            raise NoRoom(self._all_bytes) from error
        return replace(
            index,
            entries=np.frombuffer(mapped, np.uint64, count=len(index.entries)),
            begins=np.frombuffer(mapped, np.int32, offset=index.entries.nbytes),
        )

    def clear(self) -> None:
        """Remove the parts; rows that were given out stay readable, as their files are mapped."""
        for path in self._paths:
            self._scratch().remove(path)
        self._paths.clear()
        self._quota.release(disk=self.disk_bytes, memory=self.memory_bytes)
        self.disk_bytes = self.memory_bytes = 0

    def close(self) -> None:
        """Remove the parts, and refuse more."""
        self._is_closed = True
        self.clear()

    @property
    def _all_bytes(self) -> int:
        return self.disk_bytes + self.memory_bytes

    def _is_kept_in_memory(self, size: int) -> bool:
        """Reserve memory for a part if the bounds allow it; return whether they do."""
        if self._is_closed:
            raise NoRoom(self._all_bytes + size)
        if self.memory_bytes + size > MEMORY_FILE_BYTES_MAX:
            return False
        if not self._quota.reserve(memory=size):
            return False
        self.memory_bytes += size
        return True

    def _on_disk(self, part: pa.Table) -> pa.Table:
        scratch = self._scratch()
        path = self._new_path(scratch, ".arrow")
        with scratch.new_file(path) as sink, pa.ipc.new_file(sink, part.schema) as writer:
            writer.write_table(part)
        return pa.ipc.open_file(scratch.mapped(path)).read_all()

    def _index_on_disk(self, index: HashIndex) -> pa.Buffer:
        scratch = self._scratch()
        path = self._new_path(scratch, ".index")
        with scratch.new_file(path) as sink:
            sink.write(pa.py_buffer(index.entries))
            sink.write(pa.py_buffer(index.begins))
        return scratch.mapped(path)

    def _reserve_disk(self, size: int) -> None:
        # Counted at once: whatever fails after this, `clear` gives the bytes back.
        if not self._quota.reserve(disk=size):
            raise NoRoom(self._all_bytes + size)
        self.disk_bytes += size

    def _new_path(self, scratch: ScratchDirectory, suffix: str) -> str:
        path = scratch.new_path(suffix)
        self._paths.append(path)
        return path
