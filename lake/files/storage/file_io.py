"""The protocol of storage: `FileIO`.

Paths are absolute strings with `/` between their parts: `/data/warehouse/…` on a disk,
`s3://bucket/warehouse/…` on an object store. Directories are created when a file is written into them.
Two kinds of file exist. *Immutable* files are written once, either under a name that no other writer uses
(`write_new`, `open_output`) or under a name for which writers compete and one wins (`create_exclusive`).
*Replaceable* files (`overwrite`), such as hints, leases and progress documents, are written repeatedly.

Writes are durable on return, or at the end of the context of `open_output`. Deletions are durable after
`sync_directory`; before that, a power failure may undo some of them. Storage in memory is never durable.

Errors of every method:

- `FileNotFoundError` and `FileExistsError` where documented;
- `InvalidRequest` for a path that storage does not support, or whose bucket does not exist;
- `CorruptData` if `read_bytes` or `read_range` finds a directory on a disk;
- `StorageUnavailable` for other failures of storage, after which a write may or may not have
  happened.

Reads and writes of files that `open_input` and `open_output` return may also raise the system's
`OSError`.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from braid.lake.files.storage.positioned_input import InputFile


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """One entry of a directory.

    Attributes:
        path: Absolute path.
        size: Bytes; 0 for a directory.
        modified_ms: Milliseconds since the epoch, by storage's clock.
        is_directory: True for a directory.
    """

    path: str
    size: int
    modified_ms: int
    is_directory: bool

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rsplit("/", 1)[-1]


class FileIO(Protocol):
    """Storage of files: local disk, memory, object stores.

    Attributes:
        parallel_reads: Number of small reads that are worth running concurrently; 1 where the latency
            of storage is negligible.
    """

    @property
    def parallel_reads(self) -> int:
        """Number of small reads that are worth running concurrently."""
        ...

    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a file.

        Raises:
            FileNotFoundError: No such file.
        """
        ...

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`; fewer if the file ends before that.

        Raises:
            FileNotFoundError: No such file.
        """
        ...

    def open_input(self, path: str) -> InputFile:
        """Return a seekable file to read; the caller closes it.

        Raises:
            FileNotFoundError: No such file.
        """
        ...

    def open_output(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        """Open a new file for writing.

        When the context ends without an error the file is durable; when it ends with one the file
        is removed.

        Requires:
            No other writer uses the name.

        Raises:
            FileExistsError: A file has the name already; a large file on an object store replaces it.
        """
        ...

    def write_new(self, path: str, data: bytes) -> None:
        """Write a new file, durable on return.

        Requires:
            No other writer uses the name.

        Raises:
            FileExistsError: A file has the name already; on an object store, one with other content.
        """
        ...

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create a file that exactly one of any number of callers can create.

        Readers see the whole file or none. Never replaces anything.

        Returns:
            True if this call created the file, which is durable then. False if the file existed. On a
            store that repeats requests by itself, this same call may have created the existing file, so
            the caller compares the content.
        """
        ...

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace a file atomically, durable on return.

        For files that one owner writes repeatedly: hints, leases, progress documents.
        """
        ...

    def list(self, path: str) -> list[FileStatus]:
        """Return the direct children of a directory in the order of their names; [] when absent.

        Each file that is created or deleted while the listing runs is in it or not, whatever became of others
        at that time: the second of two new files may be listed without the first.
        """
        ...

    def list_tree(self, path: str) -> Sequence[FileStatus]:
        """Return all files below a directory, whatever their depth, in the order of their paths; [] when absent.

        An object store answers with a request per 1,000 files, a disk with a system call per directory.
        """
        ...

    def exists(self, path: str) -> bool:
        """Return whether a file exists; unspecified for a directory."""
        ...

    def has_directory(self, path: str) -> bool:
        """Return whether a directory exists; True on a store without directories."""
        ...

    def size(self, path: str) -> int:
        """Return the size of a file in bytes.

        Raises:
            FileNotFoundError: No such file.
        """
        ...

    def modified_ms(self, path: str) -> int | None:
        """Return the time of the last write of a file.

        Returns:
            Milliseconds since the epoch, by storage's clock; None from a store without a clock.

        Raises:
            FileNotFoundError: No such file.
        """
        ...

    def delete(self, path: str) -> bool:
        """Delete one file; return whether it existed."""
        ...

    def delete_tree(self, path: str) -> None:
        """Delete a directory and everything in it; does nothing when it is absent."""
        ...

    def sync_directory(self, path: str) -> None:
        """Make deletions from a directory durable; does nothing when it is absent.

        Called before the files that a deleted file referenced are deleted, and before the deletion is
        reported.
        """
        ...

    def probe_exclusive_create(self, directory: str) -> None:
        """Test in a directory that `create_exclusive` refuses a second creation.

        Raises:
            UnsupportedFeature: A second creation is not refused, so commits could overwrite each other here.
        """
        ...
