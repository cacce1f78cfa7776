"""Storage on a POSIX file system.

Exclusive creation is `link(2)`: a temporary file is written and synced, then linked to its name,
which fails when the name exists, between processes and over NFSv3 and later. Renaming is never
used for it, because rename replaces.
"""

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from lake.errors import InvalidRequest, StorageUnavailable
from lake.files.exclusive_probe import probe_exclusive_create
from lake.files.file_io import FileStatus

_NEVER_WORKS = frozenset({errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP})
"""What the system says about a path itself; the same call fails for ever."""


class LocalFileIO:
    """Files of this machine, or of whatever it has mounted; picklable, without state."""

    reads_at_once = 1

    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a file (see `FileIO`)."""
        with _storage_errors(path):
            return Path(path).read_bytes()

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Return a part of a file (see `FileIO`)."""
        with _storage_errors(path), Path(path).open("rb") as file:
            file.seek(offset)
            return file.read(length)

    def open_input(self, path: str) -> pa.NativeFile:
        """Return a seekable reader of a file (see `FileIO`)."""
        with _storage_errors(path):
            return pa.OSFile(path, "rb")

    @contextmanager
    def open_output(self, path: str) -> Iterator[pa.NativeFile]:
        """Open a new file; durable at the end of the context, removed after an error."""
        with _storage_errors(path):
            _ensure_directory(Path(path).parent)
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        try:
            with contextlib.closing(pa.OSFile(path, "wb")) as sink:
                yield sink
            with _storage_errors(path):
                os.fsync(descriptor)
                _sync_directory(Path(path).parent)
        except BaseException:
            # Whatever went wrong, half a file must not stay; the first error is the one to report.
            with contextlib.suppress(OSError):
                Path(path).unlink()
            raise
        finally:
            os.close(descriptor)

    def write_new(self, path: str, data: bytes) -> None:
        """Write a new file, durable on return (see `FileIO`)."""
        with _storage_errors(path):
            _ensure_directory(Path(path).parent)
            _write_synced(Path(path), data)
            _sync_directory(Path(path).parent)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create a file unless it exists (see `FileIO`)."""
        temporary = _temporary_name(path)
        with _storage_errors(path):
            _ensure_directory(Path(path).parent)
            try:
                _write_synced(temporary, data)
                try:
                    os.link(temporary, path)
                except FileExistsError:
                    return False
            finally:
                temporary.unlink(missing_ok=True)
            _sync_directory(Path(path).parent)
            return True

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace a file atomically (see `FileIO`).

        Not synced: these files are hints and progress, and whoever reads one after a crash of the
        machine copes with an old or empty one.
        """
        temporary = _temporary_name(path)
        with _storage_errors(path):
            _ensure_directory(Path(path).parent)
            try:
                temporary.write_bytes(data)
                temporary.replace(path)
            except BaseException:
                with contextlib.suppress(OSError):
                    temporary.unlink()
                raise

    def list(self, path: str) -> list[FileStatus]:
        """Return the direct children of a directory (see `FileIO`)."""
        found = []
        with _storage_errors(path), contextlib.suppress(FileNotFoundError), os.scandir(path) as it:
            for entry in it:
                # A file may vanish between the listing and the look at it: then it is not there.
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat()
                    found.append(
                        FileStatus(
                            path=f"{path.rstrip('/')}/{entry.name}",
                            size=0 if entry.is_dir() else status.st_size,
                            modified_ms=status.st_mtime_ns // 1_000_000,
                            is_directory=entry.is_dir(),
                        )
                    )
        return sorted(found, key=lambda status: status.path)

    def exists(self, path: str) -> bool:
        """Return whether a file or a directory is there (see `FileIO`)."""
        with _storage_errors(path):
            try:
                Path(path).stat()
            except (FileNotFoundError, NotADirectoryError):
                return False
            return True

    def has_directory(self, path: str) -> bool:
        """Return whether there is a directory (see `FileIO`)."""
        with _storage_errors(path):
            return Path(path).is_dir()

    def size(self, path: str) -> int:
        """Return the bytes of a file (see `FileIO`)."""
        with _storage_errors(path):
            return Path(path).stat().st_size

    def delete(self, path: str) -> bool:
        """Delete one file; return whether it was there."""
        with _storage_errors(path):
            try:
                Path(path).unlink()
            except FileNotFoundError:
                return False
            return True

    def delete_tree(self, path: str) -> None:
        """Delete a directory and all that is in it."""
        with _storage_errors(path), contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path)

    def probe_exclusive_create(self, directory: str) -> None:
        """Try on the spot whether a second creation is refused (see `FileIO`)."""
        probe_exclusive_create(self, directory)


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


def _temporary_name(path: str) -> Path:
    """Return a name beside `path` that no listing of snapshots or schemas takes for one."""
    target = Path(path)
    return target.parent / f".{target.name}.{uuid.uuid4()}.tmp"


def _write_synced(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    finally:
        os.close(descriptor)


def _ensure_directory(path: Path) -> None:
    """Create a directory and its parents, and make each new name durable."""
    if path.is_dir():
        return
    if path.parent != path:
        _ensure_directory(path.parent)
    with contextlib.suppress(FileExistsError):
        path.mkdir()
    _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
