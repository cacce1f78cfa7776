"""Ranges of a topic: what the command line has, and what the topic has to have."""

from collections.abc import Mapping

import pytest

from braid.backfill.topic.offset_range import check_range, parse_partition_offsets
from braid.lake import InvalidRequest

EARLIEST, LATEST = {0: 10, 1: 0}, {0: 100, 1: 50}


@pytest.mark.parametrize("text", ["", "0", "0:1,0:2", "a:1", "0:-1", "0:1;1:2", "0:1,"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_partition_offsets("--to-offsets", text)

    assert caught.value.problems[0].field == "--to-offsets"


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ({0: 10}, {0: 100}, None),
        ({0: 10, 1: 0}, {0: 10, 1: 50}, None),
        (
            {0: 10},
            {1: 50},
            "each partition needs an offset in --from-offsets and one in --to-offsets",
        ),
        ({0: 10}, {0: 100, 1: 50}, "each partition needs an offset"),
        ({0: 10, 1: 0}, {0: 100}, "each partition needs an offset"),
        ({0: 20}, {0: 19}, "that is not smaller"),
        ({0: 9}, {0: 20}, "does not have the offsets from 9 to 20"),
        ({1: 0}, {1: 51}, "does not have the offsets from 0 to 51"),
        ({2: 0}, {2: 1}, "of partition 2"),
    ],
)
def test_a_range_is_in_the_topic(
    start: Mapping[int, int], end: Mapping[int, int], words: str | None
) -> None:
    assert refusal(start, end, start) == (words is not None)
    if words is not None:
        with pytest.raises(InvalidRequest) as caught:
            check(start, end, start)
        assert words in caught.value.problems[0].message


def test_what_was_read_already_may_have_expired() -> None:
    start, end = {0: 0}, {0: 50}

    assert refusal(start, end, {0: 5})
    assert not refusal(start, end, {0: 10})
    assert not refusal(start, end, {0: 50})


def refusal(start: Mapping[int, int], end: Mapping[int, int], at: Mapping[int, int]) -> bool:
    try:
        check(start, end, at)
    except InvalidRequest:
        return True
    return False


def check(start: Mapping[int, int], end: Mapping[int, int], at: Mapping[int, int]) -> None:
    check_range(start, end, next_offsets=at, earliest=EARLIEST, latest=LATEST)
