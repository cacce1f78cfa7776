"""Benchmark of merging tables, compared with the reference's Java reader: `python -m benchmarks.merging`.

By default the speed is compared: the table of a line is written once, and both sides read the same
files. This takes about a minute for each line. `--memory` measures only Braid: for each size
(`--millions`) it writes a table and measures the peak memory of a process that reads it. This takes
about three minutes for each line.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.figure import figure
from benchmarks.machine import machine
from benchmarks.merging import report
from benchmarks.merging.cases import CASES, Case, case_named
from benchmarks.merging.measure import DifferentRows, measure
from benchmarks.merging.memory import BUDGET_MB, MILLIONS, measure_peak
from benchmarks.merging.sides import SideFailed
from benchmarks.merging.tables import rows_in_files, write_table
from braid.lake import Catalog, InvalidRequest

ROWS = 2_500_000
BUCKETS = 2


class Tables:
    """The tables of a run; each is written when it is first needed."""

    def __init__(self, folder: Path, *, rows: int) -> None:
        self._catalog = Catalog(str(folder))
        self._rows = rows
        self._written: dict[str, tuple[Path, int]] = {}

    def of(self, case: Case) -> tuple[Path, int]:
        """Return the directory of a case's table and the records in its files.

        Raises:
            InvalidRequest: This version cannot write or merge such a table.
        """
        if case.name not in self._written:
            name = f"line{len(self._written)}"
            table = write_table(self._catalog, name, case, rows=self._rows, buckets=BUCKETS)
            self._written[case.name] = Path(table.path), rows_in_files(table)
        return self._written[case.name]

    def drop(self, case: Case) -> None:
        """Remove the table of a case."""
        if case.name in self._written:
            shutil.rmtree(self._written.pop(case.name)[0])


def main() -> None:
    """Measure the lines chosen and print them."""
    arguments = _arguments()
    cases = [case for case in CASES if _is_chosen(case, arguments.lines)]
    print(machine())
    if arguments.folder is not None:
        arguments.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="braid-bench-", dir=arguments.folder) as folder:
        if arguments.memory:
            figures = _memory(cases, Path(folder), arguments.millions, arguments.budget_mb)
        else:
            figures = _speed(cases, Tables(Path(folder), rows=arguments.rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-merge")
    parser.add_argument("lines", nargs="*", help="words that a line's name has to contain")
    parser.add_argument("--rows", type=int, default=ROWS, help="records of a table")
    parser.add_argument("--memory", action="store_true", help="peak memory instead of speed")
    parser.add_argument("--millions", type=int, nargs="+", default=MILLIONS, help="with --memory")
    parser.add_argument("--budget-mb", type=int, default=BUDGET_MB, help="with --memory")
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--folder", type=Path, help="where tables are written, removed at the end")
    return parser.parse_args()


def _is_chosen(case: Case, words: Sequence[str]) -> bool:
    return not words or any(word in case.name for word in words)


def _speed(cases: Sequence[Case], tables: Tables) -> list[dict[str, Any]]:
    print(report.HEADER, end="", flush=True)
    figures = []
    for case in cases:
        tell = _progress(case.name)
        try:
            tell("writing")
            path, records = tables.of(case)
            without = tables.of(case_named(case.without))[0] if case.without else None
            measured = measure(path, records=records, without=without, progress=tell)
        except (InvalidRequest, SideFailed) as error:
            print(report.skipped_row(case, f"{error}".splitlines()[-1]), flush=True)
            continue
        except DifferentRows as error:
            print(f"{case.name:<40} DIFFERENT ROWS: {error}", flush=True)
            continue
        print(report.row(case, measured), flush=True)
        if case.without:
            print(report.deletes_row(case, measured), flush=True)
        figures += report.figures(case, measured)
        if not any(other.without == case.name for other in cases):
            tables.drop(case)
    return figures


def _memory(
    cases: Sequence[Case], folder: Path, millions: Sequence[int], budget_mb: int
) -> list[dict[str, Any]]:
    print(f"\nPeak memory of a process that reads the table, MB (budget {budget_mb})\n")
    print(f"{'line':<40} {'records':>10} {'at start':>9} {'peak':>9}", flush=True)
    figures = []
    for case in cases:
        tell = _progress(case.name)
        for million in millions:
            tables = Tables(folder, rows=million * 1_000_000)
            try:
                tell(f"writing {million} million records")
                path, records = tables.of(case)
                tell("reading")
                peak = measure_peak(path)
            except (InvalidRequest, SideFailed) as error:
                print(report.skipped_row(case, f"{error}".splitlines()[-1]), flush=True)
                break
            finally:
                tables.drop(case)
            mark = "ok" if peak.after_mb <= budget_mb else "OVER BUDGET"
            sizes = f"{records:>10,} {peak.before_mb:9.0f} {peak.after_mb:9.0f}"
            print(f"{case.name:<40} {sizes} {mark}", flush=True)
            name = f"{case.name}: peak memory, {million} million records"
            figures.append(figure(name, peak.after_mb, "MB", budget_mb))
    return figures


def _progress(name: str) -> Callable[[str], None]:
    return lambda what: print(f"{name}: {what} …", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
