"""The check of dead letters finds what is planted."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.chaos.letters import Letter, letter_faults
from tests.support.chaos.streams import ORDERS, topic_of
from tests.unit.chaos.given_history import given_commits, given_letters, given_topic

Plant = Callable[[list[Letter]], list[Letter]]


def faults(letters: list[Letter]) -> list[str]:
    return letter_faults(
        letters,
        topic=topic_of(ORDERS),
        records=given_topic(),
        batches=[commit.batch for commit in given_commits() if commit.batch is not None],
    )


def with_header(letter: Letter, name: str, value: str) -> Letter:
    return replace(letter, added={**letter.added, name: value})


def test_letters_that_are_right_have_no_faults() -> None:
    assert len(given_letters()) > 6
    assert faults(given_letters()) == []


def test_a_letter_that_came_twice_is_one_letter() -> None:
    assert faults([*given_letters(), *given_letters()]) == []


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        (lambda letters: letters[1:], "batch 1.0.0 of orders: .* are on the topic"),
        (lambda letters: letters[:-1], "batch 3.0.0 of orders: .* are on the topic"),
        (lambda ls: [replace(ls[0], value=b"other"), *ls[1:]], "found .*b'other'"),
        (lambda ls: [replace(ls[0], key=None), *ls[1:]], "found .None, "),
        (lambda ls: [replace(ls[0], headers=()), *ls[1:]], r", \(\)\), its record has"),
        (
            lambda ls: [with_header(ls[0], "braid.reason", "poison"), *ls[1:]],
            "'braid.reason': 'poison'.*its record is a",
        ),
        (
            lambda ls: [with_header(ls[0], "__connect.errors.offset", "99999"), *ls[1:]],
            "there is no such record",
        ),
        (
            lambda ls: [*ls, with_header(ls[-1], "braid.attempt", "1.0.0")],
            "letters of offsets that are not its own",
        ),
    ],
    ids=["first", "last", "value", "key", "headers", "reason", "place", "attempt"],
)
def test_what_is_planted_is_found(plant: Plant, found: str) -> None:
    assert any(re.search(found, fault) for fault in faults(plant(given_letters())))


def test_the_headers_of_a_letter_come_after_those_of_its_record() -> None:
    theirs = [("number", b"1"), ("__connect.errors.topic", b"another"), ("braid.reason", b"poison")]
    ours = [("__connect.errors.topic", b"t"), ("braid.reason", b"malformed")]

    letter = Letter.of(b"k", None, [*theirs, *ours])

    assert letter.headers == tuple(theirs)
    assert letter.added == {"__connect.errors.topic": "t", "braid.reason": "malformed"}
