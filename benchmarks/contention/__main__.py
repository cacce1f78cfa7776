"""Benchmark of many writers of one table: each owns a stream, in a process of its own, beside compaction and expiry.

Every commit writes rows of Zipf-distributed keys to the stream's own columns, and is made with the stream's offsets.
Three races are run, or those that are named:

    spread    each writer commits once in an interval; the writers take turns
    together  the same, but all intervals begin at the same moment, as the triggers of Spark do
    back      the next commit begins when the last one has ended

At the end of each race the table is compared with what was written, and every commit has to have a snapshot of its
own; the exit status is 1 if they differ.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.contention.bed import Load
from benchmarks.contention.race import run_race
from benchmarks.contention.report import missing_snapshots, race_figures
from benchmarks.figure import figure_line
from benchmarks.machine import machine
from braid.demo.s3_server import S3Server
from braid.lake import FileIO, LocalFileIO
from braid.lake.files.object_store.address import Service
from braid.lake.files.object_store.settings import StoreSettings
from braid.lake.files.object_store.store import ObjectStoreFileIO

RACES: Final = ("spread", "together", "back")


def main() -> None:
    """Run the races chosen and print their figures."""
    arguments = _arguments()
    print(machine(), flush=True)
    figures: dict[str, list[dict[str, Any]]] = {}
    is_right = True
    for name in arguments.races or RACES:
        load = _load(arguments, name)
        print(f"\n{name}: {load}", flush=True)
        with _storage(arguments) as (file_io, warehouse):
            race = run_race(file_io, warehouse, load)
        figures[name] = race_figures(race, load)
        for one in figures[name]:
            print(figure_line(one), flush=True)
        is_right = is_right and not race.different and not missing_snapshots(race)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    if not is_right:
        sys.exit(1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='make bench-contention ARGS="…"',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("races", nargs="*", metavar="RACE", help=f"{', '.join(RACES)}; default all")
    parser.add_argument("--writers", type=int, default=64, help="default %(default)s")
    parser.add_argument(
        "--commits", type=int, default=10_000, help="of all writers together; default %(default)s"
    )
    parser.add_argument(
        "--interval", type=float, default=5.0, metavar="S", help="seconds; default %(default)s"
    )
    parser.add_argument(
        "--processes",
        type=int,
        help="that the writers are spread over, as threads; default one for each writer",
    )
    parser.add_argument("--records", type=int, default=20, help="of a commit; default %(default)s")
    parser.add_argument("--keys", type=int, default=10_000, help="default %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default %(default)s")
    parser.add_argument("--s3", action="store_true", help="on an S3 server of this machine")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to it")
    parser.add_argument(
        "--folder", type=Path, help="where the table is written, removed at the end"
    )
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.races) - set(RACES))
    if unknown:
        parser.error(f"no race {', '.join(unknown)}; there are {', '.join(RACES)}")
    return arguments


def _load(arguments: argparse.Namespace, name: str) -> Load:
    return Load(
        writers=arguments.writers,
        commits=max(1, round(arguments.commits / arguments.writers)),
        records=arguments.records,
        keys=arguments.keys,
        interval_s=0.0 if name == "back" else arguments.interval,
        processes=arguments.processes,
        is_aligned=name == "together",
        seed=arguments.seed,
    )


@contextmanager
def _storage(arguments: argparse.Namespace) -> Iterator[tuple[FileIO, str]]:
    """Yield storage and the path of a new warehouse."""
    if arguments.s3:
        with S3Server() as server:
            settings = StoreSettings.from_environment(Service.S3, server.environment)
            yield ObjectStoreFileIO(settings), server.warehouse
        return
    with tempfile.TemporaryDirectory(prefix="braid-bench-", dir=arguments.folder) as folder:
        yield LocalFileIO(), folder


if __name__ == "__main__":
    main()
