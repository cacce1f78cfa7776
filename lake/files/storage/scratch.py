"""Scratch directories for temporary local files of one process; free bytes of temporary storage.

```
<base>/<name>-<user id>/<uuid>.lock    locked by the process that owns the directory
                        <uuid>/        its files
                        <n>.making     locked by a process that makes a shared file
```

A directory is removed by `close`, when its object is garbage collected, or at the end of the
process. The system releases the lock of a process that ends, however it ends. So before a process
creates a directory, it removes the directories beside it whose lock is free.

Processes share a file by hard links: each has one in its own directory, under the same name. So a shared file takes
its space once, and exists until the last process has removed its link or ended. It gets its name when it is complete.
"""

import contextlib
import ctypes
import fcntl
import itertools
import mmap
import os
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa

from braid.lake.errors import StorageUnavailable
from braid.lake.files.storage.disk_hints import disk_hint

_LOCK_SUFFIX = ".lock"
_PAGE_BYTES = 4_096
_MAKING_LOCKS = 256
"""Locks of shared files that are made, which are never removed: two names may have the same one, and then wait."""


class ScratchDirectory:
    """A directory of one process; safe to share between its threads.

    Files in it have unique names and are never changed. A file that is removed while it is mapped stays
    readable through the mapping.
    """

    def __init__(self, base: str | None = None, *, name: str = "braid") -> None:
        """Create the directory, and remove those of processes that have ended.

        Args:
            base: An existing local directory; None means the system's directory for temporary files.
            name: Name of the directory in `base` that all processes of the user share.

        Raises:
            StorageUnavailable: The file system refuses.
        """
        # The user's id separates users who share a machine's temporary directory.
        shared = Path(base or tempfile.gettempdir()) / f"{name}-{os.getuid()}"
        self._numbers = itertools.count()
        try:
            shared.mkdir(mode=0o700, parents=True, exist_ok=True)
            remove_abandoned(shared)
            lock, self._path = _claim(shared)
        except OSError as error:
            what = f"cannot create a directory for temporary files in {shared}: {error}"
            message = f"{what}{disk_hint(error)}"
            raise StorageUnavailable(message) from error
        self._release = weakref.finalize(self, _release, self._path, lock, os.getpid())

    @property
    def path(self) -> str:
        """Path of the directory."""
        return str(self._path)

    def new_path(self, suffix: str) -> str:
        """Return a path in the directory that no other call has returned."""
        # A forked process continues with the same counter, in the same directory.
        return str(self._path / f"{os.getpid()}-{next(self._numbers)}{suffix}")

    @contextlib.contextmanager
    def new_file(self, path: str) -> Iterator[pa.NativeFile]:
        """Open a file for writing, at a path from `new_path`; not synced.

        Raises:
            StorageUnavailable: The disk refuses; most likely it is full.
        """
        with _disk_errors(path), pa.OSFile(path, "wb") as sink:
            yield sink

    def mapped(self, path: str) -> pa.Buffer:
        """Return the content of a file, mapped into memory.

        All pages are touched once, in order. That takes a hundredth of the time of loading them one by one
        while scattered rows are read, and other threads run meanwhile. Pages that are dropped for want of memory are
        loaded again one by one: each with its neighbours would drop as many others that are needed.

        Raises:
            StorageUnavailable: The disk refuses.
        """
        with _disk_errors(path):
            content = pa.memory_map(path, "r").read_buffer()
        np.frombuffer(content, np.uint8)[::_PAGE_BYTES].max(initial=0)
        _advise_random(content)
        return content

    @contextlib.contextmanager
    def made_by_one(self, name: str) -> Iterator[str | None]:
        """Look for a shared file, and let no other thread or process make it meanwhile.

        Args:
            name: Name of the file, which says all about its content.

        Yields:
            The path of the file here; None if no process has it: make it, and call `share`.

        Raises:
            StorageUnavailable: The file system refuses.
        """
        lock_path = self._path.parent / f"{zlib.crc32(name.encode()) % _MAKING_LOCKS}.making"
        with _disk_errors(str(lock_path)):
            descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with _disk_errors(str(lock_path)):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield self._linked(name)
        finally:
            os.close(descriptor)

    def share(self, path: str, name: str) -> str:
        """Give a file, which is complete, the name under which other processes find it; return its new path."""
        shared = self._path / name
        with _disk_errors(path):
            Path(path).rename(shared)
        return str(shared)

    def _linked(self, name: str) -> str | None:
        """Return the path of a shared file in this directory, None if no process has it."""
        here = self._path / name
        for path in self._path.parent.glob(f"*/{name}"):
            if path == here:
                return str(here)  # left by a process that was forked from this one
            # Its process may remove it at any time; and not all file systems have hard links.
            with contextlib.suppress(OSError):
                here.hardlink_to(path)
                return str(here)
        return None

    def remove(self, path: str) -> None:
        """Remove a file, if it exists."""
        with contextlib.suppress(OSError):
            Path(path).unlink()

    def close(self) -> None:
        """Remove the directory; may be called twice.

        The directory is also removed when this object is garbage collected, and when the process ends.
        """
        self._release()


def free_bytes(base: str | None = None) -> int:
    """Return the number of free bytes of the file system of temporary files.

    Raises:
        StorageUnavailable: The file system refuses.
    """
    path = base or tempfile.gettempdir()
    with _disk_errors(path):
        return shutil.disk_usage(path).free


def _advise_random(content: pa.Buffer) -> None:
    """Tell the system that a mapped file is read in no order; ignored by systems that cannot be told."""
    # By the C library: a mapping of the module `mmap`, which has this function, would keep a file descriptor.
    madvise = getattr(ctypes.CDLL(None), "madvise", None)
    if madvise is not None and content.size:
        madvise(ctypes.c_void_p(content.address), ctypes.c_size_t(content.size), mmap.MADV_RANDOM)


def _release(path: Path, lock: int, owner: int) -> None:
    # A forked process has a copy of the object, but does not own the directory.
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
        with contextlib.suppress(OSError):
            path.with_suffix(_LOCK_SUFFIX).unlink()
    os.close(lock)


@contextlib.contextmanager
def _disk_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"cannot keep a temporary file at {path}: {error}{disk_hint(error)}"
        raise StorageUnavailable(message) from error


def remove_abandoned(shared: Path) -> None:
    """Remove the directories in `shared` whose process has ended."""
    for lock_path in shared.glob(f"*{_LOCK_SUFFIX}"):
        with contextlib.suppress(OSError):
            descriptor = os.open(lock_path, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock_path.with_suffix(""), ignore_errors=True)
                lock_path.unlink()
            finally:
                os.close(descriptor)


def _claim(shared: Path) -> tuple[int, Path]:
    """Return the descriptor of a held lock, and the directory that it protects."""
    while True:
        path = shared / uuid4().hex
        lock_path = path.with_suffix(_LOCK_SUFFIX)
        descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Between creating and locking the file, another process may have found it unlocked and removed it.
        if lock_path.exists():
            path.mkdir()
            return descriptor, path
        os.close(descriptor)
