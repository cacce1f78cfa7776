"""Failures of Spark's JVM because the disk of the runner's temporary files is full, and their meaning. Pure.

The JVM writes checkpoints and shuffled records, and nothing to the warehouse: that is written by Python, whose errors name the file.
"""

import re
from typing import Final

_FULL: Final = re.compile(
    r"\bjava\.io\.IOException: (?:No space left on device|Disk quota exceeded)"
)


def disk_failure(text: str) -> str | None:
    """Return what has happened, in words, with a hint as the second line; None for an error of another kind.

    Args:
        text: Class and message of an error, with the traces of tasks that Spark puts into it.

    Example:
        >>> print(disk_failure("Caused by: java.io.IOException: No space left on device"))
        the disk of the runner's temporary files is full; the micro-batch is written again
        hint: free some space in the folder for temporary files (TMPDIR, or /tmp) of the runner's machine, or start the runner with another TMPDIR
    """
    if not _FULL.search(text):
        return None
    return (
        "the disk of the runner's temporary files is full; the micro-batch is written again\n"
        "hint: free some space in the folder for temporary files (TMPDIR, or /tmp) of the runner's "
        "machine, or start the runner with another TMPDIR"
    )
