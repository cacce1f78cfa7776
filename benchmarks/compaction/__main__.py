"""Prints what compaction costs and gives, beside the reference: `python -m benchmarks.compaction`.

`full` takes a minute a line, `amplification` one, `latency` and `memory` several; the first two are
what is measured without a choice.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.compaction import report
from benchmarks.compaction.amplification import measure_amplification
from benchmarks.compaction.full import measure_full
from benchmarks.compaction.latency import OLD, YOUNG, measure_latency
from benchmarks.compaction.memory import measure_compaction_peak
from benchmarks.machine import machine
from benchmarks.merging.cases import CASES, Case
from benchmarks.merging.measure import DifferentRows
from benchmarks.merging.memory import BUDGET_MB, MILLIONS
from benchmarks.merging.sides import SideFailed
from benchmarks.merging.tables import rows_in_files, write_table
from lake import Catalog, InvalidRequest

ROWS = 2_500_000
BUCKETS = 2

Figures = list[dict[str, Any]]


def main() -> None:
    """Measure what is chosen and print it."""
    arguments = _arguments()
    print(machine())
    figures: Figures = []
    with tempfile.TemporaryDirectory(prefix="braid-bench-", dir=arguments.folder) as folder:
        for name in arguments.parts or ["full", "amplification"]:
            figures += PARTS[name](arguments, Path(folder))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-compaction")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--lines", nargs="*", default=[], help="words of names; full, memory")
    parser.add_argument("--rows", type=int, default=ROWS, help="records of a table of full")
    parser.add_argument("--millions", type=int, nargs="+", default=MILLIONS, help="of memory")
    parser.add_argument("--commits", type=int, default=OLD, help="of latency, before the last")
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--folder", type=Path, help="where tables are written, removed at the end")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.parts) - set(PARTS))
    if unknown:
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return arguments


def _full(arguments: argparse.Namespace, folder: Path) -> Figures:
    print(report.FULL_HEADER, end="", flush=True)
    figures: Figures = []
    for case in _chosen(arguments.lines):
        tell = _progress(case.name)
        try:
            tell("writing")
            path, records = _written(folder, case, arguments.rows)
            line = measure_full(path, folder / "scratch", records=records, progress=tell)
        except (InvalidRequest, SideFailed) as error:
            print(report.skipped_row(case, f"{error}".splitlines()[-1]), flush=True)
        except DifferentRows as error:
            print(f"{case.name:<42} DIFFERENT ROWS: {error}", flush=True)
        else:
            print(report.full_row(case, line), flush=True)
            figures += report.full_figures(case, line)
    return figures


def _amplification(_: argparse.Namespace, folder: Path) -> Figures:
    sides = measure_amplification(folder)
    print(report.amplification_table(sides), flush=True)
    return report.amplification_figures(sides)


def _latency(arguments: argparse.Namespace, folder: Path) -> Figures:
    ages = measure_latency(folder, _progress("commit latency"), ages=(YOUNG, arguments.commits))
    print(report.latency_table(ages), flush=True)
    return report.latency_figures(ages)


def _memory(arguments: argparse.Namespace, folder: Path) -> Figures:
    print(report.MEMORY_HEADER, end="", flush=True)
    figures: Figures = []
    for case in _chosen(arguments.lines):
        for million in arguments.millions:
            _progress(case.name)(f"{million} million records")
            path, records = _written(folder, case, million * 1_000_000)
            peak = measure_compaction_peak(path)
            shutil.rmtree(path)
            print(report.memory_row(case, records, peak, BUDGET_MB), flush=True)
            figures.append(report.memory_figure(case, million, peak, BUDGET_MB))
    return figures


PARTS: Mapping[str, Callable[[argparse.Namespace, Path], Figures]] = {
    "full": _full,
    "amplification": _amplification,
    "latency": _latency,
    "memory": _memory,
}


def _chosen(words: Sequence[str]) -> list[Case]:
    """Return the cases whose names contain a word, or that alone whose name it is."""
    names = {case.name for case in CASES}
    return [
        case
        for case in CASES
        if not words
        or any(word == case.name or (word not in names and word in case.name) for word in words)
    ]


def _written(folder: Path, case: Case, rows: int) -> tuple[Path, int]:
    """Write the table of a case anew; return its directory and the records in its files."""
    catalog = Catalog(str(folder))
    shutil.rmtree(catalog.database_path("bench"), ignore_errors=True)
    table = write_table(catalog, "line", case, rows=rows, buckets=BUCKETS)
    return Path(table.path), rows_in_files(table)


def _progress(name: str) -> Callable[[str], None]:
    return lambda what: print(f"{name}: {what} …", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
