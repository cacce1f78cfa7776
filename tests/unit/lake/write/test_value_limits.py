"""Values of the right Arrow type that a column may still not have."""

import re

import pyarrow as pa
import pytest

from lake.errors import SchemaMismatch
from lake.format.data_types import DataField, parse_type
from lake.write.row_check import conform
from lake.write.value_limits import limit_problems
from tests.given_tables import given_schema

NOT_UTF8 = pa.Array.from_buffers(
    pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
)
ROW = pa.struct([pa.field("x", pa.int32())])


def problems(declared: object, values: pa.Array, *, is_partition: bool = False) -> list[str]:
    """Return what is wrong with a column, as text."""
    assert isinstance(declared, str | dict)
    field = DataField(name="c", type=parse_type(declared))
    column = pa.chunked_array([values])
    return [str(item) for item in limit_problems(column, field, is_partition=is_partition)]


@pytest.mark.parametrize(
    ("declared", "values", "limit"),
    [
        ("VARCHAR(2)", pa.array(["éé", None, "abc"]), "row 2: .* 2 characters"),
        ("CHAR(1)", pa.array(["a", "bb"]), "row 1: .* 1 characters"),
        ("VARBINARY(2)", pa.array([b"ab", b"abc"]), "row 1: .* 2 bytes"),
        ("DATE", pa.array([0, 2_932_897], pa.int32()).cast(pa.date32()), "row 1: .* 9999"),
        ("TIMESTAMP(3)", pa.array([-(10**15)]).cast(pa.timestamp("ms")), "row 0: .* 9999"),
        ("STRING", NOT_UTF8, "row 0: the text is not UTF-8"),
        (
            {"type": "ARRAY", "element": "INT NOT NULL"},
            pa.array([[1], None, [2, None]], pa.list_(pa.int32())),
            "row 2: c.element is NOT NULL",
        ),
        (
            {"type": "MAP", "key": "INT", "value": "INT NOT NULL"},
            pa.array([[], [(1, None)]], pa.map_(pa.int32(), pa.int32())),
            "row 1: c.value is NOT NULL",
        ),
        (
            {"type": "ROW", "fields": [{"id": 1, "name": "x", "type": "INT NOT NULL"}]},
            pa.array([None, {"x": None}], ROW),
            "row 1: c.x is NOT NULL",
        ),
    ],
)
def test_a_value_beyond_its_limit_is_told_with_its_row(
    declared: object, values: pa.Array, limit: str
) -> None:
    (told,) = problems(declared, values)

    assert re.search(limit, told)
    assert problems(declared, values.slice(0, 0)) == []


def test_values_within_their_limits_pass() -> None:
    assert problems("VARCHAR(2)", pa.array(["éé", None])) == []
    assert problems("DATE", pa.array([-719_162, 2_932_896], pa.int32()).cast(pa.date32())) == []
    assert problems("STRING", pa.array([None, "x" * 300])) == []
    assert problems("STRING", pa.array(["/" * 80]), is_partition=True) == []


def test_a_partition_value_must_fit_into_a_name() -> None:
    assert problems("STRING", pa.array(["a", "/" * 100]), is_partition=True)[0].startswith(
        "c: row 1:"
    )


def test_the_writer_takes_none_of_such_rows() -> None:
    schema = given_schema({"k": "INT", "s": "VARCHAR(1)"}, key=["k"])

    with pytest.raises(SchemaMismatch, match="s: row 0: the value does not fit"):
        conform(pa.table({"k": pa.array([1], pa.int32()), "s": ["xx"]}), schema)
