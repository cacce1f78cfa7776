"""The check of accounts finds what is planted."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.chaos.accounts import account_faults, repeated_ranges
from tests.support.chaos.commits import Commit, Move, Range, commit_of
from tests.support.chaos.streams import ORDERS
from tests.unit.chaos.given_history import BACK, END, PLACE, given_commits

Plant = Callable[[list[Commit]], list[Commit]]


def faults(commits: list[Commit], *moved: Move) -> list[str]:
    return account_faults(commits, ends={PLACE: END}, moved=moved or (BACK,))


def with_range(commits: list[Commit], number: int, read: Range, records: int) -> list[Commit]:
    """Let a batch cover other offsets, and everything else agree with that."""
    commit = commits[number]
    assert commit.batch is not None
    more = records - sum(commit.batch.account.values())
    account = {**commit.batch.account, "accepted": commit.batch.account["accepted"] + more}
    changed = replace(commit, batch=replace(commit.batch, ranges={0: read}, account=account))
    later = [
        replace(
            one,
            accounts={
                ORDERS: {
                    **one.accounts[ORDERS],
                    "accepted": one.accounts[ORDERS]["accepted"] + more,
                }
            },
        )
        for one in [changed, *commits[number + 1 :]]
    ]
    return [*commits[:number], *later]


def test_a_history_that_is_right_has_no_faults() -> None:
    assert faults(given_commits()) == []


def test_an_offset_that_is_counted_twice_is_found() -> None:
    twice = with_range(given_commits(), 2, Range(39, 60), 21)

    assert faults(twice) == [
        f"snapshot 3: {PLACE} is read from 39, it was at 40",
        f"{PLACE}: offset 39 is covered 3 times, expected 2",
    ]


def test_an_offset_that_is_left_out_is_found() -> None:
    gap = with_range(given_commits(), 2, Range(41, 60), 19)

    assert faults(gap) == [
        f"snapshot 3: {PLACE} is read from 41, it was at 40",
        f"{PLACE}: offset 40 is covered 1 times, expected 2",
    ]


def without_a_snapshot(commits: list[Commit]) -> list[Commit]:
    return [*commits[:2], *commits[3:]]


def without_the_move(commits: list[Commit]) -> list[Commit]:
    return [*commits[:3], replace(commits[3], moves=()), *commits[4:]]


def with_a_record_too_few(commits: list[Commit]) -> list[Commit]:
    return with_range(commits, 4, Range(30, 100), 69)


def with_a_letter_too_many(commits: list[Commit]) -> list[Commit]:
    batch = commits[4].batch
    assert batch is not None
    return [*commits[:4], replace(commits[4], batch=replace(batch, letters={"malformed": 99}))]


def with_a_position_elsewhere(commits: list[Commit]) -> list[Commit]:
    return [*commits[:4], replace(commits[4], offsets={PLACE: 99})]


def without_the_last_batch(commits: list[Commit]) -> list[Commit]:
    return commits[:4]


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        (without_a_snapshot, r"snapshots: found \[1, 2, 4, 5\]"),
        (without_the_move, "the snapshots name None, asked for were"),
        (with_a_record_too_few, "70 offsets of orders, account"),
        (with_a_letter_too_many, "dead letters by reason {'malformed': 99}"),
        (with_a_position_elsewhere, "is at 99, its commits end at 100"),
        (without_the_last_batch, "the end: .* is at 30, its partition ends at 100"),
    ],
)
def test_what_is_planted_is_found(plant: Plant, found: str) -> None:
    assert any(re.search(found, fault) for fault in faults(plant(given_commits())))


def test_a_move_that_nobody_asked_for_is_found() -> None:
    assert account_faults(given_commits(), ends={PLACE: END}, moved=[]) == [
        f"moves of {PLACE}: the snapshots name {[BACK]}, asked for were None"
    ]


def test_ranges_that_are_read_again_are_named_once() -> None:
    moves = [
        BACK,
        Move(place=PLACE, before=40, after=20),
        Move(place=PLACE, before=90, after=80),
    ]

    assert repeated_ranges(moves) == {PLACE: [Range(20, 60), Range(80, 90)]}


def test_a_commit_is_read_from_the_properties_of_its_snapshot() -> None:
    commit = commit_of(
        7,
        {
            "braid.streams": "complete",
            "braid.stream.orders": '{"offsets": {"0": 5}, "account": {"accepted": 4, "folded": 1}}',
            "braid.batch": '{"stream": "orders", "epoch": 2, "batch_id": 3, "attempt": 1, "start": {"0": 1},'
            ' "end": {"0": 5}, "account": {"accepted": 3}, "dead_letters": {"malformed": 1}}',
            "braid.moves": '{"orders": [{"cause": "requested", "time_ms": 1, "offsets": {"0": [60, 30]}}]}',
        },
    )

    assert commit.batch is not None
    assert (commit.batch.attempt, commit.batch.ranges) == ("2.3.1", {0: Range(1, 5)})
    assert commit.batch.letters == {"malformed": 1}
    assert (commit.moves, commit.offsets) == ((BACK,), {PLACE: 5})
    assert commit.accounts == {ORDERS: {"accepted": 4, "folded": 1}}
