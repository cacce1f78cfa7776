"""Comparison with the Java reference: both sides write the same rows on the same machine, in turn, and then read them.

Java generates its rows while it writes them. So Braid has two figures, with and without the time of generating
rows. Java's start is not counted. Braid runs on one core; Java may use all cores.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.bulk_rows import GROUPED_COLUMNS, GROUPED_OPTIONS, grouped_rows
from benchmarks.figure import best_s, figure
from braid.lake import Catalog, Table
from tests.interop.java_reader import count_rows, write_bulk

ROWS = 2_500_000
COMMITS = 5
KEYS = 625_000
ROUNDS = 3
READS = 5
# Java's default for this table is `sum`; both sides get the same function.
SAME_MERGING = {"fields.d.aggregate-function": "last_non_null_value"}
AIM_TIMES = 2


def run() -> list[dict[str, Any]]:
    """Return both sides' figures and their ratio.

    Returns:
        Dicts of name, value, unit and aim (None: measured, not aimed at).
    """
    threads = pa.cpu_count()
    pa.set_cpu_count(1)
    try:
        with tempfile.TemporaryDirectory(prefix="braid-bench-") as folder:
            return _compare(Path(folder))
    finally:
        pa.set_cpu_count(threads)


def _compare(folder: Path) -> list[dict[str, Any]]:
    catalog = Catalog(str(folder / "ours"))
    java_s, made_s, ready_s = [], [], []
    table = None
    for number in range(ROUNDS):
        java = folder / f"java{number}"
        milliseconds = write_bulk(java, rows=ROWS, keys=KEYS, commits=COMMITS, options=SAME_MERGING)
        java_s.append(milliseconds / 1_000)
        table = catalog.create_table(
            f"bench.bulk{number}",
            columns=GROUPED_COLUMNS,
            primary_key=["k"],
            options={**GROUPED_OPTIONS, **SAME_MERGING},
        )
        with_rows, without_rows = _write(table)
        made_s.append(with_rows)
        ready_s.append(without_rows)
    assert table is not None
    _, java_reads_ms = count_rows(folder / "java0", repeat=READS)
    java_read_s = min(java_reads_ms) / 1_000
    our_read_s = best_s(lambda: _exhaust(table), repeats=READS)
    return [
        figure("peer: Java writes", ROWS / min(java_s), "rows/s", None),
        figure("peer: Braid writes, its rows made meanwhile", ROWS / min(made_s), "rows/s", None),
        figure("peer: Braid writes, from Arrow", ROWS / min(ready_s), "rows/s", None),
        figure("peer: Braid over Java, from Arrow", min(java_s) / min(ready_s), "times", AIM_TIMES),
        figure("peer: Java reads", ROWS / java_read_s, "records/s", None),
        figure("peer: Braid reads", ROWS / our_read_s, "records/s", None),
        figure("peer: Braid over Java, reading", java_read_s / our_read_s, "times", None),
    ]


def _write(table: Table) -> tuple[float, float]:
    """Return the seconds of making, writing and committing the rows, and without the making."""
    making = 0.0
    start = time.perf_counter()
    for commit in range(COMMITS):
        before = time.perf_counter()
        count = ROWS // COMMITS
        rows = grouped_rows(commit * count, count, keys=KEYS)
        making += time.perf_counter() - before
        table.write_and_commit(rows)
    total = time.perf_counter() - start
    return total, total - making


def _exhaust(table: Table) -> None:
    for _ in table.scan().to_batches():
        pass
