"""The system calls that storage on a POSIX file system is made of.

A seam below `LocalFileIO`: what survives a power failure depends on which calls are made and in which
order, so tests put a model of a disk in the place of the system's.

Of a file, what has been written is durable after `sync`; of a directory, the names that were given,
replaced and removed in it are durable after `sync_directory`. Nothing is durable before.
"""

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskEntry:
    """What the system says about one name.

    Attributes:
        name: Within its directory.
        size: Bytes of a file.
        modified_ms: Milliseconds since the epoch.
        is_directory: True for a directory, and for a link to one.
    """

    name: str
    size: int
    modified_ms: int
    is_directory: bool


class Disk(Protocol):
    """System calls by path and descriptor; every method raises `OSError` as the system does."""

    def read(self, path: str, offset: int = 0, length: int = -1) -> bytes:
        """Return a part of a file; all from the offset where the length is negative."""
        ...

    def open_input(self, path: str) -> pa.NativeFile:
        """Return a seekable reader of a file."""
        ...

    def create(self, path: str) -> int:
        """Create a file that is not there yet and return a descriptor to write it with."""
        ...

    def write(self, descriptor: int, data: memoryview) -> int:
        """Append to a created file and return how many bytes were taken."""
        ...

    def open_output(self, path: str) -> pa.NativeFile:
        """Return a writer of a created file, from its start."""
        ...

    def sync(self, descriptor: int) -> None:
        """Make the content of a file durable, whoever has written it."""
        ...

    def close(self, descriptor: int) -> None:
        """Close a descriptor; makes nothing durable."""
        ...

    def link(self, source: str, target: str) -> None:
        """Give a file a second name, unless there is a file of that name."""
        ...

    def replace(self, source: str, target: str) -> None:
        """Rename a file, in the place of whatever had the name."""
        ...

    def unlink(self, path: str) -> None:
        """Remove a name of a file."""
        ...

    def make_directory(self, path: str) -> None:
        """Create a directory whose parent exists."""
        ...

    def sync_directory(self, path: str) -> None:
        """Make the names in a directory durable, those that are gone too."""
        ...

    def entry(self, path: str) -> DiskEntry:
        """Return what the system says about one path."""
        ...

    def entries(self, path: str) -> list[DiskEntry]:
        """Return what a directory holds, in no particular order."""
        ...

    def remove_tree(self, path: str) -> None:
        """Remove a directory and all that is in it."""
        ...


class SystemDisk:
    """The disks of this machine, and whatever it has mounted; without state."""

    def read(self, path: str, offset: int = 0, length: int = -1) -> bytes:
        """Return a part of a file (see `Disk`)."""
        with Path(path).open("rb") as file:
            if offset:
                file.seek(offset)
            return file.read(length)

    def open_input(self, path: str) -> pa.NativeFile:
        """Return a seekable reader of a file (see `Disk`)."""
        return pa.OSFile(path, "rb")

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
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def entry(self, path: str) -> DiskEntry:
        """Return what the system says about one path (see `Disk`)."""
        return _entry(Path(path).name, Path(path).stat())

    def entries(self, path: str) -> list[DiskEntry]:
        """Return what a directory holds (see `Disk`)."""
        found = []
        with os.scandir(path) as listed:
            for entry in listed:
                # A file may vanish between the listing and the look at it: then it is not there.
                try:
                    found.append(_entry(entry.name, entry.stat()))
                except FileNotFoundError:
                    continue
        return found

    def remove_tree(self, path: str) -> None:
        """Remove a directory and all that is in it (see `Disk`)."""
        shutil.rmtree(path)


def _entry(name: str, status: os.stat_result) -> DiskEntry:
    is_directory = stat.S_ISDIR(status.st_mode)
    return DiskEntry(
        name=name,
        size=0 if is_directory else status.st_size,
        modified_ms=status.st_mtime_ns // 1_000_000,
        is_directory=is_directory,
    )
