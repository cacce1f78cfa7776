"""Columns are matched by id, with any names and in any order."""

from typing import Any

import pyarrow as pa

from braid.lake.files.column_mapping import conversion, is_same_shape, map_columns, renamed
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.data_types import DataField, DataType
from braid.lake.format.type_codec import parse_type
from tests.given_tables import given_schema


def row(*fields: tuple[int, str, Any]) -> dict[str, Any]:
    return {"type": "ROW", "fields": [{"id": i, "name": n, "type": t} for i, n, t in fields]}


OLD = parse_type(
    row(
        (1, "a", "INT"),
        (2, "l", {"type": "ARRAY", "element": row((3, "x", "INT"))}),
        (4, "m", {"type": "MAP", "key": "STRING", "value": "INT"}),
        (5, "s", {"type": "MULTISET", "element": "STRING"}),
    )
)
NEW = parse_type(
    row(
        (4, "mm", {"type": "MAP", "key": "STRING", "value": "BIGINT"}),
        (2, "l", {"type": "ARRAY", "element": row((9, "y", "STRING"), (3, "x", "BIGINT"))}),
        (5, "s", {"type": "MULTISET", "element": "CHAR(2)"}),
    )
)
VALUES = [
    None,
    {"a": 1, "l": [{"x": 1}, None], "m": [("k", 1)], "s": [("abc", 2)]},
    {"a": 2, "l": None, "m": None, "s": None},
    {"a": 3, "l": [], "m": [("z", None)], "s": []},
]
EXPECTED = [
    None,
    {"mm": [("k", 1)], "l": [{"y": None, "x": 1}, None], "s": [("ab", 2)]},
    {"mm": None, "l": None, "s": None},
    {"mm": [("z", None)], "l": [], "s": []},
]


def converted(column: pa.Array, source: DataType, target: DataType) -> pa.Array:
    convert = conversion(source, target)
    assert convert is not None
    result = convert(column)
    result.validate(full=True)
    assert result.type == to_arrow_type(target)
    return result


def test_nested_fields_are_found_by_their_ids() -> None:
    column = pa.array(VALUES, to_arrow_type(OLD))

    assert converted(column, OLD, NEW).to_pylist() == EXPECTED
    assert converted(column.slice(1, 2), OLD, NEW).to_pylist() == EXPECTED[1:3]
    assert converted(column.slice(0, 0), OLD, NEW).to_pylist() == []


def test_equal_types_need_no_conversion() -> None:
    assert conversion(OLD, OLD) is None
    assert conversion(parse_type("VARCHAR(3)"), parse_type("STRING")) is None
    assert conversion(parse_type("INT NOT NULL"), parse_type("INT")) is None


def test_columns_are_mapped_by_id() -> None:
    old = [DataField(id=i, name=n, type=parse_type("INT")) for i, n in ((0, "a"), (1, "b"))]
    new = [
        DataField(id=1, name="a", type=parse_type("INT")),
        DataField(id=0, name="c", type=parse_type("BIGINT")),
        DataField(id=2, name="b", type=parse_type("INT")),
    ]

    mapped = map_columns(old, new)

    assert {name: source.name for name, source in mapped.items()} == {"a": "b", "c": "a"}
    assert renamed({"a": "of a", "b": "of b"}, mapped) == {"a": "of b"}


def test_shapes() -> None:
    schema = given_schema({"k": "INT", "v": "INT"}, key=["k"])

    assert is_same_shape(schema, given_schema({"k": "INT", "v": "INT"}, key=["k"]))
    assert not is_same_shape(schema, given_schema({"k": "INT", "w": "INT"}, key=["k"]))
    assert not is_same_shape(schema, given_schema({"k": "INT", "v": "BIGINT"}, key=["k"]))
