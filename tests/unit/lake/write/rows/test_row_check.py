"""Rows that fit a table, and the problems of rows that do not."""

import math
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.format.data_types import DataField
from braid.lake.format.schema import TableSchema
from braid.lake.format.type_codec import parse_type
from braid.lake.write.rows.row_check import conform
from tests.given_tables import given_schema

SCHEMA = given_schema(
    {
        "k": "INT",
        "v": "BIGINT",
        "s": "STRING",
        "t": "TIMESTAMP(3)",
        "z": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        "d": "DECIMAL(5, 2)",
        "n": "INT NOT NULL",
        "a": {"type": "ARRAY", "element": "INT"},
        "m": "MAP<STRING, INT>",
        "r": "ROW<x INT, y STRING>",
    },
    key=["k"],
)


def conformed(**columns: pa.Array | list[object]) -> pa.Table:
    """Return one conformed row; k and n are filled in."""
    given = {"k": [1], "n": [1], **columns}
    arrays = {
        name: value if isinstance(value, pa.Array) else pa.array(value)
        for name, value in given.items()
    }
    return conform(pa.table(arrays), SCHEMA)


def test_columns_are_put_in_order_and_missing_ones_are_null() -> None:
    found = conformed(s=["x"])

    assert found.schema.equals(SCHEMA.arrow_schema)
    assert found.column("s").to_pylist() == ["x"]
    assert found.column("v").to_pylist() == [None]


def test_columns_that_fit_are_not_copied() -> None:
    text = pa.array(["x"])

    found = conformed(s=text)

    assert found.column("s").chunk(0).buffers()[2].address == text.buffers()[2].address


@pytest.mark.parametrize(
    ("column", "given", "expected"),
    [
        ("v", pa.array([5], pa.int8()), 5),
        ("v", pa.array([5], pa.uint16()), 5),
        ("s", pa.array(["x"], pa.large_string()), "x"),
        ("s", pa.array(["x"], pa.string_view()), "x"),
        ("s", pa.array(["x"]).dictionary_encode(), "x"),
        ("s", pa.nulls(1), None),
        ("d", pa.array([Decimal("1.5")], pa.decimal128(4, 1)), Decimal("1.50")),
        ("t", pa.array([1_000], pa.timestamp("us")), datetime(1970, 1, 1, 0, 0, 0, 1_000)),  # noqa: DTZ001 - the type has no zone
        (
            "z",
            pa.array([1], pa.timestamp("s", "Europe/Berlin")),
            datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        ),
        ("a", pa.array([[1]], pa.large_list(pa.int64())), [1]),
        ("a", pa.array([[None]]), [None]),
        ("r", pa.array([{"x": 1}], pa.struct([("x", pa.int64())])), {"x": 1, "y": None}),
        ("m", pa.array([[("a", 1)]], pa.map_(pa.large_string(), pa.int8())), [("a", 1)]),
    ],
)
def test_values_of_the_same_kind_are_converted(
    column: str, given: pa.Array, expected: object
) -> None:
    found = conformed(**{column: given}).column(column)

    assert found.to_pylist() == [expected]
    assert found.type.equals(SCHEMA.arrow_schema.field(column).type)


@pytest.mark.parametrize(
    ("column", "given"),
    [
        ("v", pa.array(["5"])),
        ("v", pa.array([1.0])),
        ("s", pa.array([5])),
        ("s", pa.array([b"x"])),
        ("t", pa.array([1], pa.timestamp("us", "UTC"))),
        ("z", pa.array([1], pa.timestamp("us"))),
        ("d", pa.array([1])),
        ("a", pa.array([1])),
        ("a", pa.array([["5"]])),
        ("r", pa.array([{"x": "5"}])),
        ("r", pa.array([{"x": 5, "other": 1}])),
        ("m", pa.array([[("a", "5")]], pa.map_(pa.string(), pa.string()))),
        ("m", pa.array([[(1, 5)]], pa.map_(pa.int32(), pa.int32()))),
        ("m", pa.array([{"a": 5}])),
    ],
)
def test_values_of_another_kind_are_refused(column: str, given: pa.Array) -> None:
    with pytest.raises(SchemaMismatch, match=f"{column}: the Arrow type does not fit"):
        conformed(**{column: given})


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("k", pa.array([1, 2, 2**40, 3]), r"k: row 2: the value does not fit INT NOT NULL"),
        ("d", pa.array([Decimal("1.234")], pa.decimal128(9, 3)), r"d: row 0: the value does not"),
        ("t", pa.array([1], pa.timestamp("us")), r"t: row 0: the value does not fit"),
    ],
)
def test_a_value_that_would_change_is_refused_with_its_row(
    column: str, values: pa.Array, message: str
) -> None:
    table = pa.table({"k": pa.array([1] * len(values)), "n": pa.array([1] * len(values))})
    table = (
        table.set_column(0, column, values)
        if column == "k"
        else table.append_column(column, values)
    )

    with pytest.raises(SchemaMismatch, match=message):
        conform(table, SCHEMA)


