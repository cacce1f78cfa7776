"""Report of the compaction benchmark: lines that are printed as they are measured, and the same results as figures and aims."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.compaction.aims import Aim, mark
from benchmarks.compaction.amplification import COMMITS, ROWS_OF_A_COMMIT, Written
from benchmarks.compaction.full import FullLine
from benchmarks.compaction.latency import CommitLatency
from benchmarks.figure import figure
from benchmarks.merging.cases import Case
from benchmarks.merging.memory import Peak

AIM_TIMES = 2.0
AMPLIFICATION_TIMES = 1.1
FLAT_TIMES = 1.25

FULL_HEADER = f"""
Full compaction of four overlapping level-0 files in each of two buckets, millions of records per
second; the best of three in one process after one that warms up, the two sides in turn, on copies of
the same files. x is ours over the reference's, (cpu) the same by processor time, which a busy machine
disturbs less. The rows of both are compared. Two cores: two processes of ours, two writers of Java's.
Reading is ours on one core, before and after. Aims: {AIM_TIMES:g} times the reference's speed; reading
is no slower than before.

                                           |        one core           |        two cores          | reading           |
line                                       |  ours   Java     x  (cpu) |  ours   Java     x  (cpu) | before  after   x | aims
"""


MEMORY_HEADER = f"""
Peak memory of a process that compacts the table fully, MB. Aims: within the budget, and the largest
table takes at most {FLAT_TIMES:g} times what the smallest takes.

{"line":<42} {"records":>11} {"at start":>9} {"peak":>9}
"""


def skipped_row(case: Case, reason: str) -> str:
    """Return the row of a case that could not be measured."""
    return f"{case.name:<42} skipped: {reason}"


def full_row(case: Case, line: FullLine) -> str:
    """Return the row of a case."""
    speeds = "".join(
        f" {line.records / speed.ours_s / 1e6:5.2f} {line.records / speed.java_s / 1e6:6.2f}"
        f" {speed.times:5.1f} ({speed.java_cpu_s / speed.ours_cpu_s:4.1f}) |"
        for speed in line.speed.values()
    )
    before, after = line.read_before_s, line.read_after_s
    reading = f" {before:5.2f}s {after:5.2f}s {before / after:3.1f} |"
    return f"{case.name:<42} |{speeds}{reading} {mark(full_aims(case, line))}"


def full_aims(case: Case, line: FullLine) -> list[Aim]:
    """Return the aims of a case."""
    speeds = [
        Aim(
            what=f"{case.name}: full compaction, {cores} core(s): ours over reference",
            found=speed.times,
            unit="times",
            limit=AIM_TIMES,
        )
        for cores, speed in line.speed.items()
    ]
    reading = Aim(
        what=f"{case.name}: speed of reading after full compaction over before",
        found=line.read_before_s / line.read_after_s,
        unit="times",
        limit=1.0,
    )
    return [*speeds, reading]


def full_figures(case: Case, line: FullLine) -> list[dict[str, Any]]:
    """Return the numbers of a case that have no aim, as the benchmarks give them."""
    found = []
    for cores, speed in line.speed.items():
        where = f"{case.name}: full compaction, {cores} core(s)"
        found += [
            figure(f"{where}: ours", line.records / speed.ours_s, "records/s"),
            figure(f"{where}: reference", line.records / speed.java_s, "records/s"),
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
        f"Write amplification over {COMMITS} commits of {ROWS_OF_A_COMMIT:,} rows to one bucket, what is due",
        f"compacted after each, by the same options. Aim: at most {AMPLIFICATION_TIMES:g} times the reference's.",
        "",
        f"{'side':<14} {'appended MB':>12} {'compacted MB':>13} {'times':>6} {'runs at most':>13}"
        f" {'at the end':>11} {'read after':>11}",
    ]
    lines += [
        f"{name:<14} {side.appended / 1e6:>12.1f} {side.compacted / 1e6:>13.1f}"
        f" {side.amplification:>6.2f} {side.runs_max:>13} {side.runs:>11} {side.read_s:>10.2f}s"
        for name, side in sides.items()
    ]
    return "\n".join([*lines, mark(amplification_aims(sides))])


def amplification_aims(sides: Mapping[str, Written]) -> list[Aim]:
    """Return the aim: to write at most `AMPLIFICATION_TIMES` of what the reference writes."""
    ours, java = sides.values()
    return [
        Aim(
            what=f"write amplification, {COMMITS} commits: ours over reference",
            found=ours.amplification / java.amplification,
            unit="times",
            limit=AMPLIFICATION_TIMES,
            is_most=True,
        )
    ]


def amplification_figures(sides: Mapping[str, Written]) -> list[dict[str, Any]]:
    """Return both sides' write amplification."""
    what = f"write amplification, {COMMITS} commits"
    return [figure(f"{what}: {name}", side.amplification, "times") for name, side in sides.items()]


