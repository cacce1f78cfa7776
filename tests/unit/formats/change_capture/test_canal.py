"""Canal's messages: rows of texts, several in one message, deletes and changes of the key."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.unit.formats.change_capture.given_changes import faults_of, read, rows_of

COLUMNS = {"id": "BIGINT", "name": "STRING", "total": "DECIMAL(9, 2)"}


def message(kind: str, *data: Any, **others: Any) -> dict[str, Any]:
    where = {"database": "shop", "table": "orders", "es": 5, "isDdl": False, "old": None}
    return where | {"type": kind, "data": list(data) or None} | others


def found_in(*messages: Any, columns: dict[str, str] = COLUMNS, **options: Any) -> Any:
    return read("canal", messages, columns=columns, **options)


def test_messages_have_several_rows_of_texts() -> None:
    found = found_in(
        message("INSERT", {"id": "1", "name": "a", "total": "1.50"}, {"id": "2", "name": None}),
        message("UPDATE", {"id": "2", "name": "b"}, old=[{"name": None}]),
        message("DELETE", {"id": "1", "name": "a"}, {"id": "2", "name": "b"}),
    )

    assert rows_of(found, "id", "name", "total") == [
        ("+", 1, "a", Decimal("1.50")),
        ("+", 2, None, None),
        ("+", 2, "b", None),
        ("-", 1, None, None),
        ("-", 2, None, None),
    ]
    assert found.record_of.tolist() == [0, 0, 1, 2, 2]


def test_of_rows_of_one_key_in_a_message_the_last_counts() -> None:
    found = found_in(
        message("UPDATE", {"id": "3"}, {"id": "2"}, old=[{"id": "2"}, {"id": "1"}]),
    )

    assert rows_of(found, "id") == [("-", 2), ("+", 3), ("-", 1), ("+", 2)]
    assert found.is_replaced.tolist() == [True, False, False, False]


VALUES = [
    ("BOOLEAN", "1", True),
    ("BOOLEAN", "0", False),
    ("INT", "-7", -7),
    ("DOUBLE", "1.5", 1.5),
    ("DATE", "2026-01-02", date(2026, 1, 2)),
    ("TIMESTAMP(3)", "2026-01-02 03:04:05", datetime.fromisoformat("2026-01-02T03:04:05")),
    ("BYTES", "\x00ä\xff", b"\x00\xe4\xff"),
    ("ARRAY<INT>", "[1, 2]", [1, 2]),
    ("STRING", None, None),
]


@pytest.mark.parametrize(("column", "text", "expected"), VALUES)
def test_texts_are_values_of_their_columns(column: str, text: str | None, expected: Any) -> None:
    found = found_in(
        message("INSERT", {"id": "1", "x": text}), columns={"id": "BIGINT", "x": column}
    )

    assert rows_of(found, "x") == [("+", expected)]


@pytest.mark.parametrize(
    ("column", "text", "reason"),
    [
        ("BYTES", "Ā", "wrong_type"),
        ("VARBINARY(1)", "ab", "out_of_range"),
        ("INT", "x", "wrong_type"),
        ("BOOLEAN", "2", "wrong_type"),
    ],
)
def test_a_text_that_does_not_fit_refuses_its_message(column: str, text: str, reason: str) -> None:
    found = found_in(
        message("INSERT", {"id": "1", "x": text}, {"id": "2"}),
        columns={"id": "BIGINT", "x": column},
    )

    assert [one.partition(":")[0] for one in faults_of(found).values()] == [reason] * 2


def test_bytes_that_are_too_long_are_named_with_their_length() -> None:
    found = found_in(
        message("INSERT", {"id": "1", "x": "ab"}), columns={"id": "BIGINT", "x": "VARBINARY(1)"}
    )

    assert faults_of(found) == {
        0: "out_of_range: field x: found 2 bytes, expected VARBINARY(1) for column x"
    }


def test_messages_without_rows_are_left_out() -> None:
    found = found_in(
        message("CREATE", isDdl=True),
        message("QUERY"),
        message("INSERT", {"id": "1"}, isDdl=True),
        message("INSERT", data=[]),
    )

    assert found.left_out == 4


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (message("TRUNCATE", isDdl=True), "truncate: "),
        (message("INSERT"), "malformed: `data` is missing or null"),
        (message("QUERY", {"id": "1"}), "malformed: found `QUERY` in `type`"),
        ({"data": []}, "malformed: the message is not a change event: found nothing in `type`"),
        (
            message("INSERT", data={"id": "1"}),
            "malformed: `data` or `old` is not a list of objects",
        ),
        (
            message("UPDATE", {"id": "1"}, old=[]),
            "malformed: `data` is missing or null, or `old` has",
        ),
        (message("UPDATE", {"id": "1"}, old=[7]), "malformed: `data` or `old` is not a list"),
        (message("INSERT", 7), "malformed: found a number, expected an object"),
    ],
)
def test_what_is_no_change_is_refused_in_words(value: Any, expected: str) -> None:
    (found,) = faults_of(found_in(value)).values()

    assert found.startswith(expected)


def test_parts_of_messages_are_columns_and_fields_of_conditions() -> None:
    found = found_in(
        message("INSERT", {"id": "1"}, {"id": "2"}),
        message("INSERT", {"id": "?"}, table="other"),
        columns={"id": "BIGINT", "es": "BIGINT"},
        sources={"es": {"source": "change"}},
        where="`table` = 'orders'",
    )

    assert found.left_out == 1
    assert rows_of(found, "id", "es") == [("+", 1, 5), ("+", 2, 5)]


def test_texts_of_dates_may_have_a_time_format() -> None:
    found = found_in(
        message("INSERT", {"id": "1", "x": "02.01.2026"}),
        columns={"id": "BIGINT", "x": "DATE"},
        sources={"x": {"time_format": "dd.MM.yyyy"}},
    )

    assert rows_of(found, "x") == [("+", date(2026, 1, 2))]