def test_a_null_for_a_not_null_column_is_refused_with_its_row() -> None:
    table = pa.table({"k": [1, 2, 3], "n": pa.array([1, None, None])})

    with pytest.raises(
        SchemaMismatch, match=r"n: row 1: the column is NOT NULL, and 2 of 3 rows have null"
    ):
        conform(table, SCHEMA)


def test_a_missing_not_null_column_is_refused() -> None:
    with pytest.raises(SchemaMismatch, match="k: row 0: the column is NOT NULL"):
        conform(pa.table({"n": [1]}), SCHEMA)


def test_all_problems_are_collected() -> None:
    table = pa.table({"k": pa.nulls(1), "n": ["x"], "nope": [1]})

    with pytest.raises(SchemaMismatch) as caught:
        conform(table, SCHEMA)

    assert {problem.field for problem in caught.value.problems} == {"k", "n", "nope"}


def test_a_repeated_column_is_refused() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["k", "k"])

    with pytest.raises(SchemaMismatch, match="k: the column is given more than once") as caught:
        conform(table, SCHEMA)

    # And not that k is null as well.
    assert [problem.field for problem in caught.value.problems] == ["k", "n"]


def with_default(type_text: str, default: str) -> TableSchema:
    """Return a schema (k, v) where v has a default."""
    fields = (
        DataField(id=0, name="k", type=parse_type("INT NOT NULL")),
        DataField(id=1, name="v", type=parse_type(type_text), default_value=default),
    )
    return TableSchema(
        id=0,
        fields=fields,
        highest_field_id=1,
        partition_keys=(),
        primary_keys=("k",),
        options={"bucket": "1"},
    )


def test_a_default_replaces_nulls() -> None:
    table = pa.table({"k": [1, 2], "v": [7, None]})

    found = conform(table, with_default("INT", "5"))

    assert found.column("v").to_pylist() == [7, 5]


def test_a_default_does_not_save_a_not_null_column() -> None:
    with pytest.raises(SchemaMismatch, match="NOT NULL"):
        conform(pa.table({"k": [1]}), with_default("INT NOT NULL", "5"))


def test_no_rows_fit_any_table() -> None:
    found = conform(pa.table({}), SCHEMA)

    assert found.num_rows == 0
    assert found.schema.equals(SCHEMA.arrow_schema)


@pytest.mark.parametrize("kind", ["BOOLEAN", "INT", "DOUBLE", "DECIMAL(5, 2)", "STRING", "DATE"])
def test_a_multiset_may_be_given_as_a_map_whose_counts_could_be_null(kind: str) -> None:
    schema = given_schema({"k": "INT", "m": {"type": "MULTISET", "element": kind}}, key=["k"])
    element = schema.arrow_schema.field("m").type.key_type
    given = pa.array([[]], pa.map_(element, pa.int32()))

    fitted = conform(pa.table({"k": pa.array([1], pa.int32()), "m": given}), schema)

    assert fitted.schema == schema.arrow_schema


DIGITS = {"ms": 1_000_000, "us": 1_000, "ns": 1}
STORED_DIGITS = [
    *((f"TIME({p})", "ms") for p in (0, 3, 6, 9)),
    *((f"TIMESTAMP({p})", "ms") for p in (0, 1, 3)),
    *((f"TIMESTAMP({p})", "us") for p in (4, 6)),
    *((f"TIMESTAMP({p})", "ns") for p in (7, 9)),
    ("TIMESTAMP_LTZ(0)", "ms"),
]


@pytest.mark.parametrize("last", DIGITS)
@pytest.mark.parametrize(("declared", "stored"), STORED_DIGITS)
def test_the_digits_of_a_second_that_are_stored_are_kept_and_finer_ones_refused(
    declared: str, stored: str, last: str
) -> None:
    schema = given_schema({"k": "INT", "t": declared}, key=["k"])
    kind = pa.time64("ns") if declared.startswith("TIME(") else pa.timestamp("ns")
    if declared.startswith("TIMESTAMP_LTZ"):
        kind = pa.timestamp("ns", "UTC")
    rows = pa.table({"k": pa.array([1], pa.int32()), "t": pa.array([DIGITS[last]]).view(kind)})

    if DIGITS[last] >= DIGITS[stored]:
        assert conform(rows, schema).column("t").cast(kind).cast(pa.int64()).to_pylist() == [
            DIGITS[last]
        ]
    else:
        with pytest.raises(SchemaMismatch, match="t: row 0: the value does not fit TIME"):
            conform(rows, schema)


def test_keys_have_one_nan_and_values_keep_theirs() -> None:
    schema = given_schema({"k": "DOUBLE", "v": "DOUBLE"}, key=["k"])
    nan = pa.array([-math.nan, 1.0])

    found = conform(pa.table({"k": nan, "v": nan}), schema)

    assert [math.copysign(1, value) for value in found.column("k").to_pylist()] == [1, 1]
    assert [math.copysign(1, value) for value in found.column("v").to_pylist()] == [-1, 1]
