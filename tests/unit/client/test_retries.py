"""When a request is repeated, and after which pause."""

import random

import pytest

from braid.client import NoAnswer, Refused, Retries
from braid.client.retries import Attempts
from braid.schemas import ProblemCode

RETRIES = Retries(attempts=4, first_seconds=1.0, longest_seconds=3.0)


def attempts(*, is_repeatable: bool = True, retries: Retries = RETRIES) -> Attempts:
    return Attempts(retries, random.Random(1), is_repeatable=is_repeatable)


def refused(code: ProblemCode, retry_after_seconds: float | None = None) -> Refused:
    return Refused({"code": code.value, "status": 503}, retry_after_seconds=retry_after_seconds)


def test_the_bound_of_the_pauses_doubles_up_to_the_longest() -> None:
    pauses = [
        [one.pause(refused(ProblemCode.OVERLOADED)) for _ in range(3)]
        for one in [
            Attempts(RETRIES, random.Random(seed), is_repeatable=True) for seed in range(200)
        ]
    ]
    longest = [max(each) for each in zip(*pauses, strict=True)]

    assert [round(one) for one in longest] == [1, 2, 3]
    assert min(map(min, pauses)) < 0.1  # jitter over the whole interval


def test_a_pause_that_is_longer_than_the_longest_is_not_made() -> None:
    with pytest.raises(Refused):
        attempts().pause(refused(ProblemCode.OVERLOADED, 4.0))


def test_other_problems_are_not_repeated() -> None:
    with pytest.raises(Refused):
        attempts().pause(refused(ProblemCode.CONFLICT))


def test_a_conflict_with_a_request_that_is_being_carried_out_is_repeated_when_the_service_says() -> (
    None
):
    assert 1.0 <= attempts().pause(refused(ProblemCode.CONFLICT, 1.0)) <= 2.0
    with pytest.raises(Refused):
        attempts(is_repeatable=False).pause(refused(ProblemCode.CONFLICT, 1.0))


def test_a_request_that_changes_something_is_repeated_only_if_it_was_not_sent() -> None:
    changing = attempts(is_repeatable=False)

    assert changing.pause(NoAnswer("no route", is_unsent=True)) >= 0
    for error in (NoAnswer("reset", is_unsent=False), refused(ProblemCode.NOT_READY)):
        with pytest.raises(type(error)):
            changing.pause(error)
