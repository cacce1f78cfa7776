"""Attributes of schema changes that have a wrong type are refused by name."""

from typing import Any

import pytest

from braid.lake import (
    AddColumn,
    Catalog,
    DropColumn,
    InvalidRequest,
    MemoryFileIO,
    Position,
    PositionKind,
    RemoveOption,
    RenameColumn,
    SetOption,
    Table,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
    parse_type,
)

INT = parse_type("INT")
WRONG: Any = 5


def given_table() -> Table:
    return Catalog("/wh", file_io=MemoryFileIO()).create_table(
        "db.t",
        columns=[("k", "INT"), ("a", "INT"), ("b", "INT")],
        primary_key=["k"],
        options={"bucket": "1"},
    )


def as_any(value: object) -> Any:
    """Return the value untyped, as a caller without a type checker passes it."""
    return value


@pytest.mark.parametrize(
    ("change", "part", "value"),
    [
        (DropColumn(path=()), "path", "()"),
        (DropColumn(path=as_any("a")), "path", "'a'"),
        (DropColumn(path=as_any("ab")), "path", "'ab'"),
        (DropColumn(path=as_any(["a"])), "path", "['a']"),
        (DropColumn(path=as_any(("a", 1))), "path", "('a', 1)"),
        (AddColumn(path=("c",), type=as_any("INT")), "type", "'INT'"),
        (AddColumn(path=("c",), type=INT, description=WRONG), "description", "5"),
        (AddColumn(path=("c",), type=INT, position=as_any("first")), "position", "'first'"),
        (RenameColumn(path=("a",), name=as_any(None)), "name", "None"),
        (UpdateColumnType(path=("a",), type=as_any("BIGINT")), "type", "'BIGINT'"),
        (
            UpdateColumnType(path=("a",), type=INT, keep_nullability=as_any("no")),
            "keep_nullability",
            "'no'",
        ),
        (UpdateColumnNullability(path=("a",), nullable=as_any("no")), "nullable", "'no'"),
        (UpdateColumnComment(path=("a",), description=WRONG), "description", "5"),
        (UpdateColumnDefault(path=("a",), default_value=WRONG), "default_value", "5"),
        (UpdateColumnPosition(name="a", position=as_any(None)), "position", "None"),
        (SetOption(key="num-levels", value=as_any(3)), "value", "3"),
        (SetOption(key=WRONG, value="3"), "key", "5"),
        (RemoveOption(key=WRONG), "key", "5"),
        (UpdateComment(comment=WRONG), "comment", "5"),
    ],
)
def test_an_attribute_of_the_wrong_type_is_refused_by_name(
    change: Any, part: str, value: str
) -> None:
    table = given_table()

    with pytest.raises(InvalidRequest) as refused:
        table.alter(UpdateComment(comment="fine"), change)

    (problem,) = refused.value.problems
    assert (problem.field, problem.value) == (f"changes[1].{part}", value)
    assert problem.message.startswith("expected ")
    assert table.schema.id == 0


def test_optional_attributes_may_be_none() -> None:
    table = given_table()

    schema = table.alter(
        UpdateComment(comment=None),
        AddColumn(path=("c",), type=INT, description=None, position=None),
        UpdateColumnComment(path=("a",), description=None),
        UpdateColumnDefault(path=("a",), default_value=None),
    )

    assert schema.field_names == ("k", "a", "b", "c")


@pytest.mark.parametrize(
    ("kind", "neighbour", "field"),
    [
        (PositionKind.AFTER, None, "neighbour"),
        (PositionKind.BEFORE, 5, "neighbour"),
        (PositionKind.FIRST, "a", "neighbour"),
        ("first", None, "kind"),
    ],
)
def test_a_position_has_a_neighbour_just_where_one_is_meant(
    kind: Any, neighbour: Any, field: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Position(kind=kind, neighbour=neighbour)

    assert [problem.field for problem in refused.value.problems] == [field]
