"""Worker process of the scan benchmark: scans a table on request, with the engine or with plain pyarrow.

    python -m benchmarks.scan.worker ours|pyarrow TABLE_DIR PROCESSES

A line of the input has `read` or `checksum`, and the choice of a `Line`. For each line one line is
printed, in the form of `Scanning.java`. The engine has one process for each core, with a share of
the splits; pyarrow has its threads. Plain pyarrow reads the table's data files as a Parquet data
set, without the files that a condition on partitions excludes. It does not merge keys, so its rows
are right only if each bucket is one compacted run.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as fs

from benchmarks.merging.checksum import checksum
from benchmarks.worker_processes import Answer, WorkerProcesses, timed
from braid.lake import Condition, Table
from braid.lake.files.data_file_path import live_file_path

_S3 = "s3://"
Choice = Mapping[str, Any]


class Reader(Protocol):
    """Gives the rows of a choice."""

    def batches(self, choice: Choice) -> Iterator[pa.RecordBatch]:
        """Yield them."""
        ...


class Ours:
    """The engine's share of a table."""

    def __init__(self, path: str, *, number: int = 0, processes: int = 1) -> None:
        self._table = Table.open(path)
        self._number = number
        self._processes = processes

    def batches(self, choice: Choice) -> Iterator[pa.RecordBatch]:
        """Yield the rows of this process's splits; planned anew each time, as Java does."""
        scan = self._table.scan(columns=choice.get("columns"), where=_conditions(choice))
        reader = scan.reader()
        for split in scan.splits()[self._number :: self._processes]:
            yield from reader.batches(split)


class PlainArrow:
    """All data files of a table, as a data set of Parquet."""

    def __init__(self, path: str) -> None:
        self._table = Table.open(path)

    def batches(self, choice: Choice) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        on_partition = [c for c in _conditions(choice) if c.column in self._names]
        scan = self._table.scan(where=on_partition)
        paths = [
            live_file_path(scan.source.paths, scan.schema, split.partition, split.bucket, file)
            for split in scan.splits()
            for file in split.files
        ]
        names = choice.get("columns") or list(self._table.schema.field_names)
        wanted = None
        for column, operator, value in choice.get("where", []):
            part = _expression(column, operator, value)
            wanted = part if wanted is None else wanted & part
        storage = _storage() if self._table.path.startswith(_S3) else None
        files = ds.dataset(
            [path.removeprefix(_S3) for path in paths], format="parquet", filesystem=storage
        )
        yield from files.scanner(columns=names, filter=wanted).to_batches()

    @property
    def _names(self) -> Sequence[str]:
        return self._table.schema.partition_keys


@cache
def _storage() -> fs.S3FileSystem:
    """Return pyarrow's own client for the server that the environment names."""
    lines = Path(os.environ["BRAID_STORE_CREDENTIALS"]).read_text(encoding="utf-8").splitlines()
    known = dict(line.split("=", 1) for line in lines)
    scheme, endpoint = os.environ["BRAID_STORE_ENDPOINT"].split("://")
    return fs.S3FileSystem(
        access_key=known["AWS_ACCESS_KEY_ID"],
        secret_key=known["AWS_SECRET_ACCESS_KEY"],
        region=os.environ["BRAID_STORE_REGION"],
        scheme=scheme,
        endpoint_override=endpoint,
    )


def _conditions(choice: Choice) -> list[Condition]:
    return [Condition(column=c, op=op, value=value) for c, op, value in choice.get("where", [])]


def _expression(column: str, operator: str, value: object) -> pc.Expression:
    field = pc.field(column)
    comparisons = {
        "=": field == value,
        "<": field < value,
        "<=": field <= value,
        ">": field > value,
        ">=": field >= value,
    }
    return comparisons[operator]


def answer(reader: Reader, line: str) -> Answer:
    """Answer one line of the input."""
    request, options = line.split(" ", 1)
    choice = json.loads(options)
    if request != "checksum":
        return timed(lambda: {"rows": sum(batch.num_rows for batch in reader.batches(choice))})
    rows = total = 0
    for batch in reader.batches(choice):
        rows += batch.num_rows
        total += checksum(batch)
    return {"rows": rows, "checksum": total % (1 << 64)}


def main() -> None:
    """Serve until the input ends."""
    kind, path, processes = sys.argv[1], sys.argv[2], int(sys.argv[3])
    pa.set_cpu_count(len(os.sched_getaffinity(0)))
    if kind == "ours" and processes > 1:
        serve = WorkerProcesses(processes, partial(_share, path, processes)).answer
    else:
        serve = partial(answer, PlainArrow(path) if kind == "pyarrow" else Ours(path))
    for line in sys.stdin:
        print(json.dumps(serve(line.strip())), flush=True)


def _share(path: str, processes: int, number: int) -> Callable[[str], Answer]:
    return partial(answer, Ours(path, number=number, processes=processes))


if __name__ == "__main__":
    main()
