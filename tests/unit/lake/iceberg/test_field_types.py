"""Types of columns in Iceberg's terms, with the ids that Parquet files have."""

import pytest

from braid.lake.format.data_types import DataField
from braid.lake.format.type_codec import parse_type
from braid.lake.iceberg.field_types import iceberg_type, type_gap


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("BOOLEAN", "boolean"),
        ("TINYINT", "int"),
        ("SMALLINT", "int"),
        ("INT", "int"),
        ("BIGINT", "long"),
        ("FLOAT", "float"),
        ("DOUBLE", "double"),
        ("DATE", "date"),
        ("CHAR(3)", "string"),
        ("STRING", "string"),
        ("BINARY(2)", "binary"),
        ("BYTES", "binary"),
        ("DECIMAL(12, 3)", "decimal(12, 3)"),
        ("TIMESTAMP(3)", "timestamp"),
        ("TIMESTAMP(6)", "timestamp"),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "timestamptz"),
    ],
)
def test_a_primitive_type_has_a_name(declared: str, expected: str) -> None:
    data_type = parse_type(declared)

    assert type_gap(data_type) is None
    assert iceberg_type(data_type, 4) == expected


def test_nested_types_have_the_ids_of_parquet_files() -> None:
    first = 536_870_911
    inner = DataField(id=9, name="x", type=parse_type("ARRAY<INT>"))
    row = parse_type("ROW<x ARRAY<INT>>")
    found = iceberg_type(parse_type("MAP<STRING, ARRAY<INT NOT NULL>>"), 4)

    assert found == {
        "type": "map",
        "key-id": first - 4 * 1024 - 1,
        "key": "string",
        "value-id": first + 4 * 1024 + 1,
        "value-required": False,
        "value": {
            "type": "list",
            "element-id": first + 4 * 1024 + 2,
            "element-required": True,
            "element": "int",
        },
    }
    struct = iceberg_type(type(row)(root=row.root, fields=(inner,)), 4)
    assert isinstance(struct, dict)
    (field,) = struct["fields"]
    assert (field["id"], field["type"]["element-id"]) == (9, first + 9 * 1024 + 1)


@pytest.mark.parametrize(
    "declared",
    [
        "TIMESTAMP(9)",
        "TIMESTAMP(2)",
        "TIMESTAMP(7) WITH LOCAL TIME ZONE",
        "TIME(3)",
        "ROW<x ARRAY<TIME(0)>>",
        "MAP<INT, TIMESTAMP(9)>",
    ],
)
def test_a_type_that_readers_would_not_find_in_the_file_has_a_gap(declared: str) -> None:
    assert "has no counterpart" in str(type_gap(parse_type(declared)))
