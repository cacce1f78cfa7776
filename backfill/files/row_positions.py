"""Positions of rows in the files of a backfill: the number of the file, and the number of the row in it.

The columns of the order of arrival have other values in a row of a file than in a row of a Kafka record:

| column | Kafka record | row of a file |
|---|---|---|
| `<group>__offset`, which is compared first | offset | number of the file, in the order of paths |
| `<group>__partition` | partition | number of the row in its file |

The position of a backfill, by contrast, has a single partition, 0. Its offset (`next_row`) is the next row to read: the
lower 31 bits are the number of the row, and the upper bits are the number of the file.
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
