"""Braid's side of the merge benchmark: a process that reads or folds a table on request.

    python -m benchmarks.merging.worker TABLE_DIR PROCESSES

For each line of the input one line is printed, in the form of `Scanning.java`:

- `read` reads all rows and counts them, values and all: rows, wall_ms, cpu_ms;
- `checksum` reads every value as well: rows, checksum;
- `fold` merges all records in memory; the first call loads them: rows, wall_ms, cpu_ms;
- `peak` returns the peak memory of the process: bytes.

If there are several processes, each has its own core. They divide the splits for `read` and `checksum`, but
not for `fold`.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import cached_property, partial

import pyarrow as pa

from benchmarks.merging.checksum import checksum
from benchmarks.resident_memory import peak_resident_bytes
from benchmarks.worker_processes import Answer, WorkerProcesses, timed
from braid.lake import Table
from braid.lake.files.data_file_path import live_file_path
from braid.lake.files.data_files import DataFileReader
from braid.lake.merge.fold import fold
from braid.lake.merge.spec import merge_spec
from braid.lake.read.reader import read_split
from braid.lake.read.scan_plan import Split
from braid.lake.table.read.scan import Scan


class Share:
    """One process's share of a table."""

    def __init__(self, path: str, *, number: int = 0, processes: int = 1) -> None:
        self._table = Table.open(path)
        self._number = number
        self._processes = processes

    def answer(self, request: str) -> Answer:
        """Answer one request."""
        match request:
            case "read":
                return timed(lambda: {"rows": sum(batch.num_rows for batch in self._batches())})
            case "checksum":
                counts = [(batch.num_rows, checksum(batch)) for batch in self._batches()]
                rows, sums = zip(*counts, strict=True)
                return {"rows": sum(rows), "checksum": sum(sums) % (1 << 64)}
            case "fold":
                tables, spec = self._records, merge_spec(self._table.schema)
                return timed(lambda: {"rows": sum(fold(table, spec).num_rows for table in tables)})
            case "peak":
                return {"bytes": peak_resident_bytes()}
            case _:
                raise AssertionError(request)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        scan = self._table.scan()
        if self._processes == 1:
            yield from scan.to_batches()
            return
        for split in scan.plan().splits[self._number :: self._processes]:
            yield from read_split(
                scan.source.file_io, scan.source.paths, scan.schema, split, columns=scan.columns
            )

    @cached_property
    def _records(self) -> list[pa.Table]:
        """The records of each split, runs one after another, oldest first."""
        scan = self._table.scan()
        return [_records_of(scan, split) for split in scan.plan().splits]


def _records_of(scan: Scan, split: Split) -> pa.Table:
    batches = [
        batch
        for section in split.sections
        for run in section.runs
        for file in run.files
        for batch in DataFileReader(
            scan.source.file_io,
            live_file_path(scan.source.paths, scan.schema, split.partition, split.bucket, file),
            file_meta=file,
            schema=scan.schema,
        ).batches(scan.columns)
    ]
    return pa.Table.from_batches(batches).combine_chunks()


def main() -> None:
    """Serve until the input ends."""
    path, processes = sys.argv[1], int(sys.argv[2])
    pa.set_cpu_count(len(os.sched_getaffinity(0)))
    if processes == 1:
        serve = Share(path).answer
    else:
        serve = WorkerProcesses(processes, partial(_share, path, processes)).answer
    for line in sys.stdin:
        print(json.dumps(serve(line.strip())), flush=True)


def _share(path: str, processes: int, number: int) -> Callable[[str], Answer]:
    return Share(path, number=number, processes=processes).answer


if __name__ == "__main__":
    main()
