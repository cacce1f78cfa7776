"""What the engine asks of storage.

Paths are absolute strings with `/` between their parts: `/data/warehouse/…` on a disk,
`s3://bucket/warehouse/…` on an object store. Directories appear when a file is written into them. Two kinds of file exist. *Immutable* files are written once under a name nobody else
uses (`write_new`, `open_output`) or under a name that everybody wants and one gets
(`create_exclusive`). *Replaceable* files (`overwrite`) are hints, leases and progress documents:
whoever reads one copes with an old one, and with one that another engine left empty or torn.

What is written is durable on return. What is deleted may come back after a power failure, one file
and not the next, unless `sync_directory` was called.

Errors, for every method: `FileNotFoundError` where it says so, `StorageUnavailable` for everything
else that storage refuses; after the latter a write may or may not have happened.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from lake.files.storage.positioned_input import InputFile


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
        parallel_reads: How many small reads are worth having under way together; 1 where waiting
            for storage costs nothing.
    """

    @property
    def parallel_reads(self) -> int:
        """How many small reads are worth having under way together."""
        ...

    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a file.

        Raises:
            FileNotFoundError: No such file.
        """
        ...

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`; fewer when the file ends before.

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
            Nobody else uses the name.
        """
        ...

    def write_new(self, path: str, data: bytes) -> None:
        """Write a new file, durable on return.

        Requires:
            Nobody else uses the name.
        """
        ...

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create a file that exactly one caller can create, however many try.

        A reader sees the whole file or none. Never replaces anything.

        Returns:
            True: created by this call and durable. False: it existed; for a store that repeats
            requests by itself this can be the doing of this very call, so the caller looks at
            the content.
        """
        ...

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace a file atomically, durable on return.

        For what one owner writes again and again: hints, leases, progress documents.
        """
        ...

    def list(self, path: str) -> list[FileStatus]:
        """Return the direct children of a directory in the order of their names; [] when absent."""
        ...

    def exists(self, path: str) -> bool:
        """Return whether a file is there; what is said of a directory is up to the store."""
        ...

    def has_directory(self, path: str) -> bool:
        """Return whether there is a directory; True on a store that needs none to be made."""
        ...

    def size(self, path: str) -> int:
        """Return the bytes of a file.

        Raises:
            FileNotFoundError: No such file.
        """
        ...

    def modified_ms(self, path: str) -> int | None:
        """Return when a file was last written, milliseconds since the epoch, by storage's clock.

        None from a store that has no clock of its own.

        Raises:
            FileNotFoundError: No such file.
        """
        ...

    def delete(self, path: str) -> bool:
        """Delete one file; return whether it was there."""
        ...

    def delete_tree(self, path: str) -> None:
        """Delete a directory and all that is in it; nothing happens when it is absent."""
        ...

    def sync_directory(self, path: str) -> None:
        """Make durable that files of a directory were deleted; nothing happens when it is absent.

        Called where something depends on it: before what a deleted file named is deleted, and
        before somebody is told that it is gone.
        """
        ...

    def probe_exclusive_create(self, directory: str) -> None:
        """Try on the spot whether `create_exclusive` really refuses a second creation.

        Raises:
            UnsupportedFeature: It does not; commits could overwrite each other here.
        """
        ...
