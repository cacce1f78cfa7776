"""Waits grow with lost attempts, outlast a commit, and are nothing for a lone writer."""

import random

import pytest

from braid.lake.commit.pace import MAX_MS, Pace


class HighestRandom(random.Random):
    """Draws the upper end every time."""

    def uniform(self, a: float, b: float) -> float:
        return b


def given_pace() -> Pace:
    return Pace(HighestRandom())


def test_a_lone_writer_never_waits() -> None:
    pace = given_pace()

    for now_ms in range(0, 10_000, 100):
        assert pace.wait_before_ms(lost=0, now_ms=now_ms) == 0
        pace.win(lost=0, now_ms=now_ms)


def test_the_first_span_fits_the_duration_of_an_attempt() -> None:
    pace = given_pace()

    pace.lose(took_ms=30, now_ms=0)

    assert pace.wait_before_ms(lost=0, now_ms=0) == 60


def test_lost_attempts_lengthen_the_span_up_to_a_bound() -> None:
    pace = given_pace()
    spans = []

    for _ in range(40):
        pace.lose(took_ms=10, now_ms=0)
        spans.append(pace.wait_before_ms(lost=0, now_ms=0))

    assert spans[:3] == [20, 30, 45]
    assert spans[-1] == MAX_MS


def test_a_commit_that_has_lost_more_waits_less() -> None:
    pace = given_pace()
    pace.lose(took_ms=30, now_ms=0)

    waits = [pace.wait_before_ms(lost=lost, now_ms=0) for lost in (0, 1, 2, 5)]

    assert waits == [60, 30, 20, 10]


def test_the_next_commit_of_a_winner_waits_too() -> None:
    pace = given_pace()
    pace.lose(took_ms=50, now_ms=0)

    pace.win(lost=1, now_ms=0)

    assert pace.wait_before_ms(lost=0, now_ms=0) == 100


def test_commits_without_a_lost_attempt_end_the_waits() -> None:
    pace = given_pace()
    pace.lose(took_ms=50, now_ms=0)

    spans = []
    for _ in range(30):
        pace.win(lost=0, now_ms=0)
        spans.append(pace.wait_before_ms(lost=0, now_ms=0))

    assert spans[:2] == pytest.approx([80, 64])
    assert spans[-1] == 0


def test_time_without_lost_attempts_shortens_the_span() -> None:
    pace = given_pace()
    pace.lose(took_ms=50, now_ms=0)

    assert pace.wait_before_ms(lost=0, now_ms=5_000) == 50
    assert pace.wait_before_ms(lost=0, now_ms=10_000) == 25
    assert pace.wait_before_ms(lost=0, now_ms=10**9) == 0


def test_a_clock_that_is_set_back_changes_nothing() -> None:
    pace = given_pace()
    pace.lose(took_ms=50, now_ms=60_000)

    assert pace.wait_before_ms(lost=0, now_ms=0) == 100


def test_waits_are_drawn_within_the_span() -> None:
    pace = Pace(random.Random(1))
    pace.lose(took_ms=50, now_ms=0)

    waits = [pace.wait_before_ms(lost=0, now_ms=0) for _ in range(50)]

    assert len(set(waits)) == 50
    assert all(0 <= wait <= 100 for wait in waits)
