"""What a position says of its moves is what a count of every read offset says."""

from collections import Counter

from hypothesis import given, settings, strategies as st

from braid.lake import (
    MoveCause,
    PositionMove,
    repeated_ranges,
    skipped_ranges,
    split_by_reading,
)
from braid.lake.commit.streams.highest_read import HighestRead, after_batch, after_move
from braid.lake.commit.streams.position_moves import MOVES_MAX, read_segments, with_move

STEPS = st.lists(
    st.tuples(st.booleans(), st.integers(min_value=0, max_value=30)), max_size=MOVES_MAX
)


@settings(max_examples=150, deadline=None)
@given(steps=STEPS, within=st.tuples(st.integers(0, 40), st.integers(0, 40)))
def test_ranges_are_those_of_a_count(
    steps: list[tuple[bool, int]], within: tuple[int, int]
) -> None:
    """A step reads a number of records, or moves to an offset."""
    counts: Counter[int] = Counter()
    moves: tuple[PositionMove, ...] = ()
    offset = 0
    reached = 0
    highest: dict[int, HighestRead] = {}
    last_read = -1
    for is_read, number in steps:
        if is_read:
            counts.update(range(offset, offset + number))
            highest = after_batch(highest, {0: offset}, {0: offset + number})
            last_read = offset + number - 1 if number else last_read
            offset += number
        elif number != offset:
            move = PositionMove(time_ms=0, cause=MoveCause.REQUESTED, offsets={0: (offset, number)})
            moves = with_move(moves, move)
            highest = after_move(highest, move.offsets)
            offset = number
        reached = max([offset, *(seen + 1 for seen in counts)])

    start, end = sorted(within)
    inside = sum(counts[seen] > 0 for seen in range(start, end))
    segments = read_segments(moves, 0, offset)

    assert _offsets(skipped_ranges(moves, 0, offset)) == [
        seen for seen in range(reached) if counts[seen] == 0
    ]
    assert _offsets(repeated_ranges(moves, 0, offset)) == [
        seen for seen in range(reached) if counts[seen] > 1
    ]
    kept = highest.get(0, HighestRead(offset=offset))
    assert kept.offset == max((seen + 1 for seen, count in counts.items() if count), default=0)
    assert kept.reads_again == (last_read < kept.offset - 1)
    assert split_by_reading(segments, (start, end)) == (inside, end - start - inside)


def _offsets(ranges: list[tuple[int, int]]) -> list[int]:
    return [offset for start, end in ranges for offset in range(start, end)]
