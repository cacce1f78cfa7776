"""Our side in processes of its own: compacts and reads tables as often as it is asked to.

    python -m benchmarks.compaction.worker PROCESSES

Each line of the input is a request, and one line is printed for it:

- `{"do": "compact", "table": DIR}` compacts fully: wall_ms, cpu_ms;
- `{"do": "read", "table": DIR}` reads all rows: rows, checksum, wall_ms, cpu_ms;
- `{"do": "peak"}` says how much memory the processes have held at most: bytes.

With several processes each has a core and its share of the buckets to itself.
"""

import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

import pyarrow as pa

from benchmarks.merging.checksum import checksum
from benchmarks.merging.worker import peak_resident_bytes
from lake import Table

Answer = dict[str, float]


class Share:
    """One process's share of the buckets of any table."""

    def __init__(self, *, number: int = 0, processes: int = 1) -> None:
        self._number = number
        self._processes = processes

    def answer(self, request: Mapping[str, Any]) -> Answer:
        """Do what is asked for."""
        match request["do"]:
            case "compact":
                table = Table.open(request["table"])
                return _timed(lambda: self._compact(table))
            case "read":
                table = Table.open(request["table"])
                return _timed(lambda: _read(table))
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


def _timed(work: Callable[[], Answer]) -> Answer:
    wall, processor = time.perf_counter(), time.process_time()
    answer = work()
    return {
        **answer,
        "wall_ms": 1_000 * (time.perf_counter() - wall),
        "cpu_ms": 1_000 * (time.process_time() - processor),
    }


def _serve_share(number: int, processes: int, core: int, requests: Connection) -> None:
    os.sched_setaffinity(0, {core})
    pa.set_cpu_count(1)
    share = Share(number=number, processes=processes)
    while True:
        requests.send(share.answer(requests.recv()))


class Shares:
    """Several processes, each with its share; the time is until the last is done."""

    def __init__(self, processes: int) -> None:
        cores = sorted(os.sched_getaffinity(0))
        self._ends = []
        for number in range(processes):
            ours, theirs = multiprocessing.Pipe()
            core = cores[number % len(cores)]
            multiprocessing.get_context("fork").Process(
                target=_serve_share, args=(number, processes, core, theirs), daemon=True
            ).start()
            self._ends.append(ours)

    def answer(self, request: Mapping[str, Any]) -> Answer:
        """Let every process compact its buckets; one alone reads."""
        ends = self._ends if request["do"] != "read" else self._ends[:1]
        start = time.perf_counter()
        for end in ends:
            end.send(request)
        parts: list[Answer] = [end.recv() for end in ends]
        wall_ms = 1_000 * (time.perf_counter() - start)
        total = {key: sum(part[key] for part in parts) for key in parts[0]}
        return {**total, "wall_ms": wall_ms}


def main() -> None:
    """Serve until the input ends."""
    processes = int(sys.argv[1])
    pa.set_cpu_count(len(os.sched_getaffinity(0)))
    server = Share() if processes == 1 else Shares(processes)
    for line in sys.stdin:
        print(json.dumps(server.answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
