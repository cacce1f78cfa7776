"""Conditions over fields of messages: the types that fields are read as, and which records fulfil them."""

import io
import json
from collections.abc import Sequence
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from braid.formats.mapped_column import MappedColumn
from braid.formats.readers import message_reader
from braid.formats.record_conditions import RecordConditions, record_conditions
from braid.lake import InvalidRequest, parse_type
from braid.schemas import AvroFormat, ColumnSource, CsvFormat, JsonFormat, MessageFormat, RawFormat

COLUMNS = [
    MappedColumn(name="sent", path=("day",), type=parse_type("DATE"), source=ColumnSource.HEADER)
] + [
    MappedColumn(name=name, path=(name,), type=parse_type(sql))
    for name, sql in {
        "code": "CHAR(2)",
        "amount": "INT",
        "day": "DATE",
        "body": "BYTES NOT NULL",
        "is_new": "BOOLEAN",
        "items": "ARRAY<INT>",
    }.items()
]


@pytest.mark.parametrize(
    ("text", "field", "sql"),
    [
        ("op = 'd'", "op", "STRING"),
        ("op IN ('d', 't') AND op IS NOT NULL", "op", "STRING"),
        ("payload.version >= 2", "payload.version", "DECIMAL(38, 18)"),
        ("deleted = TRUE", "deleted", "BOOLEAN"),
        ("raw = X'00'", "raw", "BYTES"),
        ("anything IS NULL", "anything", "STRING"),
        # A field of a column: its length and width are left to the column.
        ("code = 'delete'", "code", "STRING"),
        ("amount > 2147483648", "amount", "DECIMAL(38, 18)"),
        ("day >= DATE '2026-01-02'", "day", "DATE"),
        ("body = 'ab'", "body", "BYTES"),
        ("is_new = FALSE", "is_new", "BOOLEAN"),
        ("items IS NOT NULL", "items", "ARRAY<INT>"),
    ],
)
def test_a_field_has_the_type_of_what_it_is_compared_with(text: str, field: str, sql: str) -> None:
    (found,) = record_conditions(text, None, COLUMNS).fields

    assert (found.name, found.address, found.type) == (field, field, parse_type(sql))
    assert found.purpose == "a condition of the stream"


