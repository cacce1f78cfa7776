"""Attempts share their time: none has more than its part, and none is without."""

import pytest

from braid.pipelines.kafka.shared_time import SharedTime


def test_what_an_attempt_leaves_is_that_of_the_next_ones() -> None:
    now_s = 100.0
    shared = SharedTime(6, now_s=lambda: now_s)
    assert shared.part(3).left_s() == 2
    assert shared.part(3, seconds_max=0.5).left_s() == 0.5

    now_s += 1

    assert shared.left_s() == 5
    assert shared.part(2).left_s() == 2.5


def test_there_is_no_attempt_when_the_time_is_over() -> None:
    now_s = 0.0
    shared = SharedTime(6, now_s=lambda: now_s)
    now_s = 6.0

    with pytest.raises(TimeoutError, match="timed out"):
        shared.part(1)
    with pytest.raises(TimeoutError, match="timed out"):
        shared.left_s()
