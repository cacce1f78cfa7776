"""Faults of values: malformed, wrong type or out of range, where, what was found and what was expected."""

import json
from typing import Any

import pytest

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.json.exact_values import ValueFault, exact_value, value_fault
from braid.formats.json.message import read_message
from braid.lake import parse_type
from tests.unit.formats.json.both_ways import read_one

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


WITHOUT_AN_OBJECT = [
    (b'{"id": 1', "not JSON"),
    (b'{"id": 1} {"id": 2}', "not JSON: Extra data"),
    (b'{"id": "\xff"}', "not UTF-8: invalid start byte at byte 8"),
    (b"[1]", "found an array, expected an object"),
    (b"null", "found null, expected an object"),
    (b"", "not JSON"),
    (b"[" * 100_000, "JSON that is nested too deeply"),
    (b'{"id": ' + b"[" * 100_000, "JSON that is nested too deeply"),
]


@pytest.mark.parametrize(("message", "expected"), WITHOUT_AN_OBJECT)
def test_a_message_that_is_not_a_json_object_is_malformed(message: bytes, expected: str) -> None:
    _, reason, found = read_one(COLUMNS, message)

    assert reason == "malformed"
    assert found.startswith(expected)


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

    _, found, text = read_one(COLUMNS, message)

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
    _, found, explanation = read_one(COLUMNS, message.encode())

    assert found == reason
    assert explanation.startswith(text)
    assert " for column " in explanation


def test_texts_that_are_numbers_are_innocent() -> None:
    _, _, explanation = read_one(
        COLUMNS, b'{"real": "-Infinity", "price": "999.994", "id": "guilty"}'
    )

    assert explanation.startswith("field id:")


def test_innocent_values_have_no_fault() -> None:
    assert read_one(COLUMNS, INNOCENT)[1] is None


@pytest.mark.parametrize(
    ("sql", "value", "expected"),
    [
        ("DATE", "tomorrow", "DATE, written as 2026-01-02 for"),
        ("DATE", 20455, "2026-01-02 (a column with a `time_format` reads numbers) for"),
        ("TIME(3)", "noon", "TIME(3), written as 03:04, 03:04:05 or 03:04:05.678 for"),
        (
            "TIMESTAMP(3)",
            "2026",
            "TIMESTAMP(3), written as 2026-01-02T03:04:05.678Z, 2026-01-02 03",
        ),
        ("ARRAY<TIMESTAMP(3)>", ["2026-01-02Z"], "TIMESTAMP(3), written as 2026-01-02T03:04:05.6"),
        ("STRING", "\ud800", "STRING without half of a surrogate pair for column at"),
        ("ARRAY<STRING>", ["a", "\udfff"], "STRING without half of a surrogate pair"),
        ("MAP<STRING, INT>", {"\ud800": 1}, "MAP<STRING, INT> without half of a surrogate pair"),
    ],
)
def test_the_forms_that_are_read_are_named(sql: str, value: Any, expected: str) -> None:
    assert expected in read_one({"at": sql}, {"at": value})[2]


def test_a_part_that_must_not_be_null_is_named() -> None:
    _, reason, message = read_one({"list": "ARRAY<INT NOT NULL>"}, {"list": [1, None]})

    assert reason == "not_null"
    assert message == "field list.1: found null, expected INT NOT NULL for column list"


@pytest.mark.parametrize("bound", [1, -1])
@pytest.mark.parametrize(
    ("sql", "largest", "beyond"),
    [
        ("FLOAT", "3.4028235677973364e38", "3.4028235677973367e38"),
        ("DOUBLE", "1.7976931348623158e308", "1.7976931348623159e308"),
    ],
)
def test_a_float_is_in_range_up_to_the_number_that_rounds_to_infinity(
    sql: str, largest: str, beyond: str, bound: int
) -> None:
    sign = "-" if bound < 0 else ""

    assert value_fault(read_message(f"{sign}{largest}".encode()), parse_type(sql)) is None
    assert value_fault(read_message(f"{sign}{beyond}".encode()), parse_type(sql)) is OUT_OF_RANGE


@pytest.mark.parametrize(
    ("sql", "number", "reason"),
    [
        ("DOUBLE", f"1.{'0' * 1_001}", None),
        ("DOUBLE", "1e-99999999999999999999", None),
        ("DOUBLE", "1e99999999999999999999", OUT_OF_RANGE),
        ("DOUBLE", "9" * 1_001, OUT_OF_RANGE),
        ("STRING", f"1.{'0' * 1_001}", OUT_OF_RANGE),
        ("DECIMAL(38, 38)", "7", OUT_OF_RANGE),
        ("DECIMAL(38, 38)", "-0.5", None),
    ],
)
def test_numbers_of_many_digits(sql: str, number: str, reason: DeadLetterReason | None) -> None:
    assert read_one({"c": sql}, f'{{"c": {number}}}'.encode())[1] == reason


def test_the_address_of_a_fault_leads_to_the_faulty_part() -> None:
    value = read_message(b'{"a": [[1], [2, "x"]]}')

    with pytest.raises(ValueFault) as caught:
        exact_value(value, parse_type("MAP<STRING, ARRAY<ARRAY<INT>>>"), address="c")

    assert (caught.value.address, caught.value.found) == ("c.a.1.1", json.dumps("x"))
