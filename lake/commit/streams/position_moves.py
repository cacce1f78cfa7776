"""Moves of a stream's position: which offsets a stream has read, skipped and read again. Pure.

A stream reads each partition from its start to its position, without a gap. A *move* sets the
position to another offset: forwards it skips records, backwards it lets them be read again. The
position keeps its newest moves. They divide the offsets that were read into segments, each from the
target of a move to the origin of the next move:

```
moves (100 → 40), (70 → 90), position 120:
  read       0 ………………………… 100         [0, 100)
                  40 …… 70             [40, 70)
                             90 … 120  [90, 120)
  read again [40, 70) and [90, 100)
```

The account of a stream counts a record as often as it was read. The start of the stream is not
kept: below the origin of a partition's oldest kept move every offset counts as read. If older moves
were dropped, the segments are not exact: offsets above that origin that were read before the
dropped moves can count as skipped, and offsets that were read twice can count as read once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final, TypeAlias

Range: TypeAlias = tuple[int, int]
"""Offsets from the first, up to and without the second."""

MOVES_MAX: Final = 32
RANGES_MAX: Final = 512
"""Bound of the partitions in all kept moves but the newest: every snapshot carries them."""


class MoveCause(StrEnum):
    """The cause of a move.

    `requested`: a user has set the position. `expired`: Kafka had deleted the records at the position, and the
    stream declares that it continues with the oldest ones that are left. `generation`: a generation of the group
    began, in which the stream does not read again what it has read in an earlier one.
    """

    REQUESTED = "requested"
    EXPIRED = "expired"
    GENERATION = "generation"


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionMove:
    """One move of a stream's position.

    Attributes:
        time_ms: When the move was committed, milliseconds since 1970 UTC.
        cause: The cause.
        offsets: Offset before and after the move, by partition; only of partitions that were moved.
    """

    time_ms: int
    cause: MoveCause
    offsets: Mapping[int, Range]

    def __post_init__(self) -> None:
        assert all(before != after for before, after in self.offsets.values()), "a move moves"


def with_move(moves: Sequence[PositionMove], move: PositionMove) -> tuple[PositionMove, ...]:
    """Return moves followed by another one, without the oldest ones that are over the bounds."""
    kept = [move]
    ranges = 0
    for older in reversed(moves[-(MOVES_MAX - 1) :]):
        ranges += len(older.offsets)
        if ranges > RANGES_MAX:
            break
        kept.append(older)
    return tuple(reversed(kept))


def read_segments(moves: Iterable[PositionMove], partition: int, offset: int) -> list[Range]:
    """Return the ranges of a partition that were read, in the order of reading.

    Args:
        moves: The stream's moves, oldest first.
        partition: The partition.
        offset: Its position.

    Example:
        >>> back = PositionMove(time_ms=0, cause=MoveCause.REQUESTED, offsets={0: (100, 40)})
        >>> read_segments([back], 0, 70)
        [(0, 100), (40, 70)]
    """
    segments = []
    start = 0
    for move in moves:
        if partition in move.offsets:
            before, after = move.offsets[partition]
            segments.append((start, before))
            start = after
    segments.append((start, offset))
    return [segment for segment in segments if segment[0] < segment[1]]


def skipped_ranges(moves: Iterable[PositionMove], partition: int, offset: int) -> list[Range]:
    """Return the ranges that were never read and lie below the position or one that was read, ascending."""
    segments = read_segments(moves, partition, offset)
    # A move to an offset from which nothing was read yet skips all before it, too.
    highest = max([offset, *(end for _, end in segments)])
    return [part for part, count in _counted(segments, highest) if count == 0]


def repeated_ranges(moves: Iterable[PositionMove], partition: int, offset: int) -> list[Range]:
    """Return the ranges that were read more than once, ascending."""
    segments = read_segments(moves, partition, offset)
    highest = max([offset, *(end for _, end in segments)])
    return [part for part, count in _counted(segments, highest) if count > 1]


def split_by_reading(segments: Sequence[Range], within: Range) -> tuple[int, int]:
    """Return how many offsets of a range were read, and how many were not.

    Args:
        segments: What was read, from `read_segments`.
        within: The range.

    Example:
        >>> split_by_reading([(0, 10), (20, 30)], (5, 22))
        (7, 10)
    """
    start, end = within
    clipped = [(max(start, low), min(end, high)) for low, high in segments]
    inside = [part for part in clipped if part[0] < part[1]]
    read = sum(high - low for (low, high), count in _counted(inside, end) if count and low >= start)
    return read, end - start - read


def _counted(segments: Sequence[Range], highest: int) -> Iterator[tuple[Range, int]]:
    """Yield ranges from 0 to `highest`, ascending, with the number of segments that cover each.

    Neighbours that are both skipped, both read once, or both read more often are one range.
    """
    bounds = sorted({0, highest, *(bound for segment in segments for bound in segment)})
    pending: tuple[Range, int] | None = None
    for low, high in pairwise(bounds):
        count = min(2, sum(start <= low and high <= end for start, end in segments))
        if pending is not None and pending[1] == count:
            pending = ((pending[0][0], high), count)
            continue
        if pending is not None:
            yield pending
        pending = ((low, high), count)
    if pending is not None:
        yield pending
