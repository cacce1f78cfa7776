"""The offsets of a partition that a stream has read, and how many of them it would not read again.

The number is for a stream that is reading again, after a move backwards, and is to be moved
forwards. Both results follow from the moves and the highest offset of the position. Pure.
"""

from braid.lake.commit.streams.position_moves import Range, read_segments, split_by_reading
from braid.lake.commit.streams.stream_position import StreamPosition


def read_ranges_of(position: StreamPosition, partition: int) -> list[Range]:
    """Return the ranges of a partition that were read, which may overlap.

    If the position keeps a highest offset above these ranges, because older moves were dropped, all
    offsets below it count as read.
    """
    segments = read_segments(position.moves, partition, position.offsets[partition])
    highest = position.highest_read.get(partition)
    if highest is not None and all(end < highest.offset for _, end in segments):
        segments.append((0, highest.offset))
    return segments


def offsets_left_older(position: StreamPosition, partition: int, after: int) -> int:
    """Return how many offsets a move forwards would leave out of those that are to be read again.

    The result is 0 as long as the stream has not begun to read again: then the move takes one back.

    Args:
        position: The position before the move.
        partition: A partition of the position.
        after: The offset to move to.
    """
    before = position.offsets[partition]
    highest = position.highest_read.get(partition)
    if highest is None or not highest.reads_again or not before < after:
        return 0
    read, _ = split_by_reading(read_ranges_of(position, partition), (before, after))
    return read
