"""A CSV message is one line: its values go to the columns of its fields, and faults name the field."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.csv_reader import CsvReader
from braid.formats.mapped_column import MappedColumn
from braid.lake import parse_type
from braid.schemas import CsvFormat

TYPES = {"id": "BIGINT", "name": "VARCHAR(5)", "price": "DECIMAL(6, 2)", "at": "TIMESTAMP(3)"}


def read(messages: list[bytes | None], **options: Any) -> list[Any]:
    """Return per message its row, or the reason and message of its fault."""
    declared = CsvFormat(**{"fields": ("id", "other", "name", "price", "at"), **options})
    columns = [
        MappedColumn(name=name, path=(name,), type=parse_type(sql)) for name, sql in TYPES.items()
    ]
    found = CsvReader(columns, declared).read(pa.array(messages, pa.binary()))
    return [
        (found.faults[row].reason.value, found.faults[row].message)
        if row in found.faults
        else tuple(array[row].as_py() for array in found.arrays)
        for row in range(len(messages))
    ]


def test_values_are_read_by_the_place_of_their_field() -> None:
    at = dt.datetime.fromisoformat("2026-01-02T03:04:05.678")

    assert read(
        [
            b"1,x,ab,1.5,2026-01-02T03:04:05.678Z",
            b'2,,"a,""b",1.005,\r\n',
            b'3,x,"a\nb",,\n',
            "4,ö,ä,-0.5,".encode(),
            None,
        ]
    ) == [
        (1, "ab", Decimal("1.50"), at),
        (2, 'a,"b', Decimal("1.01"), None),
        (3, "a\nb", None, None),
        (4, "ä", Decimal("-0.50"), None),
        (None, None, None, None),
    ]


def test_a_value_may_be_as_long_as_its_message() -> None:
    long = b"a" * 200_000

    assert read([b'1,"%s",b,1,' % long, b"2,%s,b,1," % long]) == [
        (1, "b", Decimal("1.00"), None),
        (2, "b", Decimal("1.00"), None),
    ]


def test_delimiter_quote_and_null_are_as_declared() -> None:
    rows = read(
        [b"1;x;'a;b';\\N;\\N", b"2;;;1;"],
        delimiter=";",
        quote="'",
        null_text="\\N",
    )

    assert rows[0] == (1, "a;b", None, None)
    assert rows[1][0] == "wrong_type"  # an empty text is not null then, and no timestamp


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (b"", ("malformed", "found 0 lines, expected one")),
        (b"1,x,a,1", ("malformed", "found 4 values, expected 5")),
        (b"1,x,a,1,,", ("malformed", "found 6 values, expected 5")),
        (b"1,x,a,1,\n2,x,a,1,", ("malformed", "found 2 lines, expected one")),
        (b'1,x,"a,1,', ("malformed", "not CSV: unexpected end of data")),
        (b"1,\xff,a,1,", ("malformed", "not UTF-8: invalid start byte at byte 2")),
        (b"one,x,a,1,", ("wrong_type", 'field id: found "one", expected BIGINT for column id')),
        (
            b"1,x,abcdef,1,",
            ("out_of_range", 'field name: found "abcdef", expected VARCHAR(5) for column name'),
        ),
    ],
)
def test_a_faulty_message_is_refused_by_itself(message: bytes, fault: tuple[str, str]) -> None:
    good = b"7,x,a,1,"

    before, found, after = read([good, message, good])

    assert found == fault
    assert before == after == (7, "a", Decimal("1.00"), None)


def test_a_message_is_shown_by_its_fields() -> None:
    reader = CsvReader([], CsvFormat(fields=("a", "b")))

    assert reader.tree(b"1,x") == {"a": "1", "b": "x"}
    with pytest.raises(ValueError, match="found 1 values, expected 2"):
        reader.tree(b"1")
