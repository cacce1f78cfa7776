"""Columns have the digits of the second that their types declare, cut towards the past, at any depth."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.declared_digits import with_declared_digits
from braid.lake import parse_type, to_arrow_type

NANOS = 1_767_323_045_678_912_345  # 2026-01-02T03:04:05.678912345
PER_UNIT = {"ms": 10**6, "us": 10**3, "ns": 1}
FINE = dt.datetime.fromisoformat("2026-01-02T03:04:05.678912")
CUT = dt.datetime.fromisoformat("2026-01-02T03:04:05.600000")
CLOCK, CUT_CLOCK = dt.time(3, 4, 5, 678_000), dt.time(3, 4, 5)
NESTED: list[tuple[str, Any, Any]] = [
    ("ARRAY<TIMESTAMP(4)>", [FINE, None], [FINE.replace(microsecond=678_900), None]),
    ("ARRAY<ARRAY<TIME(0)>>", [[CLOCK], None, []], [[CUT_CLOCK], None, []]),
    ("MAP<STRING, TIMESTAMP(1)>", [("x", CUT), ("y", None)], [("x", CUT), ("y", None)]),
    (
        "ROW<a STRING, t TIME(1), l ARRAY<TIME(0) NOT NULL> NOT NULL>",
        {"a": "x", "t": CLOCK, "l": [CLOCK]},
        {"a": "x", "t": CLOCK.replace(microsecond=600_000), "l": [CUT_CLOCK]},
    ),
]


def cut(array: pa.Array, sql: str) -> pa.Array:
    found = with_declared_digits(array, parse_type(sql))
    found.validate(full=True)
    assert found.type.equals(array.type, check_metadata=True)
    return found


@pytest.mark.parametrize("precision", range(10))
@pytest.mark.parametrize("sql", ["TIMESTAMP({})", "TIMESTAMP({}) WITH LOCAL TIME ZONE"])
def test_a_timestamp_is_cut_to_its_digits_towards_the_past(sql: str, precision: int) -> None:
    wanted = to_arrow_type(parse_type(sql.format(precision)))
    per_unit, step = PER_UNIT[wanted.unit], 10 ** (9 - precision)
    given = [NANOS, -NANOS, -1, 0, None]
    units = [None if one is None else one // per_unit for one in given]

    found = cut(pa.array(units, pa.int64()).cast(wanted), sql.format(precision))

    expected = [None if one is None else one // step * step // per_unit for one in given]
    assert found.cast(pa.int64()).to_pylist() == expected


@pytest.mark.parametrize(
    ("precision", "millis"), [(0, 5_000), (1, 5_600), (2, 5_670), (3, 5_678), (9, 5_678)]
)
def test_a_time_is_cut_to_its_digits(precision: int, millis: int) -> None:
    given = pa.array([5_678, None, 0, 86_399_999], pa.int32()).cast(pa.time32("ms"))

    found = cut(given, f"TIME({precision})").cast(pa.int32()).to_pylist()

    last = 86_399_999 // 10 ** max(3 - precision, 0) * 10 ** max(3 - precision, 0)
    assert found == [millis, None, 0, last]


@pytest.mark.parametrize(("sql", "given", "expected"), NESTED)
def test_nested_values_are_cut_and_slices_stay_slices(sql: str, given: Any, expected: Any) -> None:
    column = pa.array([None, given, None, given, given], to_arrow_type(parse_type(sql)))

    assert cut(column, sql).to_pylist() == [None, expected, None, expected, expected]
    assert cut(column[2:4], sql).to_pylist() == [None, expected]
    assert cut(column[:0], sql).to_pylist() == []


@pytest.mark.parametrize(
    "sql",
    [
        "INT",
        "DECIMAL(10, 0)",
        "DATE",
        "TIME(3)",
        "TIMESTAMP(6)",
        "ARRAY<TIMESTAMP(9)>",
        "MAP<STRING, ROW<t TIMESTAMP(3)>>",
    ],
)
def test_a_type_with_the_digits_of_its_arrow_form_costs_nothing(sql: str) -> None:
    column = pa.nulls(2, to_arrow_type(parse_type(sql)))

    assert with_declared_digits(column, parse_type(sql)) is column
