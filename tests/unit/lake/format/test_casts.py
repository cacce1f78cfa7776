"""Casts that the cases of the reference do not cover."""

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.casts.cast import column_cast, read_text
from braid.lake.format.casts.rules import Cast, can_cast, cast_of, has_conversion
from braid.lake.format.data_types import TypeRoot
from braid.lake.format.type_codec import parse_type

ATOMIC = [
    "CHAR(3)",
    "VARCHAR(4)",
    "STRING",
    "BOOLEAN",
    "BINARY(2)",
    "BYTES",
    "DECIMAL(10,2)",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DATE",
    "TIME(3)",
    "TIMESTAMP(3)",
    "TIMESTAMP(9)",
    "TIMESTAMP_LTZ(6)",
]


def cast(values: list[Any], source: str, target: str) -> list[Any]:
    convert = column_cast(parse_type(source), parse_type(target))
    column = pa.array(values, to_arrow_type(parse_type(source)))
    result = column if convert is None else convert(column)
    assert result.type == to_arrow_type(parse_type(target))
    result.validate(full=True)
    values_then: list[Any] = result.to_pylist()
    return values_then


MOMENT = datetime.fromisoformat("2024-01-02T03:04:05.678901")
BEFORE = datetime.fromisoformat("1969-12-31T23:59:59.999999")


@pytest.mark.parametrize(
    ("source", "target", "values", "expected"),
    [
        ("BIGINT", "INT", [2**31, -(2**31) - 1, None], [-(2**31), 2**31 - 1, None]),
        ("DOUBLE", "BIGINT", [1e300, -1e300, float("nan"), -2.9], [2**63 - 1, -(2**63), 0, -2]),
        ("DOUBLE", "TINYINT", [300.0, 1e10], [44, -1]),
        ("DOUBLE", "FLOAT", [1e300, 0.1], [float("inf"), 0.10000000149011612]),
        ("FLOAT", "DOUBLE", [0.5, None], [0.5, None]),
        ("INT", "BOOLEAN", [0, 2, None], [False, True, None]),
        ("BOOLEAN", "DECIMAL(3, 1)", [True, False], [Decimal("1.0"), Decimal("0.0")]),
        ("BIGINT", "DECIMAL(3, 0)", [999, 1000, -1000], [Decimal(999), None, None]),
        ("DECIMAL(10, 4)", "DECIMAL(4, 2)", ["1.2350", "-1.2350", "99.9950"], ["1.24", "-1.24", None]),
        ("DECIMAL(10, 2)", "BIGINT", ["-1.99", "7.00"], [-1, 7]),
        ("DECIMAL(20, 0)", "BIGINT", ["18446744073709551617"], [1]),
        ("DECIMAL(20, 19)", "DOUBLE", ["0.1000000000000000055"], [0.1]),
        ("DOUBLE", "DECIMAL(6, 2)", [0.125, 1.005, 1e9], ["0.13", "1.01", None]),
        ("STRING", "CHAR(3)", ["é", "abcd", None], ["é  ", "abc", None]),
        ("CHAR(3)", "STRING", ["a  "], ["a  "]),
        ("STRING", "VARCHAR(2)", ["äöü"], ["äö"]),
        ("BYTES", "BINARY(3)", [b"a", b"abcd"], [b"a\0\0", b"abc"]),
        ("BINARY(2)", "BYTES", [b"ab"], [b"ab"]),
        ("STRING", "INT", ["+7", "-12.9", "0."], [7, -12, 0]),
        ("STRING", "BOOLEAN", ["T", "no"], [True, False]),
        ("STRING", "DOUBLE", [" 1.5d ", "-Infinity", ".5e1"], [1.5, float("-inf"), 5.0]),
        ("STRING", "FLOAT", ["16777217.0000001"], [16777218.0]),
        ("STRING", "DECIMAL(4, 2)", ["1.005", "1e2", "100"], ["1.01", None, None]),
        ("STRING", "DECIMAL(4, 2)", ["99.994", "99.995", "1e500", "-1e500", "0e500", "1e-500"], [
            "99.99", None, None, None, "0.00", "0.00"]),
        ("STRING", "DATE", ["2024-2", "2024-01-02 10:00", "0"], ["2024-02-01", "2024-01-02", "1970-01-01"]),
        ("STRING", "TIME(3)", ["12:34:56.7896", "7:08"], [time(12, 34, 56, 790_000), time(7, 8)]),
        ("STRING", "TIMESTAMP(3)", ["2024-1-2T03:04", "2024-01-02 03:04:05.6789"], [
            MOMENT.replace(second=0, microsecond=0), MOMENT.replace(microsecond=678_000)]),
        ("TIMESTAMP(6)", "TIMESTAMP(3)", [MOMENT, BEFORE], [
            MOMENT.replace(microsecond=678_000), BEFORE.replace(microsecond=999_000)]),
        ("TIMESTAMP(3)", "DATE", [BEFORE.replace(microsecond=999_000)], [date(1969, 12, 31)]),
        ("TIMESTAMP(6)", "TIME(3)", [BEFORE], [time(23, 59, 59, 999_000)]),
        ("TIMESTAMP(6)", "BIGINT", [BEFORE, MOMENT], [0, 1704164645]),
        ("TIMESTAMP(3)", "STRING", [MOMENT.replace(microsecond=0)], ["2024-01-02 03:04:05.000"]),
        ("TIMESTAMP(0)", "STRING", [MOMENT.replace(year=999, microsecond=0)], ["0999-01-02 03:04:05"]),
        ("TIME(0)", "STRING", [time(1, 2, 3)], ["01:02:03"]),
        ("TIME(3)", "STRING", [time(1, 2, 3, 120_000), time(1, 2, 3)], ["01:02:03.12", "01:02:03.0"]),
        ("TIME(2)", "STRING", [time(1, 2, 3, 105_000)], ["01:02:03.10"]),
        ("FLOAT", "STRING", [0.1, 1e10, None], ["0.1", "1.0E10", None]),
        ("ARRAY<DOUBLE>", "STRING", [[1.0, None], [], None], ["[1.0, null]", "[]", None]),
        ("ROW<a INT, b ARRAY<STRING>>", "STRING", [{"a": None, "b": ["x"]}, None], ["{null, [x]}", None]),
        ("MAP<STRING, DATE>", "STRING", [[("k", date(2024, 1, 2))]], ["{k -> 2024-01-02}"]),
    ],
)  # fmt: skip
def test_values(source: str, target: str, values: list[Any], expected: list[Any]) -> None:
    def typed(texts: list[Any], kind: str) -> list[Any]:
        root = parse_type(kind).root
        if root is TypeRoot.DECIMAL:
            return [None if text is None else Decimal(text) for text in texts]
        if root is TypeRoot.DATE:
            return [date.fromisoformat(v) if isinstance(v, str) else v for v in texts]
        return texts

    assert cast(typed(values, source), source, target) == typed(expected, target)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("", "INT"), ("1e3", "INT"), ("128", "TINYINT"), ("maybe", "BOOLEAN"), ("1,5", "DOUBLE"),
        ("1_0", "DECIMAL(4, 0)"), (" 1", "DECIMAL(4, 0)"), ("NaN", "DECIMAL(4, 0)"),
        ("2024-02-30", "DATE"), ("x", "TIME(3)"), ("2024-13-01 00:00:00", "TIMESTAMP(3)"),
        ("2024-1_1-02", "DATE"), ("2024-+1-02", "DATE"), ("1_0:00", "TIME(3)"), ("-1:00", "TIME(3)"),
        ("2024-01-02 03:04", "TIMESTAMP(3)"), ("2300-01-01", "TIMESTAMP(9)"), ("1600-01-01", "TIMESTAMP(9)"),
    ],
)  # fmt: skip
def test_an_invalid_text_is_refused(text: str, target: str) -> None:
    with pytest.raises(ValueError, match="cannot read"):
        read_text(text, parse_type(target))


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("TIMESTAMP(3)", 253_402_300_800_000), ("TIMESTAMP(6)", -(2**63)), ("TIMESTAMP_LTZ(3)", 2**63 - 1),
        ("DATE", 2_932_897), ("DATE", -719_529), ("DATE", 2**31 - 1),
    ],
)  # fmt: skip
def test_a_year_without_four_digits_has_no_text(source: str, value: int) -> None:
    """The reference writes the last four digits of the year, which are those of another moment."""
    convert = column_cast(parse_type(source), parse_type("STRING"))
    assert convert is not None
    arrow_type = to_arrow_type(parse_type(source))
    numbers = pa.array([0, value, None], pa.int32() if source == "DATE" else pa.int64())

    with pytest.raises(ValueError, match="cannot be written as text: expected a year from"):
        convert(numbers.cast(arrow_type))


