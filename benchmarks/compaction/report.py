"""The tables that are printed, a row as soon as it is measured, and the same as figures."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.compaction.amplification import COMMITS, ROWS_OF_A_COMMIT, Written
from benchmarks.compaction.full import FullLine
from benchmarks.compaction.latency import CommitLatency
from benchmarks.figure import figure
from benchmarks.merging.cases import Case
from benchmarks.merging.memory import Peak

AIM_TIMES = 2.0

FULL_HEADER = """
Full compaction of four overlapping level-0 files in each of two buckets, millions of records per
second; the best of three in one process after one that warms up, the two sides in turn, on copies of
the same files. x is ours over the reference's, (cpu) the same by processor time, which a busy machine
disturbs less. The rows of both are compared. Two cores: two processes of ours, two writers of Java's.
Reading is ours on one core, before and after.

                                           |        one core           |        two cores          | reading           |
line                                       |  ours   Java     x  (cpu) |  ours   Java     x  (cpu) | before  after   x | aim
"""


MEMORY_HEADER = f"""
Peak memory of a process that compacts the table fully, MB

{"line":<42} {"records":>11} {"at start":>9} {"peak":>9}
"""


def skipped_row(case: Case, reason: str) -> str:
    """Return the row of a case that could not be measured."""
    return f"{case.name:<42} skipped: {reason}"


def full_row(case: Case, line: FullLine) -> str:
    """Return the row of a case."""
    mark = "ok" if not missed_aims(line) else f"MISSED: {', '.join(missed_aims(line))}"
    speeds = "".join(
        f" {line.records / speed.ours_s / 1e6:5.2f} {line.records / speed.java_s / 1e6:6.2f}"
        f" {speed.times:5.1f} ({speed.java_cpu_s / speed.ours_cpu_s:4.1f}) |"
        for speed in line.speed.values()
    )
    before, after = line.read_before_s, line.read_after_s
    reading = f" {before:5.2f}s {after:5.2f}s {before / after:3.1f} |"
    return f"{case.name:<42} |{speeds}{reading} {AIM_TIMES:g} {mark}"


def missed_aims(line: FullLine) -> list[str]:
    """Return which aims are missed, as text."""
    return [
        f"{cores} core(s) {speed.times:.2f} < {AIM_TIMES:g}"
        for cores, speed in line.speed.items()
        if speed.times < AIM_TIMES
    ]


def full_figures(case: Case, line: FullLine) -> list[dict[str, Any]]:
    """Return the numbers of a case as the benchmarks give them."""
    found = []
    for cores, speed in line.speed.items():
        where = f"{case.name}: full compaction, {cores} core(s)"
        found += [
            figure(f"{where}: ours", line.records / speed.ours_s, "records/s"),
            figure(f"{where}: reference", line.records / speed.java_s, "records/s"),
            figure(f"{where}: ours over reference", speed.times, "times", AIM_TIMES),
            figure(
                f"{where}: processor time of the reference over ours",
                speed.java_cpu_s / speed.ours_cpu_s,
                "times",
            ),
        ]
    found.append(figure(f"{case.name}: reading before compaction", line.read_before_s, "s"))
    found.append(figure(f"{case.name}: reading after compaction", line.read_after_s, "s"))
    return found


def amplification_table(sides: Mapping[str, Written]) -> str:
    """Return what both sides wrote, a row each."""
    lines = [
        "",
        f"Write amplification over {COMMITS} commits of {ROWS_OF_A_COMMIT:,} rows to one bucket,",
        "what is due compacted after each, by the same options.",
        "",
        f"{'side':<14} {'appended MB':>12} {'compacted MB':>13} {'times':>6} {'runs at most':>13}",
    ]
    for name, side in sides.items():
        lines.append(
            f"{name:<14} {side.appended / 1e6:>12.1f} {side.compacted / 1e6:>13.1f}"
            f" {side.amplification:>6.2f} {side.runs_max:>13}"
        )
    return "\n".join(lines)


def amplification_figures(sides: Mapping[str, Written]) -> list[dict[str, Any]]:
    """Return both sides' write amplification."""
    what = f"write amplification, {COMMITS} commits"
    return [figure(f"{what}: {name}", side.amplification, "times") for name, side in sides.items()]


def latency_table(ages: Sequence[CommitLatency]) -> str:
    """Return the latency of commits, a row for each age of the table."""
    header = f"{'commits before':>14} {'median ms':>10} {'p99 ms':>8} {'live files':>11}"
    lines = [
        f"{age.commits:>14,} {age.median_ms:>10.1f} {age.p99_ms:>8.1f} {age.live_files:>11,}"
        for age in ages
    ]
    return "\n".join(["", header, *lines])


def latency_figures(ages: Sequence[CommitLatency]) -> list[dict[str, Any]]:
    """Return the median latency at each age."""
    return [
        figure(f"write and commit 20 rows after {age.commits:,} commits", age.median_ms, "ms")
        for age in ages
    ]


def memory_row(case: Case, records: int, peak: Peak, budget_mb: float) -> str:
    """Return the row of a case at one size."""
    mark = "ok" if peak.after_mb <= budget_mb else f"OVER THE BUDGET OF {budget_mb}"
    return f"{case.name:<42} {records:>11,} {peak.before_mb:9.0f} {peak.after_mb:9.0f} {mark}"


def memory_figure(case: Case, million: int, peak: Peak, budget_mb: float) -> dict[str, Any]:
    """Return the peak of a case at one size."""
    name = f"{case.name}: peak memory of a full compaction, {million} million records"
    return figure(name, peak.after_mb, "MB", budget_mb)
