"""Benchmark of merge-on-read: speed for overlapping level-0 files on local disk, on one core, and memory."""

import subprocess
import sys
import tempfile
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.bulk_rows import GROUPED_COLUMNS, GROUPED_OPTIONS, grouped_rows
from benchmarks.figure import best_s, figure
from benchmarks.resident_memory import peak_resident_bytes
from braid.lake import Catalog, Table

REPEATS = 4
ROWS = 2_500_000
COMMITS = 5
RUNS = 4
RUN_ROWS = 1_000_000
VALUE_COLUMNS = 10
MEMORY_MILLIONS = (1, 10)
BATCH_ROWS = 16_384


def run() -> list[dict[str, Any]]:
    """Return the figures of reading.

    Returns:
        Dicts of name, value, unit and aim (None: measured, not aimed at).
    """
    threads = pa.cpu_count()
    pa.set_cpu_count(1)
    try:
        with tempfile.TemporaryDirectory(prefix="braid-bench-") as warehouse:
            catalog = Catalog(warehouse)
            table = _given_table(catalog, "merged", rows=ROWS)
            return [*_speed(table), _wide_speed(catalog), *_memory(catalog)]
    finally:
        pa.set_cpu_count(threads)


def _speed(table: Table) -> list[dict[str, Any]]:
    key = table.scan(columns=["k"]).to_arrow().column("k")[0].as_py()
    full_s = best_s(lambda: table.scan().to_arrow(), repeats=REPEATS)
    two_s = best_s(lambda: table.scan(columns=["k", "a"]).to_arrow(), repeats=REPEATS)
    count_s = best_s(lambda: table.scan().count(), repeats=REPEATS)
    get_s = best_s(lambda: table.get({"k": key}), repeats=REPEATS)
    what = f"{COMMITS} overlapping files, two groups"
    return [
        # The aim is the reference implementation's best of five reads on this kind of machine.
        figure(f"read: {what}, 7 columns", ROWS / full_s, "records/s", 1_700_000),
        figure(f"read: {what}, 2 of 7 columns", ROWS / two_s, "records/s", None),
        figure(f"read: {what}, count", ROWS / count_s, "records/s", None),
        figure(f"read: {what}, one row by key", 1_000 * get_s, "ms", None),
    ]


def _wide_speed(catalog: Catalog) -> dict[str, Any]:
    """Measure four overlapping runs of a million rows with ten value columns."""
    names = [f"v{index}" for index in range(VALUE_COLUMNS)]
    table = catalog.create_table(
        "bench.wide",
        columns=[("k", "BIGINT"), *((name, "BIGINT") for name in names)],
        primary_key=["k"],
        options={
            "bucket": "1",
            "merge-engine": "partial-update",
            "write-only": "true",
            "data-file.thin-mode": "true",
        },
    )
    for number in range(RUNS):
        random = np.random.default_rng(number)
        columns = {"k": random.choice(2 * RUN_ROWS, RUN_ROWS, replace=False)}
        for name in names:
            values = random.integers(0, 1 << 40, RUN_ROWS)
            columns[name] = pa.array(values, mask=random.random(RUN_ROWS) < 0.2)
        table.write_and_commit(pa.table(columns))
    seconds = best_s(lambda: _exhaust(table), repeats=REPEATS)
    name = f"read: {RUNS} overlapping files of {RUN_ROWS:,} rows, {VALUE_COLUMNS} value columns"
    return figure(name, RUNS * RUN_ROWS / seconds, "records/s", 1_500_000)


def _memory(catalog: Catalog) -> list[dict[str, Any]]:
    """Measure the same number of runs with one and with ten times the rows."""
    peaks = []
    figures = []
    for millions in MEMORY_MILLIONS:
        table = _given_table(catalog, f"memory{millions}", rows=millions * 1_000_000)
        arrow_bytes, process_bytes = _peaks_in_a_process(table)
        peaks.append(process_bytes)
        figures += [
            figure(
                f"read: Arrow memory, {millions} million records", arrow_bytes / 1e6, "MB", None
            ),
            figure(
                f"read: peak memory of the process, {millions} million",
                process_bytes / 1e6,
                "MB",
                None,
            ),
        ]
    growth = peaks[1] / peaks[0]
    return [*figures, figure("read: peak memory, 10 million over 1 million", growth, "times", 1)]


def _peaks_in_a_process(table: Table) -> tuple[int, int]:
    """Read the table in a process of its own; return the peaks of Arrow and of the process."""
    command = [sys.executable, "-m", "benchmarks.read", table.path]
    arrow_bytes, process_bytes = subprocess.check_output(command, text=True).split()
    return int(arrow_bytes), int(process_bytes)


def _print_peaks(path: str) -> None:
    peak = 0
    for _ in Table.open(path).scan(batch_rows=BATCH_ROWS).to_batches():
        peak = max(peak, int(pa.total_allocated_bytes()))
    print(peak, peak_resident_bytes())


def _exhaust(table: Table) -> None:
    for _ in table.scan().to_batches():
        pass


def _given_table(catalog: Catalog, name: str, *, rows: int) -> Table:
    table = catalog.create_table(
        f"bench.{name}", columns=GROUPED_COLUMNS, primary_key=["k"], options=GROUPED_OPTIONS
    )
    for commit in range(COMMITS):
        count = rows // COMMITS
        table.write_and_commit(grouped_rows(commit * count, count, keys=rows // 4))
    return table


if __name__ == "__main__":
    _print_peaks(sys.argv[1])
