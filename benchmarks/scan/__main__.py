"""Prints how fast tables are scanned, beside the reference's Java reader and plain pyarrow.

All sides read the same files on as many cores, in turn, so that a busy machine is busy for all; each
figure is the best of several readings, planning included, and the rows of all sides are compared.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.merging import sides
from benchmarks.merging.measure import DifferentRows
from benchmarks.merging.sides import Side
from benchmarks.scan import report, worker
from benchmarks.scan.lines import Line, lines
from benchmarks.scan.report import Measured
from benchmarks.scan.tables import DAYS, write_tables
from lake import Catalog, Table

ROWS = 4_000_000
REPEATS = 5
CORES = (1, 2)


def main() -> None:
    """Measure the lines chosen and print them."""
    arguments = _arguments()
    print(machine(), flush=True)
    figures: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="braid-bench-", dir=arguments.folder) as folder:
        compacted, growing = write_tables(Catalog(folder), rows=arguments.rows)
        os.sync()
        print(report.HEADER, end="", flush=True)
        for cores in arguments.cores:
            for name, table in (("compacted", compacted), ("growing", growing)):
                for measured in _measure(table, name, cores, arguments):
                    print(report.row(measured), flush=True)
                    figures += report.figures(measured)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-scan", description=__doc__)
    parser.add_argument("lines", nargs="*", help="words that a line's name has to contain")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of a table")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--cores", type=int, nargs="+", default=CORES)
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--folder", type=Path, help="where tables are written, removed at the end")
    return parser.parse_args()


def _measure(
    table: Table, name: str, cores: int, arguments: argparse.Namespace
) -> Iterator[Measured]:
    with ExitStack() as stack:
        readers = {
            "ours": stack.enter_context(_python("ours", table, cores)),
            "java": stack.enter_context(sides.java(table.path, cores=cores)),
        }
        if name == "compacted":
            readers["pyarrow"] = stack.enter_context(_python("pyarrow", table, cores))
        for line in lines(arguments.rows // DAYS):
            if arguments.lines and not any(word in line.name for word in arguments.lines):
                continue
            rows = _same_rows(readers, line)
            best = _best(readers, line, arguments.repeats)
            yield Measured(table=name, line=line, cores=cores, rows=rows, best=best)


def _python(kind: str, table: Table, cores: int) -> AbstractContextManager[Side]:
    command = [sys.executable, "-m", worker.__name__, kind, table.path, str(cores)]
    return sides.running(command, cores=cores)


def _same_rows(readers: Mapping[str, Side], line: Line) -> int:
    """Return the number of rows; this also warms all sides up."""
    read = {name: side.ask(f"checksum {line.choice}") for name, side in readers.items()}
    answers: Sequence[Any] = list(read.values())
    if any(answer != answers[0] for answer in answers):
        message = f"{line.name}: {read}"
        raise DifferentRows(message)
    return int(answers[0]["rows"])


def _best(readers: Mapping[str, Side], line: Line, repeats: int) -> dict[str, dict[str, float]]:
    """Let the sides work in turn; return the least of each side's numbers."""
    answers: dict[str, list[dict[str, Any]]] = {name: [] for name in readers}
    for _ in range(repeats):
        for name, side in readers.items():
            answers[name].append(side.ask(f"read {line.choice}"))
    return {
        name: {key: min(answer[key] for answer in several) for key in ("wall_ms", "cpu_ms")}
        for name, several in answers.items()
    }


if __name__ == "__main__":
    main()
