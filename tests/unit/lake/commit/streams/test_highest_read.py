"""The highest offset read is kept while the position is another one."""

from braid.lake.commit.streams.highest_read import HighestRead, after_batch, after_move


def test_small_moves_back_do_not_hide_how_far_was_read() -> None:
    back = after_move({}, {0: (100, 40)})
    begun = after_batch(back, {0: 40, 1: 5}, {0: 60, 1: 9})
    again = after_move(begun, {0: (60, 59)})

    assert back == {0: HighestRead(offset=100)}
    assert begun == again == {0: HighestRead(offset=100, reads_again=True)}
    assert after_batch(again, {0: 59}, {0: 100}) == {}


def test_a_move_that_is_taken_back_leaves_nothing() -> None:
    assert after_move(after_move({}, {0: (100, 40)}), {0: (40, 100)}) == {}
    assert after_move(after_move({}, {0: (100, 200)}), {0: (200, 100)}) == {}


def test_skipped_records_were_not_read() -> None:
    skipping = after_move({}, {0: (100, 200)})

    assert after_move(skipping, {0: (200, 150)}) == {0: HighestRead(offset=100)}
    assert after_batch(skipping, {0: 200}, {0: 200}) == skipping
    assert after_batch(skipping, {0: 200}, {0: 201}) == {}
