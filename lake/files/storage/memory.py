"""Storage in memory for tests and simulations, with the guarantees of a disk except durability."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import pyarrow as pa

from braid.lake.files.clock import Clock, SystemClock
from braid.lake.files.storage.exclusive_probe import probe_exclusive_create
from braid.lake.files.storage.file_io import FileStatus

_MACHINE: Final = SystemClock()


class MemoryFileIO:
    """Files in a dictionary; safe to share between threads, gone with the process."""

    parallel_reads = 1

    def __init__(self, *, clock: Clock | None = None) -> None:
        """Create an empty storage.

        Args:
            clock: Clock of the storage. None means that it has no clock: files have the machine's time, and
                no writer's clock is compared with it.
        """
        self._clock = clock
        self._files: dict[str, tuple[bytes, int]] = {}
        self._children: dict[str, set[str]] = {}  # a directory exists while it has an entry
        self._lock = threading.RLock()

    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a file (see `FileIO`)."""
        with self._lock:
            found = self._files.get(path)
        if found is None:
            raise FileNotFoundError(path)
        return found[0]

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Return a part of a file (see `FileIO`)."""
        return self.read_bytes(path)[offset : offset + length]

    def open_input(self, path: str) -> pa.NativeFile:
        """Return a seekable reader of a file (see `FileIO`)."""
        return pa.BufferReader(self.read_bytes(path))

    @contextmanager
    def open_output(self, path: str) -> Iterator[pa.NativeFile]:
        """Open a new file that appears when the context ends without an error."""
        sink = pa.BufferOutputStream()
        yield sink
        self.write_new(path, sink.getvalue().to_pybytes())

    def write_new(self, path: str, data: bytes) -> None:
        """Write a new file (see `FileIO`)."""
        if not self.create_exclusive(path, data):
            raise FileExistsError(path)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create a file unless it exists (see `FileIO`)."""
        with self._lock:
            if path in self._files:
                return False
            self._store(path, data)
            return True

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace a file (see `FileIO`)."""
        with self._lock:
            self._store(path, data)

    def list(self, path: str) -> list[FileStatus]:
        """Return the direct children of a directory (see `FileIO`)."""
        directory = path.rstrip("/")
        with self._lock:
            names = sorted(self._children.get(directory, ()))
            return [self._status(f"{directory}/{name}") for name in names]

    def list_tree(self, path: str) -> Sequence[FileStatus]:
        """Return all files below a directory (see `FileIO`)."""
        prefix = path.rstrip("/") + "/"
        with self._lock:
            return [self._status(name) for name in sorted(self._files) if name.startswith(prefix)]

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists (see `FileIO`)."""
        with self._lock:
            return path in self._files or path.rstrip("/") in self._children

    def has_directory(self, path: str) -> bool:
        """Return whether a directory exists (see `FileIO`)."""
        with self._lock:
            return path.rstrip("/") in self._children

    def size(self, path: str) -> int:
        """Return the size of a file in bytes (see `FileIO`)."""
        return len(self.read_bytes(path))

    def modified_ms(self, path: str) -> int | None:
        """Return the time of the last write of a file; None without a clock (see `FileIO`)."""
        with self._lock:
            found = self._files.get(path)
        if found is None:
            raise FileNotFoundError(path)
        return None if self._clock is None else found[1]

    def delete(self, path: str) -> bool:
        """Delete one file; return whether it existed (see `FileIO`)."""
        with self._lock:
            if self._files.pop(path, None) is None:
                return False
            self._forget(path)
            return True

    def delete_tree(self, path: str) -> None:
        """Delete a directory and everything in it (see `FileIO`)."""
        prefix = path.rstrip("/") + "/"
        with self._lock:
            for name in [name for name in self._files if name.startswith(prefix)]:
                self.delete(name)

    def sync_directory(self, path: str) -> None:
        """Do nothing: nothing in memory survives a power failure."""

    def probe_exclusive_create(self, directory: str) -> None:
        """Test that a second creation is refused (see `FileIO`)."""
        probe_exclusive_create(self, directory)

    def _status(self, path: str) -> FileStatus:
        data, modified_ms = self._files.get(path, (b"", 0))
        return FileStatus(
            path=path,
            size=len(data),
            modified_ms=modified_ms,
            is_directory=path in self._children,
        )

    def _store(self, path: str, data: bytes) -> None:
        self._files[path] = (bytes(data), (self._clock or _MACHINE).now_ms())
        while path:
            path, _, name = path.rpartition("/")
            self._children.setdefault(path, set()).add(name)

    def _forget(self, path: str) -> None:
        while path:
            path, _, name = path.rpartition("/")
            self._children[path].discard(name)
            if self._children[path]:
                return
            del self._children[path]
