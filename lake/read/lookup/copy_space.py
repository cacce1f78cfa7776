"""Storage of the copy of one file: its columns and its index, in memory or in mapped files.

Parts are written once and never changed. Up to `MEMORY_FILE_BYTES_MAX` of a copy stay in memory, because files for
small parts would cost more. Other parts, and all parts once the bound of memory is reached, are written to local disk
and mapped, so that the page cache holds as much of them as there is memory for. Columns that are nested too deeply
for an Arrow file stay in memory.

```
<scratch>/<digest>.arrow   some columns, uncompressed
<scratch>/<digest>.index   a hash index: four numbers, entries, begins
```

The digest is that of the file's name and the columns. So processes of a machine can share these parts: one of them makes a
part, and the others link and map it (`scratch`). Parts that are not shared have numbers instead.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from braid.lake.errors import StorageUnavailable
from braid.lake.files.storage.scratch import ScratchDirectory
from braid.lake.read.lookup.hash_index import HashIndex

MEMORY_FILE_BYTES_MAX: Final = 2 * 1024 * 1024
"""Upper bound of the decoded bytes of one data file that are kept in memory."""

_FORMAT: Final = 1
"""Part of the digests. Raise it with every change of what parts contain, and of how keys are hashed: processes of two versions may
share a machine."""

_INDEX_HEAD: Final = 4
"""Numbers of 8 bytes at the begin of an index: how many entries there are, and the fields `row_bits`, `shift` and `longest`."""


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

    def __init__(
        self,
        quota: SpaceQuota,
        scratch: Callable[[], ScratchDirectory],
        *,
        shared_name: str | None = None,
    ) -> None:
        """Keep nothing yet.

        Args:
            quota: Bounds of the parts.
            scratch: Called when a part may be on disk.
            shared_name: Name of the data file, which has the same content in all processes that share parts; None: nothing
                is shared.
        """
        self._name = shared_name
        self._quota = quota
        self._scratch = scratch
        self._paths: list[str] = []
        self._is_closed = False
        self.disk_bytes = 0
        self.memory_bytes = 0

    def keep(self, columns: Sequence[str], make: Callable[[], pa.Table]) -> pa.Table:
        """Return columns from where they are kept, each in one piece; made unless a process of this machine has made them.

        Args:
            columns: Names of the columns.
            make: Decodes the columns, each in one piece.

        Raises:
            NoRoom: The bounds are reached, the disk refuses, or the copy was removed.
            Exception: What `make` raises.
        """
        self._raise_if_closed()
        name = self._shared_name(columns, ".arrow")
        with self._made_by_one(name) as path:
            if path is not None:
                return _columns_of(self._linked(path))
            part = make()
            if self._is_kept_in_memory(part.nbytes):
                return part
            with self._disk_errors():
                return self._kept_on_disk(part, name)

    def keep_index(self, make: Callable[[], HashIndex], columns: Sequence[str] = ()) -> HashIndex:
        """Return an index from where it is kept; made unless a process of this machine has made it.

        Args:
            make: Makes the index.
            columns: The columns by whose values it finds rows; none: those of the key.

        Raises:
            NoRoom: The bounds are reached, the disk refuses, or the copy was removed.
        """
        self._raise_if_closed()
        name = self._shared_name(columns, ".index")
        with self._made_by_one(name) as path:
            if path is not None:
                return _index_of(self._linked(path))
            index = make()
            if self._is_kept_in_memory(index.size):
                return index
            self._reserve_disk(index.size)
            with self._disk_errors():
                return self._index_on_disk(index, name)

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

    @contextmanager
    def _made_by_one(self, name: str) -> Iterator[str | None]:
        with ExitStack() as held:
            path = None
            if self._name is not None:
                with self._disk_errors():
                    path = held.enter_context(self._scratch().made_by_one(name))
            yield path

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except StorageUnavailable as error:
            # Most likely the disk is full. The lookup then reads from storage.
            raise NoRoom(self._all_bytes) from error

    def _raise_if_closed(self) -> None:
        if self._is_closed:
            raise NoRoom(self._all_bytes)

    def _is_kept_in_memory(self, size: int) -> bool:
        """Reserve memory for a part if the bounds allow it; return whether they do."""
        if self.memory_bytes + size > MEMORY_FILE_BYTES_MAX:
            return False
        if not self._quota.reserve(memory=size):
            return False
        self.memory_bytes += size
        return True

    def _kept_on_disk(self, part: pa.Table, name: str) -> pa.Table:
        size = part.nbytes
        self._reserve_disk(size)
        scratch = self._scratch()
        path = self._new_path(scratch, name)
        try:
            with scratch.new_file(path) as sink, pa.ipc.new_file(sink, part.schema) as writer:
                writer.write_table(part)
        except pa.ArrowInvalid:
            # Arrow files nest 64 levels at most, two for each MAP: such a column stays in memory,
            # above the bound of a file if need be.
            scratch.remove(self._paths.pop())
            self._quota.release(disk=size, memory=0)
            self.disk_bytes -= size
            if not self._quota.reserve(memory=size):
                raise NoRoom(self._all_bytes + size) from None
            self.memory_bytes += size
            return part
        return _columns_of(scratch.mapped(self._shared(path, name)))

    def _index_on_disk(self, index: HashIndex, name: str) -> HashIndex:
        scratch = self._scratch()
        path = self._new_path(scratch, name)
        head = [len(index.entries), index.row_bits, index.shift, index.longest]
        with scratch.new_file(path) as sink:
            sink.write(pa.py_buffer(np.array(head, np.int64)))
            sink.write(pa.py_buffer(index.entries))
            sink.write(pa.py_buffer(index.begins))
        return _index_of(scratch.mapped(self._shared(path, name)))

    def _linked(self, path: str) -> pa.Buffer:
        """Return the content of a part that another process has made."""
        try:
            self._reserve_disk(Path(path).stat().st_size)
        except NoRoom:
            self._scratch().remove(path)
            raise
        self._paths.append(path)
        with self._disk_errors():
            return self._scratch().mapped(path)

    def _reserve_disk(self, size: int) -> None:
        # Counted at once: whatever fails after this, `clear` gives the bytes back.
        if not self._quota.reserve(disk=size):
            raise NoRoom(self._all_bytes + size)
        self.disk_bytes += size

    def _shared_name(self, columns: Sequence[str], suffix: str) -> str:
        text = "\0".join([str(_FORMAT), self._name or "", *columns])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest() + suffix

    def _new_path(self, scratch: ScratchDirectory, name: str) -> str:
        path = scratch.new_path(Path(name).suffix)
        self._paths.append(path)
        return path

    def _shared(self, path: str, name: str) -> str:
        """Let other processes find a part, and return its new path."""
        if self._name is None:
            return path
        self._paths[self._paths.index(path)] = shared = self._scratch().share(path, name)
        return shared


def _columns_of(content: pa.Buffer) -> pa.Table:
    return pa.ipc.open_file(content).read_all()


def _index_of(content: pa.Buffer) -> HashIndex:
    count, row_bits, shift, longest = np.frombuffer(content, np.int64, count=_INDEX_HEAD).tolist()
    begin = _INDEX_HEAD * 8
    return HashIndex(
        entries=np.frombuffer(content, np.uint64, count=count, offset=begin),
        begins=np.frombuffer(content, np.int32, offset=begin + count * 8),
        row_bits=row_bits,
        shift=shift,
        longest=longest,
    )
