"""Conditions: the values that they accept, and the rows that they keep."""

from datetime import UTC, date, datetime, time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from braid.lake.errors import InvalidRequest
from braid.lake.read.predicate import Condition, bind_conditions, matching_rows
from tests.given_tables import given_conditions, given_schema

SCHEMA = given_schema(
    {
        "k": "INT",
        "v": "INT",
        "x": "DOUBLE",
        "s": "STRING",
        "d": "DATE",
        "p": "DECIMAL(5, 2)",
        "a": {"type": "ARRAY", "element": "INT"},
    },
    key=["k"],
)

TYPES = given_schema(
    {
        "v": "INT",
        "b": "BOOLEAN",
        "s": "STRING",
        "y": "BYTES",
        "x": "DOUBLE",
        "f": "FLOAT",
        "d": "DATE",
        "p": "DECIMAL(5, 2)",
        "t": "TIME(3)",
        "ts": "TIMESTAMP(3)",
        "lz": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
        "n": "TIMESTAMP(9)",
    },
    key=["v"],
)


def kept(column: str, values: list[object], *where: tuple[object, ...]) -> list[object]:
    """Return the values of one column that fulfil the conditions."""
    array = pa.array(values, SCHEMA.arrow_schema.field(column).type)
    conditions = bind_conditions(given_conditions(where), SCHEMA)
    mask = matching_rows({column: array}, conditions)
    found: list[object] = array.filter(mask).to_pylist()
    return found


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("=", 2, [2]),
        ("!=", 2, [1, 3]),
        ("<", 2, [1]),
        ("<=", 2, [1, 2]),
        (">", 2, [3]),
        (">=", 2, [2, 3]),
        ("in", [1, 3, 9], [1, 3]),
        ("in", {3}, [3]),
        ("in", [], []),
        ("in", [None, 1], [1]),
        ("=", None, []),
        ("!=", None, []),
        ("is_null", None, [None]),
        ("not_null", None, [1, 2, 3]),
    ],
)
def test_each_operator_keeps_the_rows_that_it_describes(
    operator: str, value: object, expected: list[object]
) -> None:
    assert kept("v", [1, None, 2, 3], ("v", operator, value)) == expected


NAN = float("nan")
FLOATS: list[object] = [NAN, -NAN, float("inf"), 1.0, 0.0, -0.0, -1.0, None]


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("=", NAN, [0, 1]),
        ("=", -NAN, [0, 1]),
        ("!=", NAN, [2, 3, 4, 5, 6]),
        ("<", NAN, [2, 3, 4, 5, 6]),
        ("<=", NAN, [0, 1, 2, 3, 4, 5, 6]),
        (">", NAN, []),
        (">=", NAN, [0, 1]),
        ("in", [NAN, 1.0], [0, 1, 3]),
        ("=", 0.0, [4]),
        ("=", -0.0, [5]),
        ("in", [-0.0], [5]),
        ("<", 0.0, [5, 6]),
        (">", -0.0, [0, 1, 2, 3, 4]),
        (">=", 1.0, [0, 1, 2, 3]),
        ("!=", 1.0, [0, 1, 2, 4, 5, 6]),
        ("not_null", None, [0, 1, 2, 3, 4, 5, 6]),
    ],
)
@pytest.mark.parametrize("column", ["x", "f"])
def test_floats_compare_as_keys_do(
    column: str, operator: str, value: object, expected: list[int]
) -> None:
    chunk = pa.array(FLOATS, TYPES.arrow_schema.field(column).type)
    conditions = bind_conditions(given_conditions([(column, operator, value)]), TYPES)
    # Chunks and a slice, for values are taken out of buffers.
    values = pa.chunked_array([chunk.slice(0, 3), chunk.slice(3)])

    mask = matching_rows({column: values}, conditions)

    assert mask is not None
    assert np.flatnonzero(mask).tolist() == expected


def test_conditions_are_a_conjunction() -> None:
    assert kept("v", [1, 2, 3], ("v", ">", 1), ("v", "<", 3)) == [2]


def test_no_condition_gives_no_mask() -> None:
    assert matching_rows({"v": pa.array([1])}, ()) is None


def test_values_take_the_columns_type() -> None:
    assert kept("d", [date(2024, 1, 2)], ("d", "=", date(2024, 1, 2))) == [date(2024, 1, 2)]
    assert kept("p", [Decimal("1.20")], ("p", "=", Decimal("1.2"))) == [Decimal("1.20")]
    assert kept("s", ["é", "z"], ("s", ">", "z")) == ["é"]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (Condition(column="nope", op="=", value=1), "nope: the table has no such column"),
        (Condition(column="v", op="~", value=1), "expected one of =, !=, <"),
        (Condition(column="v", op="=", value="x"), "v: the value is not of type INT"),
        (Condition(column="v", op="=", value=2**40), "v: the value is not of type INT"),
        (Condition(column="s", op="in", value="abc"), "expects a list of values"),
        (Condition(column="a", op="=", value=[1]), "can only be tested for null"),
    ],
)
def test_a_condition_that_does_not_fit_is_refused(condition: Condition, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        bind_conditions([condition], SCHEMA)


NOON = datetime(2024, 1, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("v", 1.5),
        ("v", True),
        ("v", Decimal("1.5")),
        ("v", float("nan")),
        ("b", 1),
        ("s", b"x"),
        ("y", "x"),
        ("x", "1"),
        ("x", 2**53 + 1),
        ("f", 0.1),
        ("f", 1e300),
        ("d", datetime(2024, 1, 2)),  # noqa: DTZ001 - a column without a zone
        ("d", NOON),
        ("d", 5),
        ("p", Decimal("1.234")),
        ("p", 1.5),
        ("t", time(1, 2, 3, 4)),
        ("ts", NOON),
        ("ts", date(2024, 1, 2)),
        ("ts", NOON.replace(tzinfo=None, microsecond=1)),
        ("lz", NOON.replace(tzinfo=None)),
        ("n", NOON),
    ],
)
def test_a_value_is_never_rounded_to_fit(column: str, value: object) -> None:
    for op, given in (("=", value), ("<", value), ("in", [value])):
        with pytest.raises(InvalidRequest, match=f"{column}: the value is not of type"):
            bind_conditions([Condition(column=column, op=op, value=given)], TYPES)


@pytest.mark.parametrize(
    ("column", "value", "held"),
    [
        ("v", 2.0, 2),
        ("v", np.int64(2), 2),
        ("x", 2, 2.0),
        ("f", 0.5, 0.5),
        ("b", True, True),
        ("y", b"x", b"x"),
        ("p", 2, Decimal("2.00")),
        ("t", time(1, 2, 3, 4000), time(1, 2, 3, 4000)),
        ("ts", NOON.replace(tzinfo=None), NOON.replace(tzinfo=None)),
        ("lz", NOON, NOON),
    ],
)
def test_a_value_that_fits_is_accepted(column: str, value: object, held: object) -> None:
    bound = bind_conditions([Condition(column=column, op="=", value=value)], TYPES)

    assert bound[0].values.to_pylist() == [held]


def test_whole_nanoseconds_are_a_timestamp_of_nine_digits() -> None:
    bound = bind_conditions([Condition(column="n", op="=", value=7)], TYPES)

    assert bound[0].values.cast(pa.int64()).to_pylist() == [7]


def test_all_problems_of_conditions_are_reported_at_once() -> None:
    where = given_conditions([("nope", "=", 1), ("v", "~", 1)])

    with pytest.raises(InvalidRequest) as caught:
        bind_conditions(where, SCHEMA)

    assert [problem.field for problem in caught.value.problems] == ["nope", "v"]
