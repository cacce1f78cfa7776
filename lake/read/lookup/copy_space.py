"""Storage of the copy of one file: its columns and its index, in memory or in mapped files.

Parts are written once and never changed. Up to `MEMORY_FILE_BYTES_MAX` of a copy stay in memory, because files for
small parts would cost more. Other parts, and all parts once the bound of memory is reached, are written to local disk
and mapped, so that the page cache holds as much of them as there is memory for. Columns that are nested too deeply
for an Arrow file stay in memory.

```
<scratch>/<digest>.arrow    some columns, uncompressed
<scratch>/<digest>.column   one large column (`column_file`), written batch by batch
<scratch>/<digest>.index    a hash index (`index_file`)
```

The digest is that of the file's name and the columns. So processes of a machine can share these parts: one of them makes a
part, and the others link and map it (`scratch`). Parts that are not shared have numbers instead.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import numpy as np
import pyarrow as pa

from braid.lake.errors import StorageUnavailable
from braid.lake.files.storage.scratch import ScratchDirectory
from braid.lake.read.lookup.column_file import ColumnWriter, read_column
from braid.lake.read.lookup.hash_index import HashIndex, Zeros, index_bytes
from braid.lake.read.lookup.index_file import IndexWriter, index_file_bytes, read_index

MEMORY_FILE_BYTES_MAX: Final = 2 * 1024 * 1024
"""Upper bound of the decoded bytes of one data file that are kept in memory."""

_FORMAT: Final = 2
"""Part of the digests. Raise it with every change of what parts contain, and of how keys are hashed: processes of two versions may
share a machine."""


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
            with self._disk_errors(), _memory_returned():
                return self._kept_on_disk(part, name)

    def keep_column(
        self, field: pa.Field, rows: int, read: Callable[[], Iterable[pa.Array]]
    ) -> pa.Array:
        """Return a column from where it is kept on disk; written batch by batch unless a process of this machine has it.

        Args:
            field: The column. Requires: it `has_column_file`.
            rows: Number of rows.
            read: Yields all values in order.

        Raises:
            NoRoom: The bounds are reached, the disk refuses, or the copy was removed.
            TextsTooLong: The texts are too long for one array.
            Exception: What `read` raises.
        """
        self._raise_if_closed()
        name = self._shared_name([field.name], ".column")
        with self._made_by_one(name) as path:
            if path is not None:
                return read_column(self._linked(path), field.type)

            def write(_: str, file: BinaryIO) -> None:
                writer = ColumnWriter(file, field.type, rows, reserve=self._reserve_disk)
                for values in read():
                    writer.add(values)
                writer.finish()

            with _memory_returned():
                return read_column(self._written(name, write), field.type)

    def keep_index(
        self, rows: int, make: Callable[[Zeros], HashIndex], columns: Sequence[str] = ()
    ) -> HashIndex:
        """Return an index from where it is kept; made unless a process of this machine has made it.

        Args:
            rows: Number of rows of the file.
            make: Makes the index, in arrays that it is given.
            columns: The columns by whose values it finds rows; none: those of the key.

        Raises:
            NoRoom: The bounds are reached, the disk refuses, or the copy was removed.
        """
        self._raise_if_closed()
        name = self._shared_name(columns, ".index")
        with self._made_by_one(name) as path:
            if path is not None:
                return read_index(self._linked(path))
            size = index_bytes(rows)
            if self._is_kept_in_memory(size):
                return make(np.zeros)
            self._reserve_disk(index_file_bytes(size))

            def write(path: str, file: BinaryIO) -> None:
                writer = IndexWriter(path, file)
                writer.finish(make(writer.zeros))

            return read_index(self._written(name, write))

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

    @contextmanager
    def _file_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
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
            self._discard(self.disk_bytes - size)
            if not self._quota.reserve(memory=size):
                raise NoRoom(self._all_bytes + size) from None
            self.memory_bytes += size
            return part
        return _columns_of(scratch.mapped(self._shared(path, name)))

    def _written(self, name: str, write: Callable[[str, BinaryIO], None]) -> pa.Buffer:
        """Let a part be written, which may reserve bytes of the disk, and return it mapped.

        Nothing of it is left if it cannot be written.
        """
        scratch = self._scratch()
        reserved = self.disk_bytes
        path = self._new_path(scratch, name)
        try:
            # Only errors of the file mean that the disk is full: `write` also reads from storage.
            with self._file_errors(), Path(path).open("w+b") as file:
                write(path, file)
            with self._disk_errors():
                return scratch.mapped(self._shared(path, name))
        except BaseException:
            self._discard(reserved)
            raise

    def _discard(self, reserved: int) -> None:
        """Remove the newest part, and what was reserved of the disk beyond a number of bytes."""
        self._scratch().remove(self._paths.pop())
        self._quota.release(disk=self.disk_bytes - reserved, memory=0)
        self.disk_bytes = reserved

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


@contextmanager
def _memory_returned() -> Iterator[None]:
    """Return to the system what Arrow's pool keeps for itself of the memory in which a large part was decoded."""
    yield
    pa.default_memory_pool().release_unused()
