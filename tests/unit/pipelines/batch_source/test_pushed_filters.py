"""Filters of Spark as conditions: they keep the rows that Spark keeps, or are left to Spark."""

import math
import operator
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from braid.lake import bind_conditions, matching_rows
from braid.pipelines.batch_source.pushed_filters import push_filters
from tests.given_tables import given_schema

moment = datetime.fromisoformat

COLUMN = ("c",)
VALUES: dict[str, list[Any]] = {
    "BOOLEAN": [False, True],
    "TINYINT": [-128, 0, 127],
    "SMALLINT": [-32_768, 0, 1],
    "INT": [-1, 0, 2**31 - 1],
    "BIGINT": [-(2**63), 0, 2**53 + 1],
    "FLOAT": [-math.inf, -0.5, -0.0, 0.0, 0.5, math.inf, math.nan],
    "DOUBLE": [-math.inf, -0.1, -0.0, 0.0, 5e-324, 0.1, math.nan],
    "DECIMAL(9, 2)": [Decimal("-1.50"), Decimal(0), Decimal("1.5")],
    "DECIMAL(38, 10)": [Decimal("-1e17"), Decimal("0.0000000001")],
    "CHAR(3)": ["", "a", "a  "],
    "STRING": ["", "a", "a\0", "ab", "b", "a\ud7ff", "\ue000", "\uffff", "a\U0010ffff"],
    "BINARY(3)": [b"\0\0\0", b"\x7f\0\0", b"\xff\xff\xff"],
    "BYTES": [b"", b"\0", b"\x7f", b"\xff", b"\xff\0"],
    "DATE": [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)],
    "TIME(3)": [time(0), time(23, 59, 59, 999_000)],
    "TIMESTAMP(3)": [moment("1969-12-31T23:59:59.999"), moment("2026-01-02")],
    "TIMESTAMP(6)": [moment("1969-12-31T23:59:59.999999"), moment("2026-01-02")],
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": [
        moment("1969-12-31T23:59:59.999999Z"),
        moment("2026-01-02T00:00:00Z"),
    ],
}
COMPARISONS: dict[type[Filter], Callable[[Any, Any], bool]] = {
    EqualTo: operator.eq,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
}
TEXTS: dict[type[Filter], Callable[[str, str], bool]] = {
    StringStartsWith: str.startswith,
    StringEndsWith: str.endswith,
    StringContains: str.__contains__,
}


