"""Benchmark of bloom filters: processor time for the same rows with and without a filter."""

import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.figure import figure
from braid.lake import Catalog, Condition, Table

ROWS = 2_000_000
BATCHES = 4
LOOKUPS = 100
REPEATS = 3
COLUMNS = [("k", "BIGINT"), ("code", "STRING"), ("price", "DOUBLE"), ("note", "STRING")]
INDEX = {"file-index.bloom-filter.columns": "k,code", "file-index.bloom-filter.k.fpp": "0.001"}


def run() -> list[dict[str, Any]]:
    """Return the figures of tables of `ROWS` rows of four columns, compacted.

    Returns:
        Dicts of name, value, unit and aim (None: measured, not aimed at).
    """
    with tempfile.TemporaryDirectory(prefix="braid-bench-") as warehouse:
        catalog = Catalog(warehouse)
        without_s, without = _written(catalog, "without", {})
        with_s, table = _written(catalog, "with", INDEX)
        files = [entry.file for entry in table.scan().source.entries]
        data = sum(file.file_size for file in files)
        index = _index_bytes(table)
        scanned = _ratio(table, without, _scan)
        looked_up = _ratio(table, without, _look_up)
    what = f"{ROWS / 1e6:.0f} million rows"
    return [
        figure(f"{what}: a scan for a missing text, without over with", *scanned),
        figure(f"{what}: {LOOKUPS} missing keys, cold, without over with", *looked_up),
        figure(f"{what}: writing and compacting, with over without", with_s / without_s, "times"),
        figure(f"{what}: two indexes over the data", 100 * index / data, "%"),
    ]


def _ratio(table: Table, without: Table, work: Callable[[Table], None]) -> tuple[float, str]:
    return _best_cpu_s(without, work) / _best_cpu_s(table, work), "times"


def _best_cpu_s(table: Table, work: Callable[[Table], None]) -> float:
    """Return the processor time of the best of some runs, each on a table that has read nothing."""
    times = []
    for _ in range(REPEATS):
        opened = Table.open(table.path)
        opened.latest_snapshot()
        start = time.process_time()
        work(opened)
        times.append(time.process_time() - start)
    return min(times)


def _scan(table: Table) -> None:
    where = [Condition(column="code", op="=", value=_codes(np.array([5]))[0] + "0")]
    assert table.scan(where=where).to_arrow().num_rows == 0


def _look_up(table: Table) -> None:
    # Between the existing keys.
    keys = 2 * np.linspace(0, ROWS - 2, LOOKUPS).astype(np.int64) + 1
    assert table.lookup(pa.table({"k": keys})).num_rows == 0


def _written(catalog: Catalog, name: str, options: dict[str, str]) -> tuple[float, Table]:
    """Write even keys in no order, then compact; return the processor time, and the table."""
    table = catalog.create_table(
        f"bench.{name}", columns=COLUMNS, primary_key=["k"], options={"bucket": "1", **options}
    )
    keys = np.random.default_rng(1).permutation(ROWS).astype(np.int64)
    batches = [_rows(part) for part in np.array_split(keys, BATCHES)]
    start = time.process_time()
    for batch in batches:
        table.write_and_commit(batch)
    table.compact()
    return time.process_time() - start, table


def _rows(numbers: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Table:
    random = np.random.default_rng(int(numbers[0]))
    return pa.table(
        {
            "k": 2 * numbers,
            "code": _codes(numbers),
            "price": random.random(len(numbers)),
            "note": [f"note {number % 100}" for number in numbers.tolist()],
        }
    )


def _codes(numbers: np.ndarray[Any, np.dtype[np.int64]]) -> list[str]:
    """Return texts in no order, one for each number."""
    mixed = (numbers * 0x9E3779B1) % (1 << 32)
    return [f"{number:010}" for number in mixed.tolist()]


def _index_bytes(table: Table) -> int:
    """Return the size of the indexes of the live files, in files of their own or in manifests."""
    size = 0
    for entry in table.scan().source.entries:
        size += len(entry.file.embedded_file_index or b"")
        directory = f"{table.path}/bucket-{entry.bucket}"
        size += sum(table.file_io.size(f"{directory}/{name}") for name in entry.file.extra_files)
    return size
