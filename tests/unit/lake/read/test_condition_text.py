"""Conditions as text: what they say, and how what cannot be read is refused."""

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest

from braid.lake.errors import InvalidRequest
from braid.lake.read.condition_text import parse_conditions
from braid.lake.read.predicate import Condition
from tests.given_tables import given_schema

SCHEMA = given_schema(
    {
        "id": "BIGINT",
        "and": "INT",
        "paid": "DECIMAL(10, 2)",
        "price": "DOUBLE",
        "is_sent": "BOOLEAN",
        "state": "STRING",
        "raw": "BYTES",
        "day": "DATE",
        "of_day": "TIME(3)",
        "at": "TIMESTAMP(3)",
        "fine": "TIMESTAMP(9)",
        "instant": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    },
    key=["id"],
)


def parsed(text: str) -> list[tuple[str, str, object]]:
    """Return the conditions as triples."""
    return [(item.column, str(item.op), item.value) for item in parse_conditions(text, SCHEMA)]


@pytest.mark.parametrize(
    ("text", "operator", "value"),
    [
        ("id = -7", "=", -7),
        ("id <> 7", "!=", 7),
        ("id>=+7", ">=", 7),
        ("paid < 1.50", "<", Decimal("1.5")),
        ("price > 1e3", ">", 1000.0),
        ("is_sent = TRUE", "=", True),
        ("state <= 'it''s'", "<=", "it's"),
        ("state != ''", "!=", ""),
        ("raw = 'ab'", "=", b"ab"),
        ("raw IN (X'00ff', x'')", "in", [b"\x00\xff", b""]),
        ("price <= 'NaN'", "<=", pytest.approx(float("nan"), nan_ok=True)),
        ("price > '-Infinity'", ">", float("-inf")),
        ("day = DATE '2026-01-31'", "=", date(2026, 1, 31)),
        ("of_day = '23:59:59.5'", "=", time(23, 59, 59, 500_000)),
        ("at = TIMESTAMP '2026-01-31 05:15:00'", "=", datetime.fromisoformat("2026-01-31T05:15")),
        ("at = DATE '2026-01-31'", "=", datetime.fromisoformat("2026-01-31T00:00")),
        ("fine = '1970-01-01 00:00:01.000000002'", "=", 1_000_000_002),
        ("instant < '2026-01-31 05:15:00'", "<", datetime(2026, 1, 31, 5, 15, tzinfo=UTC)),
        ("instant < '2026-01-31T05:15Z'", "<", datetime(2026, 1, 31, 5, 15, tzinfo=UTC)),
        (
            "instant < '2026-01-31 05:15:00.25+02:00'",
            "<",
            datetime(2026, 1, 31, 3, 15, 0, 250_000, tzinfo=UTC),
        ),
        ("state in ('a,b', 'c (d)')", "in", ["a,b", "c (d)"]),
        ("state in ('a', 'b')", "in", ["a", "b"]),
        ("id IN(1)", "in", [1]),
        ("state IS NULL", "is_null", None),
        ("state is not null", "not_null", None),
    ],
)
def test_a_comparison_is_read_with_a_value_of_the_column(
    text: str, operator: str, value: object
) -> None:
    ((_, found_operator, found),) = parsed(text)

    assert (found_operator, found) == (operator, value)


def test_comparisons_are_joined_by_and_and_backticks_name_any_column() -> None:
    assert parsed("id > 1 AND `and` = 2 and state IS NULL") == [
        ("id", ">", 1),
        ("and", "=", 2),
        ("state", "is_null", None),
    ]
    assert parse_conditions("id = 1", SCHEMA) == (Condition(column="id", op="=", value=1),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read at `the end`"),
        ("id", "cannot be read at `the end`"),
        ("id = 1 OR id = 2", "cannot be read at `OR`, expected AND"),
        ("id LIKE 'a'", "cannot be read at `LIKE`"),
        ("id = ", "cannot be read at `the end`"),
        ("id IN (1, 2", "cannot be read at `the end`, expected \\)"),
        ("id = other", "cannot be read at `other`"),
        ("id IN 1, 2", "cannot be read at `1`, expected \\("),
        ("id IN ()", "cannot be read at `\\)`"),
        ("state = 'a", "cannot be read at `'a`"),
        ("state != 'it's'", "cannot be read at `'`"),
        ("day = 2026-01-31", "cannot be read at `-01`, expected AND"),
        ("at = '2026-01-31T05:15Z'", "at: not of type TIMESTAMP"),
        ("instant = '2026-13-31T05:15Z'", "instant: not of type TIMESTAMP"),
        ("state = X'00'", "state: the value is not of type"),
        ("id = 1; x", "cannot be read at `;`"),
        ("7 = id", "cannot be read at `7`"),
        ("nothing = 1", "nothing: the table has no such column"),
        ("id = 1.5", "id: the value is not of type BIGINT"),
        ("id = 1e999999999", "id: the value is not of type BIGINT"),
        ("id > -1e999999999", "id: the value is not of type BIGINT"),
        ("id = 1e99999999999999999999", "id: not of type BIGINT.*: the exponent is too large"),
        ("id = 1e-999999999", "id: the value is not of type BIGINT"),
        ("paid = 1e999999999", "paid: the value is not of type DECIMAL"),
        ("paid = 1e-77", "paid: the value is not of type DECIMAL"),
        ("paid = 1e-999999999", "paid: the value is not of type DECIMAL"),
        ("id = '1'", "id: the value is not of type BIGINT"),
        ("day < '2027'", "day: not of type DATE: expected a form such as"),
        ("day = '2026-01'", "day: not of type DATE: expected a form such as"),
        ("day = '2026-01-31 05:00:00'", "day: not of type DATE: expected a form such as"),
        ("at = '2026-01'", "at: not of type TIMESTAMP.*: expected a form such as"),
        (
            "at < '2026-01-31T05:15:00.0001'",
            "at: not of type TIMESTAMP.*: expected at most 3 digits",
        ),
        ("at = '2026-01-31T24:00:00'", "at: not of type TIMESTAMP.*: expected a time of day"),
        ("state = 1", "state: the value is not of type"),
        ("day = 'soon'", "day: not of type DATE"),
        ("id = \u0661", "cannot be read at"),
        ("day = TIME '2026-01-31'", "day: the word does not fit the type DATE"),
        ("day = TIMESTAMP '2026-01-31'", "day: the word does not fit the type DATE"),
        ("of_day = DATE '2026-01-31'", "of_day: the word does not fit the type TIME"),
        ("state = DATE '2026-01-31'", "state: the word does not fit the type"),
        ("id IN (1, DATE '2026-01-31')", "id: the word does not fit the type BIGINT"),
    ],
)
def test_text_that_cannot_be_parsed_is_refused_with_its_position(text: str, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        parse_conditions(text, SCHEMA)
