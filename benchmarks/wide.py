"""Benchmark of tables with thousands of columns: whether commit, scan, get and compact take time in proportion to the columns."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

from benchmarks.figure import best_s, figure
from braid.lake import Catalog, MemoryFileIO, Table

COUNTS = (1_500, 3_000)
REPEATS = 3
# A column costs what it costs, however many there are: twice the columns, twice the time.
GROWTH_AIM = 2.0


def run() -> list[dict[str, Any]]:
    """Return the figures of wide tables.

    Returns:
        Dicts of name, value, unit and aim (None: measured, not aimed at).
    """
    seconds = {count: _acts(count) for count in COUNTS}
    few, many = COUNTS
    figures = []
    for act, taken in seconds[many].items():
        name = f"wide: {act}, {many:,} columns with `sum`"
        figures.append(figure(name, 1_000 * taken, "ms"))
        growth = taken / seconds[few][act]
        figures.append(figure(f"{name}, beside {few:,}", growth, "times", GROWTH_AIM))
    return figures


def _acts(count: int) -> dict[str, float]:
    catalog = Catalog("/wh", file_io=MemoryFileIO())
    names = [f"c{number}" for number in range(count)]
    functions = {f"fields.{name}.aggregate-function": "sum" for name in names}
    table = catalog.create_table(
        "db.t",
        columns=[("k", "INT"), *((name, "INT") for name in names)],
        primary_key=["k"],
        options={"bucket": "1", "merge-engine": "aggregation", **functions},
    )
    values = pa.array([5, None, 7], pa.int32())
    rows = pa.table({"k": values.fill_null(6), **dict.fromkeys(names, values)})
    acts: dict[str, Callable[[Table], object]] = {
        "commit of 3 rows": lambda table: table.write_and_commit(rows),
        "scan": lambda table: table.scan().to_arrow(),
        "get": lambda table: table.get({"k": 5}),
    }
    taken = {name: best_s(partial(act, table), repeats=REPEATS) for name, act in acts.items()}
    taken["compact"] = best_s(table.compact, repeats=1)
    return taken
