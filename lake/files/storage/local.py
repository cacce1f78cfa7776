"""Storage on a POSIX file system.

Exclusive creation is `link(2)`: a temporary file is written and synced, then linked to its name. The link fails
if the name exists, even if another process created it; this also holds on NFSv3 and later. A rename would replace
the existing file.

A power failure may undo everything that was not synced. Hence the order of every write:

1. a directory is made durable, by a sync of its parent, before anything is created in it. This
   holds also if another process has created the directory, because that process may have died
   before the sync. Existing parents that this process may not open are not synced;
2. the content is synced. A file that readers look for by its name (`create_exclusive`, `overwrite`)
   gets the name only afterwards, so a file of that name is never torn. A file with a unique name
   (`write_new`, `open_output`) has this name from the beginning, because nothing refers to the file
   before the call has returned;
3. the directory is synced before the call returns, so a reported file does not vanish.
"""

import contextlib
import errno
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Final

import pyarrow as pa

from braid.lake.errors import CorruptData, InvalidRequest, StorageUnavailable
from braid.lake.files.storage.disk import Disk, DiskEntry, SystemDisk
from braid.lake.files.storage.disk_hints import disk_hint
from braid.lake.files.storage.exclusive_probe import probe_exclusive_create
from braid.lake.files.storage.file_io import FileStatus

_NEVER_WORKS = frozenset({errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP})
"""Errors that concern the path itself; the same call fails every time."""


_NOT_OURS: Final = frozenset({errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSUP})
"""Errors of a directory that this process may pass through and not open, or whose file system syncs no directories."""

_DURABLE_MAX: Final = 10_000
"""Directories that are remembered, of about 200 bytes each; beyond that they are synced again."""


