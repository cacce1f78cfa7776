"""Hints for a disk that takes no files, which an operator can mend while everything runs. Pure."""

import errno
from collections.abc import Mapping
from typing import Final

_HINTS: Final[Mapping[int, str]] = {
    errno.ENOSPC: "the disk is full: free some space on it, or enlarge it; nothing has to be started again",
    errno.EDQUOT: "the quota of the disk is used up: free some space, or raise it; nothing has to be started again",
    errno.EROFS: "the file system is read-only: look for errors of the disk in the system's log, and mount it for writing",
}


def disk_hint(error: OSError) -> str:
    r"""Return a hint as a line after a message, with the line break before it; empty for an error of another cause.

    >>> disk_hint(OSError(errno.EDQUOT, "Disk quota exceeded"))[:39]
    '\nhint: the quota of the disk is used up'
    >>> disk_hint(OSError(errno.EIO, "Input/output error"))
    ''
    """
    hint = _HINTS.get(error.errno or 0)
    return "" if hint is None else f"\nhint: {hint}"
