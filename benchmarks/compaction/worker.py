"""Braid's side of the compaction benchmark: processes that compact and read tables on request.

    python -m benchmarks.compaction.worker PROCESSES

Each line of the input is a request, and one line is printed for it:

- `{"do": "compact", "table": DIR}` compacts fully: rows_in, rows_out, wall_ms, cpu_ms;
- `{"do": "read", "table": DIR}` reads all rows: rows, checksum, wall_ms, cpu_ms;
- `{"do": "peak"}` returns the peak memory of the processes: bytes.

If there are several processes, each has its own core and compacts its share of the buckets. Only the first
process reads.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from benchmarks.merging.checksum import checksum
from benchmarks.resident_memory import peak_resident_bytes
from benchmarks.worker_processes import Answer, WorkerProcesses, timed
from braid.lake import Table


class Share:
    """One process's share of the buckets of any table."""

    def __init__(self, *, number: int = 0, processes: int = 1) -> None:
        self._number = number
        self._processes = processes

    def answer(self, request: Mapping[str, Any]) -> Answer:
        """Answer one request."""
        match request["do"]:
            case "compact":
                table = Table.open(request["table"])
                return timed(lambda: self._compact(table))
            case "read":
                table = Table.open(request["table"])
                return timed(lambda: _read(table))
            case "peak":
                return {"bytes": peak_resident_bytes()}
            case other:
                raise AssertionError(other)

    def _compact(self, table: Table) -> Answer:
        snapshot = table.latest_snapshot()
        assert snapshot is not None
        places = sorted({(entry.partition, entry.bucket) for entry in table.live_files(snapshot)})
        result = table.compact(buckets=places[self._number :: self._processes])
        assert result.dropped == (), result.dropped
        return {"rows_in": result.rows_in, "rows_out": result.rows_out}


def _read(table: Table) -> Answer:
    rows, total = 0, 0
    for batch in table.scan().to_batches():
        rows += batch.num_rows
        total += checksum(batch)
    return {"rows": rows, "checksum": total % (1 << 64)}


def main() -> None:
    """Serve until the input ends."""
    processes = int(sys.argv[1])
    pa.set_cpu_count(len(os.sched_getaffinity(0)))
    shares = WorkerProcesses(processes, partial(_share, processes)) if processes > 1 else None
    alone = Share()
    for line in sys.stdin:
        request = json.loads(line)
        if shares is None:
            answer = alone.answer(request)
        else:
            # Each compacts its buckets; one alone reads.
            answer = shares.answer(request, by=1 if request["do"] == "read" else None)
        print(json.dumps(answer), flush=True)


def _share(processes: int, number: int) -> Callable[[Mapping[str, Any]], Answer]:
    return Share(number=number, processes=processes).answer


if __name__ == "__main__":
    main()
