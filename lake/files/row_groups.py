"""Size of row groups, the sets of rows of a data file that are encoded and decoded together."""

from typing import Final

ROW_GROUP_ROWS: Final = 32_768
"""Rows of a row group; a reader holds one compressed row group per run in memory.

Chosen by measurement from 16 384 to 262 144 rows. With more rows, writing and reading whole files takes the
same time. Files of narrow rows are 6 % larger than with large row groups (12 % larger with 16 384 rows). A
lookup, which decodes one row group, takes a fifth of the time that it takes with 131 072 rows."""

ROW_GROUP_BYTES: Final = 64 * 1024 * 1024
"""Bytes of a row group in memory, before encoding; bounds row groups of wide rows."""


def row_group_rows(rows: int, size: int) -> int:
    """Return the number of rows of a row group, for rows of the average size of a sample; at least 1.

    Args:
        rows: Number of rows in a sample.
        size: Bytes of the sample in memory.
    """
    return max(1, min(ROW_GROUP_ROWS, ROW_GROUP_BYTES * rows // max(1, size)))
