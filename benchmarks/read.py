"""Merge-on-read of overlapping level-0 files from local disk, and the memory it takes."""

import tempfile
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from benchmarks.bulk_rows import GROUPED_COLUMNS, GROUPED_OPTIONS, grouped_rows
from lake import Catalog, Table

REPEATS = 4
ROWS = 2_500_000
COMMITS = 5
MEMORY_ROWS = 400_000


def run() -> list[dict[str, Any]]:
    """Return the figures of reading.

    Returns:
        Dicts of name, value, unit and aim (None: measured, not aimed at).
    """
    with tempfile.TemporaryDirectory(prefix="braid-bench-") as warehouse:
        catalog = Catalog(warehouse)
        table = _given_table(catalog, "merged", rows=ROWS)
        return [*_speed(table), *_memory(catalog)]


def _speed(table: Table) -> list[dict[str, Any]]:
    key = table.scan(columns=["k"]).to_arrow().column("k")[0].as_py()
    full_s = _best(lambda: table.scan().to_arrow())
    two_s = _best(lambda: table.scan(columns=["k", "a"]).to_arrow())
    count_s = _best(lambda: table.scan().count())
    get_s = _best(lambda: table.get({"k": key}))
    what = f"{COMMITS} overlapping files, two groups"
    return [
        # The aim is the reference implementation's best of five reads on this kind of machine.
        _figure(f"read: {what}, 7 columns", ROWS / full_s, "records/s", 1_700_000),
        _figure(f"read: {what}, 2 of 7 columns", ROWS / two_s, "records/s", None),
        _figure(f"read: {what}, count", ROWS / count_s, "records/s", None),
        _figure(f"read: {what}, one row by key", 1_000 * get_s, "ms", None),
    ]


def _memory(catalog: Catalog) -> list[dict[str, Any]]:
    """Measure the same number of runs with one and with ten times the rows."""
    peaks = [
        _peak_bytes(_given_table(catalog, f"memory{factor}", rows=factor * MEMORY_ROWS))
        for factor in (1, 10)
    ]
    return [
        _figure("read: Arrow memory, 0.4 million records", peaks[0] / 1e6, "MB", None),
        _figure("read: Arrow memory, 4 million records", peaks[1] / 1e6, "MB", None),
        _figure(
            "read: Arrow memory, growth over ten times the records", peaks[1] / peaks[0], "times", 2
        ),
    ]


def _peak_bytes(table: Table) -> int:
    before = int(pa.total_allocated_bytes())
    peak = 0
    for _ in table.scan(batch_rows=16_384).to_batches():
        peak = max(peak, int(pa.total_allocated_bytes()) - before)
    return peak


def _given_table(catalog: Catalog, name: str, *, rows: int) -> Table:
    table = catalog.create_table(
        f"bench.{name}", columns=GROUPED_COLUMNS, primary_key=["k"], options=GROUPED_OPTIONS
    )
    for commit in range(COMMITS):
        count = rows // COMMITS
        table.write_and_commit(grouped_rows(commit * count, count, keys=rows // 4))
    return table


def _best(work: Callable[[], object]) -> float:
    """Return the seconds of the fastest of several runs: the one least disturbed by others."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _figure(name: str, value: float, unit: str, aim: float | None) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "aim": aim}
