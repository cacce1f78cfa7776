"""Arrays of Spark take the table's types: timestamps are cut off towards the past, at any depth."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.arrow_cast import cut_cast
from braid.lake import parse_type, to_arrow_type

AT = dt.datetime(2026, 1, 2, 3, 4, 5, 678_900, tzinfo=dt.UTC)
BEFORE = dt.datetime.fromisoformat("1969-12-31T23:59:59.999999")
CUT = dt.datetime.fromisoformat("1969-12-31T23:59:59.999")
CASES: list[tuple[str, pa.DataType, Any, Any]] = [
    ("TINYINT", pa.int32(), -128, -128),
    ("CHAR(2)", pa.string(), "ab", "ab"),
    ("DECIMAL(10, 2)", pa.decimal128(10, 2), Decimal("1.50"), Decimal("1.50")),
    ("TIME(3)", pa.int32(), 1, dt.time(0, 0, 0, 1_000)),
    ("TIMESTAMP(3)", pa.timestamp("us"), BEFORE, CUT),
    ("TIMESTAMP(6) WITH LOCAL TIME ZONE", pa.timestamp("us", tz="UTC"), AT, AT),
    ("ARRAY<TIMESTAMP(6)>", pa.list_(pa.timestamp("us")), [None], [None]),
    ("ARRAY<TIMESTAMP(3)>", pa.list_(pa.timestamp("us")), [BEFORE, None], [CUT, None]),
    (
        "MAP<STRING, ARRAY<TIMESTAMP(3)>>",
        pa.map_(pa.string(), pa.list_(pa.timestamp("us"))),
        [("x", [BEFORE]), ("y", None)],
        [("x", [CUT]), ("y", None)],
    ),
    (
        "ROW<a INT, t TIMESTAMP(3)>",
        pa.struct([("a", pa.int32()), ("t", pa.timestamp("us"))]),
        {"a": 1, "t": BEFORE},
        {"a": 1, "t": CUT},
    ),
]


@pytest.mark.parametrize(("sql", "spark", "given", "expected"), CASES)
def test_values_take_the_tables_type(
    sql: str, spark: pa.DataType, given: Any, expected: Any
) -> None:
    wanted = to_arrow_type(parse_type(sql))

    array = cut_cast(pa.array([given, None], spark), wanted)

    assert array.type == wanted
    assert array.to_pylist() == [expected, None]


@pytest.mark.parametrize(("sql", "spark", "given", "expected"), CASES)
def test_values_of_a_slice_take_the_tables_type(
    sql: str, spark: pa.DataType, given: Any, expected: Any
) -> None:
    array = pa.array([None, given, given, None], spark).slice(1, 2)

    assert cut_cast(array, to_arrow_type(parse_type(sql))).to_pylist() == [expected, expected]


def test_nanoseconds_arrive_as_numbers() -> None:
    array = cut_cast(pa.array([-1, None], pa.int64()), to_arrow_type(parse_type("TIMESTAMP(9)")))

    assert array.type == pa.timestamp("ns")
    assert array.cast(pa.int64()).to_pylist() == [-1, None]
