"""Merging the type of records into a table's columns: the cases G of the specification's list."""

import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.evolution.merge_types import DEFAULT_RULES, MergeRules, merge_fields
from braid.lake.format.data_types import DataField, assign_field_ids
from braid.lake.format.type_codec import parse_type

EXPLICIT = MergeRules(explicit_casts=True)
Fields = tuple[DataField, ...]


def given(**columns: str) -> Fields:
    """Columns of a new table."""
    return assign_field_ids([DataField(name=n, type=parse_type(t)) for n, t in columns.items()])


def incoming(**columns: str) -> Fields:
    """Fields of records, which have no ids."""
    return tuple(DataField(name=n, type=parse_type(t)) for n, t in columns.items())


def types(fields: Fields) -> dict[str, str]:
    return {field.name: str(field.type) for field in fields}


def merged(base: str, update: str, rules: MergeRules = DEFAULT_RULES) -> str:
    """The type of one column after records of another type."""
    fields, _ = merge_fields(given(x=base), incoming(x=update), rules, highest_field_id=0)
    (field,) = fields
    return str(field.type)


TABLE = given(a="INT NOT NULL", b="DOUBLE", c="MAP<STRING, BOOLEAN>", d="STRING NOT NULL")


def test_a_new_row_is_appended_and_numbered_after_its_fields() -> None:
    update = incoming(a="INT", b="DOUBLE", d="STRING", f="ROW<f1 CHAR(10), f2 DATE>")

    fields, highest = merge_fields(TABLE, update, highest_field_id=3)

    assert fields[:4] == TABLE
    assert fields[4].id == 6
    assert [(inner.name, inner.id) for inner in fields[4].type.fields] == [("f1", 4), ("f2", 5)]
    assert highest == 6


def test_another_order_and_missing_columns_change_nothing() -> None:
    assert merge_fields(TABLE, incoming(d="STRING", a="INT"), highest_field_id=9) == (TABLE, 9)


def test_without_widening_only_fields_appear() -> None:
    rules = MergeRules(type_widening=False)
    base = given(a="INT", b="STRING")
    update = incoming(a="BIGINT", b="ROW<z INT>", c="INT")

    fields, _ = merge_fields(base, update, rules, highest_field_id=1)

    assert types(fields) == {"a": "INT", "b": "STRING", "c": "INT"}


def test_ids_continue_above_the_highest_and_stay() -> None:
    with_e, highest = merge_fields(TABLE, incoming(e="DATE"), highest_field_id=3)
    assert highest == 4
    with_f, highest = merge_fields(
        with_e, incoming(f="ROW<f1 INT, f2 INT>"), highest_field_id=highest
    )
    assert highest == 7
    more = incoming(f="ROW<f1 INT, f2 INT, f3 TIMESTAMP(6)>")

    fields, highest = merge_fields(with_f, more, highest_field_id=highest)

    assert highest == 8
    assert fields[:5] == with_e
    row = fields[5]
    assert (row.id, [inner.id for inner in row.type.fields]) == (7, [5, 6, 8])


def test_new_fields_are_nullable_but_not_the_fields_inside_them() -> None:
    fields, _ = merge_fields((), incoming(r="ROW<z INT NOT NULL> NOT NULL"), highest_field_id=-1)

    assert types(fields) == {"r": "ROW<`z` INT NOT NULL>"}


def test_names_are_matched_by_case_as_the_rules_demand() -> None:
    base, update = given(Name="INT"), incoming(name="BIGINT")
    loose = MergeRules(case_sensitive=False)

    assert types(merge_fields(base, update, loose, highest_field_id=0)[0]) == {"Name": "BIGINT"}
    assert types(merge_fields(base, update, highest_field_id=0)[0]) == {
        "Name": "INT",
        "name": "BIGINT",
    }


def test_two_fields_of_one_name_are_refused() -> None:
    loose = MergeRules(case_sensitive=False)

    with pytest.raises(SchemaMismatch, match=r"r\.x: the records have two fields of this name"):
        merge_fields(
            given(r="ROW<y INT>"), incoming(r="ROW<x INT, X INT>"), loose, highest_field_id=1
        )


