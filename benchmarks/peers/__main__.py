"""Benchmark of Braid and its peers, which are other software for the same work.

`race`: several processes commit to one table at the same time, with Braid and with other implementations of the
format. `wide_rows`: three topics are combined into wide rows, by Braid and in the ways that are usual on Spark.
The exit status is 1 if Braid loses a row in the race, or if the wide rows of any side are not complete.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.peers import race, wide_rows
from benchmarks.peers.wide_rows import SIDES, WideSizes

PARTS = ("race", "wide_rows")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the parts that the command line names, and return the exit status.

    Args:
        arguments: Of the command line; None: the process's own.
    """
    chosen = parse(arguments)
    print(machine())
    found: list[dict[str, Any]] = []
    if "race" in chosen.parts:
        print("\nrace", flush=True)
        found += race.run_all(
            chosen.engines,
            processes=chosen.processes,
            commits=chosen.commits,
            rounds=chosen.rounds,
        )
    is_wrong = any(one["lost"] for one in found if one["engine"] == "ours")
    if "wide_rows" in chosen.parts:
        print("\nwide_rows", flush=True)
        report = wide_rows.run_all(chosen.sides, sizes_of(chosen))
        found += report.figures
        is_wrong = is_wrong or bool(report.incomplete)
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return int(is_wrong)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of a command line."""
    parser = argparse.ArgumentParser(
        prog="make bench-peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--json", type=Path, help="file for all figures")
    racing = parser.add_argument_group("race")
    racing.add_argument("--engines", nargs="+", choices=race.ENGINES, default=race.ENGINES)
    racing.add_argument("--processes", type=int, default=race.PROCESSES)
    racing.add_argument("--commits", type=int, default=race.COMMITS)
    racing.add_argument("--rounds", type=int, default=race.ROUNDS)
    usual = WideSizes()
    wide = parser.add_argument_group("wide_rows")
    wide.add_argument("--sides", nargs="+", choices=SIDES, default=SIDES)
    wide.add_argument(
        "--keys",
        nargs="+",
        type=int,
        default=list(usual.keys),
        help="sizes: rows of the wide table, and messages of each topic (default %(default)s)",
    )
    wide.add_argument(
        "--batch-records",
        type=int,
        default=usual.batch_records,
        help="bound of a micro-batch, for each topic (default %(default)s)",
    )
    wide.add_argument(
        "--memory",
        default=usual.memory,
        help="heap of the peers' JVM; Braid has its default (default %(default)s)",
    )
    return parser.parse_args(arguments)


def sizes_of(chosen: argparse.Namespace) -> WideSizes:
    """Return the sizes of parsed options."""
    return WideSizes(
        keys=tuple(sorted(set(chosen.keys))),
        batch_records=chosen.batch_records,
        memory=chosen.memory,
    )


if __name__ == "__main__":
    sys.exit(main())
