"""Rows of arrays are replaced one by one, whatever the type."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.arrays import null_rows, replace_rows, rows_not_utf8, rows_where, rows_with


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        (pa.int32(), 1, 2),
        (pa.string(), "a", "b"),
        (pa.list_(pa.int32()), [1], [2, None]),
        (pa.map_(pa.string(), pa.int32()), [("a", 1)], [("b", 2)]),
        (pa.struct([pa.field("x", pa.int32(), nullable=False)]), {"x": 1}, {"x": 2}),
    ],
)
@pytest.mark.parametrize("is_null", [False, True])
def test_rows_get_other_values(kind: pa.DataType, old: Any, new: Any, is_null: bool) -> None:
    array = pa.array([old, None, old, old], kind).slice(1)
    given = None if is_null else new

    found = replace_rows(array, [0, 2], [given, given])

    assert found.to_pylist() == [given, old, given]
    assert found.type == kind
    found.validate(full=True)


@pytest.mark.parametrize(
    "values",
    [
        [True, False, None, True],
        [1, 2, None, 4],
        ["a", "bc", None, ""],
        [Decimal("1.5"), Decimal("-2.5"), None, Decimal("0.1")],
        [None, None, None, None],
        [[1], [], None, [2, 3]],
    ],
)
@pytest.mark.parametrize("first", [0, 1])
def test_rows_become_null_and_the_others_stay(values: list[Any], first: int) -> None:
    array = pa.array(values).slice(first)

    found = null_rows(array, [1])

    expected = [None if row == 1 else value for row, value in enumerate(values[first:])]
    assert found.to_pylist() == expected
    assert found.null_count == expected.count(None)
    found.validate(full=True)


def test_rows_that_are_not_utf8_are_found_in_every_block() -> None:
    values = [f"ä{number}".encode() for number in range(1_000)]
    for row in (0, 127, 128, 500, 999):
        values[row] = b"\xe4"
    array = pa.array([None, b"\xff", *values, b"\xff"], pa.binary())

    assert rows_not_utf8(array) == [1, 2, 129, 130, 502, 1_001, 1_002]
    assert rows_not_utf8(array[2:-1]) == [0, 127, 128, 500, 999]
    assert rows_not_utf8(array[3:100]) == []


def test_rows_of_a_mask() -> None:
    assert rows_where(pa.array([True, False, True])) == [0, 2]


@pytest.mark.parametrize(
    ("values", "marks", "expected"),
    [
        ([b"ab", None, b"b", b""], [b"b"], [0, 2]),
        ([b"ab", b"cd", b"e"], [b"a", b"d", b"x"], [0, 1]),
        ([b"a", b"b"], [b"ab"], []),
        ([None, None], [b"a"], []),
        ([], [b"a"], []),
    ],
)
def test_rows_with_marks_are_found(
    values: list[bytes | None], marks: list[bytes], expected: list[int]
) -> None:
    array = pa.array(values, pa.binary())

    assert rows_with(array, marks) == expected
    assert (
        rows_with(pa.concat_arrays([pa.array([b"x"], pa.binary()), array])[1:], marks) == expected
    )
