"""One act on the metadata of a table, in this process: `python -m benchmarks.metadata.worker PATH ACT TIMES`.

Prints one line of JSON: the milliseconds of each time, the storage calls and bytes read of the first and the last time,
and the peak memory of the process before and after.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any, cast

import pyarrow as pa

from benchmarks.metadata.acts import ACTS
from benchmarks.resident_memory import peak_resident_bytes
from braid.lake import Table
from braid.lake.files.storage.file_io import FileIO
from braid.lake.files.storage.local import LocalFileIO


class CountingFileIO:
    """Local storage that counts calls, and bytes of whole files that are read."""

    def __init__(self) -> None:
        self._inner = LocalFileIO()
        self.calls = 0
        self.bytes = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._counted(found) if callable(found) else found

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **given: Any) -> Any:
            self.calls += 1
            result = call(*args, **given)
            self.bytes += len(result) if isinstance(result, bytes) else 0
            return result

        return counted


def main() -> None:
    """Perform an act and print what it took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("act", choices=ACTS)
    parser.add_argument("times", type=int)
    arguments = parser.parse_args()
    # Arrow imports pandas, where it is installed, with the first array: no part of any plan.
    pa.array([1])
    storage = CountingFileIO()
    prepared = ACTS[arguments.act](
        lambda: Table.open(arguments.path, file_io=cast("FileIO", storage))
    )
    before = peak_resident_bytes()
    wall_ms, cpu_ms, calls, read = [], [], [], []
    for _ in range(arguments.times):
        prepared.before()
        storage.calls = storage.bytes = 0
        wall, cpu = time.perf_counter(), time.process_time()
        prepared.work()
        wall_ms.append(1_000 * (time.perf_counter() - wall))
        cpu_ms.append(1_000 * (time.process_time() - cpu))
        calls.append(storage.calls)
        read.append(storage.bytes)
    found = {
        "wall_ms": wall_ms,
        "cpu_ms": cpu_ms,
        "calls": [calls[0], calls[-1]],
        "bytes": [read[0], read[-1]],
        "peak_mb": [before / 1e6, peak_resident_bytes() / 1e6],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
