"""Comparison of ways to combine three topics into wide rows: Braid and three usual ways on Spark, which take turns.

All sides read the same topics. These have one message for each key, because a stream-stream join would multiply
the rows of a repeated key. Each side starts cold, on two cores, and nothing but the broker runs beside it.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc

from benchmarks.figure import figure_line
from benchmarks.ingest.bed import IngestBed
from benchmarks.ingest.commit_log import read_commits
from benchmarks.ingest.processes import ProcessWatch
from benchmarks.ingest.shape import STREAMS, version_column
from benchmarks.peers.spark_side import python_of, run_side
from benchmarks.peers.wide_report import OURS, SideResult, ratio_figures, side_figures
from braid.demo.processes import ProcessFailed
from braid.lake import SystemClock, Table

SIDES: Final = (OURS, "join", "delta", "iceberg")
_TRIGGER_MS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WideSizes:
    """Sizes of a run.

    Attributes:
        keys: Rows of the wide table, and messages of each topic: sizes, ascending.
        batch_records: Bound of a micro-batch, for each topic.
        memory: Heap of the peers' JVM, as Spark writes it.
    """

    keys: tuple[int, ...] = (250_000, 1_000_000)
    batch_records: int = 100_000
    memory: str = "3g"


@dataclass(slots=True, kw_only=True)
class WideReport:
    """What was measured.

    Attributes:
        figures: All figures.
        incomplete: Sides whose wide rows are not complete, with the size.
    """

    figures: list[dict[str, Any]] = field(default_factory=list)
    incomplete: list[tuple[str, int]] = field(default_factory=list)


def run_all(sides: Sequence[str], sizes: WideSizes) -> WideReport:
    """Run each side at each size, print the figures, and return them.

    Args:
        sides: Some of `SIDES`.
        sizes: The sizes.
    """
    for side in sides:
        if side != OURS:
            python_of(side)  # a missing environment is found before anything runs
    report = WideReport()
    results = []
    for keys in sizes.keys:
        # A broker of its own for each size, so that the topics of one are not on disk with those of the next.
        with (
            tempfile.TemporaryDirectory(prefix="braid-bench-") as folder,
            IngestBed(Path(folder)) as bed,
        ):
            bed.start_broker()
            topics = bed.create_topics("wide")
            bed.fill(topics, keys=keys, count=keys)
            for side in sides:
                try:
                    result = _run(bed, side, topics, keys=keys, sizes=sizes)
                except ProcessFailed as error:
                    # The others are still worth measuring.
                    print(f"  {side}: {error}", flush=True)
                    report.incomplete.append((side, keys))
                    continue
                results.append(result)
                _tell(report, side_figures(result))
                if not result.is_complete:
                    report.incomplete.append((side, keys))
    _tell(report, ratio_figures(results))
    for side, keys in report.incomplete:
        print(f"  {side} has not made a complete row of each of {keys:,} keys")
    return report


def _tell(report: WideReport, figures: Sequence[dict[str, Any]]) -> None:
    for one in figures:
        print(figure_line(one), flush=True)
    report.figures += figures


def _run(
    bed: IngestBed, side: str, topics: Mapping[str, str], *, keys: int, sizes: WideSizes
) -> SideResult:
    if side == OURS:
        return _run_ours(bed, topics, keys=keys, batch_records=sizes.batch_records)
    return run_side(
        bed,
        side,
        topics,
        keys=keys,
        batch_records=sizes.batch_records,
        memory=sizes.memory,
    )


def _run_ours(
    bed: IngestBed, topics: Mapping[str, str], *, keys: int, batch_records: int
) -> SideResult:
    bed.start_service()
    table = bed.register(
        "wide", topics, trigger_ms=_TRIGGER_MS, max_records_per_batch=batch_records
    )
    with ProcessWatch() as watch:
        # `braid-runner-<user>/<runner>/checkpoints`.
        watch.watch_folders(bed.scratch, "*/*/checkpoints")
        begin_ms = SystemClock().now_ms()
        watch.watch("runner", bed.start_runner().process_id)
        bed.wait_records(table, keys)
        state_bytes, memory_bytes = watch.folder_bytes, watch.total_bytes
    bed.stop()
    return SideResult(
        side=OURS,
        keys=keys,
        begin_ms=begin_ms,
        commits=read_commits(table),
        rows=complete_rows(table),
        state_bytes=state_bytes,
        memory_bytes=memory_bytes,
    )


def complete_rows(table: Table) -> int:
    """Return how many rows have the columns of all streams."""
    total = 0
    for batch in table.scan(columns=[version_column(stream) for stream in STREAMS]).to_batches():
        is_complete = pc.is_valid(batch.column(0))
        for column in batch.columns[1:]:
            is_complete = pc.and_(is_complete, pc.is_valid(column))
        total += pc.sum(is_complete).as_py() or 0
    return total
