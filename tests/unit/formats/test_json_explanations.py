"""Explanations of values that Spark could not read: malformed, wrong type or out of range, and where."""

import json
from typing import Any

import pytest

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.json_explanations import explain_message, explain_value
from braid.formats.mapped_column import MappedColumn
from braid.lake import parse_type
from tests.unit.pipelines.given_streams import given_plan, given_spec

MALFORMED = DeadLetterReason.MALFORMED
WRONG_TYPE = DeadLetterReason.WRONG_TYPE
OUT_OF_RANGE = DeadLetterReason.OUT_OF_RANGE
COLUMNS = {
    "id": "BIGINT",
    "flag": "BOOLEAN",
    "tiny": "TINYINT",
    "real": "DOUBLE",
    "price": "DECIMAL(5, 2)",
    "bytes": "BYTES",
    "day": "DATE",
    "moment": "TIMESTAMP(3)",
    "instant": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "list": "ARRAY<INT>",
    "map": "MAP<STRING, INT>",
    "text": "STRING",
    "version": "INT",
}
PLAN = given_plan(given_spec(COLUMNS))
INNOCENT = {
    "id": 1,
    "flag": True,
    "tiny": -128,
    "real": 1,
    "price": "999.99",
    "bytes": "aGk=",
    "day": "2026-01-02",
    "moment": "2026-01-02T03:04:05",
    "instant": "2026-01-02T03:04:05Z",
    "list": [],
    "map": {},
    "text": 5,
}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b'{"id": 1', "not JSON"),
        (b'{"id": 1} {"id": 2}', "not JSON: Extra data"),
        (b'{"id": "\xff"}', "not UTF-8: invalid start byte at byte 8"),
        (b"[1]", "found an array, expected an object"),
        (b"null", "found null, expected an object"),
        (b"", "not JSON"),
        (b"[" * 100_000, "JSON that is nested too deeply"),
    ],
)
def test_a_message_that_is_not_a_json_object_is_malformed(value: bytes, message: str) -> None:
    reason, found = explain_message(value, PLAN.columns)

    assert reason is MALFORMED
    assert found.startswith(message)


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("id", "one", WRONG_TYPE),
        ("id", 1.0, WRONG_TYPE),
        ("id", True, WRONG_TYPE),
        ("id", 1 << 63, OUT_OF_RANGE),
        ("tiny", 128, OUT_OF_RANGE),
        ("flag", 0, WRONG_TYPE),
        ("real", "1", WRONG_TYPE),
        ("price", 1000, OUT_OF_RANGE),
        ("price", "cheap", WRONG_TYPE),
        ("price", [1], WRONG_TYPE),
        ("bytes", "*", WRONG_TYPE),
        ("bytes", 5, WRONG_TYPE),
        ("day", "soon", WRONG_TYPE),
        ("day", 5, WRONG_TYPE),
        ("moment", "noon", WRONG_TYPE),
        ("instant", "later", WRONG_TYPE),
        ("price", " 5", WRONG_TYPE),
        ("price", "1_0", WRONG_TYPE),
        ("price", 999.995, OUT_OF_RANGE),
        ("real", " 5", WRONG_TYPE),
        ("list", {}, WRONG_TYPE),
        ("map", [], WRONG_TYPE),
    ],
)
def test_the_guilty_column_is_named_among_innocent_ones(
    column: str, value: Any, reason: DeadLetterReason
) -> None:
    message = {**INNOCENT, column: value, "version": "also wrong, but later"}

    found, text = explain_message(json.dumps(message).encode(), PLAN.columns)

    assert (found, text.split(":")[0]) == (reason, f"field {column}")
    assert text.endswith(f"for column {column}")


@pytest.mark.parametrize(
    ("message", "reason", "text"),
    [
        ('{"map": {"a": 1, "b": "x"}}', WRONG_TYPE, 'field map.b: found "x", expected INT'),
        ('{"map": {"a": 1, "a": 2}}', WRONG_TYPE, 'field map: found the key "a" twice'),
        ('{"list": [1, " 2"]}', WRONG_TYPE, 'field list.1: found " 2", expected INT'),
        ('{"id": ' + "9" * 5_000 + "}", OUT_OF_RANGE, "field id: found a number of 5000"),
        ('{"text": 1.' + "9" * 5_000 + "}", OUT_OF_RANGE, "field text: found a number of 5002"),
    ],
)
def test_faults_inside_of_values_are_named(
    message: str, reason: DeadLetterReason, text: str
) -> None:
    found, explanation = explain_message(message.encode(), PLAN.columns)

    assert found is reason
    assert explanation.startswith(text)


def test_texts_that_are_numbers_to_spark_are_innocent() -> None:
    message = b'{"real": "-Infinity", "price": "999.994", "id": "guilty"}'

    _, explanation = explain_message(message, PLAN.columns)

    assert explanation.startswith("field id:")


def test_a_value_where_an_object_should_be_is_named() -> None:
    columns = [{"column": "id", "path": "a.b.id"}, {"column": "version"}]
    plan = given_plan(given_spec({"id": "INT", "version": "INT", "x": "INT"}), columns=columns)

    reason, message = explain_message(b'{"a": {"b": "text"}}', plan.columns)

    assert reason is WRONG_TYPE
    assert message == "field a.b: found a string, expected an object"


def test_a_fault_without_an_explanation_is_still_a_dead_letter() -> None:
    reason, message = explain_message(json.dumps(INNOCENT).encode(), PLAN.columns)

    assert reason is WRONG_TYPE
    assert message == "a field cannot be read as its column's type"


@pytest.mark.parametrize(
    ("sql", "value", "expected"),
    [
        ("DATE", "tomorrow", "DATE, written as 2026-01-02 for"),
        ("TIME(3)", "noon", "TIME(3), written as 03:04, 03:04:05 or 03:04:05.678 for"),
        (
            "TIMESTAMP(3)",
            "2026",
            "TIMESTAMP(3), written as 2026-01-02T03:04:05.678Z, 2026-01-02 03",
        ),
        (
            "ARRAY<TIMESTAMP(3)>",
            ["2026-01-02T03:04:05Z"],
            "TIMESTAMP(3), without a zone inside of another type: 2026-01-02T03:04:05.678 for column",
        ),
        ("STRING", "\ud800", "STRING without half of a surrogate pair for column at"),
        ("ARRAY<STRING>", ["a", "\udfff"], "STRING without half of a surrogate pair"),
        ("MAP<STRING, INT>", {"\ud800": 1}, "MAP<STRING, INT> without half of a surrogate pair"),
    ],
)
def test_the_forms_that_are_read_are_named(sql: str, value: Any, expected: str) -> None:
    column = MappedColumn(name="at", path=("at",), type=parse_type(sql))

    assert expected in str(explain_value(json.dumps({"at": value}).encode(), column))
