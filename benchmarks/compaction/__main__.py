"""Benchmark of compaction: its costs and gains, compared with those of the reference implementation.

Four parts can be measured; without arguments all of them are, in about 15 minutes on two idle cores:

    full           rows/s of full compaction, and of reading before and after; 14 tables, half a
                   minute each
    amplification  bytes written over 200 small commits; a minute
    latency        of a commit on a young table and on two with 10,000 commits; three minutes
    memory         at its peak, of 4 and of 40 million records; two tables, two minutes each

A line with an aim ends with "ok" or with the aim that it misses, and the last lines have a summary. Only the
part full compares the rows of both sides: the exit status is 1 if they differ, whatever the speed.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.compaction import report
from benchmarks.compaction.aims import Aim, summary
from benchmarks.compaction.amplification import measure_amplification
from benchmarks.compaction.full import measure_full
from benchmarks.compaction.latency import OLD, measure_latency
from benchmarks.compaction.memory import measure_compaction_peak
from benchmarks.machine import machine
from benchmarks.merging.cases import CASES, Case
from benchmarks.merging.measure import DifferentRows
from benchmarks.merging.memory import BUDGET_MB, MILLIONS, Peak
from benchmarks.merging.sides import SideFailed
from benchmarks.merging.tables import rows_in_files, write_table
from braid.lake import Catalog, InvalidRequest

ROWS = 1_000_000
BUCKETS = 2
MEMORY_LINES = ("deduplicate", "partial-update, 3 groups")


@dataclass(kw_only=True)
class Findings:
    """What was measured so far.

    Attributes:
        aims: Figures with an aim.
        figures: Figures without one.
        different: Names of the lines whose rows differ between the sides.
    """

    aims: list[Aim] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)
    different: list[str] = field(default_factory=list)

    def to_json(self) -> str:
        """Return all figures as a JSON array."""
        return json.dumps([*(aim.figure() for aim in self.aims), *self.figures], indent=1)


def main() -> None:
    """Run the chosen measurements and print them."""
    arguments = _arguments()
    print(machine(), flush=True)
    findings = Findings()
    if arguments.folder is not None:
        arguments.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="braid-bench-", dir=arguments.folder) as folder:
        for name in arguments.parts or PARTS:
            PARTS[name](arguments, Path(folder), findings)
    print(f"\n{summary(findings.aims)}")
    if arguments.json:
        arguments.json.write_text(findings.to_json(), encoding="utf-8")
    if findings.different:
        sys.exit(1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='make bench-compaction ARGS="…"',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; default all")
    parser.add_argument(
        "--lines",
        nargs="+",
        default=[],
        metavar="WORDS",
        help="of full and memory: names of tables, or words in them; default all of full, and "
        f"{' and '.join(MEMORY_LINES)} of memory",
    )
    parser.add_argument(
        "--rows", type=int, default=ROWS, help="records of a table of full; default %(default)s"
    )
    parser.add_argument(
        "--millions",
        type=int,
        nargs="+",
        default=MILLIONS,
        help="of records of the tables of memory; default 4 40",
    )
    parser.add_argument(
        "--commits", type=int, default=OLD, help="of the old tables of latency; default %(default)s"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to it")
    parser.add_argument(
        "--folder", type=Path, help="where tables are written, some 10 GB, removed at the end"
    )
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.parts) - set(PARTS))
    if unknown:
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if not _chosen(arguments.lines):
        names = "\n  ".join(case.name for case in CASES)
        parser.error(f"no line has a name with {', '.join(arguments.lines)}; there are\n  {names}")
    return arguments


def _full(arguments: argparse.Namespace, folder: Path, findings: Findings) -> None:
    print(report.FULL_HEADER, end="", flush=True)
    for case in _chosen(arguments.lines):
        tell = _progress(case.name)
        try:
            tell("writing")
            path, records = _written(folder, case, arguments.rows)
            line = measure_full(path, folder / "scratch", records=records, progress=tell)
        except (InvalidRequest, SideFailed) as error:
            print(report.skipped_row(case, f"{error}".splitlines()[-1]), flush=True)
        except DifferentRows as error:
            findings.different.append(case.name)
            print(f"{case.name:<42} DIFFERENT ROWS: {error}", flush=True)
        else:
            print(report.full_row(case, line), flush=True)
            findings.aims += report.full_aims(case, line)
            findings.figures += report.full_figures(case, line)
        finally:
            shutil.rmtree(folder / "scratch", ignore_errors=True)


def _amplification(_: argparse.Namespace, folder: Path, findings: Findings) -> None:
    _progress("write amplification")("commits and compactions of both sides")
    sides = measure_amplification(folder)
    print(report.amplification_table(sides), flush=True)
    findings.aims += report.amplification_aims(sides)
    findings.figures += report.amplification_figures(sides)


def _latency(arguments: argparse.Namespace, folder: Path, findings: Findings) -> None:
    tables = measure_latency(folder, _progress("commit latency"), commits=arguments.commits)
    print(report.latency_table(tables), flush=True)
    findings.aims += report.latency_aims(tables)
    findings.figures += report.latency_figures(tables)


def _memory(arguments: argparse.Namespace, folder: Path, findings: Findings) -> None:
    print(report.MEMORY_HEADER, end="", flush=True)
    for case in _chosen(arguments.lines or MEMORY_LINES):
        peaks: dict[int, Peak] = {}
        for million in arguments.millions:
            _progress(case.name)(f"{million} million records")
            path, records = _written(folder, case, million * 1_000_000)
            peaks[million] = measure_compaction_peak(path)
            shutil.rmtree(path)
            aims = report.memory_aims(case, peaks, BUDGET_MB)
            print(report.memory_row(case, records, peaks[million], aims), flush=True)
            findings.aims += aims


PARTS: Mapping[str, Callable[[argparse.Namespace, Path, Findings], None]] = {
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
