"""Rows by key as Python values: equality of keys, keys that are refused, values without pandas."""

import math
import random
from datetime import date

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    Condition,
    InvalidRequest,
    ManualClock,
    MemoryFileIO,
    Table,
    UnsupportedFeature,
)
from braid.lake.files.paths import TablePaths
from braid.lake.read.lookup.python_rows import python_rows
from braid.lake.snapshots.schema_store import SchemaStore
from tests.given_tables import ROOT, given_rows, given_schema

NAN = float("nan")


def given_table(key_type: str, value_type: str = "INT") -> Table:
    """Return an empty table (k, v) in memory."""
    catalog = Catalog("/wh", file_io=MemoryFileIO(), clock=ManualClock(), random=random.Random(1))
    return catalog.create_table(
        "db.t",
        columns=[("k", key_type), ("v", value_type)],
        primary_key=["k"],
        options={"bucket": "3"},
    )


@pytest.mark.parametrize("key_type", ["FLOAT", "DOUBLE"])
def test_nan_is_one_key_and_the_zeros_are_two(key_type: str) -> None:
    table = given_table(key_type)
    keys = pa.array([NAN, 0.0, -0.0, 1.5, NAN]).cast(
        pa.float32() if key_type == "FLOAT" else pa.float64()
    )
    table.write_and_commit(pa.table({"k": keys, "v": pa.array([1, 2, 3, 4, 5], pa.int32())}))

    assert table.scan().count() == 4
    assert table.get({"k": NAN}, columns=["v"]) == {"v": 5}
    assert table.get({"k": 0.0}, columns=["v"]) == {"v": 2}
    assert table.get({"k": -0.0}, columns=["v"]) == {"v": 3}
    assert table.get({"k": 1.5}) == {"k": 1.5, "v": 4}
    assert table.get({"k": 2.5}) is None
    for key, value in ((NAN, 5), (0.0, 2), (-0.0, 3), (1.5, 4)):
        for condition in (
            Condition(column="k", op="=", value=key),
            Condition(column="k", op="in", value=[key]),
        ):
            assert table.scan(columns=["v"], where=[condition]).to_arrow().to_pylist() == [
                {"v": value}
            ]
    row = table.get({"k": -0.0})
    assert row is not None
    assert math.copysign(1, float(str(row["k"]))) == -1


def test_a_key_that_the_column_cannot_hold_is_refused() -> None:
    table = given_table("INT")
    table.write_and_commit(pa.table({"k": pa.array([1], pa.int32())}))

    with pytest.raises(InvalidRequest, match="k: the value is not of type INT"):
        table.get({"k": 1.7})


def test_all_values_of_the_first_key_that_do_not_fit_are_refused() -> None:
    catalog = Catalog("/wh", file_io=MemoryFileIO(), clock=ManualClock())
    table = catalog.create_table(
        "db.t", columns=[("a", "INT"), ("b", "DATE")], primary_key=["a", "b"]
    )
    day = date(2026, 1, 2)
    keys: list[dict[str, object]] = [
        {"a": 1, "b": day},
        {"a": "1", "b": "2026-01-02"},
        {"a": 1.5, "b": day},
    ]

    with pytest.raises(InvalidRequest, match="the key does not fit the table") as refused:
        table.lookup_at().get_many(keys)

    assert [problem.field for problem in refused.value.problems] == ["a", "b"]


def test_a_key_with_a_null_has_no_row() -> None:
    table = given_table("INT")
    table.write_and_commit(pa.table({"k": pa.array([0, 1], pa.int32())}))

    assert table.get({"k": None}) is None
    found = table.lookup_at().get_many([{"k": 1}, {"k": None}, {"k": 0}, {"k": 2}])
    assert found == [{"k": 1, "v": None}, None, {"k": 0, "v": None}, None]


def test_timestamps_of_nine_digits_are_returned_as_nanoseconds() -> None:
    table = given_table("INT", "TIMESTAMP(9)")
    moments = pa.array([1_000_000_007], pa.timestamp("ns"))
    table.write_and_commit(pa.table({"k": pa.array([1], pa.int32()), "v": moments}))

    assert table.get({"k": 1}) == {"k": 1, "v": 1_000_000_007}


def test_nested_timestamps_of_nine_digits_are_returned_as_nanoseconds() -> None:
    table = given_table("INT", "ROW<m MAP<TIMESTAMP(9), INT>, a ARRAY<TIMESTAMP_LTZ(7)>>")
    values = pa.array(
        [{"m": [(1_000_000_007, 2)], "a": [-1, None]}], table.schema.arrow_schema.field("v").type
    )
    table.write_and_commit(pa.table({"k": pa.array([1], pa.int32()), "v": values}))

    assert table.get({"k": 1}, columns=["v"]) == {"v": {"m": [(1_000_000_007, 2)], "a": [-1, None]}}


def test_a_date_that_python_cannot_hold_is_reported_with_its_column() -> None:
    days = pa.array([0, 4_000_000], pa.int32()).cast(pa.date32())
    batch = pa.record_batch({"d": days})

    assert python_rows(batch.slice(0, 1)) == [{"d": date(1970, 1, 1)}]
    with pytest.raises(UnsupportedFeature, match="column `d`"):
        python_rows(batch)


def test_a_key_in_several_partitions_of_a_foreign_table_is_not_corrupt() -> None:
    """Another engine may have made such a table; this one refuses to."""
    file_io = MemoryFileIO()
    schema = given_schema({"k": "INT", "p": "INT"}, key=["k"], partition=["p"])
    SchemaStore(file_io, TablePaths(ROOT)).create(schema)
    table = Table.open(ROOT, file_io=file_io, clock=ManualClock(), random=random.Random(1))
    table.write_and_commit(given_rows(schema, [[1, 1], [1, 2], [2, 1]]))

    with pytest.raises(UnsupportedFeature, match=r"2 rows of the key .* outside of the key: p"):
        table.get({"k": 1})
    assert table.get({"k": 2}) == {"k": 2, "p": 1}
    where = [Condition(column="p", op="=", value=2)]
    assert table.scan(where=where).to_arrow().to_pylist() == [{"k": 1, "p": 2}]
