"""Size of row groups: the rows of a data file that are encoded and decoded together."""

from typing import Final

ROW_GROUP_ROWS: Final = 32_768
"""Rows of a row group; a reader holds one compressed row group per run in memory.

Chosen by measurement from 16 384 to 262 144 rows: writing and reading whole files takes the same time from
here up, files of narrow rows grow by 6 % (by 12 % at 16 384), and a lookup, which decodes one row group,
takes a fifth of the time that it takes at 131 072."""

ROW_GROUP_BYTES: Final = 64 * 1024 * 1024
"""Bytes of a row group in memory, before encoding; bounds row groups of wide rows."""


def row_group_rows(rows: int, size: int) -> int:
    """Return how many rows of some average size make a row group; at least 1.

    Args:
        rows: Number of rows in a sample.
        size: Bytes of the sample in memory.
    """
    return max(1, min(ROW_GROUP_ROWS, ROW_GROUP_BYTES * rows // max(1, size)))
