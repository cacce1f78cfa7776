"""Results become values of a column, or are found not to fit it."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.expressions.result_arrays import RESULT_BYTES_MAX, result_column
from braid.lake import parse_type, to_arrow_type

FAR = DeadLetterReason.OUT_OF_RANGE
NULL = DeadLetterReason.NOT_NULL
DAY_US = 86_400_000_000
ITEM = pa.struct([("a", pa.int16()), ("b", pa.string())])


@pytest.mark.parametrize(
    ("results", "column", "values"),
    [
        (pa.array([1, None], pa.int8()), "INT", [1, None]),
        (pa.array([7, None], pa.uint64()), "DECIMAL(21,1)", [Decimal("7.0"), None]),
        (
            pa.array([-1_500_500, None], pa.timestamp("us")),
            "TIMESTAMP(3)",
            [dt.datetime.fromisoformat("1969-12-31T23:59:58.499"), None],
        ),
        (pa.array([1_999, None], pa.time64("us")), "TIME", [dt.time(0, 0, 0, 1_000), None]),
        (pa.array([[1], None, []], pa.list_(pa.int8())), "ARRAY<INT>", [[1], None, []]),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8())), "MAP<STRING,INT>", [[("k", 1)]]),
        (pa.array([{"a": 1, "b": "x"}], ITEM), "ROW<a INT, b STRING>", [{"a": 1, "b": "x"}]),
        (pa.nulls(2), "ARRAY<INT>", [None, None]),
    ],
)
def test_values(results: pa.Array, column: str, values: list[Any]) -> None:
    found, unfit = result_column(results, parse_type(column))

    assert found.type == to_arrow_type(parse_type(column))
    assert (found.to_pylist(), unfit) == (values, {})


@pytest.mark.parametrize(
    ("results", "column", "reason"),
    [
        (pa.array(["äöü", "äöüß"]), "VARCHAR(3)", FAR),
        (pa.array([b"abc", b"abcd"]), "VARBINARY(3)", FAR),
        (pa.array(["x", "x" * (RESULT_BYTES_MAX + 1)]), "STRING", DeadLetterReason.TOO_LARGE),
        (pa.array([0, 5_000_000], pa.date32()), "DATE", FAR),
        (pa.array([0, -719_163], pa.date32()), "DATE", FAR),
        (pa.array([0, DAY_US], pa.time64("us")), "TIME", FAR),
        (pa.array([0, 2**63 - 1], pa.timestamp("us")), "TIMESTAMP(6)", FAR),
        (pa.array([0, 10**16], pa.timestamp("us")), "TIMESTAMP(9)", FAR),
        (pa.array([[1], [1, None]], pa.list_(pa.int32())), "ARRAY<INT NOT NULL>", NULL),
        (pa.array([["a"], ["a", "bc"]]), "ARRAY<VARCHAR(1)>", FAR),
        (
            pa.array([[("k", "a")], [("k", "bc")]], pa.map_(pa.string(), pa.string())),
            "MAP<STRING,VARCHAR(1)>",
            FAR,
        ),
        (
            pa.array([{"a": 1, "b": "x"}, {"a": None, "b": "x"}], ITEM),
            "ROW<a INT NOT NULL, b STRING>",
            NULL,
        ),
    ],
)
def test_a_value_that_the_column_does_not_hold(
    results: pa.Array, column: str, reason: DeadLetterReason
) -> None:
    for before in (0, 1):
        slice_ = pa.concat_arrays([results[:1]] * before + [results, results[:1]])[before:]
        found, unfit = result_column(slice_, parse_type(column))

        assert unfit == {1: reason}
        assert found.is_valid().to_pylist() == [True, False, True]


def test_what_a_null_hides_is_no_fault() -> None:
    rows = pa.StructArray.from_arrays(
        [pa.array([1, None]), pa.array(["x", "y"])], names=["a", "b"], mask=pa.array([False, True])
    )

    found, unfit = result_column(rows, parse_type("ROW<a BIGINT NOT NULL, b STRING>"))

    assert (found.to_pylist(), unfit) == ([{"a": 1, "b": "x"}, None], {})