@pytest.mark.parametrize(
    ("base", "update", "expected"),
    [
        ("ARRAY<INT> NOT NULL", "ARRAY<INT>", "ARRAY<INT> NOT NULL"),
        ("ARRAY<INT> NOT NULL", "ARRAY<BIGINT>", "ARRAY<BIGINT> NOT NULL"),
        ("ARRAY<INT NOT NULL>", "ARRAY<BIGINT>", "ARRAY<BIGINT NOT NULL>"),
        ("MAP<STRING, INT>", "MAP<STRING, DOUBLE>", "MAP<STRING, DOUBLE>"),
        ("MULTISET<INT>", "MULTISET<BIGINT>", "MULTISET<BIGINT>"),
        ("DECIMAL(10, 0)", "DECIMAL(10, 0)", "DECIMAL(10, 0)"),
        ("DECIMAL(5, 2) NOT NULL", "DECIMAL(7, 2)", "DECIMAL(7, 2) NOT NULL"),
        ("DECIMAL(7, 2)", "DECIMAL(5, 2)", "DECIMAL(7, 2)"),
        ("DECIMAL(7, 2)", "DOUBLE", "DOUBLE"),
        ("BINARY(10)", "BINARY(10)", "BINARY(10)"),
        ("BINARY(2)", "BINARY(5)", "BINARY(5)"),
        ("CHAR(1)", "VARCHAR(10)", "VARCHAR(10)"),
        ("BINARY(1)", "VARBINARY(10)", "VARBINARY(10)"),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP(6)", "TIMESTAMP(6)"),
        ("TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP(9)"),
        ("TIMESTAMP(6)", "TIME(6)", "TIME(6)"),
        ("TIMESTAMP(6)", "DATE", "DATE"),
        ("TIME(0)", "TIME(9)", "TIME(9)"),
        ("TINYINT", "SMALLINT", "SMALLINT"),
        ("SMALLINT", "INT", "INT"),
        ("INT", "DECIMAL(3, 0)", "DECIMAL(3, 0)"),
        ("INT NOT NULL", "BIGINT", "BIGINT NOT NULL"),
        ("BIGINT", "FLOAT", "FLOAT"),
        ("FLOAT", "DOUBLE", "DOUBLE"),
        ("DOUBLE", "DECIMAL(5, 1)", "DECIMAL(5, 1)"),
    ],
)
def test_types_that_go_together(base: str, update: str, expected: str) -> None:
    assert merged(base, update) == expected


@pytest.mark.parametrize(
    ("base", "update"),
    [
        ("INT", "SMALLINT"),
        ("ARRAY<INT>", "ARRAY<SMALLINT>"),
        ("MAP<STRING, INT>", "MAP<STRING, SMALLINT>"),
        ("MULTISET<INT>", "MULTISET<SMALLINT>"),
        ("DECIMAL(10, 0)", "INT"),
        ("BINARY(2)", "BINARY(1)"),
        ("VARCHAR(10)", "CHAR(1)"),
        ("VARBINARY(10)", "BINARY(1)"),
        ("VARCHAR(10)", "VARBINARY(10)"),
        ("TIME(0)", "TIMESTAMP(6)"),
        ("TIME(6)", "TIME(3)"),
        ("TIMESTAMP(6)", "TIMESTAMP(3)"),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIME(6)"),
        ("BIGINT", "INT"),
        ("FLOAT", "INT"),
        ("DOUBLE", "FLOAT"),
        ("BOOLEAN", "TINYINT"),
        ("TINYINT", "BOOLEAN"),
        ("INT", "STRING"),
    ],
)
def test_a_cast_that_may_lose_values_must_be_explicit(base: str, update: str) -> None:
    with pytest.raises(SchemaMismatch, match="the column is"):
        merged(base, update)

    assert merged(base, update, EXPLICIT) == update


@pytest.mark.parametrize(
    ("base", "update"),
    [
        ("DECIMAL(5, 2)", "DECIMAL(7, 3)"),
        ("STRING", "ROW<z INT>"),
        ("INT", "ARRAY<INT>"),
        ("BOOLEAN", "DATE"),
    ],
)
def test_a_type_without_a_cast_is_always_refused(base: str, update: str) -> None:
    with pytest.raises(SchemaMismatch, match="x: "):
        merged(base, update, EXPLICIT)


def test_the_problem_names_the_path_that_does_not_fit() -> None:
    base = given(r="ARRAY<MAP<STRING, ROW<z INT>>>")

    with pytest.raises(SchemaMismatch, match=r"r\.element\.value\.z: .*the column is INT"):
        merge_fields(base, incoming(r="ARRAY<MAP<STRING, ROW<z STRING>>>"), highest_field_id=1)
