"""Columns arrive under the table's names and in its types; generated ones are filled."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import OFFSET_MAX, LimitExceeded, parse_type, stored_offset, to_arrow_type
from braid.pipelines.record_columns import OFFSET
from braid.pipelines.sink.table_columns import table_columns, to_table_array
from tests.unit.pipelines.given_streams import AT, given_plan, given_records, given_spec

BEFORE = dt.datetime.fromisoformat("1969-12-31T23:59:59.999999")
CUT = dt.datetime.fromisoformat("1969-12-31T23:59:59.999")


def test_generated_columns_are_filled_from_kafka() -> None:
    plan = given_plan(given_spec({"id": "INT", "a": "STRING"}, ordering=None))
    records = given_records([(1, "x"), (2, None)], types=[pa.int32(), pa.string()], partition=3)

    rows = table_columns(records, plan).to_pylist()

    at = AT.replace(microsecond=678_000)
    generated = {"s__partition": 3, "s__at": at, "s__op": "upsert"}
    assert rows == [
        {"id": 1, "a": "x", "s__offset": 0, **generated},
        {"id": 2, "a": None, "s__offset": 1, **generated},
    ]


def test_arrival_stands_behind_a_declared_order() -> None:
    plan = given_plan(given_spec({"id": "INT", "a": "STRING", "version": "INT"}))
    types = [pa.int32(), pa.string(), pa.int32()]
    records = given_records([(1, "x", 7), (1, "y", 7)], types=types, partition=3)

    rows = table_columns(records, plan, generation=2).to_pylist()

    arrivals = [(row["s__offset"], row["s__partition"]) for row in rows]
    assert arrivals == [(stored_offset(2, 0), 3), (stored_offset(2, 1), 3)]


def test_an_offset_that_cannot_be_stored_is_refused() -> None:
    plan = given_plan(given_spec({"id": "INT", "a": "STRING"}, ordering=None))
    records = given_records([(1, "x")], types=[pa.int32(), pa.string()])
    place = records.schema.get_field_index(OFFSET)
    beyond = records.set_column(place, OFFSET, pa.array([OFFSET_MAX + 1]))

    with pytest.raises(LimitExceeded, match="281474976710656"):
        table_columns(beyond, plan)


def test_only_some_columns_can_be_asked_for() -> None:
    plan = given_plan(given_spec({"id": "INT", "a": "STRING"}, ordering=None))
    records = given_records([(1, "x")], types=[pa.int32(), pa.string()])

    assert table_columns(records, plan, only={"id"}).to_pylist() == [{"id": 1}]


def test_a_record_without_ordering_leaves_its_whole_group_null() -> None:
    spec = given_spec({"id": "INT", "a": "STRING", "v1": "INT", "v2": "INT"}, ordering=("v1", "v2"))
    plan = given_plan(spec, on_null_ordering="clear")
    types = [pa.int32(), pa.string(), pa.int32(), pa.int32()]
    records = given_records([(1, "x", None, None), (2, "y", None, 1)], types=types)

    cleared, kept = table_columns(records, plan).to_pylist()

    assert cleared == {**dict.fromkeys(cleared), "id": 1}
    assert (kept["a"], kept["v2"], kept["s__op"]) == ("y", 1, "upsert")


@pytest.mark.parametrize(
    ("sql", "spark", "given", "expected"),
    [
        ("TINYINT", pa.int32(), -128, -128),
        ("CHAR(2)", pa.string(), "ab", "ab"),
        ("DECIMAL(10, 2)", pa.decimal128(10, 2), Decimal("1.50"), Decimal("1.50")),
        ("TIME(3)", pa.int32(), 1, dt.time(0, 0, 0, 1_000)),
        (
            "TIMESTAMP(3)",
            pa.timestamp("us"),
            BEFORE,
            CUT,
        ),
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
    ],
)
def test_values_take_the_tables_type(
    sql: str, spark: pa.DataType, given: Any, expected: Any
) -> None:
    data_type = parse_type(sql)

    array = to_table_array(pa.array([given, None], spark), data_type)

    assert array.type == to_arrow_type(data_type)
    assert array.to_pylist() == [expected, None]


def test_nanoseconds_arrive_as_numbers() -> None:
    array = to_table_array(pa.array([-1, None], pa.int64()), parse_type("TIMESTAMP(9)"))

    assert array.type == pa.timestamp("ns")
    assert array.cast(pa.int64()).to_pylist() == [-1, None]
