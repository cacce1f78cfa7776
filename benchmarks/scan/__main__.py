"""Benchmark of scans, compared with the reference's Java reader and plain pyarrow.

All sides read the same files on the same number of cores. They take turns, so that other load on the
machine affects all of them. Each figure is the best of several readings and includes planning. The
rows of all sides are compared.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.merging import sides
from benchmarks.merging.measure import DifferentRows
from benchmarks.merging.sides import Side
from benchmarks.scan import report, worker
from benchmarks.scan.lines import Line, lines
from benchmarks.scan.report import Measured
from benchmarks.scan.tables import COMPACTED, DAYS, write_tables
from braid.demo.s3_server import S3Server
from braid.lake import Catalog, Table, file_io_for

ROWS = 4_000_000
REPEATS = 5
CORES = (1, 2)


def main() -> None:
    """Measure the lines chosen and print them."""
    arguments = _arguments()
    print(machine(), flush=True)
    print(report.HEADER, end="", flush=True)
    figures = _on_disk(arguments) + _on_s3(arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


def _on_disk(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    figures = []
    with tempfile.TemporaryDirectory(prefix="braid-bench-", dir=arguments.folder) as folder:
        tables = write_tables(Catalog(folder), rows=arguments.rows)
        os.sync()
        for cores in arguments.cores:
            for name, table in tables.items():
                others = ("java", "pyarrow") if name == COMPACTED else ("java",)
                measured = _measure(
                    table, name, cores=cores, others=others, arguments=arguments, environment={}
                )
                figures += _told(measured)
    return figures


def _on_s3(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure on a server of this machine, one core; the reference's bundle has no S3 client."""
    if arguments.no_s3:
        return []
    with S3Server() as server:
        environment = {**server.environment, "BRAID_STORE_ENDPOINT": server.bare_endpoint}
        catalog = Catalog(
            server.warehouse, file_io=file_io_for(server.warehouse, environment=server.environment)
        )
        table = write_tables(catalog, rows=arguments.rows, names=(COMPACTED,))[COMPACTED]
        return _told(
            _measure(
                table,
                f"{COMPACTED}, S3",
                cores=1,
                others=("pyarrow",),
                arguments=arguments,
                environment=environment,
            )
        )


def _told(measured: Iterable[Measured]) -> list[dict[str, Any]]:
    """Print lines as they are measured and return their figures."""
    figures = []
    for line in measured:
        print(report.row(line), flush=True)
        figures += report.figures(line)
    return figures


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-scan", description=__doc__)
    parser.add_argument("lines", nargs="*", help="words that a line's name has to contain")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of a table")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--cores", type=int, nargs="+", default=CORES)
    parser.add_argument("--no-s3", action="store_true", help="local disk only")
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--folder", type=Path, help="where tables are written, removed at the end")
    return parser.parse_args()


def _measure(
    table: Table,
    name: str,
    *,
    cores: int,
    others: Sequence[str],
    arguments: argparse.Namespace,
    environment: Mapping[str, str],
) -> Iterator[Measured]:
    with ExitStack() as stack:
        readers = {}
        for side in ("ours", *others):
            if side == "java":
                running = sides.java(table.path, cores=cores)
            else:
                command = [sys.executable, "-m", worker.__name__, side, table.path, str(cores)]
                running = sides.running(command, cores=cores, environment=environment)
            readers[side] = stack.enter_context(running)
        for line in lines(arguments.rows // DAYS):
            if arguments.lines and not any(word in line.name for word in arguments.lines):
                continue
            rows = _same_rows(readers, line)
            best = _best(readers, line, arguments.repeats)
            yield Measured(table=name, line=line, cores=cores, rows=rows, best=best)


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
