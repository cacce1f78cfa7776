"""Positions of rows in the files of a backfill: the number of the file, and the number of the row in it.

| part of a record | row of a file |
|---|---|
| offset, which is compared first | number of the file, in the order of paths |
| partition | number of the row in its file |

The position of a backfill has one partition, 0, whose offset is the next row to read: the lower 31 bits are the
number of the row, and the upper bits are the number of the file.
"""

from typing import Final

_ROW_BITS: Final = 31
ROW_MAX: Final = (1 << _ROW_BITS) - 1
"""Largest number of a row: a partition is an INT."""
PARTITION: Final = 0


def next_row(file: int, row: int) -> int:
    """Return the offset at which a row is read next.

    Example:
        >>> split_next_row(next_row(2, 17))
        (2, 17)
    """
    assert file >= 0, file
    assert 0 <= row <= ROW_MAX, row
    return file << _ROW_BITS | row


def split_next_row(offset: int) -> tuple[int, int]:
    """Return the numbers of file and row of an offset."""
    return offset >> _ROW_BITS, offset & ROW_MAX
