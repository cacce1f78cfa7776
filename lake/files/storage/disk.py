"""The system calls of storage on a POSIX file system: a protocol, and their execution by this machine.

The state after a power failure depends on the system calls of `LocalFileIO` and on their order. So
these calls form a protocol, and tests replace the system's disk by a model of a disk.

The content of a file is durable after `sync`; the creation, replacement and removal of names in a directory is
durable after `sync_directory`. Before that nothing is durable: after a power failure a file may be absent,
empty or torn, and each change of a name may or may not have happened, in any combination.
"""

import errno
import itertools
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa

_REMOVALS_MAX: Final = 10
"""Attempts to remove a directory to which other processes write meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskEntry:
    """The system's information about one name.

    Attributes:
        name: Name within the directory.
        size: Bytes of a file.
        modified_ms: Milliseconds since the epoch.
        is_directory: True for a directory, and for a link to one.
        number: Number of the file or directory itself, which another one may get once it is removed.
    """

    name: str
    size: int
    modified_ms: int
    is_directory: bool
    number: int


class Disk(Protocol):
    """System calls by path and descriptor; every method raises `OSError` as the system does."""

    def read(self, path: str, offset: int = 0, length: int = -1) -> bytes:
        """Return `length` bytes of a file from the offset, or all from there if the length is negative."""
        ...

    def open_input(self, path: str) -> pa.NativeFile:
        """Return a seekable reader of a file."""
        ...

    def create(self, path: str) -> int:
        """Create a file that does not exist and return a descriptor to write it with."""
        ...

    def write(self, descriptor: int, data: memoryview) -> int:
        """Append to a created file and return the number of bytes that were written."""
        ...

    def open_output(self, path: str) -> pa.NativeFile:
        """Return a writer of a created file, from its start."""
        ...

    def sync(self, descriptor: int) -> None:
        """Make the content of a file durable, through whichever descriptor it was written."""
        ...

    def close(self, descriptor: int) -> None:
        """Close a descriptor; makes nothing durable."""
        ...

    def link(self, source: str, target: str) -> None:
        """Give a file a second name; FileExistsError if the name is taken."""
        ...

    def replace(self, source: str, target: str) -> None:
        """Rename a file, replacing the file that has the name."""
        ...

    def unlink(self, path: str) -> None:
        """Remove a name of a file."""
        ...

    def make_directory(self, path: str) -> None:
        """Create a directory whose parent exists."""
        ...

    def sync_directory(self, path: str) -> None:
        """Make the names in a directory durable, removals included."""
        ...

    def entry(self, path: str) -> DiskEntry:
        """Return the information about one path."""
        ...

    def entries(self, path: str) -> list[DiskEntry]:
        """Return the entries of a directory, in no particular order."""
        ...

    def remove_tree(self, path: str) -> None:
        """Remove a directory and all that is in it."""
        ...


class SystemDisk:
    """The file systems of this machine, network mounts included; without state."""

    def read(self, path: str, offset: int = 0, length: int = -1) -> bytes:
        """Return a part of a file (see `Disk`)."""
        with Path(path).open("rb") as file:
            if offset:
                file.seek(offset)
            return file.read(length)

    def open_input(self, path: str) -> pa.NativeFile:
        """Return a seekable reader of a file (see `Disk`)."""
        try:
            return pa.OSFile(path, "rb")
        except OSError as error:
            # Arrow refuses a directory without the system's number of the error.
            if error.errno is None and Path(path).is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path) from error
            raise

    def create(self, path: str) -> int:
        """Create a file (see `Disk`)."""
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)

    def write(self, descriptor: int, data: memoryview) -> int:
        """Append to a created file (see `Disk`)."""
        return os.write(descriptor, data)

    def open_output(self, path: str) -> pa.NativeFile:
        """Return a writer of a created file (see `Disk`)."""
        return pa.OSFile(path, "wb")

    def sync(self, descriptor: int) -> None:
        """Make the content of a file durable (see `Disk`)."""
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        """Close a descriptor (see `Disk`)."""
        os.close(descriptor)

    def link(self, source: str, target: str) -> None:
        """Give a file a second name (see `Disk`)."""
        os.link(source, target)

    def replace(self, source: str, target: str) -> None:
        """Rename a file (see `Disk`)."""
        Path(source).replace(target)

    def unlink(self, path: str) -> None:
        """Remove a name of a file (see `Disk`)."""
        Path(path).unlink()

    def make_directory(self, path: str) -> None:
        """Create a directory (see `Disk`)."""
        Path(path).mkdir()

    def sync_directory(self, path: str) -> None:
        """Make the names in a directory durable (see `Disk`)."""
        # fsync of a directory makes the names in it durable, which fsync of a file does not.
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def entry(self, path: str) -> DiskEntry:
        """Return the information about one path (see `Disk`)."""
        return _entry(Path(path).name, Path(path).stat())

    def entries(self, path: str) -> list[DiskEntry]:
        """Return the entries of a directory (see `Disk`)."""
        found = []
        with os.scandir(path) as listed:
            for entry in listed:
                # A file that vanishes between the listing and its `stat` counts as absent.
                try:
                    found.append(_entry(entry.name, entry.stat()))
                except FileNotFoundError:
                    continue
        return found

    def remove_tree(self, path: str) -> None:
        """Remove a directory and all that is in it (see `Disk`)."""
        for attempt in itertools.count(1):
            try:
                shutil.rmtree(path)
            except FileNotFoundError:
                # Another process removes the same directory. Each would leave what it has not reached.
                if not os.path.lexists(path):
                    raise
            except OSError as error:
                # Another process has just written to it.
                if error.errno != errno.ENOTEMPTY or attempt == _REMOVALS_MAX:
                    raise
            else:
                return


def _entry(name: str, status: os.stat_result) -> DiskEntry:
    is_directory = stat.S_ISDIR(status.st_mode)
    return DiskEntry(
        name=name,
        size=0 if is_directory else status.st_size,
        modified_ms=status.st_mtime_ns // 1_000_000,
        is_directory=is_directory,
        number=status.st_ino,
    )
