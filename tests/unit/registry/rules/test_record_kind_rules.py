"""What a stream may declare for deletes, tombstones and records of other streams."""

import json
from typing import Any

import pytest

from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import FieldProblem, OnDelete, StreamDefinition, TableSpec

COLUMNS = [
    {"name": "id", "type": "BIGINT"},
    {"name": "version", "type": "INT"},
    {"name": "carrier", "type": "STRING"},
]
GROUP = {"name": "s", "columns": ["version", "carrier"]}
ORDERED = {"name": "s", "ordering": ["version"], "columns": ["carrier"]}
CLEARED: dict[str, Any] = {"sequence_groups": [ORDERED], "deletes": "clear_columns"}
BY_ARRIVAL: dict[str, Any] = {"sequence_groups": [GROUP], "deletes": "clear_columns"}
WHOLE: dict[str, Any] = {"merge_engine": "deduplicate"}
KEYED = [{"column": "id", "source": "key"}, {"column": "version"}, {"column": "carrier"}]
_FIELDS = {
    "id": "long",
    "version": "int",
    "carrier": "string",
    "op": {"type": "enum", "name": "op", "symbols": ["d", "u"]},
    "is_new": "boolean",
}
_SCHEMA = {
    "type": "record",
    "name": "event",
    "fields": [{"name": name, "type": kind} for name, kind in _FIELDS.items()],
}
AVRO = {"type": "avro", "schema": json.dumps(_SCHEMA)}
UNORDERED: dict[str, Any] = {"unordered": "allowed"}
WHEN = {"delete_when": "op = 'd'"}


def _problems(table: dict[str, Any], **stream: Any) -> list[FieldProblem]:
    spec = TableSpec.model_validate({"columns": COLUMNS, "primary_key": ["id"]} | table)
    assert list(check_table("db", "t", spec)) == []
    definition = StreamDefinition.model_validate({"topic": "topic", **stream})
    return check_stream(spec, {}, complete_stream(spec, definition, name="s"))


ADMITTED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (CLEARED, {**WHEN}),
    (CLEARED, {**WHEN, "format": AVRO, "where": "is_new = TRUE AND version IS NOT NULL"}),
    (CLEARED, {**WHEN, "on_delete": "clear_columns"}),
    (CLEARED, {**WHEN, "on_delete": "ignore"}),
    (CLEARED, {"on_tombstone": "ignore", "where": "type = 'order' AND payload.n > 1"}),
    ({"sequence_groups": [ORDERED]}, {**WHEN, "on_delete": "dead_letter"}),
    ({"sequence_groups": [{**ORDERED, "deletes": "clear_columns"}]}, {**WHEN}),
    (BY_ARRIVAL, {"on_tombstone": "clear_columns", "columns": KEYED}),
    ({"sequence_groups": [GROUP], "deletes": "remove_row"}, {**WHEN, "on_delete": "remove_row"}),
    (WHOLE, {"on_tombstone": "remove_row", "columns": KEYED, **WHEN}),
    ({**WHOLE, "options": {"rowkind.field": "carrier"}}, {**WHEN}),
    (
        {**WHOLE, **UNORDERED, "options": {"sequence.field": "version"}},
        {**WHEN, "on_delete": "remove_row"},
    ),
    ({"merge_engine": "first-row"}, {**WHEN, "on_tombstone": "ignore"}),
    (CLEARED, {"where": "header(type) = 'order' AND timestamp() > 5", "format": AVRO}),
]


@pytest.mark.parametrize(("table", "stream"), ADMITTED)
def test_a_stream_may_have_the_deletes_of_its_table(
    table: dict[str, Any], stream: dict[str, Any]
) -> None:
    assert _problems(table, **stream) == []


