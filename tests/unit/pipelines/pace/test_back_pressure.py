"""A stream slows down while compaction is behind, and comes back to what is declared."""

import pytest
from hypothesis import given, strategies as st

from braid.pipelines.pace.back_pressure import FACTOR_MAX, INTERVAL_MS_MAX, Pace, PaceRule

RULE = PaceRule(trigger_ms=1_000, records_max=100, relaxed_runs=5, runs_max=8)


def paces(*runs: int, rule: PaceRule = RULE, batch_ms: int = 300) -> list[Pace]:
    """Return the paces after batches that left these numbers of runs."""
    pace, found = rule.first(), []
    for count in runs:
        pace = rule.next(pace, runs=count, batch_ms=batch_ms)
        found.append(pace)
    return found


@pytest.mark.parametrize(
    ("runs", "factors"),
    [
        pytest.param([1, 5, 8, 3], [1, 1, 1, 1], id="up-to-the-stop-trigger-nothing-changes"),
        pytest.param([9, 17, 33, 65, 65], [2, 4, 8, 8, 8], id="doubles-up-to-a-bound"),
        pytest.param([9, 16, 16, 9, 10], [2, 2, 2, 2, 2], id="grows-with-the-runs-alone"),
        pytest.param([9, 17, 8, 6, 8], [2, 4, 4, 4, 4], id="stays-in-between"),
        pytest.param(
            [9, 17, 8, 6, 7, 8, 7], [2, 4, 4, 4, 4, 2, 2], id="halves-after-four-in-between"
        ),
        pytest.param(
            [9, 17, 8, 8, 8, 9, 8, 8], [2, 4, 4, 4, 4, 4, 4, 4], id="begins-to-count-anew"
        ),
        pytest.param([9, 17, 5, 1, 1], [2, 4, 2, 1, 1], id="halves-when-compaction-has-caught-up"),
        pytest.param([9, 5, 9, 5], [2, 1, 2, 1], id="follows-each-batch"),
    ],
)
def test_the_factor_follows_the_runs(runs: list[int], factors: list[int]) -> None:
    assert [pace.factor for pace in paces(*runs)] == factors


def test_interval_and_bound_are_those_declared_times_the_factor() -> None:
    assert RULE.first() == Pace(factor=1, runs=None, interval_ms=1_000, records_max=100)
    assert paces(9, 17)[-1] == Pace(factor=4, runs=17, interval_ms=4_000, records_max=400)
    assert paces(9, 17, 2, 2)[-1] == Pace(factor=1, runs=2, interval_ms=1_000, records_max=100)


def test_batches_longer_than_their_trigger_are_made_rarer_all_the_same() -> None:
    assert paces(9, batch_ms=3_000)[-1].interval_ms == 6_000


@pytest.mark.parametrize(("trigger_ms", "expected"), [(30_000, INTERVAL_MS_MAX), (90_000, 90_000)])
def test_no_interval_is_lengthened_beyond_a_minute(trigger_ms: int, expected: int) -> None:
    rule = PaceRule(trigger_ms=trigger_ms, records_max=1, relaxed_runs=5, runs_max=8)

    assert paces(9, 17, 33, rule=rule)[-1].interval_ms == expected


@given(st.lists(st.tuples(st.integers(0, 80), st.integers(0, 100_000))))
def test_a_stream_is_never_faster_than_declared_and_returns_to_its_declared_pace(
    history: list[tuple[int, int]],
) -> None:
    pace = RULE.first()
    for runs, batch_ms in history:
        pace = RULE.next(pace, runs=runs, batch_ms=batch_ms)
        assert RULE.trigger_ms <= pace.interval_ms <= INTERVAL_MS_MAX
        assert RULE.records_max <= pace.records_max <= FACTOR_MAX * RULE.records_max
    for _ in range(3):
        pace = RULE.next(pace, runs=RULE.relaxed_runs, batch_ms=0)
    assert (pace.factor, pace.interval_ms, pace.records_max) == (1, 1_000, 100)
