"""Ranges around records have every other offset, each once."""

import random

import pytest

from braid.pipelines.sink.overflowing_timestamps import is_timestamp_overflow, pieces_between


@pytest.mark.parametrize("seed", range(20))
def test_the_ranges_have_every_other_offset_once(seed: int) -> None:
    chance = random.Random(seed)
    start = {number: chance.randrange(5) for number in range(chance.randint(1, 4))}
    end = {number: first + chance.randrange(8) for number, first in start.items()}
    offsets = [(number, one) for number in start for one in range(start[number], end[number])]
    left_out = [one for one in offsets if chance.random() < 0.3]

    pieces = pieces_between(start, end, left_out)

    assert all(first.keys() == last.keys() == start.keys() for first, last in pieces)
    found = [
        (number, offset)
        for first, last in pieces
        for number in first
        for offset in range(first[number], last[number])
    ]
    assert sorted(found) == sorted(set(offsets) - set(left_out))


def test_other_errors_of_spark_are_not_of_timestamps() -> None:
    assert not is_timestamp_overflow(RuntimeError("java.lang.ArithmeticException: long overflow"))
