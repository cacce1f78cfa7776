"""Expressions, constants, defaults and the fields of expressions are checked when a stream is registered."""

from typing import Any

import pytest
from pydantic import ValidationError

from braid.registry.rules.computed_column_rules import EXPRESSIONS_MAX
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.schemas import FieldProblem, StreamDefinition, TableSpec
from tests.unit.records.given_streams import given_spec

TABLE = given_spec({"id": "BIGINT", "a": "INT", "b": "STRING", "d": "DATE"}, ordering=None)


def found(*columns: dict[str, Any], table: TableSpec = TABLE, **stream: Any) -> list[FieldProblem]:
    mapped = {name: {"column": name} for name in table.column_names}
    mapped |= {one["column"]: one for one in columns}
    definition = StreamDefinition.model_validate(
        {"topic": "topic", "columns": [*mapped.values()], **stream}
    )
    return check_stream(table, {}, complete_stream(table, definition, name="s"))


def problems(*columns: dict[str, Any], **stream: Any) -> list[tuple[str, str]]:
    shown = found(*columns, **stream)
    assert all(one.hint for one in shown)
    return [(one.pointer or "", one.message) for one in shown]


def test_computed_columns_are_accepted_and_imply_their_source() -> None:
    columns: list[dict[str, Any]] = [
        {"column": "a", "expression": "payload.n + 1"},
        {"column": "b", "constant": "x"},
        {"column": "d", "default": "2026-01-02"},
    ]
    fields = {"payload.n": "INT"}

    assert problems(*columns, fields=fields) == []
    definition = StreamDefinition.model_validate({"topic": "t", "columns": columns})
    assert [one.source for one in definition.columns] == ["expression", "constant", "value"]
    again = StreamDefinition.model_validate(definition.model_dump(mode="json"))
    assert again == definition


@pytest.mark.parametrize("name", ["constant", "default"])
def test_null_is_no_constant_and_no_default(name: str) -> None:
    columns = [{"column": "id"}, {"column": "b", name: None}]

    with pytest.raises(ValidationError) as caught:
        StreamDefinition.model_validate({"topic": "t", "columns": columns})

    (error,) = caught.value.errors()
    assert error["loc"] == ("columns", 1, name)
    assert error["msg"] == "expected a boolean, a number or a text"


@pytest.mark.parametrize(
    ("column", "pointer", "message"),
    [
        (
            {"column": "a", "expression": "1", "constant": 1},
            "constant",
            "the column has both a constant and an expression",
        ),
        (
            {"column": "a", "expression": "1", "source": "value"},
            "source",
            "the column has `expression`, so it is not read from a part of the record",
        ),
        ({"column": "a", "source": "expression"}, "source", "the column has no `expression`"),
        ({"column": "a", "source": "constant"}, "source", "the column has no `constant`"),
        (
            {"column": "a", "constant": 1, "path": "x"},
            "path",
            "this has no effect, because the column has `constant`",
        ),
        (
            {"column": "a", "constant": 1, "default": 2},
            "default",
            "this has no effect, because the column has `constant`",
        ),
        (
            {"column": "d", "expression": "NULL", "time_format": "epoch_days"},
            "time_format",
            "this has no effect, because the column has `expression`",
        ),
        ({"column": "a", "constant": "x"}, "constant", 'found "x", expected INT'),
        ({"column": "a", "constant": 3_000_000_000}, "constant", "found 3000000000, expected INT"),
        (
            {"column": "d", "default": "soon"},
            "default",
            'found "soon", expected DATE, written as 2026-01-02',
        ),
        (
            {"column": "a", "default": 1, "on_missing": "reject"},
            "default",
            "a record without the field has the default, so `on_missing` has no effect",
        ),
        (
            {"column": "b", "default": "x", "source": "header"},
            "default",
            "a column that is read from the header of a record has no default",
        ),
        (
            {"column": "a", "constant": 1, "on_missing": "reject"},
            "on_missing",
            "every record has its constant",
        ),
        (
            {"column": "a", "expression": "now()"},
            "expression",
            "expressions cannot use the function `now`",
        ),
        (
            {"column": "a", "expression": "b + 1"},
            "expression",
            "it cannot be evaluated: No function matches the given name and argument types",
        ),
        (
            {"column": "a", "expression": "id + 1"},
            "expression",
            "its result is BIGINT, which a column of type INT cannot hold without loss",
        ),
    ],
)
def test_what_a_column_cannot_be(column: dict[str, Any], pointer: str, message: str) -> None:
    ((where, shown),) = problems(column)

    index = TABLE.column_names.index(column["column"])
    assert (where, shown[: len(message)]) == (f"/columns/{index}/{pointer}", message)


def test_a_message_that_has_every_field_needs_no_default() -> None:
    csv = {"type": "csv", "fields": ["id", "a", "b", "d"]}

    assert problems({"column": "a", "default": 1}, format=csv) == [
        (
            "/columns/1/default",
            "a message of the format `csv` has every field, so this has no effect",
        )
    ]


@pytest.mark.parametrize(
    "declared",
    [{"type": "debezium", "database": "mysql"}, "maxwell", "canal"],
    ids=("debezium", "maxwell", "canal"),
)
def test_columns_of_captured_changes_are_not_computed(declared: Any) -> None:
    refused = "columns of captured changes are not computed"
    columns: list[dict[str, Any]] = [
        {"column": "a", "expression": "n + 1", "default": 7},
        {"column": "b", "default": "x"},
        {"column": "d", "constant": "2026-01-02"},
    ]

    shown = problems(*columns, format=declared, fields={"n": "INT"}, on_delete="ignore")

    assert shown == [
        ("/columns/1/expression", refused),
        ("/columns/1/default", refused),
        ("/columns/2/default", refused),
        ("/fields/n", f"{refused}, so no expression uses this field"),
    ]