class LocalFileIO:
    """Files of this machine and its mounts; picklable. It remembers synced directories, up to a bound."""

    parallel_reads = 1

    def __init__(self, disk: Disk | None = None) -> None:
        """Create the storage.

        Args:
            disk: Executor of the system calls; None means those of this machine.
        """
        self._disk = disk or SystemDisk()
        self._durable = _OF_THIS_MACHINE if disk is None else _DurableDirectories()

    def __reduce__(self) -> tuple[type["LocalFileIO"], tuple[Disk | None]]:
        """Return what another process makes the storage of."""
        return LocalFileIO, (None if type(self._disk) is SystemDisk else self._disk,)

    @property
    def identity(self) -> str | None:
        """A value that all objects with the same files have in common; None if the files are this object's alone."""
        return "local" if type(self._disk) is SystemDisk else None

    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a file (see `FileIO`)."""
        with _read_errors(path):
            return self._disk.read(path)

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Return a part of a file (see `FileIO`)."""
        with _read_errors(path):
            return self._disk.read(path, offset, length)

    def open_input(self, path: str) -> pa.NativeFile:
        """Return a seekable reader of a file (see `FileIO`)."""
        with _read_errors(path):
            return self._disk.open_input(path)

    @contextmanager
    def open_output(self, path: str) -> Iterator[pa.NativeFile]:
        """Open a new file; durable at the end of the context, removed after an error."""
        with contextlib.ExitStack() as whole:
            with _write_errors(path):
                self._ensure_directory(_parent(path))
                descriptor = whole.enter_context(self._created(path))
            with contextlib.closing(self._disk.open_output(path)) as sink:
                yield sink
            # The sink is closed, so the system has all bytes; a sync through any descriptor of the file
            # covers them. An error from here on still removes the file (`_created`).
            with _write_errors(path):
                self._disk.sync(descriptor)
                self._disk.sync_directory(_parent(path))

    def write_new(self, path: str, data: bytes) -> None:
        """Write a new file, durable on return (see `FileIO`)."""
        with _write_errors(path):
            self._ensure_directory(_parent(path))
            self._write_synced(path, data)
            self._disk.sync_directory(_parent(path))

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create a file unless it exists (see `FileIO`)."""
        temporary = _temporary_path(path)
        with _write_errors(path):
            self._ensure_directory(_parent(path))
            if self._entry(path) is not None:
                # Most lost races are found out here, before anything is written.
                self._disk.sync_directory(_parent(path))
                return False
            try:
                # Synced before it is linked: a reader that finds the name finds the whole content.
                self._write_synced(temporary, data)
                try:
                    self._disk.link(temporary, path)
                except FileExistsError:
                    # The caller continues from the existing file. Synced, so that the file cannot vanish
                    # even if its creator died before it synced the directory.
                    self._disk.sync_directory(_parent(path))
                    return False
            finally:
                # Removed before the last sync, which makes both the new name and the removal durable.
                self._unlink_if_exists(temporary)
            self._disk.sync_directory(_parent(path))
            return True

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace a file atomically (see `FileIO`)."""
        temporary = _temporary_path(path)
        with _write_errors(path):
            self._ensure_directory(_parent(path))
            try:
                # Synced before it is renamed: a rename can become durable before unsynced content does,
                # and would leave an empty file in place of the old one.
                self._write_synced(temporary, data)
                self._disk.replace(temporary, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    self._disk.unlink(temporary)
                raise
            self._disk.sync_directory(_parent(path))

    def list(self, path: str) -> list[FileStatus]:
        """Return the direct children of a directory (see `FileIO`)."""
        found: list[DiskEntry] = []
        with _storage_errors(path), contextlib.suppress(FileNotFoundError):
            found = self._disk.entries(path)
        return [
            FileStatus(
                path=f"{path.rstrip('/')}/{entry.name}",
                size=entry.size,
                modified_ms=entry.modified_ms,
                is_directory=entry.is_directory,
            )
            for entry in sorted(found, key=lambda entry: entry.name)
        ]

    def list_tree(self, path: str) -> Sequence[FileStatus]:
        """Return all files below a directory (see `FileIO`)."""
        found: list[FileStatus] = []
        directories = [path]
        while directories:
            for entry in self.list(directories.pop()):
                if entry.is_directory:
                    directories.append(entry.path)
                else:
                    found.append(entry)
        return sorted(found, key=lambda entry: entry.path)

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists (see `FileIO`)."""
        with _storage_errors(path):
            return self._entry(path) is not None

    def has_directory(self, path: str) -> bool:
        """Return whether a directory exists (see `FileIO`)."""
        with _storage_errors(path):
            return self._is_directory(path)

    def size(self, path: str) -> int:
        """Return the size of a file in bytes (see `FileIO`)."""
        with _storage_errors(path):
            return self._disk.entry(path).size

    def modified_ms(self, path: str) -> int | None:
        """Return the time of the last write of a file (see `FileIO`)."""
        with _storage_errors(path):
            return self._disk.entry(path).modified_ms

    def delete(self, path: str) -> bool:
        """Delete one file; return whether it existed (see `FileIO`)."""
        with _storage_errors(path):
            return self._unlink_if_exists(path)

    def delete_tree(self, path: str) -> None:
        """Delete a directory and everything in it (see `FileIO`)."""
        with _storage_errors(path), contextlib.suppress(FileNotFoundError):
            self._disk.remove_tree(path)

    def sync_directory(self, path: str) -> None:
        """Make deletions from a directory durable (see `FileIO`)."""
        with _storage_errors(path), contextlib.suppress(FileNotFoundError):
            self._disk.sync_directory(path)

    def probe_exclusive_create(self, directory: str) -> None:
        """Test that a second creation is refused (see `FileIO`)."""
        probe_exclusive_create(self, directory)

    def _write_synced(self, path: str, data: bytes) -> None:
        with self._created(path) as descriptor:
            view = memoryview(data)
            while view:
                # write(2) may take fewer bytes than it is given.
                view = view[self._disk.write(descriptor, view) :]
            self._disk.sync(descriptor)

    @contextmanager
    def _created(self, path: str) -> Iterator[int]:
        """Create a file and yield its descriptor; remove the file after an error."""
        descriptor = self._disk.create(path)
        try:
            yield descriptor
        except BaseException:
            # A partial file must not stay, whatever the cause. Only the first error is reported.
            with contextlib.suppress(OSError):
                self._disk.unlink(path)
            raise
        finally:
            self._disk.close(descriptor)

    def _ensure_directory(self, path: str) -> None:
        """Create a directory and its parents, and make their names durable."""
        entry = self._entry(path)
        if entry is not None and not entry.is_directory:
            return
        if entry is not None and self._durable.has(path, entry.number):
            return
        parent = _parent(path)
        if parent == path:
            return
        self._ensure_directory(parent)
        if entry is None:
            # Another process may create the directory at the same time.
            with contextlib.suppress(FileExistsError):
                self._disk.make_directory(path)
            self._disk.sync_directory(parent)
        else:
            # The name is synced here too, because its creator may have died before it did so.
            self._sync_above(parent)
        entry = entry or self._entry(path)
        if entry is not None:
            self._durable.add(path, entry.number)

    def _sync_above(self, path: str) -> None:
        """Make the names in a directory durable that may be above the warehouse, and not for this process to open."""
        try:
            self._disk.sync_directory(path)
        except OSError as error:
            if error.errno not in _NOT_OURS:
                raise

    def _unlink_if_exists(self, path: str) -> bool:
        try:
            self._disk.unlink(path)
        except FileNotFoundError:
            return False
        return True

    def _is_directory(self, path: str) -> bool:
        entry = self._entry(path)
        return entry is not None and entry.is_directory

    def _entry(self, path: str) -> DiskEntry | None:
        try:
            return self._disk.entry(path)
        except (FileNotFoundError, NotADirectoryError):
            return None


class _DurableDirectories:
    """Directories whose names this process has made durable, by path and number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def has(self, path: str, number: int) -> bool:
        return self._numbers.get(path) == number

    def add(self, path: str, number: int) -> None:
        if len(self._numbers) >= _DURABLE_MAX:
            self._numbers.clear()
        self._numbers[path] = number


_OF_THIS_MACHINE: Final = _DurableDirectories()


@contextmanager
def _storage_errors(path: str) -> Iterator[None]:
    """Let FileNotFoundError and FileExistsError pass, translate every other error of the system."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except ValueError as error:
        message = f"storage does not support the path {path!r}: {error}"
        raise InvalidRequest(message) from error
    except OSError as error:
        reason = errno.errorcode.get(error.errno or 0, "unknown")
        if error.errno in _NEVER_WORKS:
            message = f"storage does not support the path {path}: {error.strerror} ({reason})"
            raise InvalidRequest(message) from error
        what = f"storage failed at {path}: {error.strerror or error} ({reason})"
        message = f"{what}{disk_hint(error)}"
        raise StorageUnavailable(message) from error


@contextmanager
def _read_errors(path: str) -> Iterator[None]:
    """Translate every error of the system as `_storage_errors`, and that of a directory in a file's place.

    It is damage of that one file, which waiting does not mend: the rest of storage answers.
    """
    with _storage_errors(path):
        try:
            yield
        except IsADirectoryError as error:
            message = f"{path}: there is a directory in the place of the file"
            raise CorruptData(message) from error


@contextmanager
def _write_errors(path: str) -> Iterator[None]:
    """Translate every error of the system except FileExistsError, FileNotFoundError included.

    Directories are created as needed. So a missing directory is one that cannot be created, or that another
    process has just removed.
    """
    with _storage_errors(path):
        try:
            yield
        except FileNotFoundError as error:
            message = f"storage failed at {path}: its directory cannot be created, or was removed (ENOENT)"
            raise StorageUnavailable(message) from error


def _parent(path: str) -> str:
    return str(PurePosixPath(path).parent)


def _temporary_path(path: str) -> str:
    """Return a path beside `path` that no listing mistakes for a snapshot or schema."""
    name = PurePosixPath(path).name
    return f"{_parent(path)}/.{name}.{uuid.uuid4()}.tmp"
