"""Values of the right Arrow type that a column cannot have."""

import re
from decimal import Decimal

import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.format.data_types import DataField
from braid.lake.format.type_codec import parse_type
from braid.lake.format.value_limits import limit_problems
from braid.lake.write.rows.row_check import conform
from tests.given_tables import given_schema

NOT_UTF8 = pa.Array.from_buffers(
    pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
)
ROW = pa.struct([pa.field("x", pa.int32())])


def problems(declared: object, values: pa.Array, *, is_partition: bool = False) -> list[str]:
    """Return the problems of a column as texts."""
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
        ("STRING", NOT_UTF8, "row 0: the value is not UTF-8 text"),
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
            {"type": "MAP", "key": "STRING", "value": "INT"},
            pa.array(
                [[("a", 1), ("b", 1)], None, [("b", 1)], [("a", 1), ("c", 2), ("a", 2)]],
                pa.map_(pa.string(), pa.int32()),
            ),
            "row 3: the value has this key more than once .*`a`",
        ),
        (
            {"type": "ARRAY", "element": {"type": "MULTISET", "element": "INT"}},
            pa.array(
                [[[(1, 1)], [(1, 1), (2, 1)]], [[], [(7, 1), (7, 2)]]],
                pa.list_(pa.map_(pa.int32(), pa.int32())),
            ),
            "row 1: c.element has this key more than once",
        ),
        (
            {"type": "ROW", "fields": [{"id": 1, "name": "x", "type": "INT NOT NULL"}]},
            pa.array([None, {"x": None}], ROW),
            "row 1: c.x is NOT NULL",
        ),
    ],
)
def test_a_value_beyond_its_limit_is_reported_with_its_row(
    declared: object, values: pa.Array, limit: str
) -> None:
    (told,) = problems(declared, values)

    assert re.search(limit, told)
    assert problems(declared, values.slice(0, 0)) == []


WIDE = pa.Array.from_buffers(
    pa.decimal128(5, 2),
    2,
    [None, pa.py_buffer((5).to_bytes(16, "little") + (10**5).to_bytes(16, "little"))],
)
LATE = pa.array([1, 10**8], pa.int32()).view(pa.time32("ms"))
FAR = pa.array([1, 3_000_000], pa.int32()).view(pa.date32())
WRONG = {
    "VARCHAR(2)": (pa.array(["ab", "abc"]), "the limit is 2 characters"),
    "VARBINARY(2)": (pa.array([b"ab", b"abc"]), "the limit is 2 bytes"),
    "STRING": (pa.concat_arrays([pa.array(["a"]), NOT_UTF8]), "is not UTF-8 text"),
    "DECIMAL(5, 2)": (WIDE, "the limit is 5 digits"),
    "DATE": (FAR, "expected a year from 1 to 9999"),
    "TIME(0)": (LATE, "expected milliseconds of one day, 0 to 86399999"),
    "TIMESTAMP(6)": (pa.array([1, 2**62]).view(pa.timestamp("us")), "expected a year from 1"),
    "TIMESTAMP_LTZ(3)": (
        pa.array([1, -(2**62)]).view(pa.timestamp("ms", "UTC")),
        "expected a year",
    ),
    "INT NOT NULL": (pa.array([1, None], pa.int32()), "is NOT NULL"),
}


