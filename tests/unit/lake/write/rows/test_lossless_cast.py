"""A number that FLOAT cannot hold is refused, wherever in a value it is."""

import math

import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.write.rows.row_check import conform
from tests.unit.lake.merge.given_schemas import given_schema

DOUBLE = pa.float64()
HUGE = 1e300
GIVEN = [
    ("FLOAT", DOUBLE, HUGE, 1.5),
    ("FLOAT", pa.dictionary(pa.int32(), DOUBLE), -HUGE, 1.5),
    ("ARRAY<FLOAT>", pa.list_(DOUBLE), [1.0, HUGE], [1.0, math.inf]),
    ("MAP<INT,FLOAT>", pa.map_(pa.int32(), DOUBLE), [(1, HUGE)], [(1, 2.0)]),
    ("ROW<x FLOAT>", pa.struct([("x", DOUBLE)]), {"x": HUGE}, {"x": -math.inf}),
    ("ARRAY<ROW<x FLOAT>>", pa.list_(pa.struct([("x", DOUBLE)])), [{"x": HUGE}], [{"x": 0.5}]),
]


@pytest.mark.parametrize(("declared", "kind", "wrong", "right"), GIVEN)
def test_a_finite_number_never_becomes_infinite(
    declared: str, kind: pa.DataType, wrong: object, right: object
) -> None:
    schema = given_schema(f"k INT NOT NULL, v {declared}")
    values = [right, None, wrong, wrong]
    rows = pa.table({"k": range(4), "v": pa.array(values, kind)})

    with pytest.raises(SchemaMismatch, match=r"row 2: .*would become infinite") as caught:
        conform(rows, schema)

    assert [problem.field for problem in caught.value.problems] == ["v"]


@pytest.mark.parametrize(("declared", "kind", "wrong", "right"), GIVEN)
def test_infinite_and_rounded_numbers_are_taken(
    declared: str, kind: pa.DataType, wrong: object, right: object
) -> None:
    schema = given_schema(f"k INT NOT NULL, v {declared}")
    values = pa.array([wrong, right, None], kind).slice(1)

    rows = conform(pa.table({"k": [1, 2], "v": values}), schema)

    assert rows.column("v").to_pylist() == [right, None]
