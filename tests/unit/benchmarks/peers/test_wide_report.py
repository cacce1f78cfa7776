"""Figures of the sides that make wide rows."""

from collections.abc import Sequence

import pytest

from benchmarks.ingest.commit_log import Commit
from benchmarks.peers.wide_report import SideResult, ratio_figures, side_figures


def result(side: str, *, keys: int, seconds: Sequence[int]) -> SideResult:
    """A side that commits 100 records at each of some times, of one query."""
    return SideResult(
        side=side,
        keys=keys,
        begin_ms=0,
        commits=[Commit(stream="q", time_ms=1_000 * time, records=100, end={}) for time in seconds],
        rows=keys,
        state_bytes=7,
        memory_bytes=2_000_000,
    )


def test_rates_are_from_the_start_and_from_the_first_commit_on() -> None:
    found = side_figures(result("join", keys=300, seconds=[10, 12, 20]))

    assert {one["name"]: one["value"] for one in found} == {
        "300 keys: join, from its start on": 15.0,
        "300 keys: join, steady": pytest.approx(20.0),
        "300 keys: join, state outside of the table": 7,
        "300 keys: join, peak memory": 2.0,
        "300 keys: join, complete rows": 300,
    }


def test_a_side_with_one_commit_has_no_steady_rate() -> None:
    found = side_figures(result("delta", keys=100, seconds=[10]))

    assert "100 keys: delta, steady" not in [one["name"] for one in found]


def test_ratios_are_ours_over_each_peer_and_their_growth() -> None:
    found = ratio_figures(
        [
            result("braid", keys=200, seconds=[2, 4]),
            result("join", keys=200, seconds=[4, 12]),
            result("braid", keys=800, seconds=[2, 4]),
            result("join", keys=800, seconds=[4, 20]),
        ]
    )

    assert {one["name"]: one["value"] for one in found} == {
        "200 keys: braid over join, from its start on": 3.0,
        "200 keys: braid over join, steady": 4.0,
        "800 keys: braid over join, from its start on": 5.0,
        "800 keys: braid over join, steady": 8.0,
        "ratio to join, 800 keys over 200 keys": 2.0,
    }
    assert [one["aim"] for one in found if one["name"].endswith("over join, steady")] == [8, 8]


def test_without_our_side_there_are_no_ratios() -> None:
    assert ratio_figures([result("join", keys=200, seconds=[4, 12])]) == []


def test_a_side_is_complete_with_a_row_of_each_key() -> None:
    whole = result("join", keys=200, seconds=[4])

    assert whole.is_complete
