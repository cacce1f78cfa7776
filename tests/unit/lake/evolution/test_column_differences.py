"""Changes between the columns before and after a merge."""

from dataclasses import replace

from braid.lake.evolution.change_schema import change_schema
from braid.lake.evolution.column_differences import column_differences
from braid.lake.evolution.merge_types import merge_fields
from braid.lake.evolution.schema_changes import AddColumn, UpdateColumnType
from braid.lake.format.type_codec import parse_type
from tests.unit.lake.evolution.test_change_schema import given_schema
from tests.unit.lake.evolution.test_merge_types import given, incoming


def test_a_new_nested_field_is_added_at_its_path() -> None:
    old = given(items="ARRAY<ROW<f1 INT, f2 INT>>", attributes="MAP<STRING, ROW<v1 INT>>")
    update = incoming(items="ARRAY<ROW<f3 DATE>>", attributes="MAP<STRING, ROW<v2 INT>>")
    new, _ = merge_fields(old, update, highest_field_id=9)

    assert column_differences(old, new) == (
        AddColumn(path=("items", "element", "f3"), type=parse_type("DATE")),
        AddColumn(path=("attributes", "value", "v2"), type=parse_type("INT")),
    )


def test_a_nested_type_is_widened_at_its_path() -> None:
    old = given(l="ARRAY<INT>", m="MAP<STRING, ROW<v INT NOT NULL>>")
    new, _ = merge_fields(
        old, incoming(l="ARRAY<BIGINT>", m="MAP<STRING, ROW<v BIGINT>>"), highest_field_id=9
    )

    assert column_differences(old, new) == (
        UpdateColumnType(path=("l", "element"), type=parse_type("BIGINT"), keep_nullability=True),
        UpdateColumnType(
            path=("m", "value", "v"), type=parse_type("BIGINT NOT NULL"), keep_nullability=True
        ),
    )


def test_another_map_key_changes_the_column_whole() -> None:
    old = given(m="MAP<ROW<k INT>, ROW<v INT>>")
    new, _ = merge_fields(old, incoming(m="MAP<ROW<k2 INT>, ROW<v2 INT>>"), highest_field_id=9)

    assert column_differences(old, new) == (
        UpdateColumnType(path=("m",), type=new[0].type, keep_nullability=True),
    )


def test_a_field_that_is_gone_changes_the_column_whole() -> None:
    old = given(r="ROW<x INT, y INT>")
    new = (replace(old[0], type=replace(old[0].type, fields=old[0].type.fields[1:])),)

    assert column_differences(old, new) == (
        UpdateColumnType(path=("r",), type=new[0].type, keep_nullability=True),
    )


def test_columns_that_are_the_same_or_gone_are_no_difference() -> None:
    old = given(a="INT", b="STRING")

    assert column_differences(old, old[:1]) == ()


def test_applying_the_differences_gives_the_merged_columns() -> None:
    """Except for ids: an alteration numbers a column before its nested fields."""
    schema = given_schema()
    update = incoming(
        v="BIGINT",
        r="ROW<b ROW<c BIGINT, f ARRAY<ROW<g INT>>>>",
        l="ARRAY<ROW<x BIGINT, y STRING>>",
        z="ROW<q INT>",
    )
    merged, highest = merge_fields(schema.fields, update, highest_field_id=schema.highest_field_id)

    changes = column_differences(schema.fields, merged)
    altered = change_schema(schema, changes, has_snapshots=True, now_ms=0)

    assert altered.highest_field_id == highest
    assert [str(f.type) for f in altered.fields] == [str(f.type) for f in merged]
