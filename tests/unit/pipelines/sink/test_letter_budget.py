"""A declared budget counts what the position keeps, so that it survives restarts; else the runner's default counts."""

import pytest

from braid.lake import BatchAccount, RecentRecords, StreamLetters, StreamPosition
from braid.pipelines.settings import DeadLetterBudget
from braid.pipelines.sink.letter_budget import allowed_letters
from braid.schemas import DeadLetterBudgetSpec

DEFAULT = DeadLetterBudget(records=10, fraction=0.5)


def position(
    *, dead: int = 0, replayed: int = 0, recent: tuple[int, int] = (0, 0)
) -> StreamPosition:
    return StreamPosition(
        stream="s",
        epoch=1,
        topic="t",
        topic_id="i",
        account=BatchAccount(accepted=100, dead_lettered=dead),
        letters=StreamLetters(
            recent=RecentRecords(records=recent[0], dead_lettered=recent[1]), accepted=replayed
        ),
    )


def allowed(budget: DeadLetterBudgetSpec | None, at: StreamPosition, *, records: int = 100) -> int:
    return allowed_letters(budget, DEFAULT, at, records=records).number


def test_without_a_declared_budget_the_micro_batch_alone_counts() -> None:
    at = position(dead=1_000_000)

    assert [allowed(None, at, records=records) for records in (4, 100)] == [10, 50]
    hint = allowed_letters(None, DEFAULT, at, records=100).hint
    assert "columns" in hint
    assert "`dead_letter_budget`" in hint


@pytest.mark.parametrize(
    ("dead", "replayed", "expected"),
    [(0, 0, 7), (5, 0, 2), (7, 0, 0), (9, 0, 0), (9, 6, 4), (1, 2, 7)],
)
def test_a_count_is_of_all_letters_that_were_not_replayed(
    dead: int, replayed: int, expected: int
) -> None:
    budget = DeadLetterBudgetSpec(count=7)

    assert allowed(budget, position(dead=dead, replayed=replayed)) == expected


def test_a_rate_is_of_the_newest_records_and_few_count_as_a_thousand() -> None:
    budget = DeadLetterBudgetSpec(rate=0.01)

    assert allowed(budget, position(), records=1) == 10
    assert allowed(budget, position(recent=(5_000, 20)), records=1_000) == 40
    assert allowed(budget, position(recent=(5_000, 70)), records=1_000) == 0


def test_the_smaller_bound_counts_and_is_named() -> None:
    budget = DeadLetterBudgetSpec(count=1_000, rate=0)

    found = allowed_letters(budget, DEFAULT, position(dead=3), records=9)

    assert found.number == 0
    assert "`dead_letter_budget.rate` allows 0 of 1000" in found.why
