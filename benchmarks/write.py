"""Benchmark of writing: from Arrow to level-0 files on local disk, on one core.

The figures include commits, except the figure for the cost of null columns, whose files are written
and deleted.
"""

import tempfile
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.bulk_rows import (
    GROUPED_COLUMNS,
    GROUPED_OPTIONS,
    TEXT_COLUMNS,
    grouped_rows,
    text_rows,
)
from benchmarks.figure import best_s, figure
from braid.lake import Catalog, Table

REPEATS = 3
TEXT_ROWS = 250_000
GROUPED_ROWS = 500_000
STREAMS = 25
STREAM_COLUMNS = 8
SMALL_ROWS = 100


def run() -> list[dict[str, Any]]:
    """Return the figures of writing.

    Returns:
        Dicts of name, value, unit and aim (None: measured, not aimed at).
    """
    threads = pa.cpu_count()
    pa.set_cpu_count(1)
    try:
        with tempfile.TemporaryDirectory(prefix="braid-bench-") as warehouse:
            catalog = Catalog(warehouse)
            return [*_text(catalog), *_grouped(catalog), *_streams(catalog)]
    finally:
        pa.set_cpu_count(threads)


def _text(catalog: Catalog) -> list[dict[str, Any]]:
    rows = text_rows(TEXT_ROWS)
    figures = []
    for buckets, aim in ((1, 250_000), (4, None)):
        table = catalog.create_table(
            f"bench.text{buckets}",
            columns=TEXT_COLUMNS,
            primary_key=["k"],
            options={"bucket": str(buckets), "data-file.thin-mode": "true"},
        )
        seconds = best_s(partial(table.write_and_commit, rows), repeats=REPEATS)
        name = f"write: INT key and 20 texts, {buckets} bucket(s)"
        figures.append(figure(name, TEXT_ROWS / seconds, "rows/s", aim))
    return figures


def _grouped(catalog: Catalog) -> list[dict[str, Any]]:
    table = catalog.create_table(
        "bench.grouped", columns=GROUPED_COLUMNS, primary_key=["k"], options=GROUPED_OPTIONS
    )
    rows = grouped_rows(0, GROUPED_ROWS, keys=GROUPED_ROWS // 4)
    seconds = best_s(lambda: table.write_and_commit(rows), repeats=REPEATS)
    name = "write: partial-update with two groups, 4 records a key"
    # Twice what the reference implementation's bulk writer did on this kind of machine.
    return [figure(name, GROUPED_ROWS / seconds, "rows/s", 900_000)]


def _streams(catalog: Catalog) -> list[dict[str, Any]]:
    """Measure files of one stream among many, with and without everybody else's columns."""
    table = _stream_table(catalog)
    figures = []
    for row_count in (GROUPED_ROWS // 5, SMALL_ROWS):
        rows = _stream_rows(row_count)
        for drop in (True, False):
            seconds = best_s(partial(_write_files, table, rows, drop=drop), repeats=REPEATS)
            what = "left out" if drop else "written"
            name = f"write: 1 of {STREAMS} streams, {row_count} rows, null columns {what}"
            figures.append(figure(name, 1_000 * seconds, "ms", None))
    return figures


def _stream_table(catalog: Catalog) -> Table:
    types = ("BIGINT", "STRING", "DOUBLE", "TIMESTAMP(3)")
    names = [[f"s{s}_{c}" for c in range(STREAM_COLUMNS)] for s in range(STREAMS)]
    columns = [(name, types[i % 4]) for stream in names for i, name in enumerate(stream)]
    groups = {f"fields.{first}.sequence-group": ",".join(rest) for first, *rest in names}
    options = {"bucket": "1", "merge-engine": "partial-update", "data-file.thin-mode": "true"}
    return catalog.create_table(
        "bench.streams",
        columns=[("k", "BIGINT"), *columns],
        primary_key=["k"],
        options={**options, **groups},
    )


def _stream_rows(count: int) -> pa.Table:
    random = np.random.default_rng(2)
    numbers = random.integers(0, 1 << 40, count)
    forms = (
        pa.array(numbers),
        pa.array(numbers.astype(str)),
        pa.array(numbers / 7.0),
        pa.array(numbers).cast(pa.timestamp("ms")),
    )
    columns = {f"s0_{index}": forms[index % 4] for index in range(STREAM_COLUMNS)}
    return pa.table({"k": pa.array(random.permutation(4 * count)[:count]), **columns})


def _write_files(table: Table, rows: pa.Table, *, drop: bool) -> None:
    writer = table.writer(first_sequence_number=0, drop_null_columns=drop)
    writer.write(rows)
    writer.flush()
    writer.abort()
