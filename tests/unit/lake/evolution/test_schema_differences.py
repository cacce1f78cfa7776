"""Differences between two schemas, as changes that lead from one to the other."""

from collections.abc import Sequence

import pytest

from braid.lake.evolution.change_schema import change_schema
from braid.lake.evolution.schema_changes import (
    AddColumn,
    DropColumn,
    Position,
    PositionKind,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
)
from braid.lake.evolution.schema_differences import schema_differences
from braid.lake.format.data_types import DataField, assign_field_ids, highest_field_id
from braid.lake.format.schema import TableSchema
from braid.lake.format.type_codec import parse_type

INT, TEXT = parse_type("INT"), parse_type("STRING")
FIELDS = assign_field_ids(
    [
        DataField(name="id", type=parse_type("INT NOT NULL")),
        DataField(name="a", type=INT),
        DataField(name="b", type=TEXT),
        DataField(name="c", type=parse_type("ROW<x INT, y ARRAY<ROW<z INT>>>")),
    ]
)
SCHEMA = TableSchema(
    id=0,
    fields=FIELDS,
    highest_field_id=highest_field_id(FIELDS),
    partition_keys=(),
    primary_keys=("id",),
    options={"bucket": "1", "file.compression": "zstd"},
)


def changed(schema: TableSchema, changes: Sequence[SchemaChange]) -> TableSchema:
    return change_schema(schema, changes, has_snapshots=True, now_ms=7)


@pytest.mark.parametrize(
    "changes",
    [
        [AddColumn(path=("d",), type=INT, description="new")],
        [AddColumn(path=("d",), type=INT, position=Position(kind=PositionKind.FIRST))],
        [
            AddColumn(
                path=("d",),
                type=INT,
                position=Position(kind=PositionKind.AFTER, neighbour="a"),
            )
        ],
        [AddColumn(path=("c", "w"), type=INT)],
        [AddColumn(path=("c", "y", "element", "w"), type=INT)],
        [DropColumn(path=("a",))],
        [DropColumn(path=("c", "x"))],
        [DropColumn(path=("a",)), AddColumn(path=("a",), type=INT)],
        [DropColumn(path=("b",)), RenameColumn(path=("a",), name="b")],
        [RenameColumn(path=("c", "y", "element", "z"), name="w")],
        [UpdateColumnType(path=("a",), type=parse_type("BIGINT"), keep_nullability=True)],
        [UpdateColumnType(path=("c", "x"), type=parse_type("BIGINT"), keep_nullability=True)],
        [UpdateColumnComment(path=("a",), description="what it is")],
        [UpdateColumnDefault(path=("a",), default_value="1")],
        [UpdateColumnPosition(name="c", position=Position(kind=PositionKind.FIRST))],
        [
            UpdateColumnPosition(
                name="id", position=Position(kind=PositionKind.AFTER, neighbour="c")
            )
        ],
        [SetOption(key="file.compression", value="none")],
        [RemoveOption(key="file.compression")],
        [UpdateComment(comment="a table")],
    ],
    ids=lambda changes: "-".join(type(change).__name__ for change in changes),
)
def test_the_differences_lead_to_the_same_schema(
    changes: list[SchemaChange],
) -> None:
    new = changed(SCHEMA, changes)

    found = schema_differences(SCHEMA, new)

    assert [type(change) for change in found] == [type(change) for change in changes]
    assert changed(SCHEMA, found) == new


def test_a_column_that_becomes_not_null_is_a_difference() -> None:
    schema = changed(
        SCHEMA, [SetOption(key="alter-column-null-to-not-null.disabled", value="false")]
    )
    change = UpdateColumnNullability(path=("a",), nullable=False)

    assert schema_differences(schema, changed(schema, [change])) == (change,)


def test_the_same_schema_has_no_differences() -> None:
    assert schema_differences(SCHEMA, SCHEMA) == ()


def test_a_renamed_column_is_found_with_the_options_that_name_it() -> None:
    before = changed(SCHEMA, [SetOption(key="sequence.field", value="a")])

    found = schema_differences(before, changed(before, [RenameColumn(path=("a",), name="z")]))

    assert found == (
        RenameColumn(path=("a",), name="z"),
        SetOption(key="sequence.field", value="z"),
    )
