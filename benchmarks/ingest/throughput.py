"""Measurement of the throughput of three streams into one table, with a runner that has just started, and with a warm one.

1. The topics are filled, the streams are registered, and the runner is started. Measured: the time to
   the first commit.
2. When all records are committed, the streams are paused, and as many records are added to the topics.
3. The streams are resumed. Measured: records per second, and the processor time of every process.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.figure import figure
from benchmarks.ingest.bed import filled_bed
from benchmarks.ingest.commit_log import Commit, read_commits, steady_rate
from benchmarks.ingest.processes import Usage
from benchmarks.ingest.shape import STREAMS
from benchmarks.ingest.sizes import AIM_FIRST_COMMIT_S, AIM_RECORDS_S, Sizes
from braid.lake import SystemClock

_MEGABYTE = 1e6


def run(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Yield the figures of the throughput.

    Args:
        sizes: `records`, `keys`, `batch_records` and `trigger_ms` are used.
    """
    clock = SystemClock()
    with filled_bed(sizes, count=sizes.records) as (bed, topics, table):
        begin_ms = clock.now_ms()
        bed.start_runner()
        bed.wait_records(table, sizes.records)
        yield from cold_figures(read_commits(table), begin_ms=begin_ms)

        bed.command("wide", "pause", state="PAUSED")
        bed.fill(topics, keys=sizes.keys, count=sizes.records)
        newest = table.latest_snapshot()
        assert newest is not None, "records were committed"
        before, begin_ms = bed.watch.usage(), clock.now_ms()
        bed.command("wide", "resume", state="RUNNING")
        bed.wait_records(table, 2 * sizes.records)
        after = bed.watch.usage()
        yield from warm_figures(read_commits(table, after=newest.id), begin_ms=begin_ms)
        yield from usage_figures(before, after, records=len(STREAMS) * sizes.records)


def cold_figures(commits: list[Commit], *, begin_ms: int) -> list[dict[str, Any]]:
    """Return the figures of a runner that has just been started.

    Args:
        commits: Its commits, at least one of each stream.
        begin_ms: When it was started.
    """
    firsts = {commit.stream: commit.time_ms for commit in reversed(commits)}
    records = sum(commit.records for commit in commits)
    length_ms = commits[-1].time_ms - begin_ms
    name = "throughput: start of a cold runner"
    return [
        figure(
            f"{name} → first commit",
            (commits[0].time_ms - begin_ms) / 1_000,
            "s",
            AIM_FIRST_COMMIT_S,
        ),
        figure(
            f"{name} → every stream has committed", (max(firsts.values()) - begin_ms) / 1_000, "s"
        ),
        figure(f"{name} → {records:,} records committed", records / length_ms * 1_000, "records/s"),
    ]


def warm_figures(commits: list[Commit], *, begin_ms: int) -> list[dict[str, Any]]:
    """Return the figures of streams that were resumed on full topics.

    Args:
        commits: Their commits since then.
        begin_ms: When they were resumed.
    """
    records = sum(commit.records for commit in commits)
    length_ms = commits[-1].time_ms - begin_ms
    name = f"throughput: {records:,} records"
    steady = steady_rate(commits)
    found = [
        figure(f"{name}, from resuming the streams on", records / length_ms * 1_000, "records/s")
    ]
    if steady is not None:
        what = f"{name}, steady: from every stream's first commit on"
        found.append(figure(what, steady, "records/s", AIM_RECORDS_S))
    return found


def usage_figures(
    before: dict[str, Usage], after: dict[str, Usage], *, records: int
) -> list[dict[str, Any]]:
    """Return processor time and memory of each kind of process.

    Args:
        before: Usage before the warm half.
        after: Usage after it.
        records: Records of the warm half.
    """
    used = {
        kind: usage.cpu_s - (before[kind].cpu_s if kind in before else 0.0)
        for kind, usage in after.items()
    }
    total = sum(used.values()) or 1.0
    found = []
    for kind, seconds in used.items():
        share = 100 * seconds / total
        name = f"throughput: {kind}, processor time a million records ({share:.0f} %)"
        found.append(figure(name, seconds / records * 1e6, "s"))
    for kind, usage in after.items():
        name = f"throughput: {kind}, peak memory of one process"
        found.append(figure(name, usage.peak_bytes / _MEGABYTE, "MB"))
        if usage.processes > 1:
            name = f"throughput: {kind}, peak of all of them together"
            found.append(figure(name, usage.sum_bytes / _MEGABYTE, "MB"))
    return found
