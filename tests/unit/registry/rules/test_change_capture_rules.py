"""What a stream of captured changes may declare, and what is refused when it is registered."""

import json
from typing import Any

import pytest

from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import FieldProblem, OnDelete, StreamDefinition, StreamSpec, TableSpec

POSTGRESQL = {"type": "debezium", "database": "postgresql"}
MYSQL = {"type": "debezium", "database": "mysql"}
UNWRAPPED = MYSQL | {"unwrapped": True}
TYPES = {"id": "BIGINT", "pos": "BYTES", "name": "STRING", "total": "DECIMAL(9, 2)"}
SCHEMA = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {
            "name": "after",
            "type": {
                "type": "record",
                "name": "Value",
                "fields": [
                    {"name": "id", "type": "long"},
                    {
                        "name": "at",
                        "type": {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"},
                    },
                    {"name": "flag", "type": "boolean"},
                ],
            },
        },
        {"name": "op", "type": "string"},
    ],
}
AVRO = MYSQL | {"messages": {"type": "avro", "schema": json.dumps(SCHEMA)}}


def declared(
    types: dict[str, str] = TYPES, *, keep: tuple[str, ...] = (), **table: Any
) -> TableSpec:
    columns = [{"name": name, "type": sql} for name, sql in types.items()]
    protected = [name for name in types if name not in ("id", "pos")]
    ordering = ["pos"] if "pos" in types else None
    group = {"name": "s", "ordering": ordering, "columns": protected, "keep": keep}
    given = {"columns": columns, "primary_key": ["id"], "sequence_groups": [group]}
    spec = TableSpec.model_validate(given | {"deletes": "clear_columns"} | table)
    assert list(check_table("db", "t", spec)) == []
    return spec


def stream(
    table: TableSpec, declared: Any, sources: dict[str, Any] | None = None, **fields: Any
) -> StreamSpec:
    given = {"pos": {"source": "change_position"}} | (sources or {})
    columns = [{"column": name} | given.get(name, {}) for name in table.column_names]
    definition = {"topic": "t", "format": declared, "columns": columns} | fields
    return complete_stream(table, StreamDefinition.model_validate(definition), name="s")


def problems(table: TableSpec, *args: Any, **fields: Any) -> list[FieldProblem]:
    return check_stream(table, {}, stream(table, *args, **fields))


def messages(found: list[FieldProblem]) -> list[tuple[str, str]]:
    return [(one.field, one.message) for one in found]


@pytest.mark.parametrize(
    "given", [MYSQL, UNWRAPPED, "maxwell", {"type": "debezium", "database": "sqlserver"}]
)
def test_a_stream_of_changes_needs_no_more_than_its_columns(given: Any) -> None:
    table = declared()

    assert problems(table, given) == []
    assert stream(table, given).on_delete is OnDelete.CLEAR_COLUMNS


@pytest.mark.parametrize(
    ("given", "fields", "expected"),
    [
        (MYSQL, {}, OnDelete.IGNORE),
        ("canal", {}, OnDelete.IGNORE),
        (MYSQL, {"on_tombstone": "dead_letter"}, OnDelete.DEAD_LETTER),
        (UNWRAPPED, {}, OnDelete.DEAD_LETTER),
        ("json", {}, OnDelete.DEAD_LETTER),
    ],
)
def test_tombstones_are_repeats_unless_they_may_be_deletes(
    given: Any, fields: dict[str, Any], expected: OnDelete
) -> None:
    definition = StreamDefinition.model_validate({"topic": "t", "format": given} | fields)

    assert complete_stream(declared(), definition, name="s").on_tombstone is expected


def test_a_completed_stream_is_complete() -> None:
    table = declared()
    once = stream(table, MYSQL)

    assert complete_stream(table, StreamDefinition(**once.model_dump()), name="s") == once