def compared(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    """Return how Spark compares two values: NaN equals itself and is above all others; the zeros are equal."""
    if isinstance(left, float):
        marks = [
            (math.isnan(value), 0.0 if math.isnan(value) else value) for value in (left, right)
        ]
        return compare(marks[0], marks[1])
    return compare(left, right)


def truth(pushed: Filter, value: Any) -> bool | None:
    """Return what a filter of Spark is for a value, in SQL's logic of three values."""
    match pushed:
        case Not(child=child):
            found = truth(child, value)
            return None if found is None else not found
        case IsNull():
            return value is None
        case IsNotNull():
            return value is not None
        case EqualNullSafe(value=other):
            if value is None or other is None:
                return value is other
            return compared(operator.eq, value, other)
        case In(value=others):
            truths = [truth(EqualTo(COLUMN, other), value) for other in others]
            return True if True in truths else None if None in truths else False
    other = pushed.value  # type: ignore[attr-defined]
    if value is None or other is None:
        return None
    if type(pushed) in TEXTS:
        return TEXTS[type(pushed)](value, other)
    return compared(COMPARISONS[type(pushed)], value, other)


def filters_of(values: list[Any]) -> Iterator[Filter]:
    """Yield filters of every kind with the values of a column."""
    yield from (IsNull(COLUMN), IsNotNull(COLUMN), EqualNullSafe(COLUMN, None))
    yield In(COLUMN, (values[0], None))
    yield In(COLUMN, (*values[1:],))
    for value in (*values, None):
        yield from (kind(COLUMN, value) for kind in COMPARISONS)  # type: ignore[call-arg]
    for value in values:
        yield EqualNullSafe(COLUMN, value)
        yield In(COLUMN, (value,))
        if isinstance(value, str):
            yield from (kind(COLUMN, value) for kind in TEXTS)  # type: ignore[call-arg]


def is_expressed(pushed: Filter) -> bool:
    """Return whether a conjunction of comparisons can say the same."""
    match pushed:
        case Not(child=EqualNullSafe(value=value)):
            return value is None
        case Not(child=child):
            return type(child) not in TEXTS
    return type(pushed) not in (StringContains, StringEndsWith)


def kept(pushed: Filter, type_word: str, values: list[Any]) -> list[bool] | None:
    """Return which rows the conditions for a filter keep; None if it is left to Spark."""
    schema = given_schema({"k": "INT", "c": type_word}, key=["k"])
    found = push_filters([pushed], schema)
    if found.left:
        assert found.left == (pushed,)
        assert found.conditions == ()
        return None
    column = pa.array(values, schema.arrow_schema.field("c").type)
    mask = matching_rows({"c": column}, bind_conditions(found.conditions, schema))
    assert mask is not None
    return [bool(one) for one in mask.to_pylist()]


@pytest.mark.parametrize("type_word", VALUES)
def test_conditions_keep_the_rows_that_spark_keeps(type_word: str) -> None:
    rows = [*VALUES[type_word], None]

    for positive in filters_of(VALUES[type_word]):
        for pushed in (positive, Not(positive)):
            found = kept(pushed, type_word, rows)
            expected = [truth(pushed, row) is True for row in rows]
            assert found == (expected if is_expressed(pushed) else None), pushed


@pytest.mark.parametrize("type_word", ["TIMESTAMP(9)", "TIMESTAMP(7) WITH LOCAL TIME ZONE"])
def test_timestamps_that_spark_cuts_are_compared_by_spark(type_word: str) -> None:
    value = moment("2026-01-02T00:00:00Z" if "ZONE" in type_word else "2026-01-02")

    for pushed in (EqualTo(COLUMN, value), In(COLUMN, (value,)), Not(LessThan(COLUMN, value))):
        assert kept(pushed, type_word, []) is None
    assert kept(Not(IsNull(COLUMN)), type_word, [None]) == [False]


def test_decimals_that_spark_may_have_rounded_are_compared_by_spark() -> None:
    """Spark multiplies their digits by a power of ten in a context of 28 digits."""
    exact, rounded = Decimal("9" * 27), Decimal("9" * 28)

    assert kept(EqualTo(COLUMN, exact), "DECIMAL(38, 0)", [exact, rounded]) == [True, False]
    assert kept(EqualTo(COLUMN, rounded), "DECIMAL(38, 0)", []) is None
    assert kept(In(COLUMN, (exact, rounded)), "DECIMAL(38, 0)", []) is None


@pytest.mark.parametrize(
    ("pushed", "type_word"),
    [
        (EqualTo(("c", "x"), 1), "INT"),
        (IsNull(("c", "x")), "INT"),
        (EqualTo(("other",), 1), "INT"),
        (EqualTo(COLUMN, 2**31), "INT"),
        (EqualTo(COLUMN, 0.1), "FLOAT"),
        (EqualTo(COLUMN, Decimal("0.001")), "DECIMAL(5, 2)"),
        (EqualTo(COLUMN, moment("2026-01-02T00:00:00.000001")), "TIMESTAMP(3)"),
        (EqualTo(COLUMN, moment("2026-01-02")), "DATE"),
        (StringStartsWith(COLUMN, "a"), "BYTES"),
        (EqualTo(COLUMN, {"a": 1}), "VARIANT"),
        (Not(In(COLUMN, ())), "INT"),
        (Not(In(COLUMN, tuple(range(17)))), "INT"),
        (Not(Not(EqualTo(COLUMN, 1))), "INT"),
    ],
)
def test_what_a_scan_cannot_say_is_left_to_spark(pushed: Filter, type_word: str) -> None:
    assert kept(pushed, type_word, []) is None


def test_filters_are_divided_in_their_order() -> None:
    schema = given_schema({"k": "INT", "c": "STRING"}, key=["k"])
    ends, key, contains = (
        StringEndsWith(COLUMN, "a"),
        EqualTo(("k",), 1),
        StringContains(COLUMN, ""),
    )

    found = push_filters([ends, key, contains], schema)

    assert [condition.column for condition in found.conditions] == ["k"]
    assert found.left[0] is ends
    assert found.left[1] is contains
