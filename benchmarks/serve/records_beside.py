"""Process that writes records of one stream and compacts: `python -m benchmarks.serve.records_beside`.

It stands for a runner: records become level-0 files, committed once a second, and the maintenance service merges them.
"""

import argparse
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import numpy as np

from benchmarks.serve.server import started
from benchmarks.serve.wide_rows import IDENTIFIER, STREAMS, rows_of
from braid.lake import Catalog, MaintenanceService

_COMMIT_S: Final = 1.0
_NICE: Final = 15
"""The load shares the core and must not wait."""


@contextmanager
def records_beside(warehouse: str, *, rows: int, rate: int, core: int) -> Iterator[None]:
    """Write records during the block, from another process on one core."""
    given = [f"--warehouse={warehouse}", f"--rows={rows}", f"--rate={rate}"]
    command = [sys.executable, "-m", "benchmarks.serve.records_beside", *given]
    process = started(command, core=core)
    os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    """Write until the process is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--warehouse", required=True)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--rate", type=int, required=True)
    given = parser.parse_args()
    catalog = Catalog(given.warehouse)
    table = catalog.table(IDENTIFIER)
    maintenance = MaintenanceService(catalog, lambda: [IDENTIFIER])
    maintain = partial(maintenance.run, interval_s=_COMMIT_S)
    threading.Thread(target=maintain, daemon=True).start()
    random = np.random.default_rng(5)
    number = 0
    while True:
        due = time.monotonic() + _COMMIT_S
        keys = 2 * np.unique(random.integers(0, given.rows, given.rate))
        table.write_and_commit(rows_of(keys, [STREAMS[number % len(STREAMS)]], seed=number))
        maintenance.poll_soon()
        number += 1
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
