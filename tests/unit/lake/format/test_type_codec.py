from collections.abc import Mapping

import pytest

from braid.lake.errors import InvalidRequest, UnsupportedFeature
from braid.lake.format.data_types import (
    UNASSIGNED,
    DataField,
)
from braid.lake.format.type_codec import field_to_json, parse_field, parse_type, type_to_json

ROW: Mapping[str, object] = {
    "type": "ROW NOT NULL",
    "fields": [
        {"id": 7, "name": "x", "type": "INT", "description": "first"},
        {"id": 8, "name": "y", "type": {"type": "ARRAY", "element": "STRING NOT NULL"}},
    ],
}


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("CHAR(5)", "CHAR(5)"),
        ("CHAR", "CHAR(1)"),
        ("VARCHAR(10)", "VARCHAR(10)"),
        ("VARCHAR", "VARCHAR(1)"),
        ("string", "STRING"),
        ("VARCHAR(2147483647)", "STRING"),
        ("BOOLEAN", "BOOLEAN"),
        ("BINARY(4)", "BINARY(4)"),
        ("VARBINARY", "VARBINARY(1)"),
        ("BYTES", "BYTES"),
        ("DECIMAL(10,2)", "DECIMAL(10, 2)"),
        ("numeric", "DECIMAL(10, 0)"),
        ("DEC(5)", "DECIMAL(5, 0)"),
        ("TINYINT", "TINYINT"),
        ("SMALLINT", "SMALLINT"),
        ("integer", "INT"),
        ("BIGINT NOT NULL", "BIGINT NOT NULL"),
        ("FLOAT", "FLOAT"),
        ("DOUBLE  PRECISION  NOT   NULL", "DOUBLE NOT NULL"),
        ("DATE NULL", "DATE"),
        ("TIME", "TIME(0)"),
        ("TIMESTAMP", "TIMESTAMP(6)"),
        ("TIMESTAMP(3) WITHOUT TIME ZONE", "TIMESTAMP(3)"),
        ("TIMESTAMP_LTZ(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        (
            "timestamp ( 6 ) with local time zone not null",
            "TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL",
        ),
        ("ARRAY<INT NOT NULL> NOT NULL", "ARRAY<INT NOT NULL> NOT NULL"),
        ("MAP<STRING, MULTISET<INT>>", "MAP<STRING, MULTISET<INT>>"),
    ],
)
def test_a_type_is_read_in_every_spelling_and_written_in_one(text: str, canonical: str) -> None:
    parsed = parse_type(text)

    assert str(parsed) == canonical
    assert parse_type(type_to_json(parsed)) == parsed


def test_a_row_keeps_ids_names_and_descriptions() -> None:
    parsed = parse_type(ROW)

    assert type_to_json(parsed) == ROW
    assert str(parsed) == "ROW<`x` INT, `y` ARRAY<STRING NOT NULL>> NOT NULL"


def test_a_row_can_be_written_as_sql() -> None:
    text = "row<x INT, Y array<row<`b ``c``, <d>` STRING NOT NULL, int INT>> NOT NULL> not null"

    parsed = parse_type(text)

    inner = "ARRAY<ROW<`b ``c``, <d>` STRING NOT NULL, `int` INT>>"
    assert str(parsed) == f"ROW<`x` INT, `Y` {inner} NOT NULL> NOT NULL"
    assert [field.name for field in parsed.fields] == ["x", "Y"]
    assert {field.id for field in parsed.fields} == {UNASSIGNED}
    assert parse_type(str(parsed)) == parsed


def test_the_nullable_key_of_other_writers_is_ignored() -> None:
    document = {"type": "ARRAY", "element": "INT", "nullable": True}

    assert parse_type(document) == parse_type("ARRAY<INT>")


def test_nullability_changes_nothing_else() -> None:
    assert parse_type("INT").with_nullable(nullable=False) == parse_type("INT NOT NULL")


@pytest.mark.parametrize(
    "source",
    [
        "BLOB",
        "GEOMETRY(OGC:CRS84)",
        "GEOGRAPHY(OGC:CRS84, spherical)",
        {"type": "VECTOR", "element": "FLOAT", "length": 4},
    ],
)
def test_types_of_later_versions_are_unsupported(source: str | Mapping[str, object]) -> None:
    with pytest.raises(UnsupportedFeature, match="not supported"):
        parse_type(source)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "the text ends too early"),
        ("TEXT", "not a type of the format"),
        ("INT INT", "unexpected `INT`"),
        ("INT; DROP", "unexpected `;"),
        ("CHAR(0)", "length 0 is not within"),
        ("DECIMAL(39)", "precision 39 is not within 1 to 38"),
        ("DECIMAL(5, 6)", "scale 6 is not within 0 to 5"),
        ("TIMESTAMP(10)", "precision 10 is not within 0 to 9"),
        ("TIMESTAMP_LTZ(3) WITHOUT TIME ZONE", "unexpected `WITHOUT`"),
        ("VARCHAR(x)", "`X` is not a number"),
        ("VARCHAR(1, 2)", "at most 1 numbers"),
        ("DECIMAL(5", r"expected `\)`"),
        ("ROW", "expected `<`|ends too early"),
        ("ROW<>", "expected the name of a field, found `>`"),
        ("ROW<a>", "not a type of the format"),
        ("ROW<a INT, a INT>", "field `a` is declared more than once"),
        ("ROW<`a INT>", "unexpected ``a INT>`"),
        ("`INT`", "not a type of the format"),
        ({"type": "INT"}, "not a nested type"),
        ({"type": "ARRAY MAYBE", "element": "INT"}, "unknown words"),
        ({"type": "ARRAY"}, "a type is text or an object"),
        ({"type": "ROW", "fields": "x"}, "no list `fields`"),
        ({"type": "ROW", "fields": [{"id": "1", "name": "x", "type": "INT"}]}, "whole number"),
        ({"type": "ROW", "fields": [{"id": 1, "type": "INT"}]}, "has no name"),
        ({"element": "INT"}, "has no `type`"),
    ],
)
def test_an_invalid_type_is_refused_with_the_reason(
    source: str | Mapping[str, object], message: str
) -> None:
    with pytest.raises(InvalidRequest, match=message):
        parse_type(source)


def test_a_field_is_written_without_the_keys_it_does_not_have() -> None:
    field = DataField(id=3, name="x", type=parse_type("INT"))

    assert field_to_json(field) == {"id": 3, "name": "x", "type": "INT"}


def test_a_field_keeps_description_and_default() -> None:
    document = {"id": 1, "name": "x", "type": "INT", "description": "d", "defaultValue": "4"}

    assert field_to_json(parse_field(document)) == document
