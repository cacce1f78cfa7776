"""Time formats are refused when a stream is registered, if no value could be read by them."""

import json
from typing import Any

import pytest

from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.schemas import FieldProblem, StreamDefinition, TableSpec
from tests.unit.records.given_streams import given_spec

TABLE = given_spec({"id": "BIGINT", "at": "TIMESTAMP(3)", "day": "DATE", "n": "INT"}, ordering=None)


def found_problems(
    *columns: dict[str, Any], table: TableSpec = TABLE, **stream: Any
) -> list[FieldProblem]:
    mapped = {"id": {"column": "id"}} | {name: {"column": name} for name in ("at", "day", "n")}
    mapped |= {one["column"]: one for one in columns}
    definition = StreamDefinition.model_validate(
        {"topic": "topic", "columns": [*mapped.values()], **stream}
    )
    return check_stream(table, {}, complete_stream(table, definition, name="s"))


def problems(*columns: dict[str, Any], **stream: Any) -> list[tuple[str, str]]:
    return [(one.pointer or "", one.message) for one in found_problems(*columns, **stream)]


def test_formats_of_times_are_accepted() -> None:
    assert (
        problems(
            {"column": "at", "time_format": "dd.MM.yyyy HH:mm", "time_zone": "Europe/Berlin"},
            {"column": "day", "time_format": "epoch_days"},
        )
        == []
    )
    assert problems({"column": "at", "time_zone": "Europe/Berlin"}) == []


def test_what_cannot_be_read_is_refused() -> None:
    assert problems(
        {"column": "at", "time_zone": "Europe/Bonn"},
        {"column": "day", "time_format": "yyyy-MM-DD"},
        {"column": "n", "time_format": "epoch_s"},
    ) == [
        ("/columns/1/time_zone", "no time zone has the name 'Europe/Bonn'"),
        ("/columns/2/time_format", "`DD` has no meaning; put texts into quotes: `'DD'`"),
        ("/columns/3/time_format", "the column is of type INT, which has no time formats"),
    ]


@pytest.mark.parametrize(
    ("column", "pointer", "value", "hint"),
    [
        (
            {"column": "at", "time_zone": "Europe/Bonn"},
            "/columns/1/time_zone",
            "Europe/Bonn",
            "use a name of the IANA database, such as `Europe/Berlin` or `UTC`",
        ),
        (
            {"column": "at", "time_format": "yyyy-MM-dd", "time_zone": "Europe/Bonn"},
            "/columns/1/time_zone",
            "Europe/Bonn",
            "use a name of the IANA database, such as `Europe/Berlin` or `UTC`",
        ),
        (
            {"column": "at", "time_format": "epoch_ms", "time_zone": "Europe/Berlin"},
            "/columns/1/time_zone",
            "Europe/Berlin",
            "leave `time_zone` out",
        ),
        (
            {"column": "at", "time_format": "yyyy-MM-dd HHX", "time_zone": "Europe/Berlin"},
            "/columns/1/time_zone",
            "Europe/Berlin",
            "leave `time_zone` out",
        ),
    ],
)
def test_a_problem_of_the_zone_is_reported_at_the_zone(
    column: dict[str, Any], pointer: str, value: str, hint: str
) -> None:
    (found,) = found_problems(column)

    assert (found.pointer, found.value, found.hint) == (pointer, value, hint)


def test_times_inside_of_values_have_formats() -> None:
    types = {"id": "BIGINT", "at": "ARRAY<TIMESTAMP(3)>", "day": "ROW<d DATE, n INT>", "n": "INT"}
    table = given_spec(types, ordering=None)

    assert (
        problems(
            {"column": "at", "time_format": "yyyy-MM-dd HH:mm", "time_zone": "Europe/Berlin"},
            {"column": "day", "time_format": "epoch_days"},
            table=table,
        )
        == []
    )
    assert problems(
        {"column": "at", "time_format": "HH:mm"},
        {"column": "day", "source": "header", "time_format": "epoch_days"},
        table=table,
    ) == [
        ("/columns/1/time_format", "a TIMESTAMP needs year, month and day in the pattern"),
        (
            "/columns/2/time_format",
            "the dates and times inside of ROW<`d` DATE, `n` INT> are always ISO 8601 "
            "in the header of a record",
        ),
    ]


def test_one_field_has_one_format() -> None:
    table = given_spec({"id": "BIGINT", "at": "TIMESTAMP(3)", "b": "TIMESTAMP(3)"}, ordering=None)
    mapped = {"id": {"column": "id"}}
    definition = StreamDefinition.model_validate(
        {
            "topic": "topic",
            "columns": [
                mapped["id"],
                {"column": "at", "time_format": "epoch_s"},
                {"column": "b", "path": "at", "time_format": "epoch_ms"},
            ],
        }
    )

    found = check_stream(table, {}, complete_stream(table, definition, name="s"))

    assert [(one.pointer, one.message) for one in found] == [
        ("/columns/2/path", "the column `at` reads the same field with another time format")
    ]


def test_a_schema_has_numbers_or_texts_for_them() -> None:
    def of(kind: Any, **column: str) -> list[tuple[str, str]]:
        kinds = {
            "id": "long",
            "at": kind,
            "day": {"type": "int", "logicalType": "date"},
            "n": "int",
        }
        fields = [{"name": name, "type": one} for name, one in kinds.items()]
        schema = json.dumps({"type": "record", "name": "R", "fields": fields})
        return problems({"column": "at", **column}, format={"type": "avro", "schema": schema})

    moment = {"type": "long", "logicalType": "timestamp-millis"}
    assert of("long", time_format="epoch_ms") == []
    assert of("string", time_format="yyyy-MM-dd HH:mm") == []
    assert of("string", time_zone="Europe/Berlin") == []
    assert of(["null", "long"]) == [
        ("/columns/1/column", "the field `at` is a whole number, not TIMESTAMP(3)")
    ]
    assert of(moment, time_format="epoch_ms") == [
        ("/columns/1/column", "the field `at` is a timestamp, and not written as epoch_ms")
    ]
    assert of("long", time_zone="Europe/Berlin") == [
        (
            "/columns/1/column",
            "the field `at` is a whole number, and not written as iso in Europe/Berlin",
        )
    ]


def test_conditions_read_the_field_as_the_column() -> None:
    at = {"column": "at", "time_format": "epoch_ms"}

    assert problems(at, where="at >= '2026-01-01'") == []
    assert problems(at, where="at >= 1767323045678") == [
        (
            "/where",
            "the field is compared with a number, and a column of type TIMESTAMP(3) is read from it",
        )
    ]