REFUSED: list[tuple[str, Any, dict[str, Any], dict[str, Any], str, str]] = [
    ("delete_when", MYSQL, {}, {"delete_when": "op = 'd'"}, "delete_when", "says itself whether it is a delete"),
    ("tombstone", MYSQL, {}, {"on_tombstone": "clear_columns"}, "on_tombstone", "a tombstone repeats the delete before it"),
    ("unwrapped tombstone", UNWRAPPED, {}, {"on_tombstone": "clear_columns"}, "on_tombstone", "which order the records, are read from the value"),
    ("json", "json", {}, {}, "columns[1].source", "messages of the format `json` are rows, not change events"),
    ("part of unwrapped", UNWRAPPED, {"total": {"source": "change"}}, {}, "columns[3].source", "an unwrapped event has its own fields beside the fields"),
    ("canal", "canal", {}, {}, "columns[1].source", "Canal's messages do not have the position"),
    ("key of maxwell", "maxwell", {"id": {"source": "key"}}, {}, "columns[0].source", "a change of the key is one message about two keys"),
    ("key from event", MYSQL, {"id": {"source": "change"}}, {}, "columns[0].source", "the change of a record tells records apart, not rows"),
    ("path of position", MYSQL, {"pos": {"source": "change_position", "path": "a"}}, {}, "columns[1].path", "the change_position of a record has no fields"),
    ("path of event", MYSQL, {"total": {"source": "change", "path": "$.a"}}, {}, "columns[3].path", "not a JSONPath"),
    ("on_missing", MYSQL, {"total": {"source": "change", "on_missing": "reject"}}, {}, "columns[3].on_missing", "every record has its change"),
    ("format of position", MYSQL, {"pos": {"source": "change_position", "time_format": "iso"}}, {}, "columns[1].time_format", "the change_position of a record is not a text, so this has no effect"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "sources", "fields", "field", "message"),
    [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)
def test_what_changes_do_not_have_is_refused(
    given: Any, sources: dict[str, Any], fields: dict[str, Any], field: str, message: str
) -> None:
    found = messages(problems(declared(), given, sources, **fields))

    assert any(one == field and message in text for one, text in found), found


@pytest.mark.parametrize("kind", ["STRING", "VARBINARY(10)", "VARBINARY(99)", "BIGINT"])
def test_a_position_needs_a_column_of_bytes(kind: str) -> None:
    table = declared(TYPES | {"pos": kind})

    ((field, message),) = messages(problems(table, MYSQL))
    assert field == "columns[1].column"
    assert message.startswith(
        ("the change_position of a record cannot fill", "the position of a change")
    )


@pytest.mark.parametrize("database", ["postgresql", "oracle"])
@pytest.mark.parametrize(
    "kind", ["STRING", "CHAR(3)", "BYTES", "ARRAY<INT>", "ROW<a INT>", "VARIANT"]
)
def test_a_column_that_would_lose_values_is_refused(database: str, kind: str) -> None:
    table = declared(TYPES | {"name": kind})

    (found,) = problems(table, {"type": "debezium", "database": database})

    assert (found.field, found.value) == ("columns[2].on_missing", "name")
    assert "`name` is not kept, so the row would lose the value" in found.message
    assert "name the column in `keep`" in (found.hint or "")


@pytest.mark.parametrize("declared_effect", [{"on_missing": "null"}, {"on_missing": "reject"}])
def test_a_column_may_say_what_a_value_that_was_left_out_means(
    declared_effect: dict[str, str],
) -> None:
    assert problems(declared(), POSTGRESQL, {"name": declared_effect}) == []


def test_a_kept_column_may_be_left_out() -> None:
    assert problems(declared(keep=("name",)), POSTGRESQL) == []


@pytest.mark.parametrize("given", [POSTGRESQL, {"type": "debezium", "database": "oracle"}])
def test_a_stream_that_adds_columns_needs_a_group_that_keeps_them(given: Any) -> None:
    table = declared(keep=("name",))
    plain = {"id": "BIGINT", "total": "BIGINT"}
    whole = declared(plain, sequence_groups=(), merge_engine="deduplicate", deletes="remove_row")

    assert problems(table, given, on_new_field="evolve") == []
    assert problems(whole, MYSQL, on_new_field="evolve") == []
    ((field, message),) = messages(problems(whole, given, on_new_field="evolve"))
    assert field == "on_new_field"
    assert (
        "only columns of a sequence group can be kept, and the stream has no sequence group"
        in message
    )


def test_a_stream_of_events_in_avro_may_add_columns() -> None:
    table = declared({"id": "BIGINT", "at": "TIMESTAMP(3)"})

    assert problems(table, AVRO, on_new_field="evolve") == []


def test_a_time_that_is_one_for_avro_too_fills_its_column() -> None:
    """Connect's own times have both names."""
    at = {"type": "long", "connect.name": "org.apache.kafka.connect.data.Timestamp"}
    text = json.dumps(SCHEMA).replace(
        json.dumps({"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}),
        json.dumps(at | {"logicalType": "timestamp-millis"}),
    )
    given = MYSQL | {"messages": {"type": "avro", "schema": text}}

    assert problems(declared({"id": "BIGINT", "at": "TIMESTAMP(3)"}), given) == []


def test_deletes_of_changes_have_to_be_declared() -> None:
    table = declared(deletes=None)

    ((field, message),) = messages(problems(table, MYSQL))
    assert (field, message.partition(":")[0]) == (
        "on_delete",
        "the effect of deletes has to be declared",
    )
    assert problems(table, MYSQL, on_delete="ignore") == []


def test_columns_are_compared_with_the_row_in_the_schema_of_events() -> None:
    types = {"id": "BIGINT", "at": "TIMESTAMP(3)", "flag": "INT", "other": "INT"}

    found = problems(declared(types), AVRO)

    assert messages(found) == [
        ("columns[2].column", "the field `after.flag` is a boolean, not INT"),
        ("columns[3].path", "the schema of the messages has no such field"),
    ]
    assert found[1].hint == "fields: `at`, `flag`, `id`"


@pytest.mark.parametrize(
    ("given", "fields", "field"),
    [
        (AVRO | {"database": "mongodb"}, {}, "format.unwrapped"),
        (AVRO, {"where": "source.table = 'a'"}, "where"),
        (MYSQL | {"messages": {"type": "avro"}}, {}, "format.schema"),
        (MYSQL | {"messages": {"type": "avro", "schema": "{"}}, {}, "format.schema"),
    ],
)
def test_events_in_avro_have_the_rules_of_avro(
    given: Any, fields: dict[str, Any], field: str
) -> None:
    found = problems(declared({"id": "BIGINT", "at": "TIMESTAMP(3)"}), given, **fields)

    assert [one.field for one in found] == [field]


def test_conditions_are_about_the_event_and_columns_about_the_row() -> None:
    table = declared({"id": "BIGINT", "op": "INT"})

    assert problems(table, MYSQL, where="op = 'c' AND source.table = 'orders'") == []
