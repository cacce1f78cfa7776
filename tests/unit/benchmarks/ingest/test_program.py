"""The command line of the ingest benchmark, and the figures of its parts."""

import numpy as np
import pytest

from benchmarks.ingest.__main__ import PARTS, parse, sizes_of
from benchmarks.ingest.commit_log import Commit
from benchmarks.ingest.growth import growth_figures
from benchmarks.ingest.latency import latency_figures
from benchmarks.ingest.processes import Usage
from benchmarks.ingest.sizes import Sizes
from benchmarks.ingest.throughput import cold_figures, usage_figures, warm_figures


def test_without_options_everything_is_measured_with_the_usual_sizes() -> None:
    chosen = parse([])

    assert chosen.parts == list(PARTS)
    assert sizes_of(chosen) == Sizes()


def test_options_set_the_sizes() -> None:
    chosen = parse(["--parts", "growth", "--growth-keys", "500", "100", "--rounds", "1"])

    assert chosen.parts == ["growth"]
    assert sizes_of(chosen) == Sizes(growth_keys=(100, 500), rounds=1)


def test_a_size_is_at_least_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--records", "0"])

    assert "expected a number from 1" in capsys.readouterr().err


def test_a_cold_start_ends_with_the_first_commit() -> None:
    commits = [
        Commit(stream="a", time_ms=9_000, records=100, end={}),
        Commit(stream="b", time_ms=11_000, records=100, end={}),
        Commit(stream="a", time_ms=12_000, records=100, end={}),
    ]

    assert [found["value"] for found in cold_figures(commits, begin_ms=2_000)] == [7.0, 9.0, 30.0]
    warm = [found["value"] for found in warm_figures(commits, begin_ms=6_000)]
    assert warm == pytest.approx([50.0, 100 / 3])


def test_the_beginning_of_a_steady_rate_is_not_counted() -> None:
    times = np.arange(0, 1_000, 10)
    waits = np.where(times < 200, 5_000, 300)

    values = {
        found["name"].rpartition(", ")[2]: found["value"]
        for found in latency_figures(waits, times, Sizes(), end="served", aim_ms=1_000)
    }

    assert values["95 %"] == 300
    assert values["longest"] == 300


def test_growth_is_the_ratio_to_the_smallest_table() -> None:
    found = list(growth_figures({10: [1.0, 2.0, 9.0], 100: [2.2]}, batch=5))

    assert [one["value"] for one in found] == [2.0, 2.2, pytest.approx(1.1)]


def test_processor_time_is_that_of_the_warm_half() -> None:
    cold = {"JVM": Usage(processes=1, cpu_s=30.0, peak_bytes=10**6, sum_bytes=10**6)}
    warm = {
        "JVM": Usage(processes=1, cpu_s=60.0, peak_bytes=2 * 10**6, sum_bytes=2 * 10**6),
        "workers": Usage(processes=2, cpu_s=10.0, peak_bytes=10**6, sum_bytes=3 * 10**6),
    }

    found = usage_figures(cold, warm, records=2_000_000)

    assert [(one["name"], one["value"]) for one in found] == [
        ("throughput: JVM, processor time a million records (75 %)", 15.0),
        ("throughput: workers, processor time a million records (25 %)", 5.0),
        ("throughput: JVM, peak memory of one process", 2.0),
        ("throughput: workers, peak memory of one process", 1.0),
        ("throughput: workers, peak of all of them together", 3.0),
    ]
