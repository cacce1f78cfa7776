"""Work on many paths of storage that may be spread over processes or machines: listing directories, and deleting files.

The work is a value that can be pickled with its storage. Both kinds can be repeated: a directory is listed again, and a
file that is gone stays gone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from braid.lake.files.storage.file_io import FileIO, FileStatus


class PathWork(Protocol):
    """Does something with each of some paths, and returns the files that it has found."""

    def __call__(self, paths: Sequence[str], /) -> list[FileStatus]:
        """Do it."""
        ...


class Spread(Protocol):
    """Does work on all paths, in any order and with parts of them at once; returns the files of all parts."""

    def __call__(self, work: PathWork, paths: Sequence[str], /) -> list[FileStatus]:
        """Do it.

        Raises:
            StorageUnavailable: Some of the work may be done; it can be repeated.
        """
        ...


@dataclass(frozen=True, slots=True)
class ListDirectories:
    """Lists directories; an absent one is empty.

    Attributes:
        file_io: Storage that other processes can reach.
    """

    file_io: FileIO

    def __call__(self, directories: Sequence[str]) -> list[FileStatus]:
        """Return what is in the directories."""
        return [status for directory in directories for status in self.file_io.list(directory)]


@dataclass(frozen=True, slots=True)
class DeleteFiles:
    """Deletes files; one that is absent is deleted already.

    Attributes:
        file_io: Storage that other processes can reach.
    """

    file_io: FileIO

    def __call__(self, paths: Sequence[str]) -> list[FileStatus]:
        """Delete the files, and return nothing."""
        for path in paths:
            self.file_io.delete(path)
        return []


def here(work: PathWork, paths: Sequence[str]) -> list[FileStatus]:
    """Do work in this process, one path after the other."""
    return work(paths)
