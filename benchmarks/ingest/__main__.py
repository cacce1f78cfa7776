"""Benchmark of ingest, from produced records to committed snapshots, with all processes of a deployment.

All processes run on this machine at the same time, so the figures are those of all of them together. Each figure
is printed with its aim; a missed aim is no error.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from benchmarks.figure import figure_line
from benchmarks.ingest import growth, isolation, latency, stages, throughput
from benchmarks.ingest.sizes import Sizes
from benchmarks.machine import machine

PARTS: Final[dict[str, Callable[[Sizes], Iterator[dict[str, Any]]]]] = {
    "stages": stages.run,
    "throughput": throughput.run,
    "latency": latency.run,
    "growth": growth.run,
    "isolation": isolation.run,
}
_HELP: Final = {
    "records": "messages of each topic; `throughput` reads as many twice, `stages` a quarter of them, seven times",
    "keys": "keys among them",
    "batch_records": "bound of a micro-batch of `throughput`",
    "rate": "records a second that `latency` produces, all topics together",
    "seconds": "how long it produces",
    "trigger_ms": "interval of the streams' triggers",
    "growth_keys": "keys of the tables of `growth`, ascending",
    "growth_batch": "records of each of its micro-batches",
    "growth_batches": "micro-batches of each stream and round",
    "rounds": "rounds of `growth`, after one that is not counted",
}


def main(arguments: list[str] | None = None) -> int:
    """Measure the parts that the command line names, print their figures, and return the exit status.

    Args:
        arguments: Of the command line; None: the process's own.
    """
    chosen = parse(arguments)
    sizes = sizes_of(chosen)
    print(machine())
    found = []
    for part in chosen.parts:
        print(f"\n{part}", flush=True)
        for figure in PARTS[part](sizes):
            print(figure_line(figure), flush=True)
            found.append(figure)
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Return the options of a command line."""
    parser = argparse.ArgumentParser(prog="make bench-ingest", description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    for field in fields(Sizes):
        default = field.default
        many = isinstance(default, tuple)
        parser.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=_positive,
            nargs="+" if many else None,
            default=default,
            help=f"{_HELP[field.name]} (default {default})",
        )
    parser.add_argument("--json", type=Path, help="file for all figures")
    return parser.parse_args(arguments)


def sizes_of(chosen: argparse.Namespace) -> Sizes:
    """Return the sizes of parsed options."""
    values = {field.name: getattr(chosen, field.name) for field in fields(Sizes)}
    values["growth_keys"] = tuple(sorted(set(values["growth_keys"])))
    return Sizes(**values)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        message = f"found {text}, expected a number from 1"
        raise argparse.ArgumentTypeError(message)
    return number


if __name__ == "__main__":
    sys.exit(main())
