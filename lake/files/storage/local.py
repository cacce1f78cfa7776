"""Storage on a POSIX file system.

Exclusive creation is `link(2)`: a temporary file is written and synced, then linked to its name,
which fails when the name exists, between processes and over NFSv3 and later. Renaming is never
used for it, because rename replaces.

A power failure takes what was not synced, so every file is synced before its name is given, the
directory before anybody is told that the file is there, and each new directory in its parent.
"""

import contextlib
import errno
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

import pyarrow as pa

from lake.errors import InvalidRequest, StorageUnavailable
from lake.files.storage.disk import Disk, DiskEntry, SystemDisk
from lake.files.storage.exclusive_probe import probe_exclusive_create
from lake.files.storage.file_io import FileStatus

_NEVER_WORKS = frozenset({errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP})
"""What the system says about a path itself; the same call fails for ever."""


class LocalFileIO:
    """Files of this machine, or of whatever it has mounted; picklable, without state."""

    parallel_reads = 1

    def __init__(self, disk: Disk | None = None) -> None:
        """Make storage.

        Args:
            disk: Makes the system calls; None: those of this machine.
        """
        self._disk = disk or SystemDisk()

    @property
    def identity(self) -> str | None:
        """What tells these files from those of other storage; None: nobody else sees them."""
        return "local" if type(self._disk) is SystemDisk else None

    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a file (see `FileIO`)."""
        with _storage_errors(path):
            return self._disk.read(path)

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Return a part of a file (see `FileIO`)."""
        with _storage_errors(path):
            return self._disk.read(path, offset, length)

    def open_input(self, path: str) -> pa.NativeFile:
        """Return a seekable reader of a file (see `FileIO`)."""
        with _storage_errors(path):
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
            try:
                self._write_synced(temporary, data)
                try:
                    self._disk.link(temporary, path)
                except FileExistsError:
                    # Whoever goes on from what is there must not lose it, even if the one who
                    # created it died before the directory was synced.
                    self._disk.sync_directory(_parent(path))
                    return False
            finally:
                self._unlink_if_there(temporary)
            self._disk.sync_directory(_parent(path))
            return True

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace a file atomically (see `FileIO`)."""
        temporary = _temporary_path(path)
        with _write_errors(path):
            self._ensure_directory(_parent(path))
            try:
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

    def exists(self, path: str) -> bool:
        """Return whether a file or a directory is there (see `FileIO`)."""
        with _storage_errors(path):
            return self._entry(path) is not None

    def has_directory(self, path: str) -> bool:
        """Return whether there is a directory (see `FileIO`)."""
        with _storage_errors(path):
            return self._is_directory(path)

    def size(self, path: str) -> int:
        """Return the bytes of a file (see `FileIO`)."""
        with _storage_errors(path):
            return self._disk.entry(path).size

    def modified_ms(self, path: str) -> int | None:
        """Return when a file was last written (see `FileIO`)."""
        with _storage_errors(path):
            return self._disk.entry(path).modified_ms

    def delete(self, path: str) -> bool:
        """Delete one file; return whether it was there."""
        with _storage_errors(path):
            return self._unlink_if_there(path)

    def delete_tree(self, path: str) -> None:
        """Delete a directory and all that is in it."""
        with _storage_errors(path), contextlib.suppress(FileNotFoundError):
            self._disk.remove_tree(path)

    def sync_directory(self, path: str) -> None:
        """Make removals from a directory durable (see `FileIO`)."""
        with _storage_errors(path), contextlib.suppress(FileNotFoundError):
            self._disk.sync_directory(path)

    def probe_exclusive_create(self, directory: str) -> None:
        """Try on the spot whether a second creation is refused (see `FileIO`)."""
        probe_exclusive_create(self, directory)

    def _write_synced(self, path: str, data: bytes) -> None:
        with self._created(path) as descriptor:
            view = memoryview(data)
            while view:
                view = view[self._disk.write(descriptor, view) :]
            self._disk.sync(descriptor)

    @contextmanager
    def _created(self, path: str) -> Iterator[int]:
        """Create a file and give its descriptor; remove the file after an error."""
        descriptor = self._disk.create(path)
        try:
            yield descriptor
        except BaseException:
            # Whatever went wrong, half a file must not stay; the first error is the one to report.
            with contextlib.suppress(OSError):
                self._disk.unlink(path)
            raise
        finally:
            self._disk.close(descriptor)

    def _ensure_directory(self, path: str) -> None:
        """Create a directory and its parents, and make their names durable."""
        if self._is_directory(path):
            return
        parent = _parent(path)
        if parent != path:
            self._ensure_directory(parent)
        with contextlib.suppress(FileExistsError):
            self._disk.make_directory(path)
        self._disk.sync_directory(parent)

    def _unlink_if_there(self, path: str) -> bool:
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


@contextmanager
def _storage_errors(path: str) -> Iterator[None]:
    """Let absence and collision through, turn every other error of the system into ours."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except ValueError as error:
        message = f"storage cannot have a path such as {path!r}: {error}"
        raise InvalidRequest(message) from error
    except OSError as error:
        reason = errno.errorcode.get(error.errno or 0, "unknown")
        if error.errno in _NEVER_WORKS:
            message = f"storage cannot have the path {path}: {error.strerror} ({reason})"
            raise InvalidRequest(message) from error
        message = f"storage failed at {path}: {error.strerror or error} ({reason})"
        raise StorageUnavailable(message) from error


@contextmanager
def _write_errors(path: str) -> Iterator[None]:
    """Turn every error of the system but a collision into ours; absence as well.

    Folders are made as they are needed: where one is absent all the same, it cannot be made, or
    somebody has just removed it.
    """
    with _storage_errors(path):
        try:
            yield
        except FileNotFoundError as error:
            message = f"storage failed at {path}: its folder cannot be made, or is gone (ENOENT)"
            raise StorageUnavailable(message) from error


def _parent(path: str) -> str:
    return str(PurePosixPath(path).parent)


def _temporary_path(path: str) -> str:
    """Return a path beside `path` that no listing of snapshots or schemas takes for one."""
    name = PurePosixPath(path).name
    return f"{_parent(path)}/.{name}.{uuid.uuid4()}.tmp"
