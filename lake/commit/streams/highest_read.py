"""The highest offset that a stream had read of a partition when its position was moved. Pure.

A position keeps only its newest moves (`position_moves`), but a move forwards is checked against
the highest offset, however old that is. So after a move the highest offset is stored apart from the
moves, by partition. It is stored until the stream has read up to it again, or beyond it, or until a
later move sets the position back to it before the stream has read again:

```
moves (100 → 40), (60 → 59), position 59:  highest offset 100, reads again
moves (100 → 200), position 200:           highest offset 100
position 210, after the next batch:        none, the position is the highest offset
```
"""

from collections.abc import Mapping
from dataclasses import dataclass

from braid.lake.commit.streams.position_moves import Range


@dataclass(frozen=True, slots=True, kw_only=True)
class HighestRead:
    """How far a partition was ever read.

    Attributes:
        offset: Offset after the highest record that was read; the start of the stream counts as read.
        reads_again: Whether the record that was read last lies below it.
    """

    offset: int
    reads_again: bool = False


def after_move(
    known: Mapping[int, HighestRead], offsets: Mapping[int, Range]
) -> dict[int, HighestRead]:
    """Return what is kept after a move.

    Args:
        known: What was kept before.
        offsets: Offset before and after the move, by partition.
    """
    result = dict(known)
    for partition, (before, after) in offsets.items():
        highest = known.get(partition, HighestRead(offset=before))
        if highest == HighestRead(offset=after):
            del result[partition]  # the move takes an earlier one back
        else:
            result[partition] = highest
    return result


def after_batch(
    known: Mapping[int, HighestRead], start: Mapping[int, int], end: Mapping[int, int]
) -> dict[int, HighestRead]:
    """Return what is kept after a batch.

    Args:
        known: What was kept before.
        start: First offset of the batch, by partition.
        end: Offset after the last one, for the same partitions.
    """
    result = dict(known)
    for partition, highest in known.items():
        if partition not in end or start[partition] == end[partition]:
            continue
        if end[partition] >= highest.offset:
            del result[partition]
        else:
            result[partition] = HighestRead(offset=highest.offset, reads_again=True)
    return result
