"""What a move forwards leaves out, also where the moves that would tell were dropped."""

from dataclasses import replace

from braid.lake.commit.streams.highest_read import HighestRead
from braid.lake.commit.streams.position_moves import MoveCause, PositionMove
from braid.lake.commit.streams.read_offsets import offsets_left_older, read_ranges_of
from braid.lake.commit.streams.stream_position import StreamPosition


def move(before: int, after: int) -> PositionMove:
    return PositionMove(time_ms=1, cause=MoveCause.REQUESTED, offsets={0: (before, after)})


READING_AGAIN = StreamPosition(
    stream="s",
    epoch=1,
    topic="t",
    topic_id="i",
    offsets={0: 60, 1: 7},
    moves=(move(100, 40),),
    highest_read={0: HighestRead(offset=100, reads_again=True)},
)


def test_what_was_read_before_and_not_again_stays_older() -> None:
    assert offsets_left_older(READING_AGAIN, 0, 75) == 15
    assert offsets_left_older(READING_AGAIN, 0, 130) == 40
    assert offsets_left_older(READING_AGAIN, 0, 50) == 0
    assert offsets_left_older(READING_AGAIN, 1, 9) == 0


def test_a_move_is_taken_back_as_long_as_nothing_was_read_again() -> None:
    highest = {0: HighestRead(offset=100)}
    unread = replace(READING_AGAIN, offsets={0: 40, 1: 7}, highest_read=highest)

    assert offsets_left_older(unread, 0, 100) == 0


def test_records_that_were_never_read_are_left_out() -> None:
    moves = (move(60, 80), move(100, 40))

    assert offsets_left_older(replace(READING_AGAIN, moves=moves), 0, 80) == 0
    assert offsets_left_older(replace(READING_AGAIN, moves=moves), 0, 81) == 1


def test_without_its_moves_everything_below_the_highest_offset_counts_as_read() -> None:
    for moves in ((), (move(60, 59),)):
        dropped = replace(READING_AGAIN, moves=moves)

        assert offsets_left_older(dropped, 0, 100) == 40
        assert (0, 100) in read_ranges_of(dropped, 0)
