"""A time format means the same in messages of every format, and in Kafka keys."""

import datetime as dt
import io
import json
from dataclasses import replace
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from braid.formats.json.key_reader import KeyReader
from braid.formats.mapped_column import MappedColumn, TimeFormat
from braid.formats.message_reader import ReadMessages
from braid.formats.readers import message_reader
from braid.lake import parse_type
from braid.schemas import AvroFormat, ColumnSource, CsvFormat, JsonFormat, RawFormat

AT = dt.datetime.fromisoformat("2026-01-02T03:04:05.678")
MS = 1_767_323_045_678


def column(declared: str = "epoch_ms", sql: str = "TIMESTAMP(3)", **fields: Any) -> MappedColumn:
    return MappedColumn(
        **{
            "name": "at",
            "path": ("at",),
            "type": parse_type(sql),
            "time_format": TimeFormat(declared),
            **fields,
        }
    )


def rows(found: ReadMessages) -> list[Any]:
    """Return per message its value, or reason and message of its fault."""
    return [
        f"{found.faults[row].reason.value}: {found.faults[row].message}"
        if row in found.faults
        else value
        for row, value in enumerate(found.arrays[0].to_pylist())
    ]


def avro(kind: Any, *values: Any) -> tuple[AvroFormat, list[bytes]]:
    schema = {"type": "record", "name": "R", "fields": [{"name": "at", "type": kind}]}
    messages = []
    for value in values:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, fastavro.parse_schema(dict(schema)), {"at": value})
        messages.append(out.getvalue())
    return AvroFormat(schema=json.dumps(schema)), messages


NUMBERS = [
    (JsonFormat(), [b'{"at": 1767323045678}', b'{"at": "1767323045678"}', b'{"at": null}']),
    (CsvFormat(fields=("at",)), [b"1767323045678", b'"1767323045678"', b'""']),
    avro(["null", "long", "string"], MS, str(MS), None),
]


@pytest.mark.parametrize("copies", [1, 50])
@pytest.mark.parametrize(("declared", "messages"), NUMBERS)
def test_numbers_and_texts_of_every_format(
    declared: Any, messages: list[bytes], copies: int
) -> None:
    found = message_reader(declared, [column()]).read(pa.array(messages * copies, pa.binary()))

    assert rows(found) == [AT, AT, None] * copies
    assert found.arrays[0].type == pa.timestamp("ms")


def test_faults_name_field_value_and_format() -> None:
    texts = ["1767323045678.9", '"soon"', "true", '{"a": 1}', "1e30", '"1e30"']
    messages = [f'{{"at": {text}}}'.encode() for text in texts]
    expected = "expected TIMESTAMP(3), written as epoch_ms for column at"

    found = message_reader(JsonFormat(), [column()]).read(pa.array([*messages, b"[]"]))

    assert rows(found) == [
        AT,
        f'wrong_type: field at: found "soon", {expected}',
        f'wrong_type: field at: found "true", {expected}',
        f'wrong_type: field at: found "{{\\"a\\":1}}", {expected}',
        f"out_of_range: field at: found 1e30, {expected}",
        f"out_of_range: field at: found 1e30, {expected}",
        "malformed: found an array, expected an object",
    ]


def test_a_pattern_beside_another_column() -> None:
    columns = [
        column("dd.MM.yyyy HH:mm"),
        MappedColumn(name="n", path=("n",), type=parse_type("INT")),
    ]
    messages = [b'{"at": "02.01.2026 03:04", "n": 1}', b'{"at": "2.1.2026 03:04", "n": 2}']

    found = message_reader(JsonFormat(), columns).read(pa.array(messages))

    assert rows(found) == [
        AT.replace(second=0, microsecond=0),
        'wrong_type: field at: found "2.1.2026 03:04", '
        "expected TIMESTAMP(3), written as dd.MM.yyyy HH:mm for column at",
    ]
    assert found.arrays[1].to_pylist() == [1, 2]


def test_missing_fields_are_told_from_null() -> None:
    reader = message_reader(JsonFormat(), [column(finds_missing=True)])

    found = reader.read(pa.array([b"{}", b'{"at": null}', b'{"at": 0}']))

    assert found.missing["at"].to_pylist() == [True, False, False]
    assert reader.tree(b'{"at": 0}') == {"at": 0}


def test_a_raw_message_is_a_time() -> None:
    found = message_reader(RawFormat(), [column(path=("value",))]).read(
        pa.array([b"%d" % MS, b"x"])
    )

    assert rows(found) == [
        AT,
        'wrong_type: field value: found "x", '
        "expected TIMESTAMP(3), written as epoch_ms for column at",
    ]


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ((), [b"1767323045678", b"x", b"1e30", None]),
        (("at",), [b'{"at": 1767323045678}', b'{"at": "x"}', b'{"at": 1e30}', b'{"at": null}']),
    ],
)
def test_kafka_keys(path: tuple[str, ...], keys: list[bytes | None]) -> None:
    found = KeyReader([column(path=path, source=ColumnSource.KEY)]).read(
        pa.array(keys, pa.binary())
    )

    assert [
        one if isinstance(one, dt.datetime | None) else one.split(":")[0] for one in rows(found)
    ] == [
        AT,
        "malformed_key",
        "out_of_range",
        None,
    ]
    assert all("written as epoch_ms" in found.faults[row].message for row in found.faults.rows)


def test_numbers_kept_as_they_are_written_are_the_texts_of_any_other_column() -> None:
    written = [
        "0",
        "-0",
        "7",
        "-1.50",
        "0.0",
        "1e5",
        "1E400",
        "1" * 40,
        "0." + "1" * 40,
        "true",
        "null",
    ]
    written += [
        '"a"',
        '""',
        r'"a\"b"',
        r'"\u00e4"',
        '"ä"',
        r'"\ud800"',
        "[1, 2]",
        '{"a": 1}',
        " 7 ",
        "01",
    ]
    messages = pa.array(
        [f'{{"at": {one}}}'.encode() for one in written] + [b"{}", None], pa.binary()
    )
    plain = MappedColumn(name="at", path=("at",), type=parse_type("STRING"))

    expected = rows(message_reader(JsonFormat(), [plain]).read(messages))
    found = rows(message_reader(JsonFormat(), [replace(plain, takes_scalars=True)]).read(messages))

    assert found == expected
    assert found[:6] == ["0", "0", "7", "-1.50", "0.0", "1e5"]
