"""Directory and bounds of the copies that a catalog keeps for lookups in all its tables."""

from dataclasses import dataclass
from typing import Final

MEMORY_BYTES_MAX: Final = 1 << 30
"""Default bound of copies in memory, of all tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupSettings:
    """Bounds of all tables of a catalog together; each table has bounds of its own besides.

    Attributes:
        directory: A local directory, created when it is needed; None: the system's directory for
            temporary files.
        max_disk_bytes: Bound of copies on disk; None: half of the space that is free when the first
            copy is made.
        max_memory_bytes: Bound of copies in memory, which are mainly those of small files.
        are_shared: Whether processes of this machine with the same directory share copies on disk. Requires: tables are on storage,
            where the names of files are unique.
    """

    directory: str | None = None
    max_disk_bytes: int | None = None
    max_memory_bytes: int = MEMORY_BYTES_MAX
    are_shared: bool = False