def test_the_first_and_last_days_with_four_digits_have_texts() -> None:
    days = pa.array([-719_528, 2_932_896, None], pa.int32()).cast(pa.date32())
    convert = column_cast(parse_type("DATE"), parse_type("STRING"))
    assert convert is not None

    assert convert(days).to_pylist() == ["0000-01-01", "9999-12-31", None]


@pytest.mark.parametrize("source", ATOMIC)
@pytest.mark.parametrize("target", ATOMIC)
def test_every_cast_with_an_executor_is_executed(source: str, target: str) -> None:
    one, other = parse_type(source), parse_type(target)
    if has_conversion(one, other):
        assert cast([None, None], source, target) == [None, None]
        assert can_cast(one, other, explicitly=True)
    assert can_cast(one, other, explicitly=False) == (cast_of(one, other) is Cast.IMPLICIT)


def test_an_implicit_cast_keeps_nulls_out() -> None:
    nullable, not_null = parse_type("INT"), parse_type("BIGINT NOT NULL")

    assert not can_cast(nullable, not_null, explicitly=False)
    assert can_cast(nullable, not_null, explicitly=True)


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)), st.integers(0, 3))
def test_slices_are_cast_as_wholes(values: list[int | None], start: int) -> None:
    column = pa.array(values, pa.int64())
    for target in ("SMALLINT", "STRING", "DECIMAL(19, 0)", "BOOLEAN", "DOUBLE"):
        convert = column_cast(parse_type("BIGINT"), parse_type(target))
        assert convert is not None
        assert convert(column.slice(start)).equals(convert(column).slice(start))
