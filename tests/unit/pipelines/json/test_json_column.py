"""Nested types are read as they are, as long as nothing in them needs a check of its own."""

import pytest

from braid.lake import DataField, DataType, TypeRoot, UnsupportedFeature, parse_type
from braid.pipelines.json.json_column import json_type


def _row(**fields: str) -> DataType:
    parsed = tuple(DataField(name=name, type=parse_type(sql)) for name, sql in fields.items())
    return DataType(root=TypeRoot.ROW, fields=parsed)


@pytest.mark.parametrize(
    ("data_type", "spark"),
    [
        (parse_type("SMALLINT"), "int"),
        (parse_type("DECIMAL(12, 3)"), "decimal(12,3)"),
        (parse_type("TIMESTAMP(6)"), "string"),
        (parse_type("ARRAY<TIMESTAMP(6)>"), "array<timestamp_ntz>"),
        (parse_type("ARRAY<TIMESTAMP(6) WITH LOCAL TIME ZONE>"), "array<timestamp>"),
        (parse_type("MAP<STRING, ARRAY<DATE>>"), "map<string,array<date>>"),
        (_row(x="INT", y="BYTES"), "struct<x:int,y:binary>"),
    ],
    ids=str,
)
def test_the_type_that_spark_reads(data_type: DataType, spark: str) -> None:
    assert json_type(data_type, column="c").simpleString() == spark


@pytest.mark.parametrize("sql", ["CHAR(3)", "TIMESTAMP(9)", "TINYINT"])
def test_a_row_with_a_field_that_needs_a_check_is_refused(sql: str) -> None:
    with pytest.raises(UnsupportedFeature, match="column c cannot be read") as caught:
        json_type(_row(x=sql), column="c")

    assert caught.value.problems[0].field == "c"
