"""Trailing blanks of CHAR values are stripped at any depth, and are not written."""

import pyarrow as pa
import pytest

from braid.lake import parse_type
from braid.lake.files.orc.chars import orc_char_problems, without_padding
from braid.lake.format.arrow_types import to_arrow_type

CASES = [
    ("CHAR(3)", ["a  ", None, " b ", "   "], ["a", None, " b", ""]),
    ("STRING", ["a  "], ["a  "]),
    ("ARRAY<CHAR(3)>", [["a  ", None], None, []], [["a", None], None, []]),
    ("MULTISET<CHAR(2)>", [[("a ", 1)], None], [[("a", 1)], None]),
    ("MAP<CHAR(2), STRING>", [[("a ", "b ")]], [[("a", "b ")]]),
    ("MAP<INT, CHAR(2)>", [[(1, "b ")], []], [[(1, "b")], []]),
    (
        "ROW<a CHAR(2), b ARRAY<ROW<c CHAR(2), d STRING>>>",
        [{"a": "x ", "b": [{"c": "y ", "d": "z "}, None]}, None],
        [{"a": "x", "b": [{"c": "y", "d": "z "}, None]}, None],
    ),
]


@pytest.mark.parametrize(("declared", "stored", "expected"), CASES)
def test_trailing_blanks_are_stripped(
    declared: str, stored: list[object], expected: list[object]
) -> None:
    data_type = parse_type(declared)
    array = pa.array(stored, to_arrow_type(data_type))

    found = without_padding(array, data_type)

    assert found.to_pylist() == expected
    assert found.type == array.type
    found.validate(full=True)


@pytest.mark.parametrize(("declared", "stored", "expected"), CASES)
def test_values_that_would_be_stripped_are_reported(
    declared: str, stored: list[object], expected: list[object]
) -> None:
    data_type = parse_type(declared)
    kind = to_arrow_type(data_type)

    def problems(values: list[object]) -> list[str]:
        column = pa.chunked_array([pa.array([None], kind), pa.array(values, kind)])
        return [problem.message for problem in orc_char_problems("c", column, data_type)]

    assert len(problems(stored)) == (stored != expected)
    assert problems(expected) == []


def test_chars_under_null_are_not_reported() -> None:
    inner = pa.array(["x ", "y"])
    rows = pa.StructArray.from_arrays([inner], names=["c"], mask=pa.array([True, False]))

    column = pa.chunked_array([rows])

    assert list(orc_char_problems("r", column, parse_type("ROW<c CHAR(2)>"))) == []