@pytest.mark.parametrize(
    ("fields", "pointer", "message"),
    [
        ({"n": "INTEGR"}, "n", "found `INTEGR`"),
        ({"n": "MULTISET<INT>"}, "n", "JSON has no MULTISET"),
        ({"n": "ARRAY<VARIANT>"}, "n", "expressions cannot look into a VARIANT"),
        ({"n": "INT", "$.m": "INT"}, "$.m", "a path is field names joined by dots"),
        (
            {"n": "INT", ".".join("m" * 33): "INT"},
            ".".join("m" * 33),
            "a path has at most 32 names",
        ),
        ({"n": "INT", "m": "INT"}, "m", "no expression uses this field"),
        (
            {"n": "INT", "b": "INT"},
            "b",
            "the column `b` is read from this field, and its type is that of the field",
        ),
        (
            {"n": "INT", "b.x": "INT"},
            "b.x",
            "the column `b` is an object that contains this field",
        ),
    ],
)
def test_what_a_field_cannot_be(fields: dict[str, str], pointer: str, message: str) -> None:
    ((where, shown),) = problems({"column": "a", "expression": "n"}, fields=fields)

    assert where == f"/fields/{pointer}"
    assert message in shown or message.startswith("found")


def test_an_object_is_no_field() -> None:
    (one, *_) = problems({"column": "a", "expression": "n.x"}, fields={"n": "INT", "n.x": "INT"})

    assert one == (
        "/fields/n",
        "this is an object of the message: the field `n.x` is read from inside of it",
    )


def test_fields_are_those_of_the_format() -> None:
    csv = {"type": "csv", "fields": ["id", "b", "d"]}

    assert problems({"column": "a", "expression": "n"}, fields={"n": "INT"}, format=csv) == [
        ("/fields/n", "messages of the format `csv` have no such field")
    ]


def test_the_number_of_expressions_is_bounded() -> None:
    names = [f"c{number}" for number in range(EXPRESSIONS_MAX + 1)]
    table = given_spec({"id": "BIGINT"} | dict.fromkeys(names, "INT"), ordering=None)
    columns = [{"column": name, "expression": "1"} for name in names]

    assert problems(*columns, table=table) == [
        ("/columns", f"a stream has at most {EXPRESSIONS_MAX} expressions")
    ]
    assert problems(*columns[:-1], table=table) == []


def test_a_tombstone_has_constants_and_no_results() -> None:
    table = given_spec({"id": "BIGINT", "region": "STRING"}, ordering=None, deletes="clear_columns")
    table = table.model_copy(
        update={"primary_key": ("id", "region"), "columns": (*table.columns, TABLE.columns[1])}
    )
    group = table.sequence_groups[0].model_copy(update={"columns": ("a",)})
    table = table.model_copy(update={"sequence_groups": (group,)})
    key = {"column": "id", "source": "key"}
    options: dict[str, Any] = {"table": table, "on_tombstone": "clear_columns"}

    assert problems(key, {"column": "region", "constant": "EU"}, **options) == []
    ((pointer, message),) = problems(key, {"column": "region", "expression": "'EU'"}, **options)
    assert (pointer, message[:40]) == ("/on_tombstone", "a tombstone has no value, but the key co")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("CAST('x' AS INT)::VARCHAR", "the part `CAST(CAST('x' AS INTEGER) AS VARCHAR)` fails"),
        ("t || 'today'::DATE::VARCHAR", "the part `CAST(CAST('today' AS DATE) AS VARCHAR)` fails"),
        ("regexp_extract(t, '((a{1,1000}){1,1000})')", "((a{1,1000}){1,1000})` has a size of 1"),
        ("regexp_replace(t, '((a{20}){20}){20}', '')", "fails for every record: invalid repet"),
        ("regexp_replace(t, 'x)', '')", "the pattern `x)` fails for every record: "),
        (r"regexp_replace(t, '(\pL{900})|(\pN{900})', '')", "has a size of 900001 with"),
        (r"CASE WHEN t = '' THEN regexp_replace(t, '[\pN_]{900}', '') END", "size of 450000"),
    ],
)
def test_what_fails_or_takes_long_for_every_record_is_refused(
    expression: str, message: str
) -> None:
    ((pointer, shown),) = problems(
        {"column": "b", "expression": expression},
        fields={} if expression.startswith("CAST") else {"t": "STRING"},
    )

    assert pointer == "/columns/2/expression"
    assert message in shown


@pytest.mark.parametrize(
    "expression",
    [
        "TRY(CAST('x' AS INT))::VARCHAR || t",
        "CASE WHEN t = 'x' THEN CAST('x' AS INT)::VARCHAR END",
        "coalesce(t, CAST('x' AS INT)::VARCHAR)",
        "t || CAST('7' AS INT)",
        "regexp_replace(t, '[^0-9A-Za-z]{1,200}', 'x', 'g')",
    ],
)
def test_what_need_not_fail_is_accepted(expression: str) -> None:
    assert problems({"column": "b", "expression": expression}, fields={"t": "STRING"}) == []
