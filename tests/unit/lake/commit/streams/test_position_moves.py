"""Moves of positions: what was read, skipped and read again."""

from braid.lake.commit.streams.position_moves import (
    MOVES_MAX,
    RANGES_MAX,
    MoveCause,
    PositionMove,
    read_segments,
    repeated_ranges,
    skipped_ranges,
    split_by_reading,
    with_move,
)


def move(before: int, after: int, *, partition: int = 0) -> PositionMove:
    return PositionMove(time_ms=1, cause=MoveCause.REQUESTED, offsets={partition: (before, after)})


def test_without_moves_all_up_to_the_position_is_read_once() -> None:
    assert read_segments([], 0, 7) == [(0, 7)]
    assert skipped_ranges([], 0, 7) == []
    assert repeated_ranges([], 0, 7) == []


def test_a_move_back_is_repeated_as_far_as_was_read_since() -> None:
    back = [move(100, 40)]

    assert repeated_ranges(back, 0, 40) == []
    assert repeated_ranges(back, 0, 70) == [(40, 70)]
    assert repeated_ranges(back, 0, 130) == [(40, 100)]


def test_a_move_forward_skips_what_was_not_read() -> None:
    assert skipped_ranges([move(10, 50)], 0, 50) == [(10, 50)]
    assert skipped_ranges([move(10, 50)], 0, 60) == [(10, 50)]


def test_what_was_skipped_is_not_once_it_is_read_after_all() -> None:
    moves = [move(10, 50), move(60, 20)]

    assert skipped_ranges(moves, 0, 30) == [(10, 20), (30, 50)]
    assert skipped_ranges(moves, 0, 60) == [(10, 20)]
    assert repeated_ranges(moves, 0, 60) == [(50, 60)]


def test_a_move_forward_over_what_was_read_before_skips_nothing() -> None:
    moves = [move(100, 40), move(70, 90)]

    assert skipped_ranges(moves, 0, 120) == []
    assert repeated_ranges(moves, 0, 120) == [(40, 70), (90, 100)]


def test_moves_of_other_partitions_do_not_count() -> None:
    assert read_segments([move(10, 50, partition=1)], 0, 7) == [(0, 7)]


def test_a_range_is_split_by_what_was_read() -> None:
    segments = [(0, 10), (5, 12), (20, 30)]

    assert split_by_reading(segments, (0, 30)) == (22, 8)
    assert split_by_reading(segments, (12, 20)) == (0, 8)
    assert split_by_reading(segments, (8, 25)) == (9, 8)
    assert split_by_reading([], (3, 9)) == (0, 6)


def test_the_oldest_moves_are_dropped_and_what_lies_below_counts_as_read() -> None:
    moves: tuple[PositionMove, ...] = ()
    for number in range(MOVES_MAX + 5):
        moves = with_move(moves, move(10 * number, 10 * number + 5))

    assert len(moves) == MOVES_MAX
    assert moves[-1] == move(10 * (MOVES_MAX + 4), 10 * (MOVES_MAX + 4) + 5)
    assert skipped_ranges(moves, 0, 1_000)[0] == (50, 55)


def test_the_newest_move_is_kept_whatever_its_size() -> None:
    def large(count: int) -> PositionMove:
        offsets = dict.fromkeys(range(count), (1, 0))
        return PositionMove(time_ms=1, cause=MoveCause.EXPIRED, offsets=offsets)

    half = large(RANGES_MAX // 2)
    newest = large(4 * RANGES_MAX)

    assert with_move((half, half, half), newest) == (half, half, newest)