def nested_columns(declared: str, values: pa.Array) -> dict[str, tuple[object, pa.Array]]:
    """Return columns whose row 2 holds the second value at a path, behind nulls and slices."""
    offsets = pa.array([0, 1, 1, 2], pa.int32())
    other = pa.array([7, 8], pa.int32())
    validity = pa.array([True, False, True]).buffers()[0]

    def in_lists(kind: pa.DataType, child: pa.Array) -> pa.Array:
        before = pa.Array.from_buffers(kind, 3, [validity, offsets.buffers()[1]], children=[child])
        return pa.concat_arrays([before.slice(1), before]).slice(2).slice(0)

    rows = pa.StructArray.from_arrays([values], names=["x"])
    keys = other if values.null_count else values  # Arrow refuses a null key
    keyed = pa.MapArray.from_arrays([0, 1, 2], keys, other)
    valued = pa.MapArray.from_arrays([0, 1, 2], other, values)
    array = {"type": "ARRAY", "element": declared}
    row = {"type": "ROW", "fields": [{"id": 1, "name": "x", "type": declared}]}
    return {
        "c.element": (array, in_lists(pa.list_(values.type), values)),
        "c.x": (row, pa.concat_arrays([rows.slice(0, 1), pa.nulls(1, rows.type), rows.slice(1)])),
        "c.key": ({"type": "MAP", "key": declared, "value": "INT"}, keyed),
        "c.value": ({"type": "MAP", "key": "INT", "value": declared}, valued),
        "c.element.x": ({"type": "ARRAY", "element": row}, in_lists(pa.list_(rows.type), rows)),
    }


@pytest.mark.parametrize("declared", WRONG)
def test_a_value_inside_a_nested_one_has_the_same_limits(declared: str) -> None:
    values, limit = WRONG[declared]

    for path, (nested, column) in nested_columns(declared, values).items():
        row = 1 if path in ("c.key", "c.value") else 2
        if path == "c.key" and values.null_count:
            continue
        (told,) = problems(nested, column)
        assert told.startswith(f"c: row {row}: {path} "), told
        assert limit in told
        assert problems(nested, column.slice(0, row)) == []
        (told,) = problems(nested, column.slice(row))
        assert told.startswith(f"c: row 0: {path} "), told


def test_elements_of_a_multiset_have_limits_too() -> None:
    column = pa.array([[("ab", 1)], [("abc", 1)]], pa.map_(pa.string(), pa.int32()))

    (told,) = problems({"type": "MULTISET", "element": "VARCHAR(2)"}, column)

    assert "row 1: c.key does not fit VARCHAR(2)" in told


def test_the_least_and_the_greatest_of_each_type_pass() -> None:
    for declared, values in {
        "DECIMAL(38, 0)": pa.array(
            [Decimal(10**38 - 1), Decimal(1 - 10**38)], pa.decimal128(38, 0)
        ),
        "DECIMAL(2, 2)": pa.array([Decimal("0.99"), Decimal("-0.99"), None]),
        "TIME(3)": pa.array([0, 86_399_999], pa.int32()).view(pa.time32("ms")),
        "TIMESTAMP(9)": pa.array([-(2**63), 2**63 - 1]).view(pa.timestamp("ns")),
    }.items():
        assert problems(declared, values) == []


def test_values_within_their_limits_pass() -> None:
    assert problems("VARCHAR(2)", pa.array(["éé", None])) == []
    assert problems("DATE", pa.array([-719_162, 2_932_896], pa.int32()).cast(pa.date32())) == []
    assert problems("STRING", pa.array([None, "x" * 300])) == []
    assert problems("STRING", pa.array(["/" * 80]), is_partition=True) == []


def test_a_partition_value_must_fit_into_a_name() -> None:
    assert problems("STRING", pa.array(["a", "/" * 100]), is_partition=True)[0].startswith(
        "c: row 1:"
    )


def test_a_partition_value_that_is_not_utf8_is_reported_as_such() -> None:
    long = pa.concat_arrays([pa.array(["/" * 100]), NOT_UTF8])

    (told,) = problems("STRING", long, is_partition=True)

    assert "row 1: the value is not UTF-8 text" in told


def test_the_writer_refuses_values_that_do_not_fit() -> None:
    schema = given_schema({"k": "INT", "s": "VARCHAR(1)"}, key=["k"])

    with pytest.raises(SchemaMismatch, match="s: row 0: the value does not fit"):
        conform(pa.table({"k": pa.array([1], pa.int32()), "s": ["xx"]}), schema)