@pytest.mark.parametrize(
    ("text", "part", "source", "sql"),
    [
        ("header(type) = 'x'", "header(type)", "header", "STRING"),
        ("HEADER('x-y.z') >= 2", "header(`x-y.z`)", "header", "DECIMAL(38, 18)"),
        ("header(day) < '2026-01-02'", "header(day)", "header", "DATE"),
        ("key() IN (1, 2)", "key()", "key", "DECIMAL(38, 18)"),
        ("key(a.b) IS NULL", "key(a.b)", "key", "STRING"),
        (
            "timestamp() > '2026-01-02'",
            "timestamp()",
            "timestamp",
            "TIMESTAMP(3) WITH LOCAL TIME ZONE",
        ),
        ("timestamp() > 5", "timestamp()", "timestamp", "BIGINT"),
        ("timestamp() IS NULL", "timestamp()", "timestamp", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("offset() >= 5", "offset()", "offset", "BIGINT"),
        ("partition() = 0", "partition()", "partition", "BIGINT"),
        ("topic() <> 't'", "topic()", "topic", "STRING"),
    ],
)
def test_a_part_has_the_type_of_what_it_is_compared_with(
    text: str, part: str, source: str, sql: str
) -> None:
    found = record_conditions(text, None, COLUMNS)

    assert [(one.name, one.source, one.type) for one in found.parts] == [
        (part, source, parse_type(sql))
    ]
    assert found.fields == ()


def test_a_field_may_have_the_name_of_a_part() -> None:
    found = record_conditions("header = 'x' AND key.id = 1 AND timestamp IN ('a')", None, COLUMNS)

    assert [one.name for one in found.fields] == ["header", "key.id", "timestamp"]
    assert found.parts == ()


def test_a_field_of_both_conditions_is_read_once() -> None:
    found = record_conditions("v IS NOT NULL AND type = 'a'", "v = 2", COLUMNS)

    assert {field.name: str(field.type) for field in found.fields} == {
        "v": "DECIMAL(38, 18)",
        "type": "STRING",
    }


@pytest.mark.parametrize(
    ("where", "delete_when", "problem"),
    [
        ("op = ", None, "where: cannot be read at `the end`"),
        ("op = 'd'", "op ~ 1", "delete_when: cannot be read at `~`"),
        ("v = 1 AND v = 'x'", None, "where: the field is compared with a number and with a text"),
        ("v = 1", "v = TRUE", "delete_when: the field is compared with TRUE or FALSE and with"),
        ("amount = '5'", None, "with a text, and a column of type INT is read from it"),
        ("code = 5", None, "hint: compare it with a text"),
        ("day = 5", None, "with a number, and a column of type DATE"),
        ("items = 'x'", None, "hint: test it with IS NULL or IS NOT NULL"),
        ("day = TIME '2026-01-02'", None, "where: field day: the word does not fit the type DATE"),
        ("at > TIMESTAMP '2026-01-02'", None, "where: field at: the word does not fit the type"),
        ("day = 'soon'", None, "where: field day: not of type DATE"),
        ("v = 1e30", None, "where: field v: the value is not of type DECIMAL"),
        (
            "a IS NULL",
            "a.b = 1",
            "where: the field is compared as a value, but `a.b` is inside of it",
        ),
        ("header() = 'x'", None, "where: expected the name of one header"),
        ("header(a.b) = 'x'", None, "where: expected the name of one header"),
        ("topic(x) = 'x'", None, "where: the topic of a record has no fields"),
        ("partition() = '0'", None, "where: it is compared with a text"),
        ("timestamp() = TRUE", None, "hint: compare it with a text or a number"),
        ("timestamp() > 1", "timestamp() < 'x'", "compared with a number and with a text"),
        ("timestamp() > 'soon'", None, r"where: field timestamp\(\): not of type TIMESTAMP"),
        ("header(day) = 5", None, "with a number, and a column of type DATE is read from it"),
        ("other(x) = 5", None, r"where: cannot be read at `\(`"),
        ("header('x' = 5", None, "where: cannot be read at `=`, expected"),
        ("header(5) = 5", None, "where: cannot be read at `5`"),
    ],
)
def test_a_condition_that_cannot_be_evaluated_is_refused(
    where: str, delete_when: str | None, problem: str
) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        record_conditions(where, delete_when, COLUMNS)


def _holding(
    conditions: RecordConditions, declared: MessageFormat, messages: Sequence[bytes | None]
) -> list[bool]:
    read = message_reader(declared, conditions.fields).read(pa.array(messages, pa.binary()))
    assert not len(read.faults)
    names = [field.name for field in conditions.fields]
    found = conditions.belonging(dict(zip(names, read.arrays, strict=True)))
    assert found is not None
    assert found.null_count == 0
    return found.to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("text", "holding"),
    [
        ("p.n >= 2", [False, True, True, False, False]),
        ("p.n != 2", [True, False, True, False, False]),
        ("p.n IS NULL", [False, False, False, True, True]),
        ("p.n IN (1, 9007199254740993.5)", [True, False, True, False, False]),
        ("t = 'x' AND p.n < 2", [True, False, False, False, False]),
        ("t IS NOT NULL", [True, True, False, False, False]),
        ("t <> 'x'", [False, True, False, False, False]),
    ],
)
def test_a_null_fulfils_no_comparison(text: str, holding: list[bool]) -> None:
    messages: list[bytes | None] = [
        b'{"t": "x", "p": {"n": 1}}',
        b'{"t": 7, "p": {"n": 2.0}}',
        b'{"p": {"n": 9007199254740993.5}}',
        b'{"t": null, "p": null}',
        b"{}",
    ]

    assert _holding(record_conditions(text, None, []), JsonFormat(), messages) == holding


def test_every_format_evaluates_the_same() -> None:
    csv = record_conditions("n >= 2 AND t = 'x'", None, [])
    raw = record_conditions("value = 'x'", None, [])

    declared = CsvFormat(fields=("n", "t"))
    assert _holding(csv, declared, [b"2,x", b"1,x", b"3,y", b",x"]) == [True, False, False, False]
    assert _holding(raw, RawFormat(), [b"x", b"y"]) == [True, False]
    symbols = {"type": "enum", "name": "t", "symbols": ["x", "y"]}
    fields = [{"name": "n", "type": ["null", "int"]}, {"name": "t", "type": symbols}]
    schema = {"type": "record", "name": "message", "fields": fields}
    messages = [
        _avro(schema, {"n": n, "t": t}) for n, t in ((2, "x"), (1, "x"), (3, "y"), (None, "x"))
    ]
    declared_avro = AvroFormat(schema=json.dumps(schema))
    assert _holding(csv, declared_avro, messages) == [True, False, False, False]


def _avro(schema: dict[str, Any], value: dict[str, Any]) -> bytes:
    written = io.BytesIO()
    fastavro.schemaless_writer(written, fastavro.parse_schema(schema), value)
    return written.getvalue()
