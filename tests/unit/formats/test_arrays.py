"""Rows of arrays are replaced one by one, whatever the type."""

from typing import Any

import pyarrow as pa
import pytest

from braid.formats.arrays import replace_rows, rows_where, rows_with


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
