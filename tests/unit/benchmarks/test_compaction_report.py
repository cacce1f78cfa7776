"""The missed aims of the compaction benchmark are reported, line by line and in the end."""

from pathlib import Path

import pytest

from benchmarks.compaction import report
from benchmarks.compaction.aims import Aim, mark, summary
from benchmarks.compaction.amplification import Written
from benchmarks.compaction.full import FullLine
from benchmarks.compaction.history import (
    CommitHistory,
    Maintainer,
    UnsyncedDisk,
    now_after,
    rows_of,
)
from benchmarks.compaction.latency import CommitLatency
from benchmarks.merging.cases import CASES
from benchmarks.merging.measure import Speed
from benchmarks.merging.memory import Peak
from braid.lake import Catalog, LocalFileIO
from braid.lake.files.clock import ManualClock

CASE = CASES[0]


def line(*, java_s: float, read_after_s: float = 1.0) -> FullLine:
    speed = Speed(ours_s=1.0, java_s=java_s, ours_cpu_s=1.0, java_cpu_s=java_s)
    return FullLine(
        records=10, rows=5, speed={1: speed}, read_before_s=2.0, read_after_s=read_after_s
    )


def latency(name: str, median_ms: float) -> CommitLatency:
    return CommitLatency(
        history=CommitHistory(name=name, commits=10, is_maintained=True),
        median_ms=median_ms,
        p99_ms=9.0,
        cpu_ms=1.0,
        calls=20.0,
        opened_ms=9.0,
        snapshots=1,
        live_files=1,
        manifests=1,
    )


@pytest.mark.parametrize(
    ("found", "is_most", "is_met"),
    [(2.0, False, True), (1.9, False, False), (2.0, True, True), (2.1, True, False)],
)
def test_an_aim_is_a_bound_that_may_be_touched(found: float, is_most: bool, is_met: bool) -> None:
    aim = Aim(what="it", found=found, unit="times", limit=2.0, is_most=is_most)

    assert aim.is_met == is_met
    assert (mark([aim]) == "ok") == is_met
    assert aim.figure()["met"] == is_met


def test_the_end_names_the_missed_aims() -> None:
    aims = [
        Aim(what="speed", found=3.0, unit="times", limit=2.0),
        Aim(what="peak", found=600.0, unit="MB", limit=512, is_most=True),
    ]

    assert summary(aims) == "1 of 2 aims met\nMISSED: peak: 600.00 MB, aim at most 512"


def test_a_line_names_the_aim_that_it_misses() -> None:
    assert report.full_row(CASE, line(java_s=2.0)).endswith("| ok")
    assert report.full_row(CASE, line(java_s=1.5)).endswith("| MISSED (1.50 times)")
    assert report.full_row(CASE, line(java_s=2.0, read_after_s=4.0)).endswith("(0.50 times)")


def test_more_bytes_than_the_reference_writes_are_missed() -> None:
    def side(compacted: int) -> Written:
        return Written(appended=100, compacted=compacted, runs_max=5, runs=1, read_s=1.0)

    aims = report.amplification_aims({"ours": side(300), "the reference": side(200)})

    assert [aim.found for aim in aims] == [pytest.approx(4 / 3)]
    assert not aims[0].is_met


def test_old_tables_are_compared_with_the_young_one() -> None:
    tables = [latency("after 10", 10.0), latency("after 9", 12.0), latency("after 8", 13.0)]

    assert [aim.is_met for aim in report.latency_aims(tables)] == [True, False]
    young, first, second = report.latency_table(tables).splitlines()[-3:]
    assert not young.endswith("ok")
    assert first.endswith(" ok")
    assert second.endswith(" MISSED (1.30 times)")


def test_memory_is_to_be_within_the_budget_and_flat() -> None:
    peaks = {4: Peak(before_mb=50, after_mb=100)}
    assert [aim.limit for aim in report.memory_aims(CASE, peaks, 512)] == [512]

    peaks[40] = Peak(before_mb=50, after_mb=130)
    assert [aim.is_met for aim in report.memory_aims(CASE, peaks, 512)] == [True, False]


def test_a_maintained_history_stays_small(tmp_path: Path) -> None:
    history = CommitHistory(name="t", commits=0, is_maintained=True)
    clock = ManualClock(start_ms=now_after(history).now_ms())
    catalog = Catalog(str(tmp_path), file_io=LocalFileIO(UnsyncedDisk()), clock=clock)
    table = catalog.create_table(
        "b.t",
        columns=[("k", "BIGINT"), ("d", "BIGINT")],
        primary_key=["k"],
        options={"bucket": "1"},
    )
    maintainer = Maintainer(table, history, clock)
    for number in range(20):
        table.write_and_commit(rows_of(number).select(["k", "d"]))
        maintainer.after_commit()

    newest = table.latest_snapshot()
    assert newest is not None
    assert newest.id > 20, "compactions were committed"
    assert len(table.live_files(newest)) < 10
    assert (
        clock.now_ms()
        == now_after(CommitHistory(name="t", commits=20, is_maintained=True)).now_ms()
    )
