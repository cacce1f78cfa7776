"""Tables of the scan benchmark, with the parcels of some days: a compacted table, and the same with new files on top."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake import Catalog, Table

COMPACTED = "compacted"
GROWING = "growing"
DAYS = 4
NEW_FILES = 3
NEW_PART = 0.02
INDEXED = "code"
COLUMNS = [
    ("day", "INT"),
    ("id", "BIGINT"),
    (INDEXED, "STRING"),
    ("version", "BIGINT"),
    ("stock", "INT"),
    ("price", "DOUBLE"),
    ("weight", "DOUBLE"),
    ("label", "STRING"),
    ("note", "STRING"),
]

Numbers = npt.NDArray[np.int64]


def write_tables(
    catalog: Catalog, *, rows: int, names: Sequence[str] = (COMPACTED, GROWING)
) -> dict[str, Table]:
    """Create and fill tables, by name.

    Args:
        catalog: Where.
        rows: Of each table, about.
        names: `COMPACTED`; `GROWING` has in each partition a few small files on top besides.
    """
    return {name: _written(catalog, name, rows // DAYS) for name in names}


def _written(catalog: Catalog, name: str, rows_of_day: int) -> Table:
    table = _created(catalog, name)
    for day in range(DAYS):
        table.write_and_commit(rows_of(day, np.arange(rows_of_day), seed=day))
    table.compact()
    if name == GROWING:
        for number, day in product(range(NEW_FILES), range(DAYS)):
            random = np.random.default_rng([number, day])
            count = int(rows_of_day * NEW_PART)
            ids = np.sort(random.choice(rows_of_day, count, replace=False))
            table.write_and_commit(rows_of(day, ids, seed=100 + number))
    return table


def rows_of(day: int, ids: Numbers, *, seed: int) -> pa.Table:
    """Return rows of a day; the indexed column is a function of the key."""
    random = np.random.default_rng([seed, day])
    count = len(ids)
    return pa.table(
        {
            "day": pa.array(np.full(count, day, dtype=np.int32)),
            "id": ids,
            INDEXED: codes(day, ids),
            "version": random.integers(0, 1 << 20, count),
            "stock": random.integers(0, 1_000, count, dtype=np.int32),
            "price": random.integers(0, 100_000, count) / 100.0,
            "weight": pa.array(random.random(count), mask=random.random(count) < 0.1),
            "label": pc.binary_join_element_wise(
                "shelf", pa.array(random.integers(0, 1_000, count)).cast(pa.string()), "-"
            ),
            "note": pc.binary_join_element_wise(
                "note", pa.array(random.integers(0, 1 << 40, count)).cast(pa.string()), " "
            ),
        }
    )


def codes(day: int, ids: Numbers) -> pa.Array:
    """Return the texts of the indexed column: in no order, each once."""
    mixed = (ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    # The day comes last in the key: else files would be skipped by their bounds.
    return pc.binary_join_element_wise(pa.array(mixed).cast(pa.string()), str(day), "x")


def _created(catalog: Catalog, name: str) -> Table:
    return catalog.create_table(
        f"bench.{name}",
        columns=COLUMNS,
        primary_key=["day", "id"],
        partition_keys=["day"],
        options={"bucket": "1", "file-index.bloom-filter.columns": INDEXED},
    )
