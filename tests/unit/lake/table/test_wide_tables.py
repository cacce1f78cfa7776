"""Tables of thousands of columns give the rows that narrow ones do; `benchmarks/wide.py` times them.

Columns of INT96 are fewer here: each has its share of a footer that is made in Python.
"""

import random
from collections.abc import Mapping

import pyarrow as pa
import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO

pytestmark = pytest.mark.slow

GROUPS = 1_000


def grouped() -> dict[str, str]:
    """Return the options of a table whose columns are in groups of two."""
    groups = {
        f"fields.c{number}.sequence-group": f"c{number + 1}" for number in range(0, 2 * GROUPS, 2)
    }
    return {"merge-engine": "partial-update", **groups}


def summed(count: int) -> dict[str, str]:
    """Return the options of a table that declares the function of each column."""
    functions = {f"fields.c{number}.aggregate-function": "sum" for number in range(count)}
    return {"merge-engine": "aggregation", **functions}


@pytest.mark.parametrize(
    ("count", "value_type", "options", "merged"),
    [
        pytest.param(
            3_000,
            "INT",
            summed(3_000),
            [12, None, 5, 7],
            id="sums",
        ),
        pytest.param(2 * GROUPS, "INT", grouped(), [7, None, 5, 7], id="groups"),
        pytest.param(500, "TIMESTAMP(9)", {}, [7, None, 5, 7], id="int96"),
    ],
)
def test_thousands_of_columns(
    count: int, value_type: str, options: Mapping[str, str], merged: list[int | None]
) -> None:
    catalog = Catalog("/wh", file_io=MemoryFileIO(), clock=ManualClock(), random=random.Random(1))
    names = [f"c{number}" for number in range(count)]
    table = catalog.create_table(
        "db.t",
        columns=[("k", "INT"), *((name, value_type) for name in names)],
        primary_key=["k"],
        options={"bucket": "1", **options},
    )
    kind = table.schema.arrow_schema.field("c0").type
    for value in (5, 7):
        values = pa.array([value, None, value], kind)
        keys = pa.array([1, 2, value], pa.int32())
        table.write_and_commit(pa.table({"k": keys, **dict.fromkeys(names, values)}))

    scanned = table.scan().to_arrow()
    assert table.get({"k": 3}) is None
    table.compact()

    expected = pa.array(merged, pa.int64()).cast(kind)
    for found in (scanned, table.scan().to_arrow()):
        rows = found.sort_by("k")
        assert rows.column("k").to_pylist() == [1, 2, 5, 7]
        assert all(column.combine_chunks().equals(expected) for column in rows.columns[1:])