def test_streams_of_columns_that_may_be_unordered_one_by_one_do_not_remove_rows() -> None:
    # The table is refused too, but may have been registered before it was.
    columns = [one | ({} if one["name"] == "id" else UNORDERED) for one in COLUMNS]
    declared = {"columns": columns, "primary_key": ["id"], "deletes": "remove_row"}
    spec = TableSpec.model_validate(declared)
    fields = {"topic": "topic", "on_tombstone": "remove_row"}
    one, other = (
        complete_stream(
            spec,
            StreamDefinition.model_validate({**fields, "columns": [KEYED[0], column]}),
            name=column["column"],
        )
        for column in KEYED[1:]
    )

    (problem,) = check_stream(spec, {one.name: one}, other)

    assert (problem.pointer, problem.value) == ("/on_tombstone", "remove_row")
    assert "decides what is left of the row" in problem.message
    assert "for the table with `unordered: allowed`" in str(problem.hint)


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str, str, str]] = [
    (CLEARED, {"where": "op ="}, "where", "cannot be read at `the end`", "write comparisons"),
    (CLEARED, {"where": "version = 'x'"}, "where", "a column of type INT", "with a number"),
    (
        CLEARED,
        {"where": "header(a.b) = 1"},
        "where",
        "expected the name of one header",
        "header('the name')",
    ),
    (CLEARED, {"where": "offset(x) = 1"}, "where", "the offset of a record", "write `offset()`"),
    (
        {**BY_ARRIVAL},
        {"where": "key() = 'x'", "columns": KEYED},
        "where",
        "a column of type BIGINT is read from it",
        "compare it with a number",
    ),
    (
        CLEARED,
        {"delete_when": ".".join("a" * 33) + " = 1", "on_delete": "ignore"},
        "delete_when",
        "at most 32 names, this one has 33",
        "less deep",
    ),
    (
        CLEARED,
        {**WHEN, "format": {"type": "csv", "fields": ["id", "version", "carrier"]}},
        "delete_when",
        "messages of the format `csv` have no such field",
        "fields: `id`, `version`, `carrier`",
    ),
    (
        CLEARED,
        {"where": "opp = 'd'", "format": AVRO},
        "where",
        "the schema of the messages has no such field",
        "fields: `carrier`, `id`, `is_new`, `op`, `version`",
    ),
    (
        CLEARED,
        {"where": "is_new > 1", "format": AVRO},
        "where",
        "the field is a boolean, not DECIMAL(38, 18)",
        "values of its own type",
    ),
    (CLEARED, {"on_delete": "ignore"}, "on_delete", "no `delete_when`", "declare `delete_when`"),
    (
        {"sequence_groups": [ORDERED]},
        WHEN,
        "on_delete",
        "the table does not declare what a delete does",
        "use `ignore` or `dead_letter`, or declare `deletes`",
    ),
    (
        {"sequence_groups": [ORDERED]},
        {**WHEN, "on_delete": "clear_columns"},
        "on_delete",
        "the table does not declare what a delete does",
        "declare `deletes: clear_columns` in the table or the sequence group",
    ),
    (
        CLEARED,
        {**WHEN, "on_delete": "remove_row"},
        "on_delete",
        "deletes of the group `s` have the effect `clear_columns`",
        "use `clear_columns`, or declare `deletes: remove_row`",
    ),
    (
        {**BY_ARRIVAL, "deletes": "ignore"},
        {"on_tombstone": "clear_columns", "columns": KEYED},
        "on_tombstone",
        "deletes of the group `s` have the effect `ignore`",
        "use `ignore` or `dead_letter`",
    ),
    (
        WHOLE,
        {**WHEN, "on_delete": "clear_columns"},
        "on_delete",
        "deletes of the table have the effect `remove_row`",
        "use `remove_row` or `dead_letter`",
    ),
    (
        {"merge_engine": "first-row"},
        {**WHEN, "on_delete": "remove_row"},
        "on_delete",
        "deletes of the table have the effect `ignore`",
        "use `ignore` or `dead_letter`",
    ),
    (
        {**WHOLE, "options": {"sequence.field": "version"}},
        WHEN,
        "on_delete",
        "a record that is older than the delete and arrives after it brings the row back",
        "unordered: allowed",
    ),
    (
        {**UNORDERED, "sequence_groups": [{"name": "other", "columns": ["version"]}]},
        {**WHEN, "columns": [{"column": "id"}, {"column": "carrier"}], "on_delete": "remove_row"},
        "on_delete",
        "the stream owns no sequence group",
        "",
    ),
    (
        BY_ARRIVAL,
        {"on_tombstone": "clear_columns"},
        "on_tombstone",
        "the key columns `id` are read from the value",
        '{"column": "id", "source": "key"}',
    ),
    (
        CLEARED,
        {"on_tombstone": "clear_columns", "columns": KEYED},
        "on_tombstone",
        "`version`, which order the records, are read from the value",
        "declare `delete_when`",
    ),
    (
        {**WHOLE, **UNORDERED, "options": {"sequence.field": "version"}},
        {"on_tombstone": "remove_row", "columns": KEYED},
        "on_tombstone",
        "`version`, which order the records, are read from the value",
        "",
    ),
    (
        {**WHOLE, "columns": [*COLUMNS[:2], {"name": "carrier", "type": "STRING NOT NULL"}]},
        {"on_tombstone": "remove_row", "columns": KEYED},
        "on_tombstone",
        "the columns `carrier` are NOT NULL",
        "without NOT NULL",
    ),
    (
        {
            **WHOLE,
            "columns": [*COLUMNS, {"name": "at", "type": "TIMESTAMP(3)"}],
            "delete_retention": {"seconds": 60, "columns": ["at"]},
        },
        {"on_tombstone": "remove_row", "columns": [*KEYED, {"column": "at"}]},
        "on_tombstone",
        "`at`, which hold the time of a delete, are read from the value",
        "leave the `columns` of `delete_retention` out",
    ),
]


@pytest.mark.parametrize(("table", "stream", "field", "message", "hint"), REFUSED)
def test_a_stream_whose_deletes_the_table_cannot_have_is_refused_with_a_hint(
    table: dict[str, Any], stream: dict[str, Any], field: str, message: str, hint: str
) -> None:
    (problem,) = _problems(table, **stream)

    assert problem.field == field
    assert message in problem.message
    assert hint in (problem.hint or "")


@pytest.mark.parametrize(
    ("table", "effect"),
    [
        (CLEARED, OnDelete.CLEAR_COLUMNS),
        (WHOLE, OnDelete.REMOVE_ROW),
        ({"merge_engine": "first-row"}, OnDelete.IGNORE),
        ({"sequence_groups": [ORDERED]}, None),
    ],
)
def test_deletes_have_the_effect_of_the_table_by_default(
    table: dict[str, Any], effect: OnDelete | None
) -> None:
    spec = TableSpec.model_validate({"columns": COLUMNS, "primary_key": ["id"]} | table)
    for declared, expected in ((WHEN, effect), ({}, None)):
        definition = StreamDefinition.model_validate({"topic": "topic", **declared})

        assert complete_stream(spec, definition, name="s").on_delete is expected


def test_a_condition_has_a_bound() -> None:
    with pytest.raises(ValueError, match="at most 2000 characters"):
        StreamDefinition.model_validate({"topic": "t", "where": "a = 1 AND " * 200 + "a = 1"})
