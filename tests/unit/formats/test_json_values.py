"""Conversion of a row's values to JSON."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from braid.formats.json_values import json_row, json_value, json_writer
from braid.lake import DataField, parse_type

NAIVE = datetime(2013, 1, 31, 5, 15, 0, 123_456, tzinfo=UTC).replace(tzinfo=None)


@pytest.mark.parametrize(
    ("sql", "value", "expected"),
    [
        ("BOOLEAN", False, False),
        ("BIGINT", 1 << 62, 1 << 62),
        ("DOUBLE", 0.5, 0.5),
        ("DOUBLE", float("nan"), "NaN"),
        ("FLOAT", float("-inf"), "-Infinity"),
        ("DECIMAL(38, 10)", Decimal("1E-10"), "0.0000000001"),
        ("DECIMAL(38, 0)", Decimal(10**37), "1" + "0" * 37),
        ("STRING", "ä", "ä"),
        ("BYTES", b"\x00\xff", "AP8="),
        ("DATE", date(1969, 7, 20), "1969-07-20"),
        ("TIME(0)", time(5, 15), "05:15:00.000"),
        ("TIMESTAMP(0)", NAIVE, "2013-01-31T05:15:00"),
        ("TIMESTAMP(3)", NAIVE, "2013-01-31T05:15:00.123"),
        ("TIMESTAMP(6)", NAIVE, "2013-01-31T05:15:00.123456"),
        (
            "TIMESTAMP(6)",
            datetime(1, 2, 3, tzinfo=UTC).replace(tzinfo=None),
            "0001-02-03T00:00:00.000000",
        ),
        ("TIMESTAMP(9)", 1_000_000_007, "1970-01-01T00:00:01.000000007"),
        ("TIMESTAMP(9)", -1, "1969-12-31T23:59:59.999999999"),
        ("TIMESTAMP_LTZ(3)", NAIVE.replace(tzinfo=UTC), "2013-01-31T05:15:00.123Z"),
        ("ARRAY<DECIMAL(4, 2)>", [Decimal("1.50"), None], ["1.50", None]),
        ("MAP<STRING, DATE>", [("a", date(2013, 1, 31))], [{"key": "a", "value": "2013-01-31"}]),
        ("MULTISET<STRING>", [("a", 2)], [{"key": "a", "value": 2}]),
    ],
    ids=str,
)
def test_no_digit_and_no_kind_of_value_is_lost(sql: str, value: Any, expected: Any) -> None:
    assert json_value(value, parse_type(sql)) == expected

    field = DataField(id=0, name="c", type=parse_type(sql))
    assert json_writer([field])({"c": value}) == {"c": expected}
    assert json_writer([field])({"c": None}) == {"c": None}


def test_null_is_null_in_every_type() -> None:
    assert json_value(None, parse_type("DECIMAL(4, 2)")) is None


def test_a_nested_row_is_an_object() -> None:
    data_type = parse_type({"type": "ROW", "fields": [{"name": "x", "type": "BYTES"}]})

    assert json_value({"x": b"\x00"}, data_type) == {"x": "AA=="}


def test_a_row_has_its_fields_in_the_tables_order() -> None:
    fields = [DataField(name=name, type=parse_type("INT")) for name in ("b", "a", "new")]

    row = json_row({"a": 1, "b": 2}, fields)

    assert list(row.items()) == [("b", 2), ("a", 1), ("new", None)]
