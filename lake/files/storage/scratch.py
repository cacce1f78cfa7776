"""Files of this machine that live as long as a process: copies that can be made again.

```
<base>/<name>.lock    held locked by the process that owns the directory
       <name>/        its files
```

The system gives a lock back when a process ends, however it ends. So whoever makes a directory looks
at its neighbours first, and removes those whose lock is free.
"""

import contextlib
import fcntl
import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa

from lake.errors import StorageUnavailable

_LOCK_SUFFIX = ".lock"
_PAGE_BYTES = 4_096


class ScratchDirectory:
    """A directory of one process; safe to share between its threads.

    Files in it are named once and never changed. A file that is removed while it is mapped stays
    readable where it is mapped.
    """

    def __init__(self, base: str | None = None, *, name: str = "braid") -> None:
        """Make the directory, and remove those of processes that are gone.

        Args:
            base: An existing directory of this machine; the system's for temporary files when None.
            name: Of the directory in it that all processes of the user share.

        Raises:
            StorageUnavailable: The file system refuses.
        """
        # The user's number keeps people apart who share a machine's temporary directory.
        shared = Path(base or tempfile.gettempdir()) / f"{name}-{os.getuid()}"
        self._numbers = itertools.count()
        try:
            shared.mkdir(mode=0o700, parents=True, exist_ok=True)
            remove_abandoned(shared)
            lock, self._path = _claim(shared)
        except OSError as error:
            message = f"cannot make a directory for temporary files in {shared}: {error}"
            raise StorageUnavailable(message) from error
        self._give_back = weakref.finalize(self, _give_back, self._path, lock, os.getpid())

    @property
    def path(self) -> str:
        """The directory."""
        return str(self._path)

    def new_path(self, suffix: str) -> str:
        """Return a path in the directory that nobody was given before."""
        # A forked process has the same numbers, and the same directory.
        return str(self._path / f"{os.getpid()}-{next(self._numbers)}{suffix}")

    @contextlib.contextmanager
    def new_file(self, path: str) -> Iterator[pa.NativeFile]:
        """Open a file for writing, at a path that `new_path` gave; not synced.

        Raises:
            StorageUnavailable: The disk refuses; most likely it is full.
        """
        with _disk_errors(path), pa.OSFile(path, "wb") as sink:
            yield sink

    def mapped(self, path: str) -> pa.Buffer:
        """Return the content of a file, mapped.

        All its pages are looked at once, which takes a hundredth of what it takes to meet them
        one by one when rows here and there are read; other threads go on meanwhile.

        Raises:
            StorageUnavailable: The disk refuses.
        """
        with _disk_errors(path):
            content = pa.memory_map(path, "r").read_buffer()
        np.frombuffer(content, np.uint8)[::_PAGE_BYTES].max(initial=0)
        return content

    def remove(self, path: str) -> None:
        """Remove a file; it may be gone already."""
        with contextlib.suppress(OSError):
            Path(path).unlink()

    def close(self) -> None:
        """Remove the directory; it may be called twice.

        Happens by itself when nobody has this object any more, and when the process ends.
        """
        self._give_back()


def free_bytes(base: str | None = None) -> int:
    """Return how much more the file system holds where temporary files are kept.

    Raises:
        StorageUnavailable: The file system refuses.
    """
    path = base or tempfile.gettempdir()
    with _disk_errors(path):
        return shutil.disk_usage(path).free


def _give_back(path: Path, lock: int, owner: int) -> None:
    # A forked process has the same object, but not the directory.
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
        message = f"cannot keep a temporary file at {path}: {error}"
        raise StorageUnavailable(message) from error


def remove_abandoned(shared: Path) -> None:
    """Remove the directories in `shared` whose process is gone."""
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
    """Return the descriptor of a lock that is held, and the directory it stands for."""
    while True:
        path = shared / uuid4().hex
        lock_path = path.with_suffix(_LOCK_SUFFIX)
        descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Between the two calls somebody may have taken it for abandoned, and removed it.
        if lock_path.exists():
            path.mkdir()
            return descriptor, path
        os.close(descriptor)
