"""Wide table of the lookup benchmark: 22 columns, in files that are small on storage and large once decoded.

Its values repeat, like those of event streams: two million rows are 45 MB on disk, and half a gigabyte decoded.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.lookup.tables import write_compacted
from braid.lake import Catalog, Table

BUCKETS: Final = 4
STRETCH_ROWS: Final = 500_000
NEW_FILES: Final = 3
NEW_ROWS: Final = 1_000

INTEGERS: Final = 9
DOUBLES: Final = 6
TEXTS: Final = 6
TEXT_VALUES: Final = tuple(f"depot number {number}" for number in range(40))

COLUMNS: Final = (
    ("id", "BIGINT"),
    *((f"i{number}", "BIGINT") for number in range(INTEGERS)),
    *((f"d{number}", "DOUBLE") for number in range(DOUBLES)),
    *((f"t{number}", "STRING") for number in range(TEXTS)),
)


def write_wide_table(catalog: Catalog, *, rows: int, max_memory: str | None) -> Table:
    """Create and fill `bench.wide` with the keys of the even numbers below `2 * rows`.

    Args:
        catalog: Where.
        rows: In four buckets of one compacted file each.
        max_memory: The option `lookup.cache-max-memory-size`; None leaves the default.
    """
    options = {"bucket": str(BUCKETS)}
    if max_memory is not None:
        options["lookup.cache-max-memory-size"] = max_memory
    table = catalog.create_table("bench.wide", columns=COLUMNS, primary_key=["id"], options=options)
    stretches = range(0, rows, STRETCH_ROWS)
    numbers = (2 * np.arange(first, min(rows, first + STRETCH_ROWS)) for first in stretches)
    write_compacted(table, (wide_rows(each) for each in numbers))
    random = np.random.default_rng(0)
    for _ in range(NEW_FILES):
        table.write_and_commit(wide_rows(2 * np.sort(random.choice(rows, NEW_ROWS, replace=False))))
    return table


def wide_rows(numbers: npt.NDArray[np.int64]) -> pa.Table:
    """Return rows with these keys."""
    random = np.random.default_rng(int(numbers[0]))
    count = len(numbers)
    columns: dict[str, object] = {"id": numbers}
    for number in range(INTEGERS):
        columns[f"i{number}"] = random.integers(0, 20 + 200 * number, count)
    for number in range(DOUBLES):
        columns[f"d{number}"] = random.integers(0, 50 + 100 * number, count) / 4
    texts = pa.array(TEXT_VALUES)
    for number in range(TEXTS):
        columns[f"t{number}"] = texts.take(pa.array(random.integers(0, 10 + 6 * number, count)))
    return pa.table(columns)
