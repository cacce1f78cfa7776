"""Figures of a commit log: rates, durations of micro-batches, and waits of records."""

import numpy as np
import pytest

from benchmarks.ingest.commit_log import (
    Commit,
    batch_seconds,
    percentile,
    steady_rate,
    waits_ms,
)


def commit(stream: str, time_ms: int, records: int, **end: int) -> Commit:
    return Commit(
        stream=stream,
        time_ms=time_ms,
        records=records,
        end={int(name[1:]): offset for name, offset in end.items()},
    )


def test_the_steady_rate_begins_where_every_stream_has_committed() -> None:
    commits = [
        commit("a", 1_000, 500),
        commit("a", 2_000, 100),
        commit("b", 3_000, 500),
        commit("a", 4_000, 100),
        commit("b", 5_000, 200),
    ]

    # From 3.0 s to 5.0 s: all 200 records of `b`, and half of the batch of `a` that began at 2.0 s.
    assert steady_rate(commits) == pytest.approx((200 + 50) / 2)


def test_a_stream_that_commits_once_has_no_steady_rate() -> None:
    assert steady_rate([commit("a", 1_000, 500)]) is None
    assert steady_rate([commit("a", 1_000, 500), commit("b", 2_000, 500)]) is None
    assert steady_rate([]) is None


def test_a_batch_lasts_from_commit_to_commit_of_its_stream() -> None:
    commits = [
        commit("a", 1_000, 100),
        commit("b", 1_200, 100),
        commit("a", 1_500, 100),
        commit("b", 2_200, 100),
        commit("a", 1_700, 30),
    ]

    assert batch_seconds(commits, records_min=90) == [0.5, 1.0]


def test_a_record_waits_for_the_first_snapshot_that_is_past_it() -> None:
    commits = [
        commit("a", 1_000, 12, p0=10, p1=12),
        commit("a", 1_500, 2, p0=12, p1=12),
        commit("a", 1_900, 3, p0=13, p1=14),
    ]
    produced = {0: np.array([1_100, 1_200, 1_600]), 1: np.array([1_000, 1_300])}

    waits = waits_ms(produced, commits, first={0: 10, 1: 12})

    assert waits.tolist() == [400, 300, 300, 900, 600]


def test_a_record_without_a_commit_is_an_error() -> None:
    commits = [commit("a", 1_000, 2, p0=2)]

    with pytest.raises(ValueError, match="partition 0: 1 of 3 records are in no commit"):
        waits_ms({0: np.array([1, 2, 3])}, commits, first={0: 0})


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 50.0), (0.95, 95.0), (0.99, 99.0), (1.0, 100.0)]
)
def test_a_percentile_is_one_of_the_values(share: float, expected: float) -> None:
    assert percentile(range(100, 0, -1), share) == expected
