"""Nested columns under types that differ in nullability only."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.lake import parse_type, to_arrow_type, without_hidden_nulls

VALUES = [
    ("VARIANT", {"value": b"\0", "metadata": b"\1\0\0"}),
    ("ROW<a INT NOT NULL, b STRING NOT NULL, c BOOLEAN NOT NULL>", {"a": 1, "b": "x", "c": True}),
    ("ROW<a ROW<b INT NOT NULL> NOT NULL, v VARIANT NOT NULL>", {
        "a": {"b": 1}, "v": {"value": b"\0", "metadata": b"\1\0\0"},
    }),
    ("ROW<a ARRAY<INT> NOT NULL, m MAP<STRING, INT> NOT NULL>", {"a": [1], "m": [("k", 1)]}),
    ("ARRAY<ROW<a INT NOT NULL>>", [{"a": 1}, None]),
    ("MAP<STRING, VARIANT>", [("k", {"value": b"\0", "metadata": b"\1\0\0"}), ("l", None)]),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "value"), VALUES, ids=[sql for sql, _ in VALUES])
def test_parts_of_null_values_can_be_written(sql: str, value: object) -> None:
    column = pa.array([value, value, value], to_arrow_type(parse_type(sql)))
    taken = pa.chunked_array([column.take(pa.array([0, None, 2, None])).slice(1), column])

    found = without_hidden_nulls(taken)

    assert found.type.equals(taken.type)
    assert found.to_pylist() == taken.to_pylist()
    found.validate(full=True)
    file = io.BytesIO()
    pq.write_table(pa.table([found], names=["c"]), file)
    assert pq.read_table(file).column(0).to_pylist() == taken.to_pylist()
