"""Benchmark of the metadata of large tables: `python -m benchmarks.metadata`.

For each size a table is made by its committer; each act is measured in a process of its own. Every figure is that of
one machine without other work; the processor time and the bytes read are the more reliable ones.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.figure import figure
from benchmarks.machine import machine
from benchmarks.metadata.acts import ACTS
from benchmarks.metadata.table import Size, write_table

FILES, COLUMNS = (4_000, 40_000), (20, 2_000)
TIMES: Final = {"expiry of ten snapshots": 3, "scan with a filter": 2, "buckets to compact": 2}
# Milliseconds of the first time and of later ones, for the largest table.
AIMS: Final = {"lookup": (200, 10), "lookup after a commit": (10, 10), "commit": (50, 50)}
PEAK_AIM_MB = 1_000


def main() -> None:
    """Measure the sizes and acts chosen, and print them."""
    parser = argparse.ArgumentParser(prog="make bench-metadata")
    parser.add_argument("acts", nargs="*", help="words that an act's name has to contain")
    parser.add_argument("--files", type=int, nargs="+", default=FILES, help="live files of a table")
    parser.add_argument("--columns", type=int, nargs="+", default=COLUMNS, help="its columns")
    parser.add_argument("--times", type=int, default=20, help="how often an act is measured")
    parser.add_argument("--folder", type=Path, help="where tables are written, removed at the end")
    parser.add_argument("--json", type=Path, help="file for all figures")
    arguments = parser.parse_args()
    print(machine())
    acts = [name for name in ACTS if all(word in name for word in arguments.acts)]
    figures = []
    for columns in arguments.columns:
        for files in arguments.files:
            with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                size = Size(files=files, columns=columns)
                figures += _measure(Path(folder), size, acts, times=arguments.times)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


def _measure(folder: Path, size: Size, acts: Sequence[str], *, times: int) -> list[dict[str, Any]]:
    start = time.perf_counter()
    table = write_table(folder, size)
    manifests = [path for path in (table / "manifest").iterdir() if "list" not in path.name]
    print(
        f"\n{size.files:,} files of {size.columns:,} columns: written in "
        f"{time.perf_counter() - start:.0f} s, {sum(map(_bytes, manifests)) / 1e6:,.0f} MB of manifests"
        f"\n{'act':<38} {'first ms':>9} {'cpu ms':>8} {'read MB':>8} {'later ms':>9} {'peak MB':>8}",
        flush=True,
    )
    figures = []
    for act in acts:
        # Each act finds the table as it was written.
        copy = folder / "copy"
        shutil.copytree(table, copy)
        found = _ask(copy, act, TIMES.get(act, times))
        shutil.rmtree(copy)
        later = sorted(found["wall_ms"][1:] or found["wall_ms"])
        median = later[len(later) // 2]
        print(
            f"{act:<38} {found['wall_ms'][0]:9.1f} {found['cpu_ms'][0]:8.1f} "
            f"{found['bytes'][0] / 1e6:8.1f} {median:9.2f} {found['peak_mb'][1]:8.0f}",
            flush=True,
        )
        name = f"{act}, {size.files:,} files of {size.columns:,} columns"
        first_aim, later_aim = AIMS.get(act, (None, None))
        figures += [
            figure(f"{name}: first time", found["wall_ms"][0], "ms", first_aim),
            figure(f"{name}: later, median", median, "ms", later_aim),
            figure(f"{name}: peak memory", found["peak_mb"][1], "MB", PEAK_AIM_MB),
        ]
    return figures


def _ask(table: Path, act: str, times: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.metadata.worker", str(table), act, str(times)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _bytes(path: Path) -> int:
    return path.stat().st_size


if __name__ == "__main__":
    main()
