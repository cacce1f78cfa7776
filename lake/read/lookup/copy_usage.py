"""Number and size of the copies that lookups keep, of all tables of a catalog together."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyUsage:
    """What copies take, and what they may take.

    Attributes:
        copies: Data files with a copy.
        memory_bytes: Bytes in memory.
        disk_bytes: Bytes on local disk.
        max_memory_bytes: Bound of the bytes in memory.
        max_disk_bytes: Bound of the bytes on disk; None: not known before the first copy.
    """

    copies: int
    memory_bytes: int
    disk_bytes: int
    max_memory_bytes: int
    max_disk_bytes: int | None
