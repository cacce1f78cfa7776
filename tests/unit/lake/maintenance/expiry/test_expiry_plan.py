"""Plans of expiry: the rules one by one, and the bounds that all plans keep."""

import pytest
from hypothesis import given, settings, strategies as st

from braid.lake.errors import InvalidRequest
from braid.lake.maintenance.expiry.expiry_plan import (
    ExpiryPlan,
    Hold,
    Retention,
    check_retention,
    plan_changelog_expiry,
    plan_expiry,
)

NO_BOUND = 1_000_000


def retention(**given: int) -> Retention:
    """Return a retention that keeps only the newest by default."""
    values = {"count_min": 1, "count_max": NO_BOUND, "older_than_ms": NO_BOUND, "limit": NO_BOUND}
    return Retention(**{**values, **given})


def end(
    earliest: int, latest: int, kept: Retention, *holds: int, times: dict[int, int] | None = None
) -> int:
    """Return the first id that stays; snapshot n is of time 10 n by default."""
    known = {n: 10 * n for n in range(1, 100)} if times is None else times
    plan = plan_expiry(
        earliest,
        latest,
        kept,
        holds=tuple(Hold(snapshot_id=hold, reason=f"hold {hold}") for hold in holds),
        time_ms_of=known.get,
    )
    assert plan.begin == earliest
    return plan.end


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (retention(), 10),  # the newest always stays
        (retention(count_min=4), 7),  # 7, 8, 9, 10
        (retention(count_min=10), 1),
        (retention(count_min=99), 1),
        (retention(limit=3), 4),  # 1, 2, 3 go
        # The successor's time decides: 5 is of time 50 and was the newest until 60.
        (retention(older_than_ms=60), 5),
        (retention(older_than_ms=61), 6),
        (retention(older_than_ms=50), 4),
        (retention(older_than_ms=0), 1),
        # Too many go whatever their age.
        (retention(older_than_ms=0, count_max=4), 7),
        (retention(older_than_ms=60, count_max=4), 7),
        (retention(older_than_ms=61, count_max=9), 6),
        (retention(older_than_ms=0, count_max=4, limit=2), 3),
        (retention(older_than_ms=0, count_max=4, count_min=4), 7),
    ],
)
def test_the_snapshots_that_stay_of_ten(kept: Retention, expected: int) -> None:
    assert end(1, 10, kept) == expected


def test_nothing_expires_where_the_newest_snapshot_expired_after_it_was_read() -> None:
    assert end(11, 10, retention()) == 11
    assert end(11, 10, retention(older_than_ms=0, count_max=1)) == 11


def test_a_consumer_holds_its_next_snapshot_and_all_later_ones() -> None:
    assert end(1, 10, retention(), 7) == 7
    assert end(1, 10, retention(), 7, 3, 12) == 3
    assert end(5, 10, retention(), 2) == 5
    assert end(1, 10, retention(older_than_ms=0, count_max=2), 4) == 4


def test_a_snapshot_that_vanishes_while_it_is_looked_at_is_no_reason_to_stop() -> None:
    assert end(1, 10, retention(older_than_ms=60), times={9: 90, 10: 100}) == 8


def test_a_plan_names_the_reason_of_its_end() -> None:
    hold = Hold(snapshot_id=3, reason="consumer c continues there")

    plans = [
        plan_expiry(1, 10, retention(), holds=(hold,), time_ms_of=lambda _: 0),
        plan_expiry(1, 10, retention(count_min=4), time_ms_of=lambda _: 0),
        plan_expiry(1, 10, retention(limit=2), time_ms_of=lambda _: 0),
        plan_expiry(1, 10, retention(older_than_ms=0), time_ms_of=lambda _: 0),
    ]

    assert plans == [
        ExpiryPlan(begin=1, end=3, held_by="consumer c continues there"),
        ExpiryPlan(begin=1, end=7, held_by="the newest 4 stay"),
        ExpiryPlan(begin=1, end=3, held_by="no more than 2 expire at a time"),
        ExpiryPlan(begin=1, end=1, held_by="it is too young"),
    ]


def test_only_the_times_that_matter_are_read() -> None:
    read = []

    def time_ms_of(snapshot_id: int) -> int:
        read.append(snapshot_id)
        return 10 * snapshot_id

    plan_expiry(1, 90, retention(older_than_ms=40), time_ms_of=time_ms_of)

    assert read == [2, 3, 4]


@pytest.mark.parametrize(
    ("kept", "field"),
    [
        (retention(count_min=5, count_max=4), "retain_max"),
        (retention(count_min=0), "retain_min"),
        (retention(limit=0), "max_deletes"),
    ],
)
def test_numbers_that_contradict_each_other_are_refused(kept: Retention, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_retention(kept)

    assert [problem.field for problem in refused.value.problems] == [field]


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (retention(), 5),  # the newest that is kept stays
        (retention(count_min=8), 3),  # 3..10 are changes, of which 6..10 have their snapshots
        (retention(older_than_ms=30), 3),  # its own time decides
        (retention(older_than_ms=31), 4),
        (retention(older_than_ms=0, count_max=8), 3),
        (retention(limit=1), 2),
    ],
)
def test_changelogs_that_outlived_their_snapshots(kept: Retention, expected: int) -> None:
    plan = plan_changelog_expiry(
        (1, 2, 3, 4, 5), 10, kept, time_ms_of={n: 10 * n for n in range(1, 6)}.get
    )

    assert (plan.begin, plan.end) == (1, expected)


def test_a_consumer_holds_changelogs() -> None:
    holds = (Hold(snapshot_id=2, reason="c"),)

    plan = plan_changelog_expiry((1, 2, 3), 10, retention(), holds=holds, time_ms_of=lambda _: 0)

    assert plan.end == 2


@settings(max_examples=300)
@given(
    earliest=st.integers(1, 20),
    count=st.integers(1, 30),
    count_min=st.integers(1, 12),
    more=st.integers(0, 12),
    older_than_ms=st.integers(0, 400),
    limit=st.integers(1, 30),
    holds=st.lists(st.integers(1, 60), max_size=3),
    steps=st.lists(st.integers(0, 20), min_size=60, max_size=60),
)
def test_every_plan_keeps_its_bounds(
    earliest: int,
    count: int,
    count_min: int,
    more: int,
    older_than_ms: int,
    limit: int,
    holds: list[int],
    steps: list[int],
) -> None:
    latest = earliest + count - 1
    times = {n: sum(steps[:n]) for n in range(1, 61)}
    kept = Retention(
        count_min=count_min, count_max=count_min + more, older_than_ms=older_than_ms, limit=limit
    )

    first = end(earliest, latest, kept, *holds, times=times)

    gone = range(earliest, first)
    assert earliest <= first <= latest or not gone
    assert len(gone) <= limit
    assert not gone or latest - first + 1 >= count_min
    assert all(hold >= first for hold in holds) or not gone
    for number in gone:
        is_too_many = latest - number + 1 > kept.count_max
        assert is_too_many or times[number + 1] < older_than_ms
    if first < latest - kept.count_max + 1:
        # A hold or limit stopped it below the excess.
        assert len(gone) == limit or any(hold <= max(first, earliest) for hold in holds)
    # Continuing from there at the same time gives the same result as without the stop.
    if not holds:
        again = end(first, latest, kept, times=times)
        unlimited = Retention(
            count_min=kept.count_min,
            count_max=kept.count_max,
            older_than_ms=older_than_ms,
            limit=limit * 2,
        )
        assert again == end(earliest, latest, unlimited, times=times)