def latency_table(tables: Sequence[CommitLatency]) -> str:
    """Return the latency of commits, a row for each table."""
    width = max(len(table.history.name) for table in tables)
    lines = [
        "",
        "Writing and committing 20 rows, milliseconds; the tables in turn, each commit waits for the disk.",
        "x is over the young table; opened: opening the table and the first commit. Aim: flat, at most",
        f"{FLAT_TIMES:g} times the young table's median.",
        "",
        f"{'commits':<{width}} {'median':>7} {'x':>5} {'p99':>7} {'cpu':>6} {'x':>5} {'opened':>7}"
        f" {'calls':>6} {'snapshots':>10} {'live files':>11} {'manifests':>10}",
    ]
    young = tables[0]
    for table in tables:
        aims = [aim for aim in latency_aims(tables) if aim.what.endswith(table.history.name)]
        lines.append(
            f"{table.history.name:<{width}} {table.median_ms:7.1f} {table.median_ms / young.median_ms:5.2f}"
            f" {table.p99_ms:7.1f} {table.cpu_ms:6.1f} {table.cpu_ms / young.cpu_ms:5.2f}"
            f" {table.opened_ms:7.1f} {table.calls:6.1f} {table.snapshots:10,} {table.live_files:11,}"
            f" {table.manifests:10}" + (f" {mark(aims)}" if aims else "")
        )
    return "\n".join(lines)


def latency_aims(tables: Sequence[CommitLatency]) -> list[Aim]:
    """Return the aims: that the age of a table does not slow its commits."""
    young, *old = tables
    return [
        Aim(
            what=f"a commit over one {young.history.name} commits: {table.history.name}",
            found=table.median_ms / young.median_ms,
            unit="times",
            limit=FLAT_TIMES,
            is_most=True,
        )
        for table in old
    ]


def latency_figures(tables: Sequence[CommitLatency]) -> list[dict[str, Any]]:
    """Return what commits cost on each table."""
    found = []
    for table in tables:
        what = f"write and commit 20 rows {table.history.name}"
        found += [
            figure(f"{what}: median", table.median_ms, "ms"),
            figure(f"{what}: p99", table.p99_ms, "ms"),
            figure(f"{what}: processor time", table.cpu_ms, "ms"),
            figure(f"{what}: opened anew", table.opened_ms, "ms"),
            figure(f"{what}: storage calls", table.calls, "calls"),
        ]
    return found


def memory_row(case: Case, records: int, peak: Peak, aims: list[Aim]) -> str:
    """Return the row of a case at one size."""
    sizes = f"{records:>11,} {peak.before_mb:9.0f} {peak.after_mb:9.0f}"
    return f"{case.name:<42} {sizes} {mark(aims)}"


def memory_aims(case: Case, peaks: Mapping[int, Peak], budget_mb: float) -> list[Aim]:
    """Return the aims for the size that was measured last.

    Args:
        case: The line.
        peaks: By millions of records, in the order measured.
        budget_mb: Of the process.
    """
    what = f"{case.name}: peak memory of a full compaction"
    smallest, largest = min(peaks), max(peaks)
    newest = list(peaks)[-1]
    budget = Aim(
        what=f"{what}, {newest} million records",
        found=peaks[newest].after_mb,
        unit="MB",
        limit=budget_mb,
        is_most=True,
    )
    if len(peaks) == 1:
        return [budget]
    flat = Aim(
        what=f"{what}, {largest} million records over {smallest}",
        found=peaks[largest].after_mb / peaks[smallest].after_mb,
        unit="times",
        limit=FLAT_TIMES,
        is_most=True,
    )
    return [budget, flat]
