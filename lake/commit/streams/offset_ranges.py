"""Ranges of replayed offsets by partition, as few as possible. Pure.

Replayed offsets are scattered, because only few records are dead letters. So a range may also cover
offsets without an open dead letter, of which nothing will be replayed. Thus a replay of all dead
letters takes one range in each partition, if all letters between its offsets are known.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence

from braid.lake.commit.streams.position_moves import Range
from braid.lake.commit.streams.stream_letters import OffsetRanges


def holds_offset(ranges: OffsetRanges, partition: int, offset: int) -> bool:
    """Return whether an offset is in one of the ranges.

    Example:
        >>> [holds_offset({0: ((3, 5),)}, 0, offset) for offset in (2, 3, 4, 5)]
        [False, True, True, False]
    """
    found = ranges.get(partition, ())
    place = bisect_right(found, offset, key=lambda one: one[0])
    return place > 0 and offset < found[place - 1][1]


def with_offsets(
    ranges: OffsetRanges,
    added: Mapping[int, Iterable[int]],
    *,
    still_open: Mapping[int, Sequence[int]],
    known: OffsetRanges | None = None,
) -> dict[int, tuple[Range, ...]]:
    """Return ranges with more offsets, joined over what has no open letter.

    Args:
        ranges: The ranges before.
        added: The offsets to add, by partition.
        still_open: Offsets with a letter that is not in the result, by partition, ascending.
        known: The offsets of which `still_open` has all letters; None: all.

    Example:
        >>> with_offsets({0: ((1, 2),)}, {0: [4, 9]}, still_open={0: [6]})
        {0: ((1, 5), (9, 10))}
    """
    result = dict(ranges)
    for partition, offsets in added.items():
        parts = sorted([*ranges.get(partition, ()), *((one, one + 1) for one in set(offsets))])
        open_offsets = still_open.get(partition, ())
        within = None if known is None else known.get(partition, ())
        joined: list[Range] = []
        for start, end in parts:
            if joined and _joins(joined[-1][1], start, open_offsets, within):
                joined[-1] = (joined[-1][0], max(joined[-1][1], end))
            else:
                joined.append((start, end))
        if joined:
            result[partition] = tuple(joined)
    return result


def without_read_again(
    ranges: OffsetRanges, moves: Mapping[int, Range]
) -> dict[int, tuple[Range, ...]]:
    """Return ranges without the offsets that a move backwards lets be read again.

    Args:
        ranges: The ranges before.
        moves: Offset before and after the move, by partition.

    Example:
        >>> without_read_again({0: ((1, 5), (9, 10)), 1: ((1, 5),)}, {0: (20, 3), 1: (20, 30)})
        {0: ((1, 3),), 1: ((1, 5),)}
    """
    result = dict(ranges)
    for partition, (before, after) in moves.items():
        if after < before:
            kept = ((start, min(end, after)) for start, end in ranges.get(partition, ()))
            result[partition] = tuple(one for one in kept if one[0] < one[1])
    return {partition: parts for partition, parts in result.items() if parts}


def range_count(ranges: OffsetRanges) -> int:
    """Return the number of ranges of all partitions."""
    return sum(len(parts) for parts in ranges.values())


def _joins(
    end: int, start: int, open_offsets: Sequence[int], within: Sequence[Range] | None
) -> bool:
    """Return whether the offsets from the end of a range to the start of the next belong to none."""
    if start <= end:
        return True
    if bisect_left(open_offsets, start) > bisect_left(open_offsets, end):
        return False
    return within is None or any(low <= end and start <= high for low, high in within)
